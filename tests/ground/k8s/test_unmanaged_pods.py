"""Which pods no workload of a graph manages, by their chain of owners."""

import pytest

from hooks.ground.k8s.types import Manifest, name_of
from hooks.ground.k8s.unmanaged_pods import describe_unmanaged, find_unmanaged

GRAPH = "graph"


def owned(kind: str, name: str, owner: str = "", owner_kind: str = "Deployment", **metadata: str) -> Manifest:
    """An object, which has its name as uid; controlled by the owner of that name."""
    reference = {"apiVersion": "apps/v1", "kind": owner_kind, "name": owner, "uid": owner, "controller": True}
    references = {"ownerReferences": [reference]} if owner else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "uid": name, **references, **metadata}}


SET, DEPLOYMENT = owned("ReplicaSet", "set", "deployment"), owned("Deployment", "deployment", GRAPH)
STRAY = owned("Deployment", "stray")
LOOP = (owned("A", "a", "b"), owned("A", "b", "a"))
CASES = {
    "of the graph": (owned("Pod", "p", "set"), (SET, DEPLOYMENT), False),
    "of the graph itself": (owned("Pod", "p", GRAPH), (), False),
    "of nobody": (owned("Pod", "p"), (), True),
    "of a workload of nobody": (owned("Pod", "p", "stray"), (STRAY,), True),
    "of a workload that is gone": (owned("Pod", "p", "set"), (SET,), True),
    "of a workload that may not be read": (owned("Pod", "p", "set", "StatefulSet"), (), False),
    "of owners in a circle": (owned("Pod", "p", "a"), LOOP, True),
    "being deleted": (owned("Pod", "p", deletionTimestamp="2026-01-01T00:00:00Z"), (), False),
}


@pytest.mark.parametrize(("pod", "objects", "is_unmanaged"), CASES.values(), ids=CASES)
def test_pod_is_unmanaged_if_its_owners_lead_to_no_graph(
    pod: Manifest, objects: tuple[Manifest, ...], *, is_unmanaged: bool
) -> None:
    found = find_unmanaged([pod], objects, {GRAPH}, {"StatefulSet"})
    assert [name_of(one) for one in found] == (["p"] if is_unmanaged else [])


def test_pod_is_named_with_its_owner() -> None:
    assert describe_unmanaged(owned("Pod", "p", "set", "ReplicaSet")) == "Pod p of ReplicaSet set"
    assert describe_unmanaged(owned("Pod", "p")) == "Pod p"
