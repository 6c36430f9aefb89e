"""When an applied object counts as ready, and the reasons given when it does not."""

from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulation.progress import measure_progress
from hooks.tools.offline.simulation.trees import ObjectTree, is_ready
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.resources import Resource
from hooks.tools.offline.simulator.workloads.pods import PodFault
from hooks.wire.world.ownership import controller_reference
from tests.tools.offline.simulator.worlds import deployment, world

READY = {"type": "Ready", "status": "True"}
NOT_READY = {"type": "Ready", "status": "False", "reason": "Waiting", "message": "component main is not ready"}


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        ({"conditions": [READY]}, True),
        ({"conditions": [READY], "observedGeneration": 2}, True),
        ({"conditions": [READY], "observedGeneration": 1}, False),
        ({"conditions": [NOT_READY], "state": "successful"}, False),
        ({"state": "successful"}, True),
        ({"state": "pending"}, False),
        ({}, False),
    ],
    ids=["condition", "current", "old-generation", "condition-wins", "state", "pending", "nothing"],
)
def test_ready(status: dict[str, Any], ready: bool) -> None:
    assert is_ready({"metadata": {"generation": 2}, "status": status}) is ready


def _graph_with_a_deployment(fault: PodFault | None) -> tuple[SimulatedCluster, Manifest]:
    cluster = world()
    for kind, plural in ((contract.GRAPH, "graphs"), (contract.COMPONENT, "components")):
        cluster.catalogue.add(Resource(kind=kind, plural=plural, status=True, generation=True, custom=True))
    graph = cluster.create(_ours(contract.GRAPH, "g"))
    component = cluster.create(_ours(contract.COMPONENT, "g-main", controller_reference(graph)))
    child = deployment("g-main")
    child["metadata"]["ownerReferences"] = [controller_reference(component)]
    if fault:
        cluster.break_pods("g-main", fault)
    cluster.create(child)
    cluster.settle()
    return cluster, graph


def _ours(kind: GroupVersionKind, name: str, *owners: dict[str, Any]) -> Manifest:
    metadata = {"name": name, "namespace": "default", "ownerReferences": list(owners)}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": {}}


def _measure(cluster: SimulatedCluster) -> Any:
    root = cluster.get(contract.GRAPH, "g", "default")
    assert root is not None
    return measure_progress(ObjectTree(cluster.everything()), root, cluster.events)


def test_components_and_pods_of_a_graph_are_counted() -> None:
    cluster, _ = _graph_with_a_deployment(None)
    cluster.patch_status(contract.COMPONENT, "g-main", {"status": {"conditions": [READY]}}, "default")
    cluster.patch_status(contract.GRAPH, "g", {"status": {"conditions": [READY]}}, "default")
    found = _measure(cluster)
    assert found.summary == "Ready; components 1/1; pods 1 Ready"
    assert found.reasons == ()


def test_reasons_name_the_condition_the_pod_and_what_is_wrong_with_it() -> None:
    cluster, _ = _graph_with_a_deployment(PodFault.IMAGE_PULL)
    cluster.patch_status(contract.GRAPH, "g", {"status": {"conditions": [NOT_READY]}}, "default")
    found = _measure(cluster)
    assert found.summary == "not ready; components 0/1; pods 1 ImagePullBackOff"
    assert found.reasons[0] == "DynamoGraphDeployment default/g: component main is not ready"
    assert found.reasons[1].startswith("Pod default/g-main-")
    assert "ImagePullBackOff (Back-off pulling image" in found.reasons[1]


def test_a_graph_without_a_status_says_that_no_hook_has_spoken() -> None:
    cluster, _ = _graph_with_a_deployment(None)
    assert _measure(cluster).reasons == ("DynamoGraphDeployment default/g: no hook has reported a status yet",)
