"""Events of a model: one for each change of its conditions, and one when it is deleted."""

from datetime import timedelta
from typing import Any

from hooks.ground.k8s.types import Manifest
from hooks.model.prober.messages import AdapterPhase
from hooks.wire.metacontroller.effects import Event
from tests import make
from tests.model import parts
from tests.model.parts import finalize, model, pods, report, request, sync, wanted

DELETED = "2026-03-01T12:00:00Z"


class Story:
    """A model from sync to sync, its status kept."""

    def __init__(self, model_type: str = "lora") -> None:
        self.status: dict[str, Any] = {"observedGeneration": -1, "readyEndpoints": 0, "totalEndpoints": 0}
        self.type = model_type
        self.facts = make.facts()

    def sync(self, *related: Manifest, phases: tuple[AdapterPhase, ...] = (), **fields: Any) -> list[Event]:
        """The Events of one sync."""
        base = {"uri": None} if self.type == "base" else {}
        call = request(model(model_type=self.type, status=self.status, **{**base, **fields}), *related)
        asked = wanted(call, self.facts)
        answer = sync(call, self.facts, report(asked, *phases) if asked else None)
        assert answer.status is not None
        self.status = answer.status
        return [effect for effect in answer.effects if isinstance(effect, Event)]


def words(events: list[Event]) -> list[tuple[str, str, str]]:
    return [(event.type, event.reason, event.message) for event in events]


def test_base_model_is_discovered_once() -> None:
    story = Story("base")
    nothing = parts.NO_SLICES
    assert words(story.sync()) == [("Warning", "NoEndpointsFound", nothing)]
    assert story.sync() == []
    found = f"Discovered 2 endpoints for base model {parts.BASE}"
    assert words(story.sync(pods(2))) == [("Normal", "EndpointsDiscovered", found)]
    assert story.sync(pods(3)) == []


def test_events_say_when_an_adapter_is_ready_everywhere_and_when_not() -> None:
    story = Story()
    partly = f"Only 0 of 2 endpoints ready for base model {parts.BASE}"
    assert words(story.sync(pods(2), phases=(AdapterPhase.LOADING, AdapterPhase.PENDING))) == [
        ("Warning", "NotReady", partly)
    ]
    assert story.sync(pods(2), phases=(AdapterPhase.LOADED, AdapterPhase.LOADING)) == []
    whole = f"All 2 endpoints ready for base model {parts.BASE}"
    assert words(story.sync(pods(2), phases=(AdapterPhase.LOADED, AdapterPhase.LOADED))) == [
        ("Normal", "EndpointsReady", whole)
    ]
    assert story.sync(pods(2), phases=(AdapterPhase.LOADED, AdapterPhase.LOADED)) == []
    lost = f"Only 1 of 2 endpoints ready for base model {parts.BASE}"
    assert words(story.sync(pods(2), phases=(AdapterPhase.LOADED, AdapterPhase.LOADING))) == [
        ("Warning", "NotReady", lost)
    ]


def test_engine_that_refuses_has_one_event() -> None:
    story = Story()
    story.sync(pods(2), phases=(AdapterPhase.LOADING, AdapterPhase.LOADING))
    ((kind, reason, message),) = words(story.sync(pods(2), phases=(AdapterPhase.LOADED, AdapterPhase.FAILED)))
    assert (kind, reason) == ("Warning", "PartialEndpointFailure")
    assert message.startswith("Some endpoints failed to load LoRA: ")
    assert "w1 is Failed" in message
    assert story.sync(pods(2), phases=(AdapterPhase.LOADED, AdapterPhase.FAILED)) == []


def test_invalid_spec_has_one_event_for_each_generation() -> None:
    story = Story()
    (_, event) = story.sync(uri="ftp://x")
    assert (event.type, event.reason, event.occasion) == ("Warning", "ValidationFailed", "generation 1")
    assert "ftp://x" in event.message
    assert story.sync(uri="ftp://x") == []
    assert [event.reason for event in story.sync(uri="ftp://y", generation=2)] == ["ValidationFailed"]


def test_event_is_about_the_model() -> None:
    (event,) = Story("base").sync(pods(1))
    assert (event.about.kind, event.about.namespace, event.about.name) == ("DynamoModel", "default", "m")
    assert event.occasion == "first status"


def loaded(count: int) -> dict[str, Any]:
    story = Story()
    story.sync(pods(count), phases=(AdapterPhase.LOADED,) * count)
    return story.status


def test_unloaded_model_says_from_how_many_engines() -> None:
    call = request(model(status=loaded(2), deletionTimestamp=DELETED), pods(2), finalizing=True)
    facts = make.facts()
    answer = finalize(call, facts, report(wanted(call, facts), AdapterPhase.UNLOADED, AdapterPhase.UNLOADED))
    assert answer.finalized
    (event,) = answer.effects
    assert isinstance(event, Event)
    assert words([event]) == [("Normal", "LoRAUnloaded", "Unloaded LoRA from 2 endpoint(s)")]
    assert event.occasion == DELETED


def test_engines_that_never_answered_are_named() -> None:
    status = loaded(3)
    call = request(model(status=status, deletionTimestamp=DELETED), pods(3), finalizing=True)
    facts = make.facts()
    phases = (AdapterPhase.UNLOADED, AdapterPhase.RETRYING, AdapterPhase.UNLOADING)
    pending = finalize(call, facts, report(wanted(call, facts), *phases, left=("a",)))
    assert (pending.finalized, pending.effects) == (False, ())
    late = make.facts(make.NOW + timedelta(seconds=61))
    over = request(model(status=pending.status, deletionTimestamp=DELETED), pods(3), finalizing=True)
    answer = finalize(over, late, None)
    assert answer.finalized
    (event,) = answer.effects
    assert isinstance(event, Event)
    assert (event.type, event.reason, event.occasion) == ("Warning", "LoRAUnloadFailed", DELETED)
    assert event.message == (
        "Failed to unload LoRA from some endpoints: gave up unloading a at the deadline; no answer from w1, w2"
    )
    assert answer.notes == ("gave up unloading a at the deadline; no answer from w1, w2",)
    assert finalize(over, late, None).effects == answer.effects
