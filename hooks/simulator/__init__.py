"""A small Kubernetes in memory: API server, Metacontroller, garbage collector, workload controllers and kubelet.

It holds the hooks to Metacontroller's contract without a cluster. Nothing here has threads or reads a clock: `cluster`
moves one piece of work at a time and time passes only when told to. The shell is `hook_client` (HTTP) and
`processes` (servers as child processes).

    clock, resources, store, client   objects, versions, watches, who wrote what
    admission                          defaults and refusals of built-in kinds
    merge, selectors, ownership        pure parts of Metacontroller
    controller, composite, decorator   Metacontroller's two kinds of controller
    garbage, deployments, endpoints, kubelet   the rest of a cluster
    jobs, alarms, job_pods, profiler   Jobs, and what their pods do
    grove, grove_webhook               Grove's operator and what its webhooks refuse
    cluster                            all of it together
"""
