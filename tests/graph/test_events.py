"""Events of a graph: one for each change that matters, none while nothing changes."""

from collections.abc import Sequence
from typing import Any

from hooks.effects import Event
from hooks.k8s.types import Manifest
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
    assert event.occasion == "2026-03-01T12:00:00Z"


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
    assert (event.type, event.reason) == ("Warning", "failed_to_reconcile_the_resources")
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


def test_trouble_of_a_service_under_grove_is_told_when_it_comes_up() -> None:
    graph = Graph()
    children = grove.settled(make.graph(grove.TWO))

    def look(*pods: Manifest) -> list[Event]:
        return graph.sync(children, [*explain.SHORT, *pods], services=grove.TWO, installed=grove.GROVE)

    first, second = (explain.pod(f"g-0-frontend-{name}", "Frontend", **explain.CRASH) for name in "ab")
    assert look() == []
    (event,) = look(first)
    assert (event.type, event.reason) == ("Warning", "CrashLoop")
    assert event.message.startswith("Frontend: CrashLoop: pod g-0-frontend-a: container main ends again and again")
    assert look(first) == []
    assert look(first, second) == []
    assert [told.message[:40] for told in look(second)] == ["Frontend: CrashLoop: pod g-0-frontend-b:"]
    assert look() == []


def test_events_bring_no_graph_back() -> None:
    answer = world.ask(make.graph(SERVICES), running())
    assert [type(effect) for effect in answer.effects] == [Event]
    assert answer.resync_after_seconds == 0
