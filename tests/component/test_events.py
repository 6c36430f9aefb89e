"""Events of a component: one for each change that matters, none while nothing changes."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.effects import Event
from tests import make
from tests.component import groups
from tests.component.render import answer
from tests.component.test_explain import observed, unschedulable

SPEC = {"componentType": "worker", "replicas": 2}
INVALID = {**SPEC, "replicas": -1}


class Component:
    """A component from sync to sync, each a minute later, its status kept as Metacontroller keeps it."""

    def __init__(self) -> None:
        self.status: dict[str, Any] = {"observedGeneration": -1}
        self.minutes = 0

    def sync(
        self,
        children: Sequence[Manifest] = (),
        pods: Sequence[Manifest] = (),
        *,
        spec: dict[str, Any] | None = None,
        generation: int = 1,
    ) -> list[tuple[str, str]]:
        """Type and reason of the Events of one sync."""
        return [(event.type, event.reason) for event in self.events(children, pods, spec=spec, generation=generation)]

    def events(
        self,
        children: Sequence[Manifest] = (),
        pods: Sequence[Manifest] = (),
        *,
        spec: dict[str, Any] | None = None,
        generation: int = 1,
    ) -> list[Event]:
        parent = make.component("c", "g", status=self.status, **(spec or SPEC))
        parent["metadata"]["generation"] = generation
        facts = make.facts(make.NOW + timedelta(minutes=self.minutes))
        given = answer(parent, children, pods, facts=facts)
        assert given.status is not None
        self.status, self.minutes = {**given.status, "observedGeneration": generation}, self.minutes + 1
        return [effect for effect in given.effects if isinstance(effect, Event)]


def up() -> list[Manifest]:
    return observed(SPEC, readyReplicas=2, availableReplicas=2, conditions=make.deployment_status(2)["conditions"])


def test_way_to_readiness_and_back_is_told_once_each() -> None:
    component = Component()
    down = observed(SPEC)
    assert component.sync() == [("Normal", "Reconciling")]
    assert component.sync(down) == []
    assert component.sync(up()) == [("Normal", "Update")]
    assert component.sync(up()) == []
    assert component.sync(down) == [("Warning", "Progressing")]
    assert component.sync(down) == []
    assert component.sync(up()) == [("Normal", "Update")]


def test_end_of_a_component_is_no_event_and_its_status_says_what_happens() -> None:
    component = Component()
    component.sync()
    component.sync(up())
    parent = make.component("c", "g", status=component.status, **SPEC)
    parent["metadata"] |= {"deletionTimestamp": "2026-03-01T12:05:00Z", "finalizers": ["foregroundDeletion"]}
    given = answer(parent, (), (), facts=make.facts(make.NOW))
    assert [effect for effect in given.effects if isinstance(effect, Event)] == []
    assert given.status is not None
    (ready,) = (one for one in given.status["conditions"] if one["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "Progressing")
    assert "the component is being deleted - wait until its pods have ended" in ready["message"]


def test_reason_that_somebody_has_to_do_something_about_is_told_when_it_comes_up() -> None:
    component = Component()
    component.sync()
    down = observed(SPEC)
    (event,) = component.events(down, [unschedulable()])
    assert (event.type, event.reason) == ("Warning", "Unschedulable")
    assert "pod c-1: 0/1 nodes are available - free or add nodes" in event.message
    assert (event.about.kind, event.about.name, event.about.uid) == ("DynamoComponentDeployment", "c", "u-c")
    assert event.occasion == "Progressing since 2026-03-01T12:00:00Z"
    assert component.sync(down, [unschedulable(), unschedulable("c-0")]) == []
    assert component.sync(down) == []
    assert component.sync(up()) == [("Normal", "Update")]


def test_invalid_spec_is_told_at_each_generation() -> None:
    component = Component()
    component.sync(up())
    (event,) = component.events(up(), spec=INVALID, generation=2)
    assert (event.type, event.reason, event.occasion) == ("Warning", "ValidationFailed", "generation 2")
    assert event.message.startswith("Validation failed: ")
    assert component.sync(up(), spec=INVALID, generation=2) == []
    assert component.sync(up(), spec={**INVALID, "replicas": -2}, generation=3) == [("Warning", "ValidationFailed")]
    assert component.sync(up(), generation=4) == [("Normal", "Update")]


def test_missing_orchestrator_is_told() -> None:
    component = Component()
    component.sync()
    (event,) = component.events(spec=groups.spec(), generation=2)
    assert (event.type, event.reason) == ("Warning", "ReconcileError")
    assert event.message.startswith("Failed to reconcile DynamoComponentDeployment: no multinode orchestrator")
    assert component.sync(spec=groups.spec(), generation=2) == []


def test_same_change_is_the_same_event() -> None:
    """Where the status could not be written, the next sync tells it again in words that make it one."""
    component = Component()
    component.sync()
    kept = component.status
    first = component.events(observed(SPEC), [unschedulable()])
    component.status = kept
    assert component.events(observed(SPEC), [unschedulable()]) == first
