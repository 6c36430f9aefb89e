"""A kubelet whose containers are processes of this machine, without root, images and network namespaces.

Pure: `environment`, `probes`, `pod_status`. On the outside: `volumes`, `accounts`, `asking`, `container`, `pod_worker`
(one pod), `kubelet` (the Node and all its pods), `guard` (which ends what is left, however the run ends).
"""
