"""Finalize calls of a model without a prober process: reports are values."""

from datetime import timedelta
from typing import Any

import pytest

from hooks.ground.errors import ProberUnavailable
from hooks.model.prober.messages import AdapterPhase
from hooks.wire.metacontroller.effects import Event
from tests import make
from tests.model import parts
from tests.model.parts import condition, finalize, model, pods, report, request, wanted

FACTS = make.facts()


def deleted(seconds_ago: int = 0, **changes: Any) -> Any:
    moment = (make.NOW - timedelta(seconds=seconds_ago)).isoformat().replace("+00:00", "Z")
    return model(deletionTimestamp=moment, **changes)


@pytest.mark.parametrize("model_type", ["base", "adapter"])
def test_deleted_base_model_is_finalized_at_once(model_type: str) -> None:
    call = request(deleted(model_type=model_type, uri=None), pods(1), finalizing=True)
    assert wanted(call, FACTS) is None
    assert finalize(call, FACTS, None).finalized


def test_deleted_model_without_endpoints_is_finalized_at_once() -> None:
    call = request(deleted(), finalizing=True)
    assert wanted(call, FACTS) is None
    assert finalize(call, FACTS, None).finalized


def test_deleted_adapter_is_unloaded_before_it_is_finalized() -> None:
    call = request(deleted(), pods(2), finalizing=True)
    asked = wanted(call, FACTS)
    assert asked is not None
    assert (asked.adapter, asked.former) == (None, ("a",))
    answer = finalize(call, FACTS, report(asked, AdapterPhase.UNLOADED, AdapterPhase.UNLOADING, left=()))
    assert not answer.finalized
    assert answer.resync_after_seconds == 1
    assert condition(answer.status, "Ready")["reason"] == "Unloading"
    answer = finalize(call, FACTS, report(asked, AdapterPhase.UNLOADED, AdapterPhase.UNLOADED))
    assert answer.finalized
    assert answer.notes == ("unloaded from 2 endpoint(s)",)


def test_several_hooks_pods_wait_no_longer_because_one_prober_acts() -> None:
    facts = make.facts(hook_replicas="2")
    call = request(deleted(), pods(1), finalizing=True)
    assert finalize(call, facts, report(wanted(call, facts), AdapterPhase.UNLOADED)).finalized


def test_deadline_finalizes_and_names_the_engines_that_did_not_answer() -> None:
    call = request(deleted(1), pods(2), finalizing=True)
    asked = wanted(call, FACTS)
    status = finalize(call, FACTS, report(asked, AdapterPhase.UNLOADED, AdapterPhase.RETRYING, left=())).status
    late = request(deleted(60, status=status), pods(2), finalizing=True)
    answer = finalize(late, FACTS, None)
    assert answer.finalized
    assert answer.notes == ("gave up unloading a at the deadline; no answer from w1",)


@pytest.mark.parametrize(
    ("phases", "silent"),
    [
        pytest.param(
            (AdapterPhase.RETRYING, AdapterPhase.UNLOADED), "w0", id="the prober knows better than the status"
        ),
        pytest.param(
            (AdapterPhase.UNKNOWN, AdapterPhase.UNKNOWN), "w1", id="the status, where the prober does not know"
        ),
    ],
)
def test_prober_is_asked_once_more_at_the_deadline(phases: tuple[AdapterPhase, ...], silent: str) -> None:
    call = request(deleted(1), pods(2), finalizing=True)
    status = finalize(call, FACTS, report(wanted(call, FACTS), AdapterPhase.UNLOADED, AdapterPhase.RETRYING)).status
    late = request(deleted(60, status=status), pods(2), finalizing=True)
    answer = finalize(late, FACTS, report(wanted(late, FACTS), *phases))
    assert answer.finalized
    assert answer.notes == (f"gave up unloading a at the deadline; no answer from {silent}",)


def test_adapter_that_is_gone_at_the_deadline_counts_as_unloaded() -> None:
    late = request(deleted(60), pods(2), finalizing=True)
    answer = finalize(late, FACTS, report(wanted(late, FACTS), AdapterPhase.UNLOADED, AdapterPhase.UNLOADED))
    assert answer.finalized
    assert answer.notes == ("unloaded from 2 endpoint(s)",)


@pytest.mark.parametrize(
    ("silent", "named"),
    [(1, "w00000"), (12, "w00000, w00001, w00002, w00003, w00004, w00005, w00006, w00007, w00008, w00009 and 2 more")],
)
def test_only_the_silent_engines_of_thousands_are_named(silent: int, named: str) -> None:
    late = request(deleted(60), parts.thousands(2500), finalizing=True)
    phases = [AdapterPhase.RETRYING] * silent + [AdapterPhase.UNLOADED] * (2500 - silent)
    answer = finalize(late, FACTS, report(wanted(late, FACTS), *phases))
    assert answer.notes == (f"gave up unloading a at the deadline; no answer from {named}",)
    (event,) = answer.effects
    assert isinstance(event, Event)
    assert event.message.endswith(answer.notes[0])


def test_deletion_waits_for_the_prober_until_the_deadline_only() -> None:
    with pytest.raises(ProberUnavailable):
        finalize(request(deleted(59), pods(1), finalizing=True), FACTS, None)
    assert finalize(request(deleted(61), pods(1), finalizing=True), FACTS, None).finalized


def test_deletion_waits_no_longer_because_the_clock_was_set_back() -> None:
    call = request(deleted(-3600), pods(1), finalizing=True)
    first = finalize(call, FACTS, report(wanted(call, FACTS), AdapterPhase.RETRYING, left=("a",)))
    assert not first.finalized
    again = request(deleted(-3600, status=first.status), pods(1), finalizing=True)
    assert not finalize(again, FACTS, report(wanted(again, FACTS), AdapterPhase.RETRYING, left=("a",))).finalized
    for later in (61, -61):
        assert finalize(again, make.facts(make.NOW + timedelta(seconds=later)), None).finalized


def test_model_that_lost_its_label_is_unloaded_within_the_deadline_too() -> None:
    call = request(model(), pods(1), finalizing=True)
    status = finalize(call, FACTS, report(wanted(call, FACTS), AdapterPhase.RETRYING, left=("a",))).status
    later = make.facts(make.NOW + timedelta(seconds=61))
    assert finalize(request(model(status=status), pods(1), finalizing=True), later, None).finalized


def test_deleted_model_with_broken_spec_unloads_what_its_status_records() -> None:
    held = {"adapters": [{"name": "a", "source": parts.URI}, {"name": "old", "source": parts.URI}]}
    asked = wanted(request(deleted(uri=None, adapter="", status=held), pods(1), finalizing=True), FACTS)
    assert asked is not None
    assert asked.former == ("a", "old")


@pytest.mark.parametrize(
    ("uri", "former"), [("http://x", None), (parts.URI, ("a",))], ids=["never loaded anything", "lost its status"]
)
def test_deleted_model_without_record_unloads_only_what_it_may_have_loaded(
    uri: str, former: tuple[str, ...] | None
) -> None:
    call = request(deleted(uri=uri), pods(1), finalizing=True)
    asked = wanted(call, FACTS)
    assert (asked and asked.former) == former
    assert finalize(call, FACTS, None if asked is None else report(asked, AdapterPhase.UNLOADED)).finalized


def test_deleted_model_that_was_refused_unloads_nothing_of_the_owner() -> None:
    second = deleted(name="second", created="2026-03-01T11:00:00Z")
    call = request(second, pods(1), model("first"), finalizing=True)
    assert wanted(call, FACTS) is None
    assert finalize(call, FACTS, None).finalized
