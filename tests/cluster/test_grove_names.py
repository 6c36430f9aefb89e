"""Graphs whose PodCliqueSets have cut names, under a real Metacontroller; the test does Grove's work by hand."""

from collections.abc import Iterator

import pytest

from hooks.ground.k8s import kinds
from hooks.server.clients.effects import EffectsClient
from hooks.wire.metacontroller.effects import EffectOutcome, EffectSource, ScalePodClique
from hooks.wire.policy.conditions import reference_of
from tests import make
from tests.cluster.acting_hooks import effects_client, granted_effects
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import DYNAMO, GRAPH, condition, running_controllers, the_graph, wait_until_ready
from tests.cluster.groves_kinds import GROVE, POD_CLIQUE, POD_CLIQUE_SET, SCALING_GROUP, installed_grove
from tests.cluster.programs import HttpServer
from tests.contract.backend import Manifest

RECIPE, SET = "kimi-k3-agg", "kimi-3d6c"
"""A graph of the names of a published recipe, and the name of the set that upstream's operator gives it."""
PAIR, SHARED = ("a-long-name-of-a-graph-1408", "a-long-name-of-a-graph-2504"), "a-long-name-of-a-grap-024a"
"""Two graphs whose names are cut to one, with a service of 19 characters."""


@pytest.fixture(autouse=True)
def controllers(admin: ApiClient, api: ApiClient, metacontroller: HttpServer, hooks: HttpServer) -> Iterator[None]:
    with installed_grove(admin), running_controllers(admin, hooks.url, ["grove"]):
        yield
        for graph in api.list(DYNAMO, GRAPH):
            api.delete(DYNAMO, GRAPH, graph["metadata"]["name"])
        wait_for(lambda: not api.list(DYNAMO, GRAPH), "the graphs are gone")


@pytest.fixture
def client(admin: ApiClient, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EffectsClient]:
    with granted_effects(admin):
        yield effects_client(plane, tmp_path_factory.mktemp("account"))


def recipe() -> Manifest:
    worker = make.service(
        command=["python3", "-m", "dynamo.vllm"],
        multinode={"nodeCount": 2},
        resources={"limits": {"gpu": "4"}},
    )
    services = {"Frontend": make.service("frontend"), "VllmDecodeWorker": worker}
    return _graph(RECIPE, services)


def _graph(name: str, services: Manifest) -> Manifest:
    return {"apiVersion": DYNAMO, "kind": GRAPH, "metadata": {"name": name}, "spec": {"services": services}}


def sets(api: ApiClient) -> list[str]:
    return [found["metadata"]["name"] for found in api.list(GROVE, POD_CLIQUE_SET)]


def run_set(api: ApiClient, name: str) -> None:
    """Do what Grove does with a set: create its parts, and say that all are ready."""
    found = api.get(GROVE, POD_CLIQUE_SET, name)
    assert found is not None
    template = found["spec"]["template"]
    groups = template.get("podCliqueScalingGroups", [])
    grouped = {clique for group in groups for clique in group["cliqueNames"]}
    single = [clique for clique in template["cliques"] if clique["name"] not in grouped]
    for kind, parts in ((SCALING_GROUP, groups), (POD_CLIQUE, single)):
        for part in parts:
            _create_part(api, found, kind, f"{name}-0-{part['name']}")
    generation = found["metadata"]["generation"]
    api.patch(GROVE, POD_CLIQUE_SET, name, {"status": {"observedGeneration": generation}}, sub="status")


def _create_part(api: ApiClient, owner: Manifest, kind: str, name: str) -> None:
    of_set = {"apiVersion": GROVE, "kind": POD_CLIQUE_SET, "name": owner["metadata"]["name"]}
    reference = {**of_set, "uid": owner["metadata"]["uid"], "controller": True}
    labels = {"app.kubernetes.io/part-of": owner["metadata"]["name"], "app.kubernetes.io/managed-by": "grove-operator"}
    metadata = {"name": name, "labels": labels, "ownerReferences": [reference]}
    api.create({"apiVersion": GROVE, "kind": kind, "metadata": metadata, "spec": {"replicas": 1}})
    counts = dict.fromkeys(
        ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "scheduledReplicas"), 1
    )
    api.patch(GROVE, kind, name, {"status": {"observedGeneration": 1, **counts}}, sub="status")


def test_recipe_with_a_cut_name_comes_up_and_is_scaled(api: ApiClient, client: EffectsClient) -> None:
    api.create(recipe(), strict=True)
    wait_for(lambda: sets(api) == [SET], "the set has the cut name")
    run_set(api, SET)
    status = wait_until_ready(api, RECIPE)["status"]
    assert status["podCliqueSet"] == SET
    assert {name: one["componentName"] for name, one in status["services"].items()} == {
        "Frontend": f"{SET}-0-frontend",
        "VllmDecodeWorker": f"{SET}-0-vllmdecodeworker",
    }

    api.patch(DYNAMO, GRAPH, RECIPE, {"spec": {"services": {"VllmDecodeWorker": {"replicas": 2}}}})
    graph = the_graph(api, RECIPE)
    scale = ScalePodClique(kind=SCALING_GROUP, namespace=api.namespace, name=f"{SET}-0-vllmdecodeworker", replicas=2)
    source = EffectSource(
        parent=reference_of(graph),
        generation=graph["metadata"]["generation"],
        declared=frozenset({kinds.POD_CLIQUE_SET}),
    )
    (result,) = client((scale,), source)
    assert result.outcome in {EffectOutcome.DONE, EffectOutcome.UNCHANGED}, result
    assert sets(api) == [SET], "a change makes no second set"


def test_second_graph_of_one_cut_name_says_whose_it_is(api: ApiClient) -> None:
    first, second = PAIR
    services = {"VllmDecodeWorker222": make.service()}
    api.create(_graph(first, services), strict=True)
    wait_for(lambda: sets(api) == [SHARED], "the first graph has its set")
    owners = api.list(GROVE, POD_CLIQUE_SET)[0]["metadata"]["ownerReferences"]
    api.create(_graph(second, services), strict=True)

    def is_told() -> bool:
        found = condition(the_graph(api, second), "Applied")
        return found.get("reason") == "NameTaken" and f"{GRAPH} {first}" in found["message"]

    wait_for(is_told, "the second graph is told")
    assert api.list(GROVE, POD_CLIQUE_SET)[0]["metadata"]["ownerReferences"] == owners
