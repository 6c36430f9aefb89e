"""Events of a graph: one for each change that matters, none while nothing changes."""

from collections.abc import Sequence
from typing import Any

import pytest

from hooks.graph.report.events import plan_transition_events
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.effects import Event
from tests import make
from tests.graph import test_explain as explain
from tests.graph import test_grove as grove
from tests.graph import world

SERVICES = {"Frontend": make.service("frontend"), "Worker": make.service(scalingAdapter={"enabled": True})}
BAD = {**SERVICES, "Worker": make.service(replicas=-1)}


class Graph:
    """A graph from sync to sync, its status kept as Metacontroller keeps it."""

    def __init__(self) -> None:
        self.status: dict[str, Any] = {"observedGeneration": -1}

    def sync(
        self,
        children: Sequence[Manifest] = (),
        related: Sequence[Manifest] = (),
        *,
        services: dict[str, Any] | None = None,
        generation: int = 1,
        installed: tuple[str, ...] = (),
    ) -> list[Event]:
        """The Events of one sync."""
        parent = make.graph(SERVICES if services is None else services, status=self.status)
        parent["metadata"]["generation"] = generation
        answer = world.ask(parent, children, related, installed)
        assert answer.status is not None
        self.status = {**answer.status, "observedGeneration": generation}
        return [effect for effect in answer.effects if isinstance(effect, Event)]


def words(events: Sequence[Event]) -> list[tuple[str, str, str]]:
    return [(event.type, event.reason, event.message) for event in events]


def running(unready: dict[str, str] | None = None) -> list[Manifest]:
    return world.run(world.apply((), world.ask(make.graph(SERVICES)).children), unready=unready or {})


UP = ("Normal", "all_resources_are_ready", "All resources are ready")


def test_way_to_readiness_and_back_is_told_once_each() -> None:
    graph = Graph()
    down = running({"g-worker": "Deployment is not ready: desired=1, available=0; CrashLoop: pod p: x - y"})
    assert graph.sync() == []
    assert words(graph.sync(running())) == [UP]
    assert graph.sync(running()) == []
    ((kind, reason, message),) = words(graph.sync(down))
    assert (kind, reason) == ("Warning", "some_resources_are_not_ready")
    assert "g-worker: Component deployment not ready" in message
    assert "CrashLoop: pod p: x - y" in message
    assert graph.sync(down) == []
    assert words(graph.sync(running())) == [UP]


def test_event_is_about_the_graph_and_its_condition() -> None:
    (event,) = Graph().sync(running())
    assert (event.about.kind, event.about.name, event.about.uid) == ("DynamoGraphDeployment", "g", "u-g")
    assert event.occasion == "first status"


def test_invalid_spec_is_told_at_each_generation_with_all_its_problems() -> None:
    graph = Graph()
    graph.sync(running())
    (event,) = graph.sync(running(), services=BAD, generation=2)
    assert (event.type, event.reason, event.occasion) == ("Warning", "ValidationFailed", "generation 2")
    assert event.message.startswith("Validation failed: ")
    assert graph.sync(running(), services=BAD, generation=2) == []
    assert len(graph.sync(running(), services=BAD, generation=3)) == 1
    assert words(graph.sync(running(), generation=4)) == [UP]


def test_spec_that_nothing_can_run_is_told() -> None:
    graph = Graph()
    (event,) = graph.sync(services={"w": grove.multinode()})
    assert (event.type, event.reason) == ("Warning", "NoOrchestratorAvailable")
    assert "no multinode orchestrator available" in event.message


def test_adapter_of_a_removed_service_is_told_until_it_is_on_its_way() -> None:
    graph, children = Graph(), running()
    graph.sync(children)
    (adapter,) = [child for child in children if child["kind"] == "DynamoGraphDeploymentScalingAdapter"]
    rest = {"Frontend": SERVICES["Frontend"]}
    gone = ("Normal", "AdapterDeleted", "Deleted orphaned scaling adapter g-worker for removed service Worker")
    first = graph.sync(children, services=rest, generation=2)
    assert gone in words(first)
    assert [event for event in first if event.reason == "AdapterDeleted"] == graph.sync(
        children, services=rest, generation=2
    )
    adapter["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert graph.sync(children, services=rest, generation=2) == []


def test_adapter_that_is_only_switched_off_is_no_orphan() -> None:
    graph, children = Graph(), running()
    graph.sync(children)
    off = {**SERVICES, "Worker": make.service()}
    assert "AdapterDeleted" not in [event.reason for event in graph.sync(children, services=off, generation=2)]


def test_graph_under_grove_tells_the_same() -> None:
    graph = Graph()
    children = grove.settled(make.graph(grove.TWO))

    def look(related: Sequence[Manifest]) -> list[Event]:
        return graph.sync(children, related, services=grove.TWO, installed=grove.GROVE)

    assert look(()) == []
    assert words(look(grove.PARTS)) == [UP]
    assert look(grove.PARTS) == []


class Grove(Graph):
    """A graph of two services under Grove, of which the Frontend is short of a pod."""

    def look(self, *pods: Manifest, parts: Sequence[Manifest] = explain.SHORT) -> list[Event]:
        children = grove.settled(make.graph(grove.TWO))
        return self.sync(children, [*parts, *pods], services=grove.TWO, installed=grove.GROVE)


def crashing(name: str) -> Manifest:
    return explain.pod(f"g-0-frontend-{name}", "Frontend", **explain.CRASH)


def unschedulable(message: str) -> Manifest:
    found = explain.pod("g-0-frontend-a", "Frontend")
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {**found, "status": {"phase": "Pending", "conditions": [scheduled]}}


def test_trouble_of_a_service_under_grove_is_told_when_it_comes_up() -> None:
    graph = Grove()
    assert graph.look() == []
    (event,) = graph.look(crashing("a"))
    assert (event.type, event.reason) == ("Warning", "CrashLoop")
    assert event.message.startswith("Frontend: CrashLoop: pod g-0-frontend-a: container main crashes repeatedly")
    assert graph.look(crashing("a")) == []
    assert graph.look() == []


def test_reason_of_a_service_under_grove_is_kept_in_the_status() -> None:
    graph = Grove()
    graph.look(crashing("a"))
    assert graph.status["notReadyReasons"] == {"Frontend": "CrashLoop"}
    ready, *others = graph.status["conditions"]
    graph.status = {**graph.status, "conditions": [{**ready, "message": "words of another version"}, *others]}
    assert graph.look(crashing("a")) == []
    graph.look(parts=grove.PARTS)
    assert "notReadyReasons" not in graph.status


@pytest.mark.parametrize(
    "troubles",
    [
        [unschedulable(f"0/{count} nodes are available: {count} Insufficient nvidia.com/gpu.") for count in range(20)],
        [crashing(name) for name in "abc"],
    ],
    ids=["other-counts", "other-pods"],
)
def test_trouble_under_grove_is_told_once_whatever_its_words(troubles: list[Manifest]) -> None:
    graph = Grove()
    graph.look()
    assert [len(graph.look(pod)) for pod in troubles] == [1] + [0] * (len(troubles) - 1)


def test_trouble_under_grove_is_told_again_for_another_reason_or_after_it_was_gone() -> None:
    graph, well, lacking = Grove(), grove.PARTS, unschedulable("0/1 nodes are available.")
    looks = [
        graph.look(crashing("a")),
        graph.look(lacking),
        graph.look(crashing("a")),
        graph.look(),
        graph.look(crashing("a")),
        graph.look(parts=well),
        graph.look(lacking),
    ]
    ready, lost = "all_resources_are_ready", "some_resources_are_not_ready"
    assert [[event.reason for event in told] for told in looks] == [
        ["CrashLoop"],
        ["Unschedulable"],
        ["CrashLoop"],
        [],
        ["CrashLoop"],
        [ready],
        [lost, "Unschedulable"],
    ]


def test_trouble_of_one_service_under_grove_does_not_hide_that_of_another() -> None:
    graph, worker = Grove(), explain.pod("g-0-worker-0-ldr-a", "Worker", **explain.CRASH)
    parts = (explain.SHORT[0], grove.part("PodCliqueScalingGroup", "g-0-worker", desired=2, good=1))
    assert [event.message.partition(":")[0] for event in graph.look(crashing("a"), parts=parts)] == ["Frontend"]
    told = graph.look(crashing("b"), worker, parts=parts)
    assert [event.message.partition(":")[0] for event in told] == ["Worker"]


def test_events_bring_no_graph_back() -> None:
    answer = world.ask(make.graph(SERVICES), running())
    assert [type(effect) for effect in answer.effects] == [Event]
    assert answer.resync_after_seconds == 0


def serving(truth: str, reason: str, *, ready: str = "False") -> dict[str, Any]:
    """A status with both conditions."""
    found = {"message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}
    conditions = [
        {"type": "Ready", "status": ready, "reason": "r", **found},
        *([{"type": "Serving", "status": truth, "reason": reason, **found}] if truth else ()),
    ]
    return {"conditions": conditions}


TRUE, NO, UNKNOWN = ("True", "Answering"), ("False", "NotRouted"), ("Unknown", "NotAsked")
BEGINS, ENDS = [("Normal", "Serving", "m")], [("Warning", "NotServing", "m")]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (serving(*TRUE), serving(*NO), ENDS),
        (serving(*TRUE), serving("False", "ScaledToZero"), [("Normal", "NotServing", "m")]),
        (serving(*NO), serving(*TRUE), BEGINS),
        (serving("", ""), serving(*TRUE), BEGINS),
        (serving(*UNKNOWN), serving(*TRUE), BEGINS),
        (serving(*UNKNOWN, ready="True"), serving(*TRUE, ready="True"), []),
        (serving(*TRUE), serving(*UNKNOWN), []),
        (serving(*UNKNOWN), serving(*NO), []),
        (serving(*NO), serving("False", "NoEndpoints"), []),
        (serving(*TRUE), serving(*TRUE), []),
        (serving(*TRUE), serving("", ""), []),
    ],
)
def test_begin_and_end_of_answers_to_requests_are_told(
    before: dict[str, Any], after: dict[str, Any], told: list[tuple[str, str, str]]
) -> None:
    request = make.sync_request({**make.graph(SERVICES), "status": before})
    assert words(plan_transition_events(request, after, {})) == told
