"""A service under Grove that leaves its adapter: its replicas go back to the graph's before they are left to others."""

from collections.abc import Sequence
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.effects import ScalePodClique
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.graph import test_grove as grove
from tests.graph import world

ADAPTER = contract.SCALING_ADAPTER.kind
ON = {"scalingAdapter": {"enabled": True}}
OFF = {"scalingAdapter": {"enabled": False}}
FOUR = (grove.part("PodClique", "g-0-w", desired=4),)
ONE = (grove.part("PodClique", "g-0-w", desired=1),)
BACK = ScalePodClique(kind="PodClique", namespace="default", name="g-0-w", replicas=1)


def graph_of(**service: Any) -> Manifest:
    return make.graph({"w": make.service(**service)})


def scaled(**service: Any) -> list[Manifest]:
    """The children of a service whose adapter asks for four replicas."""
    children = grove.settled(graph_of(**ON, **service))
    world.child(children, ADAPTER, "g-w")["spec"]["replicas"] = 4
    return children


def follow(before: Sequence[Manifest], answer: SyncAnswer) -> list[Manifest]:
    """The children after an answer, the set processed by Grove."""
    children = world.apply(before, answer.children)
    return [grove.processed(child) if child["kind"] == "PodCliqueSet" else child for child in children]


@pytest.mark.parametrize("service", [OFF, {}], ids=["disabled", "removed"])
def test_replicas_go_back_however_often_scaling_fails(service: dict[str, Any]) -> None:
    graph, children = graph_of(**service), scaled()
    for _ in range(3):
        answer = grove.ask(graph, children, FOUR)
        assert grove.scalings(answer) == (BACK,)
        assert 0 < answer.resync_after_seconds <= 5
        assert (
            "podclique/g-0-w: Progressing: wait (replicas=4, wanted=1: it is being scaled)"
            in world.ready(answer)["message"]
        )
        assert "w: its adapter stays until the replicas are the graph's again" in answer.notes
        children = follow(children, answer)
    answer = grove.ask(graph, children, ONE)
    assert world.names(answer.children, ADAPTER) == []
    assert world.ready(answer)["status"] == "True"


def test_replicas_seen_before_the_adapter_brought_others_about_are_scaled_once_more() -> None:
    children = scaled()
    answer = grove.ask(graph_of(), children, ONE)
    assert grove.scalings(answer) == (BACK,)
    assert world.names(answer.children, ADAPTER) == []
    after = grove.ask(graph_of(), follow(children, answer), ONE)
    assert grove.scalings(after) == ()
    assert after.resync_after_seconds == 0


def test_replicas_are_left_to_others_once_the_adapter_is_gone() -> None:
    answer = grove.ask(graph_of(), grove.settled(graph_of()), FOUR)
    assert grove.scalings(answer) == ()
    assert world.ready(answer)["status"] == "True"


def test_group_goes_back_as_a_whole() -> None:
    nodes = grove.multinode()
    nodes.pop("replicas")
    children = grove.settled(make.graph({"w": {**nodes, **ON}}))
    group = grove.part("PodCliqueScalingGroup", "g-0-w", desired=4)
    answer = grove.ask(make.graph({"w": nodes}), children, (group,))
    effect = ScalePodClique(kind="PodCliqueScalingGroup", namespace="default", name="g-0-w", replicas=1)
    assert grove.scalings(answer) == (effect,)
    assert world.names(answer.children, ADAPTER) == ["g-w"]


def test_adapter_stays_while_the_clique_may_still_be_made_of_the_former_template() -> None:
    answer = grove.ask(graph_of(), scaled(), ())
    assert world.names(answer.children, ADAPTER) == ["g-w"]
    assert grove.scalings(answer) == ()
    assert world.ready(answer)["status"] == "False"


@pytest.mark.parametrize(
    "graph",
    [
        graph_of(replicas=2),
        make.graph({"other": make.service()}),
        make.graph({"w": make.service()}, annotations={"nvidia.com/enable-grove": "false"}),
    ],
    ids=["service-says-how-many", "service-is-gone", "components-say-how-many"],
)
def test_adapter_goes_at_once_where_nothing_hangs_on_it(graph: Manifest) -> None:
    adapter = world.child(scaled(), ADAPTER, "g-w")
    assert world.names(grove.ask(graph, [adapter], FOUR).children, ADAPTER) == []


def test_kept_adapter_asks_for_nothing() -> None:
    answer = grove.ask(graph_of(), scaled(), FOUR)
    assert grove.cliques(answer)["w"]["spec"]["replicas"] == 1
    assert not any("the adapter's" in note for note in answer.notes)


def test_adapter_that_is_switched_on_again_counts_as_it_did() -> None:
    off = grove.ask(graph_of(), scaled(), FOUR)
    answer = grove.ask(graph_of(**ON), follow(scaled(), off), FOUR)
    assert grove.scalings(answer) == ()
    assert grove.cliques(answer)["w"]["spec"]["replicas"] == 4


def test_where_nothing_scales_the_adapter_goes_and_status_says_what_stays() -> None:
    children, said = scaled(), []
    for _ in range(2):
        answer = grove.ask(graph_of(), children, FOUR, effect_scale="off")
        assert grove.scalings(answer) == ()
        assert world.names(answer.children, ADAPTER) == []
        children = follow(children, answer)
        said.append(world.ready(answer)["message"])
    stays = "spec.services[w]: replicas is not set and stays 4, because the setting effect_scale is off"
    assert said[1] == f"All resources are ready; {stays}"
    assert said[0].endswith(stays)
    assert "stays" not in world.ready(grove.ask(graph_of(), children, ONE, effect_scale="off"))["message"]
