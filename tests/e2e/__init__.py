"""The whole way: a manifest becomes processes of NVIDIA's own runtime, and a chat completion answers. `make e2e`.

`kubelet` runs the pods of one Node as processes. `scenarios` have the tests; they need a real API server and releases
of the runtime, so they run only with `--e2e`. The tests beside this file are of the parts, and need neither.
"""
