"""A small Kubernetes in memory: API server, Metacontroller, garbage collector, workload controllers and kubelet.

It checks that the hooks keep Metacontroller's contract, without a real cluster. The cluster does one piece of work at a
time, and time passes only when it is advanced. Only the servers below have threads; nothing reads a real clock.

    clock, resources, store, client, equality   objects, versions, watches, log of writes
    admission                                   defaults and refusals of built-in kinds
    selectors, ownership, garbage               label selectors, owner references, the garbage collector
    metacontroller                              CompositeController and DecoratorController
    workloads                                   controllers of workloads, scheduler, kubelet, Endpoints
    control_plane                               who is told of a change, and what could be done now
    effects                                     what the hooks do beside children
    cluster                                     everything together
    engines, loopback_http                      HTTP servers that play the engines in simulated pods
"""
