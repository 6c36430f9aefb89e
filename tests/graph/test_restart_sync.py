"""Restarts in whole syncs, by components and under Grove: who is told when, lost status, stale children, problems."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.graph import test_grove as grove
from tests.graph import world

COMPONENT = "DynamoComponentDeployment"
RESTART_AT = "nvidia.com/restartAt"


def graph_of(services: Iterable[str]) -> Manifest:
    return make.graph({service: make.service() for service in services})


def status(id_: str, phase: str, *in_progress: str) -> dict[str, Any]:
    return {"observedID": id_, "phase": phase, **({"inProgress": list(in_progress)} if in_progress else {})}


def synced(graph: Manifest, children: list[Manifest], **unready: str) -> tuple[Manifest, list[Manifest]]:
    """One sync: the graph with its new status, and the children after it, those not `unready` up at what they are."""
    answer = world.ask(graph, children)
    assert not answer.problems
    after = world.run(world.apply(children, answer.children), unready=unready)
    return {**graph, "status": answer.status}, after


def carried(children: Iterable[Manifest]) -> dict[str, str]:
    """Component to the restart that it carries."""
    found = [c for c in children if c["kind"] == COMPONENT]
    return {c["metadata"]["name"]: c["spec"].get("annotations", {}).get(RESTART_AT, "") for c in found}


def up(graph: Manifest) -> tuple[Manifest, list[Manifest]]:
    graph, children = synced(graph, [])
    return synced(graph, children)


def restarting(graph: Manifest, **restart: Any) -> Manifest:
    return {**graph, "spec": {**graph["spec"], "restart": restart}}


def test_components_are_told_one_after_another_and_then_nothing_changes() -> None:
    graph, children = up(graph_of("abc"))
    graph = restarting(graph, id="r1", strategy={"order": ["c", "a", "b"]})
    seen = []
    for _ in range(6):
        graph, children = synced(graph, children)
        seen.append((graph["status"]["restart"], sorted(name for name, r in carried(children).items() if r)))
    assert seen[:4] == [
        (status("r1", "Restarting", "c"), ["g-c"]),
        (status("r1", "Restarting", "a"), ["g-a", "g-c"]),
        (status("r1", "Restarting", "b"), ["g-a", "g-b", "g-c"]),
        (status("r1", "Completed"), ["g-a", "g-b", "g-c"]),
    ]
    assert seen[4:] == [seen[3], seen[3]]
    assert world.text(world.ask(graph, children)) == world.text(world.ask(graph, children))
    assert world.ready(world.ask(graph, children))["message"] == "All resources are ready"


def test_service_that_fails_holds_the_restart_and_the_condition_says_which() -> None:
    graph, children = up(graph_of("ab"))
    graph, children = synced(restarting(graph, id="r1"), children, **{"g-a": "no GPU"})
    for _ in range(3):
        graph, children = synced(graph, children, **{"g-a": "no GPU"})
        assert graph["status"]["restart"] == status("r1", "Restarting", "a")
        assert carried(children) == {"g-a": "r1", "g-b": ""}
    message = graph["status"]["conditions"][0]["message"]
    assert message.startswith("g-a: ")
    assert message.endswith("; restart r1 waits for a, then restarts b")


def test_change_of_the_service_in_progress_is_waited_for_too() -> None:
    graph, children = up(graph_of("ab"))
    graph, children = synced(restarting(graph, id="r1"), children)
    services = {"a": make.service(image="img:2"), "b": make.service()}
    graph, children = synced(restarting(make.graph(services, status=graph["status"]), id="r1"), children)
    assert graph["status"]["restart"] == status("r1", "Restarting", "a")
    assert carried(children) == {"g-a": "r1", "g-b": ""}
    graph, children = synced(graph, children)
    assert graph["status"]["restart"] == status("r1", "Restarting", "b")


def test_component_at_an_old_generation_is_waited_for() -> None:
    graph, children = up(graph_of("ab"))
    answer = world.ask(restarting(graph, id="r1"), children)
    graph, stale = {**restarting(graph, id="r1"), "status": answer.status}, world.apply(children, answer.children)
    again = world.ask(graph, stale)
    assert again.status is not None
    assert again.status["restart"] == status("r1", "Restarting", "a")
    assert carried(again.children) == {"g-a": "r1", "g-b": ""}


@pytest.mark.parametrize("phases", [0, 1, 2, 3])
def test_lost_status_tells_nobody_anew(phases: int) -> None:
    graph, children = up(graph_of("abc"))
    graph = restarting(graph, id="r1")
    for _ in range(phases):
        graph, children = synced(graph, children)
    expected = world.ask(graph, children)
    wiped = world.ask({**graph, "status": {}}, children)
    assert expected.status is not None
    assert wiped.status is not None
    assert wiped.status["restart"] == expected.status["restart"]
    assert wiped.children == expected.children


@pytest.mark.parametrize("stored", [4, "Restarting", ["r1"]], ids=["number", "text", "list"])
def test_restart_that_cannot_be_read_is_one_that_was_lost(stored: Any) -> None:
    graph, children = up(graph_of("abc"))
    graph = restarting(graph, id="r1")
    expected = world.ask(graph, children)
    answer = world.ask({**graph, "status": {**graph.get("status", {}), "restart": stored}}, children)
    assert (answer.status, answer.children) == (expected.status, expected.children)


def test_children_that_are_shown_one_step_old_are_told_the_same() -> None:
    graph, children = up(graph_of("abc"))
    graph = restarting(graph, id="r1")
    for _ in range(4):
        answer = world.ask(graph, children)
        after = {**graph, "status": answer.status}
        again = world.ask(after, children)
        assert (again.children, again.status) == (answer.children, answer.status)
        graph, children = synced(graph, children)


def test_annotation_that_a_hand_removes_comes_back() -> None:
    graph, children = up(graph_of("ab"))
    for _ in range(3):
        graph, children = synced(restarting(graph, id="r1"), children)
    given_up = {**graph, "spec": {"services": graph["spec"]["services"]}, "status": {}}
    for child in children:
        if child["kind"] == COMPONENT:
            child["spec"]["annotations"] = {}
    assert carried(world.ask(given_up, children).children) == {"g-a": "r1", "g-b": "r1"}


def test_problem_keeps_where_a_restart_stands() -> None:
    graph, children = up(graph_of("ab"))
    graph, children = synced(restarting(graph, id="r1"), children)
    broken = restarting(make.graph({"a_b": {}}, status=graph["status"]), id="r2")
    answer = world.ask(broken, children)
    assert answer.problems
    assert answer.status is not None
    assert answer.status["restart"] == status("r1", "Restarting", "a")
    assert carried(answer.children) == carried(children)


def test_removing_the_id_after_the_end_changes_no_child() -> None:
    graph, children = up(graph_of("ab"))
    for _ in range(3):
        graph, children = synced(restarting(graph, id="r1"), children)
    after = {**graph, "spec": {"services": graph["spec"]["services"]}}
    assert world.ask(after, children).children == world.ask(graph, children).children
    wiped = {**after, "status": {}}
    assert world.ask(wiped, children).children == world.ask(graph, children).children


def test_restart_changes_nothing_of_a_component_but_the_annotation() -> None:
    graph, children = up(make.graph({"a": make.service(annotations={"x": "y"}), "b": make.service()}))
    before = world.child(children, COMPONENT, "g-a")["spec"]
    _, children = synced(restarting(graph, id="r1"), children)
    after = world.child(children, COMPONENT, "g-a")["spec"]
    assert after == {**before, "annotations": {**before["annotations"], RESTART_AT: "r1"}}


def test_own_annotation_that_asks_for_another_restart_is_said_to_change_nothing() -> None:
    def asking(value: str) -> Manifest:
        return make.graph({"a": make.service(annotations={RESTART_AT: value}), "b": make.service()})

    graph, children = up(asking("u1"))
    assert graph["status"]["conditions"][0]["message"] == "All resources are ready"
    changed, children = synced({**asking("u2"), "status": graph["status"]}, children)
    assert carried(children) == {"g-a": "u1", "g-b": ""}
    assert changed["status"]["conditions"][0]["message"] == (
        "All resources are ready; spec.services[a].annotations[nvidia.com/restartAt] is 'u2' and has no effect, the "
        "pods keep 'u1'; restart by spec.restart"
    )


# Under Grove


def told_under_grove(answer: SyncAnswer) -> dict[str, str]:
    """Clique to the restart that its pods are told of."""
    return {name: clique.get("annotations", {}).get(RESTART_AT, "") for name, clique in grove.cliques(answer).items()}


def take_over(children: Iterable[Manifest], **status: Any) -> list[Manifest]:
    """The children once Grove has processed the set."""
    return [grove.processed(child, **status) if child["kind"] == "PodCliqueSet" else child for child in children]


def stand(answer: SyncAnswer) -> Mapping[str, Any]:
    assert answer.status is not None
    found: Mapping[str, Any] = answer.status["restart"]
    return found


def test_cliques_are_told_one_service_after_another_each_when_grove_is_done() -> None:
    graph = make.graph(grove.TWO)
    children = grove.settled(graph)
    graph = restarting(graph, id="r1")

    first = grove.ask(graph, children, grove.PARTS)
    assert stand(first) == status("r1", "Restarting", "Frontend")
    assert told_under_grove(first) == {"frontend": "r1", "worker-ldr": "", "worker-wkr": ""}

    graph, children = {**graph, "status": first.status}, world.apply(children, first.children)
    rolling = take_over(children, rollingUpdateProgress={"updateStartedAt": "2026-03-01T12:00:00Z"})
    for held in (children, rolling):
        again = grove.ask(graph, held, grove.PARTS)
        assert (stand(again), again.children) == (stand(first), first.children)

    children = take_over(children)
    down = (grove.part("PodClique", "g-0-frontend", desired=2, good=1), grove.PARTS[1])
    assert stand(grove.ask(graph, children, down)) == status("r1", "Restarting", "Frontend")

    second = grove.ask(graph, children, grove.PARTS)
    assert stand(second) == status("r1", "Restarting", "Worker")
    assert told_under_grove(second) == {"frontend": "r1", "worker-ldr": "r1", "worker-wkr": "r1"}

    graph, children = {**graph, "status": second.status}, take_over(world.apply(children, second.children))
    last = grove.ask(graph, children, grove.PARTS)
    assert stand(last) == status("r1", "Completed")
    assert last.children == second.children
    wiped = grove.ask({**graph, "status": {}}, children, grove.PARTS)
    assert (stand(wiped), wiped.children) == (stand(last), last.children)


def test_all_cliques_are_told_at_once() -> None:
    graph = make.graph(grove.TWO)
    children = grove.settled(graph)
    graph = restarting(graph, id="r1", strategy={"type": "Parallel"})
    answer = grove.ask(graph, children, grove.PARTS)
    assert stand(answer) == status("r1", "Restarting", "Frontend", "Worker")
    assert set(told_under_grove(answer).values()) == {"r1"}
    children = take_over(world.apply(children, answer.children))
    down = (grove.PARTS[0], grove.part("PodCliqueScalingGroup", "g-0-worker", desired=2, good=1))
    graph = {**graph, "status": answer.status}
    assert stand(grove.ask(graph, children, down)) == status("r1", "Restarting", "Worker")
    assert stand(grove.ask(graph, children, grove.PARTS)) == status("r1", "Completed")


def test_restart_does_not_go_on_while_the_set_is_missing() -> None:
    graph = restarting(make.graph(grove.TWO, status={"restart": status("r1", "Restarting", "Worker")}), id="r1")
    answer = grove.ask(graph, (), grove.PARTS)
    assert stand(answer) == status("r1", "Restarting", "Worker")


@pytest.mark.parametrize("installed", [(), ("grove",)], ids=["components", "Grove"])
def test_graph_made_together_with_an_id_has_it_from_the_first_pods_on(installed: tuple[str, ...]) -> None:
    answer = world.ask(restarting(make.graph(), id="r1"), installed=installed)
    assert stand(answer) == status("r1", "Restarting", "Frontend")
    told = told_under_grove(answer) if installed else carried(answer.children)
    assert set(told.values()) == {"r1"}
