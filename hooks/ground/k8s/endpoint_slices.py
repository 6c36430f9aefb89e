"""What is read of every EndpointSlice: its Service, and which of a pod's addresses is taken.

Source: Kubernetes, staging/src/k8s.io/api/discovery/v1/types.go.
"""

from hooks.ground.k8s.types import ReadManifest

SERVICE_NAME = "kubernetes.io/service-name"
"""Label of an EndpointSlice: the name of its Service."""
FAMILIES = ("IPv4", "IPv6")
"""Kinds of addresses that are called, in the order of choice."""


def rank_family(endpoint_slice: ReadManifest) -> int:
    """The place of its addresses' family in the order of choice; others come last."""
    family = endpoint_slice.get("addressType")
    return FAMILIES.index(family) if family in FAMILIES else len(FAMILIES)
