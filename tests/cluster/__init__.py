"""Tests against a real control plane; off by default, on with `--cluster`.

`control_plane.py` starts etcd, kube-apiserver, kube-controller-manager and kwok; `conftest.py` has the fixtures.
"""
