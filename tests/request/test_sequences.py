"""Requests in a simulated cluster: to a graph, and what stays when they go."""

from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, name_of
from hooks.request.spec.names import job_name
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.store import Propagation
from tests import make
from tests.request import jobs, world
from tests.request.world import NAME, OTHER
from tests.tools.offline.simulator.hooked import build_cluster

PLACES = [make.NAMESPACE, OTHER]


def cluster_with(place: str = make.NAMESPACE) -> SimulatedCluster:
    """A cluster in which a request has come to a graph in that namespace, and rests."""
    cluster = build_cluster(late=[contract.GRAPH_REQUEST], hooks_image=jobs.HOOKS_IMAGE, request_namespaces=OTHER)
    cluster.create_namespace(OTHER)
    overrides: dict[str, Any] = {} if place == make.NAMESPACE else {"deploymentOverrides": {"namespace": place}}
    parent = jobs.request(autoApply=True, **overrides)
    metadata = {"name": NAME, "namespace": make.NAMESPACE}
    cluster.create({**parent, "metadata": metadata})
    cluster.settle()
    assert state_of(cluster) == "Ready"
    return cluster


def the_request(cluster: SimulatedCluster) -> Manifest:
    found = cluster.get(contract.GRAPH_REQUEST, NAME, make.NAMESPACE)
    assert found is not None
    return found


def state_of(cluster: SimulatedCluster) -> str:
    return str(the_request(cluster)["status"]["state"])


def the_graph(cluster: SimulatedCluster, place: str) -> Manifest:
    (graph,) = cluster.list_kind(contract.GRAPH, place)
    return graph


def owners(manifest: Manifest) -> list[str]:
    return [owner["kind"] for owner in manifest["metadata"].get("ownerReferences", [])]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_graph_and_its_config_maps_outlive_the_request(place: str, propagation: Propagation) -> None:
    cluster = cluster_with(place)
    graph = the_graph(cluster, place)
    found = cluster.list_kind(kinds.CONFIG_MAP, place)
    came_along = [one for one in found if contract.GRAPH.kind in owners(one)]
    assert came_along, "the made-up profiler writes a ConfigMap beside the graph"
    cluster.delete(contract.GRAPH_REQUEST, NAME, make.NAMESPACE, propagation)
    cluster.settle()
    assert cluster.get(contract.GRAPH_REQUEST, NAME, make.NAMESPACE) is None
    assert cluster.get(kinds.JOB, job_name(NAME), make.NAMESPACE) is None
    left = the_graph(cluster, place)
    assert left["metadata"]["uid"] == graph["metadata"]["uid"]
    assert left["status"]["state"] == "successful"
    assert owners(left) == ["Namespace"]
    for one in came_along:
        now = cluster.get(kinds.CONFIG_MAP, name_of(one), place)
        assert now is not None
        assert owners(now) == [contract.GRAPH.kind]
    cluster.delete(contract.GRAPH, name_of(left), place)
    cluster.settle()
    assert [cluster.get(kinds.CONFIG_MAP, name_of(one), place) for one in came_along] == [None] * len(came_along)


def delete_late(cluster: SimulatedCluster, propagation: Propagation, *, with_graph_in: str = "") -> None:
    """Delete the request, and perhaps its graph; Metacontroller hears of the request's deletion after many syncs."""
    cluster.delay_news(contract.GRAPH_REQUEST)
    cluster.delete(contract.GRAPH_REQUEST, NAME, make.NAMESPACE, propagation)
    if with_graph_in:
        cluster.delete(contract.GRAPH, name_of(the_graph(cluster, with_graph_in)), with_graph_in)
    for number in range(150):
        if number % 10 == 0:
            cluster.sync_again()
        cluster.step()
    cluster.delay_news()
    cluster.settle()
    assert cluster.get(contract.GRAPH_REQUEST, NAME, make.NAMESPACE) is None


def owned_by_requests(cluster: SimulatedCluster) -> list[str]:
    return [name_of(found) for found in cluster.everything() if contract.GRAPH_REQUEST.kind in owners(found)]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_late_news_of_the_deletion_changes_nothing_of_what_stays(place: str, propagation: Propagation) -> None:
    cluster = cluster_with(place)
    graph = the_graph(cluster, place)
    delete_late(cluster, propagation)
    left = the_graph(cluster, place)
    assert (left["metadata"]["uid"], owners(left)) == (graph["metadata"]["uid"], ["Namespace"])
    assert left["status"]["state"] == "successful"
    assert owned_by_requests(cluster) == []


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_graph_deleted_with_its_request_is_not_created_again(place: str, propagation: Propagation) -> None:
    """It would stay for ever, because its namespace owns it too."""
    cluster = cluster_with(place)
    delete_late(cluster, propagation, with_graph_in=place)
    assert cluster.list_kind(contract.GRAPH, place) == []
    assert owned_by_requests(cluster) == []


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_request_deleted_while_it_profiles_leaves_nothing(propagation: Propagation) -> None:
    cluster = build_cluster(late=[contract.GRAPH_REQUEST], hooks_image=jobs.HOOKS_IMAGE)
    cluster.create({**jobs.request(autoApply=True), "metadata": {"name": NAME, "namespace": make.NAMESPACE}})
    assert cluster.run_until(lambda: bool(cluster.list_kind(kinds.JOB, make.NAMESPACE)), 60)
    delete_late(cluster, propagation)
    assert [name_of(found) for found in cluster.everything() if found["kind"] != "Namespace"] == []


@pytest.mark.parametrize("place", PLACES)
def test_graph_deleted_by_the_user_stays_deleted(place: str) -> None:
    cluster = cluster_with(place)
    cluster.delete(contract.GRAPH, the_graph(cluster, place)["metadata"]["name"], place)
    cluster.settle()
    assert state_of(cluster) == "DeploymentDeleted"
    cluster.run_for(600)
    assert cluster.list_kind(contract.GRAPH, place) == []


@pytest.mark.parametrize("place", PLACES)
def test_users_edit_is_not_reverted(place: str) -> None:
    cluster = cluster_with(place)
    name = the_graph(cluster, place)["metadata"]["name"]
    cluster.patch(contract.GRAPH, name, {"spec": {"services": {"Decode": {"replicas": 3}}}}, place)
    cluster.run_for(600)
    assert the_graph(cluster, place)["spec"]["services"]["Decode"]["replicas"] == 3
    assert state_of(cluster) == "Ready"


def test_graph_degrades_and_comes_back_with_its_pods() -> None:
    cluster = cluster_with()
    name = the_graph(cluster, make.NAMESPACE)["metadata"]["name"]
    cluster.block("*decode*")
    image = {"mainContainer": {"image": "img:2"}}
    cluster.patch(contract.GRAPH, name, {"spec": {"services": {"Decode": {"extraPodSpec": image}}}}, make.NAMESPACE)
    cluster.settle()
    assert state_of(cluster) == "Deploying"
    reasons = {c["type"]: c["reason"] for c in the_request(cluster)["status"]["conditions"]}
    assert reasons["DeploymentReady"] == "DeploymentDegraded"
    cluster.release("*decode*")
    cluster.settle()
    assert state_of(cluster) == "Ready"


def test_second_request_of_the_name_is_profiled_anew() -> None:
    cluster = cluster_with()
    cluster.delete(contract.GRAPH_REQUEST, NAME, make.NAMESPACE)
    cluster.create({**jobs.request(), "metadata": {"name": NAME, "namespace": make.NAMESPACE}})
    assert cluster.run_until(lambda: bool(the_request(cluster)["status"].get("state")), 60)
    assert "generatedDeployment" not in the_request(cluster)["status"], "the first one's output is none of its own"
    assert cluster.run_until(lambda: state_of(cluster) == "Ready", 600)
    (job,) = cluster.list_kind(kinds.JOB, make.NAMESPACE)
    assert job["metadata"]["ownerReferences"][0]["uid"] == the_request(cluster)["metadata"]["uid"]


def test_job_says_the_same_at_each_sync() -> None:
    parent = jobs.request()
    first = next(child for child in world.ask(parent).children if child["kind"] == "Job")
    aged = world.after({**parent, "metadata": {**parent["metadata"], "generation": 7}}, world.ask(parent))
    later = next(child for child in world.ask(aged, now=world.later(90)).children if child["kind"] == "Job")
    assert first == later
