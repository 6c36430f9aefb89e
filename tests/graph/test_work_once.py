"""How often a sync does what costs most: each shape is built once, and nothing is built where nothing changed."""

from collections.abc import Callable
from dataclasses import fields, replace
from types import ModuleType
from typing import Any

import pytest

from hooks.graph import build as graph_build
from hooks.graph.change import planning as graph_planning
from hooks.graph.grove import plan as grove_plan
from hooks.graph.grove import service as grove_service
from hooks.graph.seen.observe import ChildComponent, ObservedClaim, observe, without_progress
from hooks.graph.workers.generation import Generation
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, name_of
from hooks.wire.metacontroller.parent_key import make_parent_key
from hooks.wire.policy import deviations
from hooks.wire.policy.new_defaults import HELD
from tests import make
from tests.graph import test_grove as grove
from tests.graph import world
from tests.graph.test_explain import CRASH, SHORT, pod

THREE = {**grove.TWO, "Decode": grove.multinode()}


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    graph_planning.plan_on.cache_clear()


def count(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[Any]:
    """A list that grows by the first argument of each call of the function, which works as before."""
    function: Callable[..., Any] = getattr(module, name)
    calls: list[Any] = []

    def counted(*args: Any, **more: Any) -> Any:
        calls.append(args[0])
        return function(*args, **more)

    monkeypatch.setattr(module, name, counted)
    return calls


def test_pod_clique_set_is_built_once_in_a_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make.graph(THREE)
    children, pods = grove.settled(graph), [pod("p", "Frontend", **CRASH)]
    graph_planning.plan_on.cache_clear()
    sets = count(monkeypatch, grove_plan, "build_pod_clique_set")
    built_pods = count(monkeypatch, grove_service, "build_pod")
    compared = count(monkeypatch, deviations, "find_difference")
    answer = grove.ask(graph, children, [*SHORT, *pods])
    assert "CrashLoop" in world.ready(answer)["message"]
    assert len(sets) == 1
    assert len(built_pods) == 5  # one of a service on one node, two of one over several
    assert [wanted["kind"] for wanted in compared].count("PodCliqueSet") == 1
    grove.ask(graph, children, SHORT)
    assert len(sets) == 1


def test_pod_clique_set_is_planned_again_only_when_the_first_pod_serves() -> None:
    graph = make.graph(grove.TWO)
    children = grove.settled(graph)
    graph_planning.plan_on.cache_clear()
    messages = [
        world.ready(
            grove.ask(
                graph, children, [grove.part("PodClique", "g-0-frontend", desired=2, good=good), *grove.PARTS[1:]]
            )
        )["message"]
        for good in (0, 1, 2)
    ]
    assert len(set(messages)) == 3
    assert graph_planning.plan_on.misses == 2


@pytest.mark.parametrize("settings", [{}, {"effect_scale": "off"}, {"explain_pods": "off"}], ids=str)
@pytest.mark.parametrize("good", [0, 1, 2])
def test_plan_under_grove_depends_on_no_count_that_is_left_out(good: int, settings: dict[str, str]) -> None:
    graph, facts = make.graph(THREE), make.facts(make.NOW, **settings)
    parts = [grove.part("PodClique", "g-0-frontend", desired=3, good=good, generation=2), *grove.PARTS[1:]]
    request = make.sync_request(graph, grove.settled(graph), parts, installed=["grove"])
    whole = observe(request, facts.settings)
    grounds = graph_planning.GraphGrounds(
        parent_key=make_parent_key(request.parent),
        seen=whole,
        restarts={},
        generation=Generation(),
        settings=facts.settings,
    )
    stripped = replace(grounds, seen=without_progress(whole))
    assert stripped != grounds
    (plan, children), (same, made) = (graph_planning.plan_on.__wrapped__(one) for one in (grounds, stripped))
    assert (plan, list(children)) == (same, list(made))


def test_restart_that_proceeds_builds_the_set_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make.graph(THREE, restart={"id": "r1"})
    children = grove.settled(make.graph(THREE))
    graph_planning.plan_on.cache_clear()
    sets = count(monkeypatch, grove_plan, "build_pod_clique_set")
    answer = grove.ask(graph, children, grove.PARTS)
    assert answer.status is not None
    assert answer.status["restart"]["phase"] == "Restarting"
    assert len(sets) == 2


def test_component_is_built_once_in_a_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    built = count(monkeypatch, graph_build, "build_component")
    world.ask(make.graph())
    world.ask(make.graph())
    assert [plan.service for plan in built] == ["Frontend", "Worker"]


def test_plan_is_taken_from_the_cache_only_for_equal_grounds() -> None:
    request = make.sync_request(make.graph())
    seen = without_progress(observe(request, make.facts().settings))
    grounds = graph_planning.GraphGrounds(
        parent_key=make_parent_key(request.parent),
        seen=seen,
        restarts={},
        generation=Generation(),
        settings=make.facts().settings,
    )
    others: dict[str, Any] = {
        "parent_key": make_parent_key(make.graph(name="other")),
        "seen": replace(
            seen, foreign_claims={"c": ObservedClaim(size="", access_modes=(), storage_class="", is_lost=False)}
        ),
        "restarts": {"Worker": "r1"},
        "generation": Generation(suffix="0a1b2c3d"),
        "settings": make.facts(kai_scheduler="on").settings,
    }
    assert others.keys() == {field.name for field in fields(graph_planning.GraphGrounds)}
    assert all(replace(grounds, **{name: other}) != grounds for name, other in others.items())
    assert replace(grounds, restarts={}) == grounds
    assert hash(replace(grounds, restarts={})) == hash(grounds)


def test_every_part_of_a_component_is_observed() -> None:
    graph, settings = make.graph(), make.facts().settings
    running = world.run(world.apply([], world.ask(graph).children))
    index, one = next((i, child) for i, child in enumerate(running) if child["kind"] == contract.COMPONENT.kind)

    def see(component: Manifest) -> ChildComponent:
        children = [*running[:index], component, *running[index + 1 :]]
        return observe(make.sync_request(graph, children), settings).components[name_of(component)]

    before, metadata, status = see(one), one["metadata"], one["status"]
    assert see(one) == before
    lacking = [{**condition, "status": "False", "message": "m"} for condition in status["conditions"]]
    ready = {"type": "Ready", "status": "False", "message": "m", "reason": "r", "lastTransitionTime": "t"}
    unready = [*status["conditions"], ready]
    held = [*status["conditions"], {"type": HELD, "status": "True"}]
    changes: dict[tuple[str, ...], Manifest] = {
        ("generation",): {**one, "metadata": {**metadata, "generation": 9}},
        ("is_deleting",): {**one, "metadata": {**metadata, "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        ("is_paced", "pace"): {
            **one,
            "metadata": {**metadata, "annotations": {**metadata["annotations"], contract.ANNOTATION_PACE: "1/2"}},
        },
        ("applied_spec", "rendering"): {**one, "metadata": {**metadata, "annotations": {}}},
        ("suffix",): make.observed(
            {**one, "metadata": {**metadata, "labels": {contract.LABEL_WORKER_HASH: "0a1b2c3d"}}}
        ),
        ("spec",): {**one, "spec": {**one["spec"], "replicas": 9}},
        ("observed_generation",): {**one, "status": {**status, "observedGeneration": 9}},
        ("service",): {**one, "status": {**status, "service": {"readyReplicas": 9, "lost": None}}},
        ("is_held",): {**one, "status": {**status, "conditions": held}},
        ("is_available", "message"): {**one, "status": {**status, "conditions": lacking}},
        ("reason", "unready", "unready_since"): {**one, "status": {**status, "conditions": unready}},
    }
    assert {name for names in changes for name in names} == {field.name for field in fields(ChildComponent)}
    for names, changed in changes.items():
        found = see(changed)
        assert {name for name in fields_of(before) if getattr(found, name) != getattr(before, name)} == set(names)
    assert see(changes[("service",)]).service == {"readyReplicas": 9}
    assert see(one) == before


def fields_of(value: ChildComponent) -> list[str]:
    return [field.name for field in fields(value)]
