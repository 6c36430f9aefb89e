"""Services under scaling adapters in the simulated cluster: scaled, written back, handed back to the graph."""

import json
from dataclasses import replace
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.workloads.pods import PodFault
from hooks.wire.metacontroller.effects import WriteBackReplicas
from tests import make
from tests.tools.offline.simulator.grove_world import GroveWorld

ADAPTER = "g-worker"


def graph(replicas: int = 2, *, enabled: bool = True, planner: bool = False) -> Manifest:
    worker = make.service(replicas=replicas, scalingAdapter={"enabled": enabled})
    services = {"Worker": worker, "Frontend": make.service("frontend")}
    return make.graph({**services, "Planner": make.service("planner")} if planner else services)


def scaled_world(installed: frozenset[str] = frozenset(), *, planner: bool = False, **settings: str) -> GroveWorld:
    """A cluster in which the graph is up."""
    world = GroveWorld(installed, **settings)
    world.apply(graph(planner=planner))
    return world


def scale(world: GroveWorld, replicas: int) -> None:
    """What an autoscaler does."""
    world.cluster.patch(contract.SCALING_ADAPTER, ADAPTER, {"spec": {"replicas": replicas}}, "default")
    world.settle()


def deployment(world: GroveWorld) -> Manifest:
    found = world.cluster.get(kinds.DEPLOYMENT, ADAPTER, "default")
    assert found is not None
    return found


def adapter_status(world: GroveWorld) -> dict[str, Any]:
    found = world.cluster.get(contract.SCALING_ADAPTER, ADAPTER, "default")
    assert found is not None
    status: dict[str, Any] = found["status"]
    return status


def own_replicas(world: GroveWorld) -> int:
    found = world.cluster.get(contract.GRAPH, "g", "default")
    assert found is not None
    replicas: int = found["spec"]["services"]["Worker"]["replicas"]
    return replicas


def clique_specs(world: GroveWorld) -> dict[str, Any]:
    """Pod specs of the graph's cliques, without how many there are to be."""
    found = world.cluster.get(kinds.POD_CLIQUE_SET, "g", "default")
    assert found is not None
    cliques = found["spec"]["template"]["cliques"]
    return {clique["name"]: (clique["labels"], clique["spec"]["podSpec"]) for clique in cliques}


@pytest.mark.parametrize("replicas", [5, 1, 0])
def test_service_follows_its_adapter_and_no_pod_template_changes(replicas: int) -> None:
    world = scaled_world()
    before = deployment(world)["spec"]["template"]
    scale(world, replicas)
    assert deployment(world)["spec"]["replicas"] == replicas
    assert deployment(world)["spec"]["template"] == before
    status = adapter_status(world)
    assert (status["replicas"], status["conditions"][0]["reason"]) == (replicas, "Scaled")
    assert world.status()["state"] == "successful"
    assert own_replicas(world) == 2


def test_pods_that_stay_are_the_same_pods() -> None:
    world = scaled_world()
    before = {pod["metadata"]["uid"] for pod in world.pods()}
    scale(world, 4)
    after = {pod["metadata"]["uid"] for pod in world.pods()}
    assert before < after
    assert len(after - before) == 2


def test_service_under_grove_follows_its_adapter_and_no_pod_template_changes() -> None:
    world = scaled_world(frozenset({"grove"}))
    before = clique_specs(world)
    scale(world, 5)
    assert clique_specs(world) == before
    status = adapter_status(world)
    assert (status["replicas"], status["conditions"][0]["reason"]) == (5, "Scaled")


@pytest.mark.parametrize("installed", [frozenset(), frozenset({"grove"})], ids=["components", "Grove"])
def test_adapter_is_ready_when_its_replicas_serve(installed: frozenset[str]) -> None:
    world = scaled_world(installed)
    world.cluster.break_pods("*worker*", PodFault.PROBE)
    scale(world, 3)
    condition, _ = adapter_status(world)["conditions"]
    assert (adapter_status(world)["replicas"], condition["reason"]) == (3, "ReplicasNotReady")
    world.cluster.release("*worker*")
    world.settle()
    assert adapter_status(world)["conditions"][0]["reason"] == "Scaled"


def test_selector_of_the_status_finds_the_pods_that_count() -> None:
    world = scaled_world()
    scale(world, 3)
    status = adapter_status(world)
    wanted = dict(part.split("=") for part in status["selector"].split(","))
    selected = [pod for pod in world.pods() if wanted.items() <= pod["metadata"]["labels"].items()]
    assert len(selected) == status["replicas"] == 3


def test_nothing_is_written_once_it_is_scaled() -> None:
    world = scaled_world(planner=True)
    scale(world, 5)
    mark = len(world.cluster.writes)
    world.cluster.run_for(3600)
    assert world.cluster.writes[mark:] == []


def test_planner_finds_the_replicas_in_the_graph_and_no_template_changes() -> None:
    world = scaled_world(planner=True)
    before = deployment(world)["spec"]["template"]
    scale(world, 5)
    assert own_replicas(world) == 5
    assert deployment(world)["spec"]["template"] == before
    written = [replace(effect, if_failed=None) for effect in world.effects if isinstance(effect, WriteBackReplicas)]
    assert WriteBackReplicas(graph="g", namespace="default", service="Worker", replicas=5) in written
    assert "is being set" not in json.dumps(adapter_status(world))


def test_writing_back_that_fails_shows_and_is_tried_until_it_is_done() -> None:
    world = scaled_world(planner=True)
    world.carries_out = False
    scale(world, 5)
    condition, _ = adapter_status(world)["conditions"]
    assert condition["status"] == "True"
    assert condition["message"].endswith("replicas of the graph is being set from 2 to 5")
    assert deployment(world)["spec"]["replicas"] == 5
    world.carries_out = True
    world.cluster.run_for(10)
    assert own_replicas(world) == 5
    assert adapter_status(world)["conditions"][0]["message"].endswith("5 wanted replicas")


def test_graph_takes_over_where_the_adapter_is_disabled() -> None:
    world = scaled_world()
    scale(world, 5)
    world.apply(graph(3, enabled=False))
    assert world.names(contract.SCALING_ADAPTER) == []
    assert deployment(world)["spec"]["replicas"] == 3


def test_adapter_that_somebody_deleted_begins_anew_with_the_graphs_value() -> None:
    world = scaled_world()
    scale(world, 5)
    world.cluster.delete(contract.SCALING_ADAPTER, ADAPTER, "default")
    world.settle()
    assert adapter_status(world)["replicas"] == 2
    assert deployment(world)["spec"]["replicas"] == 2


def test_adapter_goes_with_its_service() -> None:
    world = scaled_world()
    world.apply(make.graph({"Frontend": make.service("frontend")}))
    assert world.names(contract.SCALING_ADAPTER) == []


def test_edit_of_the_graphs_replicas_changes_nothing_while_the_adapter_is_enabled() -> None:
    world = scaled_world()
    scale(world, 5)
    world.apply(graph(1))
    assert deployment(world)["spec"]["replicas"] == 5
