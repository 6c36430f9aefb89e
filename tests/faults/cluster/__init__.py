"""The same on a real control plane: kube-apiserver, etcd, kube-controller-manager, kwok, a real Metacontroller.

`history` watches all that happens in a namespace, in the order of etcd's revisions. `stage` has the processes and the
graphs, `gate` is the network between Metacontroller and hooks, `play` plays one fault and `judgement` says what came
of it. The faults are in `programs`, `calls` and `children`; `catalogue` has all by name.
"""
