"""Grove's kinds on the cluster, without Grove: stand-ins that keep every field, for the time of a test module."""

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import install_crds
from tests.contract.backend import Manifest
from tests.third_party import StandIn, stand_in_crd

GROVE = "grove.io/v1alpha1"
POD_CLIQUE_SET, POD_CLIQUE, SCALING_GROUP = "PodCliqueSet", "PodClique", "PodCliqueScalingGroup"

_SELECTOR = ".status.hpaPodSelector"
_STAND_INS = (
    StandIn(group="grove.io", kind=POD_CLIQUE_SET, versions=("v1alpha1",)),
    StandIn(group="grove.io", kind=POD_CLIQUE, versions=("v1alpha1",), selector=_SELECTOR),
    StandIn(group="grove.io", kind=SCALING_GROUP, versions=("v1alpha1",), selector=_SELECTOR),
)


@contextmanager
def installed_grove(admin: ApiClient) -> Iterator[None]:
    """Install the kinds, and remove them with all their objects."""
    crds = [stand_in_crd(kind) for kind in _STAND_INS]
    install_crds(admin, crds)
    try:
        yield
    finally:
        remove_kinds(admin, crds)


def remove_kinds(admin: ApiClient, crds: Iterable[Manifest]) -> None:
    """Remove the kinds, and wait until their objects are gone with them."""
    for crd in crds:
        admin.delete(crd["apiVersion"], crd["kind"], crd["metadata"]["name"])
    wait_for(lambda: not _left(admin), "the kinds of Grove are gone")


def wait_for_collector(admin: ApiClient) -> None:
    """Wait until the garbage collector knows the kinds, for which it looks every 30 s: it deletes what nobody owns."""
    nobody = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": str(uuid.uuid4())}
    metadata = {"name": "of-nobody", "namespace": "default", "ownerReferences": [nobody]}
    kinds = [kind.kind for kind in _STAND_INS]
    for kind in kinds:
        admin.create({"apiVersion": GROVE, "kind": kind, "metadata": metadata})
    wait_for(lambda: not any(admin.list(GROVE, kind, "default") for kind in kinds), "objects of nobody are gone")


def _left(admin: ApiClient) -> list[str]:
    found = admin.list("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    return [crd["metadata"]["name"] for crd in found if crd["metadata"]["name"].endswith(".grove.io")]
