"""The path of a graph: new graphs take Grove where it is declared, and what runs moves by its annotation alone."""

from typing import Any

import pytest

from hooks.graph.plan.path import may_take_grove, takes_grove
from hooks.graph.rules.validate import review_graph
from hooks.graph.seen.live_path import GraphPath, find_live_path, read_reported_path
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.ground.settings import parse_settings
from hooks.language.validation.review import Review
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.graph import world

GROVE, COMPONENTS = GraphPath.GROVE, GraphPath.COMPONENTS
COMPONENT = "DynamoComponentDeployment"
ANNOTATION = "nvidia.com/enable-grove"
SERVICES = {"Frontend": make.service("frontend"), "Worker": make.service()}
DECLARED = frozenset({kinds.POD_CLIQUE_SET})


def graph(annotation: str | None = None, services: Any = None, **fields: Any) -> Manifest:
    annotations = {} if annotation is None else {ANNOTATION: annotation}
    return make.graph(services or SERVICES, annotations=annotations, **fields)


def status(*component_kinds: str) -> dict[str, Any]:
    services = {f"s{n}": {"componentKind": kind, "replicas": 1} for n, kind in enumerate(component_kinds)}
    return {"state": "successful", "services": services}


def ask(parent: Manifest, children: Any = (), *, with_grove: bool = True) -> SyncAnswer:
    return world.ask(parent, children, installed=["grove"] if with_grove else [])


def path_of(answer: SyncAnswer) -> GraphPath | None:
    sets, components = world.names(answer.children, "PodCliqueSet"), world.names(answer.children, COMPONENT)
    assert not (sets and components)
    if not sets and not components:
        return None
    return GROVE if sets else COMPONENTS


def running_components(parent: Manifest | None = None) -> list[Manifest]:
    """The children of a graph that began where Grove was not declared, all ready."""
    return world.run(world.apply([], ask(parent or graph(), with_grove=False).children))


def running_set() -> list[Manifest]:
    return world.apply([], ask(graph()).children)


def deleting(children: list[Manifest]) -> list[Manifest]:
    going = {"deletionTimestamp": "2026-03-01T12:00:00Z"}
    return [{**child, "metadata": {**child["metadata"], **going}} for child in children]


# The choice


@pytest.mark.parametrize("live_path", [None, GROVE, COMPONENTS])
@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        ("true", GROVE),
        ("True", GROVE),
        ("false", COMPONENTS),
        ("FALSE", COMPONENTS),
        (None, None),
        ("", None),
        ("yes", None),
        (" true", None),
    ],
)
def test_annotation_decides_then_the_path_it_runs_on_and_a_new_graph_takes_grove(
    annotation: str | None, wanted: GraphPath | None, live_path: GraphPath | None
) -> None:
    annotations = {} if annotation is None else {ANNOTATION: annotation}
    expected = wanted or live_path or GROVE
    assert takes_grove(annotations, DECLARED, live_path) is (expected is GROVE)
    assert not takes_grove(annotations, frozenset(), live_path)


LIVE: Manifest = {"metadata": {"name": "x"}}
(GOING,) = deleting([LIVE])
DEPLOYMENTS, CLIQUES = status("Deployment"), status("PodClique")


@pytest.mark.parametrize(
    ("components", "sets", "reported", "live_path"),
    [
        ([], [], {}, None),
        ([LIVE], [], {}, COMPONENTS),
        ([LIVE], [], CLIQUES, COMPONENTS),
        ([GOING], [], CLIQUES, COMPONENTS),
        ([], [LIVE], {}, GROVE),
        ([], [LIVE], DEPLOYMENTS, GROVE),
        ([], [GOING], DEPLOYMENTS, GROVE),
        ([], [], DEPLOYMENTS, COMPONENTS),
        ([], [], status("LeaderWorkerSet"), COMPONENTS),
        ([], [], CLIQUES, GROVE),
        ([], [], status("PodCliqueScalingGroup"), GROVE),
        ([LIVE], [LIVE], {}, GROVE),
        ([LIVE], [LIVE], DEPLOYMENTS, COMPONENTS),
        ([LIVE], [LIVE], CLIQUES, GROVE),
        ([GOING, LIVE], [GOING], CLIQUES, COMPONENTS),
        ([GOING, GOING], [LIVE], DEPLOYMENTS, GROVE),
        ([GOING], [GOING], {}, GROVE),
        ([GOING], [GOING], DEPLOYMENTS, COMPONENTS),
    ],
)
def test_standing_path_is_that_of_the_objects_and_else_that_of_the_status(
    components: list[Manifest], sets: list[Manifest], reported: Any, live_path: GraphPath | None
) -> None:
    assert find_live_path(components, sets, reported) is live_path


@pytest.mark.parametrize(
    "unreadable", [None, "x", {"services": []}, {"services": {"a": None}}, {"services": {"a": {"componentKind": None}}}]
)
def test_status_that_shows_no_workload_shows_no_path(unreadable: Any) -> None:
    assert read_reported_path(unreadable) is None


# Whole syncs


def test_installing_grove_changes_nothing_of_a_running_graph() -> None:
    children = running_components()
    before = ask(graph(), children, with_grove=False)
    after = ask(graph(), children)
    assert world.text(after) == world.text(before)
    assert world.ready(after)["status"] == "True"
    assert f'path: components, on which the graph runs already; {ANNOTATION}: "true" moves it' in after.notes


def test_new_graph_takes_grove_where_it_is_declared() -> None:
    assert path_of(ask(graph())) is GROVE
    assert path_of(ask(graph(), with_grove=False)) is COMPONENTS


def test_renamed_services_stay_on_the_path_of_the_others_before_them() -> None:
    renamed = graph(services={"Front": make.service("frontend"), "Back": make.service()})
    answer = ask(renamed, running_components())
    assert world.names(answer.children, COMPONENT) == ["g-back", "g-front"]
    assert path_of(ask(renamed, running_set())) is GROVE


def test_graph_whose_components_were_all_deleted_by_hand_gets_components_again() -> None:
    children = running_components()
    reported = ask(graph(), children).status
    left = [child for child in children if child["kind"] != COMPONENT]
    assert path_of(ask(graph(status=reported), deleting(children))) is COMPONENTS
    assert path_of(ask(graph(status=reported), left)) is COMPONENTS
    assert path_of(ask(graph(), [])) is GROVE, "nothing at all shows that it ever ran"


def test_set_that_was_deleted_by_hand_comes_again() -> None:
    left = [child for child in running_set() if child["kind"] != "PodCliqueSet"]
    assert path_of(ask(graph(status=CLIQUES), left)) is GROVE


@pytest.mark.parametrize("reported", [{}, DEPLOYMENTS, CLIQUES])
def test_move_to_grove_makes_the_same_choice_at_each_step(reported: dict[str, Any]) -> None:
    moving = graph("true", status=reported)
    children = running_components()
    for step in (children, deleting(children), deleting(children[:1])):
        answer = ask(moving, step)
        assert path_of(answer) is None
        assert "it moves from components to Grove, because" in world.ready(answer)["message"]
    created = ask(moving, [])
    assert path_of(created) is GROVE
    children = world.apply([], created.children)
    assert path_of(ask(moving, children)) is GROVE
    assert path_of(ask(graph(status=reported), children)) is GROVE, "the annotation may go after the move"


@pytest.mark.parametrize("reported", [{}, DEPLOYMENTS, CLIQUES])
def test_move_to_components_makes_the_same_choice_at_each_step(reported: dict[str, Any]) -> None:
    moving = graph("false", status=reported)
    children = running_set()
    for step in (children, deleting(children)):
        answer = ask(moving, step)
        assert path_of(answer) is None
        assert "it moves from Grove to components, because" in world.ready(answer)["message"]
    created = ask(moving, [])
    assert path_of(created) is COMPONENTS
    children = world.apply([], created.children)
    assert path_of(ask(graph(status=reported), children)) is COMPONENTS, "the annotation may go after the move"


def test_move_that_is_taken_back_leaves_what_still_runs() -> None:
    children = running_components()
    half = [*deleting(children[:1]), *children[1:]]
    assert path_of(ask(graph("true"), half)) is None
    assert path_of(ask(graph(), half)) is COMPONENTS
    assert path_of(ask(graph("false"), half)) is COMPONENTS


def test_graph_with_objects_of_both_paths_keeps_those_of_its_status() -> None:
    both = [*running_components(), *running_set()]
    stays = ask(graph(status=DEPLOYMENTS), both)
    assert world.names(stays.children, "PodCliqueSet") == []
    assert "g: it waits until PodCliqueSet g is gone" in world.ready(stays)["message"]


def test_annotation_that_asks_for_a_grove_that_is_not_declared_is_said() -> None:
    children = running_components(graph("true"))
    answer = ask(graph("true"), children, with_grove=False)
    assert path_of(answer) is COMPONENTS
    assert world.ready(answer)["status"] == "True"
    assert f'metadata.annotations[{ANNOTATION}] is "true" and has no effect' in world.ready(answer)["message"]


# Rules


NAME, SERVICE = "g" * 12, "Worker" * 6 + "38"
"""Together too long for Grove only."""
LONG = {SERVICE: make.service()}


def refused(new: Manifest, old: Manifest | None = None) -> bool:
    review = Review(new=new, old=old, user=None, settings=parse_settings({}), installed=DECLARED)
    texts = texts_of(review_graph(review).problems)
    assert all("45-character pod-name limit" in text for text in texts)
    return bool(texts)


def test_groves_rules_hold_for_new_and_moving_graphs_and_not_for_those_that_stay() -> None:
    new = graph(services=LONG, name=NAME)
    old = graph(services=LONG, name=NAME, status=DEPLOYMENTS)
    scaled = graph(services={SERVICE: make.service(replicas=2)}, name=NAME)
    assert refused(new)
    assert not refused(graph("false", services=LONG, name=NAME))
    assert not refused(scaled, old)
    assert refused(graph("true", services=LONG, name=NAME), old)
    assert refused(scaled, graph(services=LONG, name=NAME, status=CLIQUES)) is False, "its old spec had the problem too"
    assert world.ask(new, running_components(new), installed=["grove"]).problems == ()
    assert world.ask(new, installed=["grove"]).problems != ()


PROVIDER = contract.ANNOTATION_WORKLOAD_PROVIDER


@pytest.mark.parametrize(
    ("annotations", "live_path", "by_grove"),
    [
        ({PROVIDER: "component"}, None, False),
        ({PROVIDER: "grove"}, None, True),
        ({PROVIDER: "other"}, None, True),
        ({PROVIDER: "component"}, GROVE, True),
        ({PROVIDER: "grove"}, COMPONENTS, False),
        ({PROVIDER: "component", contract.ANNOTATION_ENABLE_GROVE: "true"}, None, True),
    ],
)
def test_provider_of_a_go_operator_counts_for_a_new_graph_alone(
    annotations: dict[str, str], live_path: GraphPath | None, by_grove: bool
) -> None:
    assert takes_grove(annotations, frozenset({kinds.POD_CLIQUE_SET}), live_path) is by_grove
    assert live_path or may_take_grove(annotations) is by_grove
