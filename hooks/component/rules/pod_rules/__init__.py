"""Finds what the API server would refuse in a pod, each value at its field of the spec.

The parts of a pod that are checked here have the right types, and are written as the API server stores them: without
nulls and empty texts. `pod` begins.

Source: Kubernetes, pkg/apis/core/validation/validation.go, of release 1.36.
"""
