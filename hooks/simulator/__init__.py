"""A small Kubernetes in memory: API server, Metacontroller, garbage collector, workload controllers and kubelet.

It holds the hooks to Metacontroller's contract without a cluster. `cluster` moves one piece of work at a time, and time
passes only when it is advanced: but for the servers below nothing here has threads or reads a clock.

    clock, resources, store, client, equality   objects, versions, watches, who wrote what
    admission                                   defaults and refusals of built-in kinds
    selectors, ownership, garbage               label selectors, owner references, the garbage collector
    metacontroller                              its two kinds of controller
    workloads                                   controllers of workloads, scheduler, kubelet, Endpoints
    cluster                                     all of it together
    engines, loopback_http                      HTTP servers that stand for the engines in simulated pods
"""
