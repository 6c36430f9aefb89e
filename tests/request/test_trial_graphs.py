"""Graphs that the profiler makes for a while: they run like any other, are never taken for the result, end with it."""

from collections.abc import Mapping
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import Manifest, labels_of, name_of
from hooks.language.versions import convert
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.store import Propagation
from hooks.tools.offline.simulator.workloads.pods import PodFault
from tests import make
from tests.request import jobs
from tests.request.test_profiler_spec import stored
from tests.request.trial_graphs import COMPONENTS, NAME, selectors, trial_graph
from tests.tools.offline.simulator.hooked import build_cluster

OTHER = "vllm-agg-77777777-1111"


@pytest.fixture(params=["Deployments", "Grove"])
def cluster(request: pytest.FixtureRequest) -> SimulatedCluster:
    """A cluster with a request whose thorough search runs, and with one of its trial graphs."""
    installed = {"grove"} if request.param == "Grove" else set()
    found = build_cluster(installed, hooks_image=jobs.HOOKS_IMAGE)
    found.block("profile-*")
    asked = stored(searchStrategy="thorough")
    known = {key: value for key, value in asked["metadata"].items() if key not in {"uid", "generation"}}
    found.create({**asked, "metadata": known})
    found.settle()
    try_out(found)
    return found


def try_out(cluster: SimulatedCluster, name: str = NAME) -> None:
    """Create a trial graph, as the profiler does."""
    cluster.create(convert(trial_graph(the_request(cluster), name), "v1alpha1"))
    cluster.settle()


def the_request(cluster: SimulatedCluster) -> Manifest:
    found = cluster.get(contract.GRAPH_REQUEST, "qwen", make.NAMESPACE)
    assert found is not None
    return found


def the_status(cluster: SimulatedCluster) -> Mapping[str, Any]:
    found: Mapping[str, Any] = the_request(cluster)["status"]
    return found


def graphs(cluster: SimulatedCluster) -> dict[str, str]:
    """State by name."""
    found = cluster.list_kind(contract.GRAPH, make.NAMESPACE)
    return {name_of(graph): str(graph.get("status", {}).get("state")) for graph in found}


def pods(cluster: SimulatedCluster, wanted: Mapping[str, str]) -> list[str]:
    found = cluster.list_kind(kinds.POD, make.NAMESPACE)
    return [name_of(pod) for pod in found if wanted.items() <= labels_of(pod).items()]


def test_trial_graph_runs_and_the_profiler_finds_its_pods(cluster: SimulatedCluster) -> None:
    assert graphs(cluster) == {NAME: "successful"}
    for component in COMPONENTS:
        for selector in selectors(component):
            assert len(pods(cluster, selector)) == 1, selector
    assert cluster.get(kinds.SERVICE, f"{NAME}-frontend", make.NAMESPACE) is not None


def test_trial_graph_is_not_taken_for_the_result(cluster: SimulatedCluster) -> None:
    status = the_status(cluster)
    assert status["state"] == "Profiling"
    assert "deployment" not in status
    assert contract.LABEL_CONTROLLER_UID not in labels_of(cluster.list_kind(contract.GRAPH, make.NAMESPACE)[0])


def test_status_that_is_lost_in_between_is_found_again(cluster: SimulatedCluster) -> None:
    cluster.patch_status(contract.GRAPH_REQUEST, "qwen", {"status": None}, make.NAMESPACE)
    cluster.restart_metacontroller()
    cluster.settle()
    assert the_status(cluster)["state"] == "Profiling"
    assert graphs(cluster) == {NAME: "successful"}


def test_next_trial_follows_the_last(cluster: SimulatedCluster) -> None:
    cluster.delete(contract.GRAPH, NAME, make.NAMESPACE)
    try_out(cluster, OTHER)
    assert graphs(cluster) == {OTHER: "successful"}
    assert pods(cluster, {contract.LABEL_GRAPH: NAME}) == []


def test_result_comes_beside_a_trial_graph_that_is_left(cluster: SimulatedCluster) -> None:
    cluster.release("profile-*")
    cluster.run_for(60)
    assert graphs(cluster) == {NAME: "successful", "qwen-dgd": "successful"}
    assert the_status(cluster)["deployment"]["name"] == "qwen-dgd"
    assert the_status(cluster)["state"] == "Ready"


def test_graphs_that_a_failed_profiler_leaves_are_named(cluster: SimulatedCluster) -> None:
    cluster.release("profile-*")
    cluster.break_pods("profile-*", PodFault.CRASH_LOOP)
    cluster.run_for(60)
    profiling = find_condition(the_status(cluster)["conditions"], "Profiling")
    assert profiling is not None
    left = f"Graphs of the search are left until the request is deleted: {NAME}"
    assert profiling["message"].endswith(left), profiling
    assert graphs(cluster) == {NAME: "successful"}


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_trial_graph_ends_with_its_request(cluster: SimulatedCluster, propagation: Propagation) -> None:
    cluster.delete(contract.GRAPH_REQUEST, "qwen", make.NAMESPACE, propagation)
    cluster.settle()
    assert graphs(cluster) == {}
    assert cluster.list_kind(kinds.POD, make.NAMESPACE) == []
    assert cluster.get(contract.GRAPH_REQUEST, "qwen", make.NAMESPACE) is None
