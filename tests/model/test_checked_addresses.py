"""What a model's status says while addresses of its engines are refused, or cannot be checked."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.k8s.types import Manifest
from hooks.model import sync as hook
from hooks.model.prober.messages import Adapter, AdapterPhase
from hooks.model.seen.pod_addresses import AddressVerdict, CheckAddresses, NamedAddress, Verdicts
from hooks.wire.metacontroller.effects import Event
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.model import parts
from tests.model.parts import condition, finalize, model, pods, report, request, sync, wanted

FACTS = make.facts()
REFUSED = AddressVerdict(refusal="not called: its address is foreign")
DOUBTED = AddressVerdict(doubt="not called: whether its address is that of its pod is not known")
NEW = AddressVerdict(doubt="not called: wait", is_new=True)


def saying(**verdicts: AddressVerdict) -> CheckAddresses:
    """A check with these verdicts by pod; the addresses of other pods are their own."""

    def check(addresses: tuple[NamedAddress, ...]) -> Verdicts:
        return {one: verdicts.get(one.pod, AddressVerdict()) for one in addresses}

    return check


def sync_with(parent: Manifest, count: int, *phases: AdapterPhase, **verdicts: AddressVerdict) -> SyncAnswer:
    call, check = request(parent, pods(count)), saying(**verdicts)
    asked = wanted(call, FACTS, check)
    return sync(call, FACTS, None if asked is None else report(asked, *phases), check)


def loaded(count: int) -> Mapping[str, Any]:
    status = sync_with(model(), count, *[AdapterPhase.LOADED] * count).status
    assert status is not None
    return status


def status_of(answer: SyncAnswer) -> Mapping[str, Any]:
    assert answer.status is not None
    return answer.status


# What is checked


@pytest.mark.parametrize("rule", ["routable", "any"])
def test_other_rules_check_nothing(rule: str) -> None:
    draft = hook.ModelCall(request=request(model(), pods(2)), facts=make.facts(engine_addresses=rule), finalizing=False)
    assert hook.find_addresses(draft) == ()
    assert [one.pod for one in draft.plan.engines.called] == ["w0", "w1"]


def test_base_models_need_no_check() -> None:
    call = request(model(model_type="base", uri=None), pods(2))
    draft = hook.ModelCall(request=call, facts=FACTS, finalizing=False)
    assert hook.find_addresses(draft) == ()
    status = status_of(hook.sync(draft, None))
    assert (status["totalEndpoints"], condition(status, "Ready")["status"]) == (2, "True")


def test_adapters_of_a_model_that_became_a_base_model_are_unloaded_at_checked_addresses_only() -> None:
    was = model(model_type="base", uri=None, status={"adapters": [{"name": "a", "source": parts.URI}]})
    draft = hook.ModelCall(request=request(was, pods(2)), facts=FACTS, finalizing=False)
    assert [one.pod for one in hook.find_addresses(draft)] == ["w0", "w1"]
    asked = wanted(draft.request, FACTS, saying(w1=REFUSED))
    assert asked is not None
    assert ([one.pod for one in asked.targets], asked.former) == (["w0"], ("a",))


def test_call_whose_addresses_nobody_checked_calls_no_engine() -> None:
    draft = hook.ModelCall(request=request(model(), pods(1)), facts=FACTS, finalizing=False)
    assert hook.plan_request(draft) is None
    ready = condition(hook.sync(draft, None).status, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "NotReady")
    assert "its address was not compared with that of its pod" in ready["message"]


# Refused addresses


def test_refused_engine_is_no_engine_and_named() -> None:
    answer = sync_with(model(status=parts.RECORDED), 2, AdapterPhase.LOADED, w1=REFUSED)
    status = status_of(answer)
    assert (status["readyEndpoints"], status["totalEndpoints"]) == (1, 1)
    assert status["endpoints"][1] == {
        "address": "http://10.0.0.2:9090",
        "podName": "w1",
        "ready": False,
        "lastError": REFUSED.refusal,
    }
    ready = condition(status, "Ready")
    assert (ready["status"], ready["message"]) == ("True", f"All 1 endpoint(s) are ready; w1 is {REFUSED.refusal}")
    stored = sync_with(model(status=answer.status), 2, AdapterPhase.LOADED, w1=REFUSED)
    assert stored.resync_after_seconds == 15, "its pod may get the address"


def test_model_whose_engines_are_all_refused_is_looked_at_again() -> None:
    answer = sync_with(model(), 2, w0=REFUSED, w1=REFUSED)
    ready = condition(answer.status, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "NoEndpoints")
    assert f"w0 is {REFUSED.refusal}; w1 is {REFUSED.refusal}" in ready["message"]
    assert answer.resync_after_seconds == 1
    later = make.facts(make.NOW + timedelta(hours=1))
    again = sync(request(model(status=answer.status), pods(2)), later, None, saying(w0=REFUSED, w1=REFUSED))
    assert again.resync_after_seconds == 15


def test_address_that_no_engine_has_is_not_looked_at_again() -> None:
    alone = parts.endpoint_slice("s", [parts.endpoint("w0", "127.0.0.1")])
    status = sync(request(model(), alone), FACTS, None).status
    assert sync(request(model(status=status), alone), FACTS, None).resync_after_seconds == 0


def test_endpoint_without_a_pod_is_named_by_its_address() -> None:
    lone = parts.endpoint_slice("lone", [{"addresses": ["10.0.0.7"]}])
    status = status_of(sync(request(model(), lone), FACTS, None))
    reason = "not called: EndpointSlice lone names no pod for it (targetRef); "
    (entry,) = status["endpoints"]
    assert entry == {"address": "http://10.0.0.7:9090", "ready": False, "lastError": entry["lastError"]}
    assert entry["lastError"].startswith(reason)
    assert f"; http://10.0.0.7:9090 is {reason}" in condition(status, "Ready")["message"]


# Doubted addresses


def test_doubted_engine_counts_and_the_model_is_not_ready() -> None:
    call, check = request(model(status=parts.RECORDED), pods(2)), saying(w1=DOUBTED)
    asked = wanted(call, FACTS, check)
    assert asked is not None
    assert [one.pod for one in asked.targets] == ["w0"]
    answer = sync(call, FACTS, report(asked, AdapterPhase.LOADED), check)
    status = status_of(answer)
    assert (status["readyEndpoints"], status["totalEndpoints"]) == (1, 2)
    assert status["endpoints"][1] == {
        "address": "http://10.0.0.2:9090",
        "podName": "w1",
        "ready": False,
        "phase": "Pending",
        "attempts": 0,
        "since": "2026-03-01T12:00:00Z",
        "lastError": DOUBTED.doubt,
    }
    ready = condition(status, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "NotReady")
    assert ready["message"] == f"Found 1 ready endpoint(s) out of 2 total; w1 is Pending: {DOUBTED.doubt}"
    assert answer.resync_after_seconds == 1
    assert answer.notes[-1] == f"endpoints with an unchecked address: w1 ({DOUBTED.doubt})"


def test_status_of_a_doubted_engine_is_the_same_at_each_sync() -> None:
    first = status_of(sync_with(model(), 1, w0=DOUBTED))
    later = make.facts(make.NOW + timedelta(minutes=5))
    answer = sync(request(model(status=first), pods(1)), later, None, saying(w0=DOUBTED))
    assert answer.status == first
    assert answer.resync_after_seconds == 15


def test_engine_whose_address_is_in_doubt_for_long_is_not_ready_any_more() -> None:
    answer = sync_with(model(status=loaded(2)), 2, AdapterPhase.LOADED, w1=DOUBTED)
    status = status_of(answer)
    assert condition(status, "Ready")["status"] == "False"
    assert [(one["phase"], one.get("source")) for one in status["endpoints"]] == [
        ("Loaded", parts.URI),
        ("Pending", parts.URI),
    ], "what it loaded is kept for the prober"
    back = wanted(request(model(status=status), pods(2)), FACTS)
    assert back is not None
    assert [one.recorded for one in back.targets] == [parts.URI, parts.URI]


def test_status_is_left_alone_while_known_engines_are_about_to_be_checked() -> None:
    known = request(model(status=loaded(2)), pods(2))
    with pytest.raises(LeaveAlone, match="are being checked") as refusal:
        wanted(known, FACTS, saying(w0=NEW, w1=NEW))
    assert refusal.value.retry_after == 1
    new = request(model(status=loaded(1)), pods(2))
    asked = wanted(new, FACTS, saying(w1=NEW))
    assert asked is not None, "of the new engine the status knows nothing"
    assert [one.pod for one in asked.targets] == ["w0"]


def test_former_adapters_of_a_doubted_engine_are_remembered() -> None:
    changed = model(adapter="b", uri="s3://bucket/b", generation=2, status=loaded(2))
    answer = sync_with(changed, 2, AdapterPhase.LOADED, w1=DOUBTED)
    status = status_of(answer)
    assert status["adapters"] == [{"name": "b", "source": "s3://bucket/b"}, {"name": "a", "source": parts.URI}]
    assert "source" not in status["endpoints"][1], "it would be taken for that of b"
    asked = wanted(request(model(adapter="b", uri="s3://bucket/b", generation=2, status=status), pods(2)), FACTS)
    assert asked is not None
    assert asked.former == ("a",)


def test_former_source_of_a_doubted_engine_is_remembered() -> None:
    answer = sync_with(model(uri="s3://bucket/new", generation=2, status=loaded(2)), 2, AdapterPhase.LOADED, w1=DOUBTED)
    assert status_of(answer)["adapters"] == [
        {"name": "a", "source": "s3://bucket/new"},
        {"name": "a", "source": parts.URI},
    ]
    asked = wanted(request(model(uri="s3://bucket/new", generation=2, status=answer.status), pods(2)), FACTS)
    assert asked is not None
    assert asked.adapter == Adapter(name="a", uri="s3://bucket/new")
    assert (asked.targets[1].recorded, asked.targets[1].loading) == ("", (parts.URI, "s3://bucket/new"))


# Deletion


def deleted(seconds_ago: float) -> Manifest:
    moment = (make.NOW - timedelta(seconds=seconds_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return model(status=loaded(2), deletionTimestamp=moment)


def test_deletion_waits_for_doubted_engines_until_its_deadline() -> None:
    early = request(deleted(1), pods(2), finalizing=True)
    answer = finalize(early, FACTS, None, saying(w0=DOUBTED, w1=DOUBTED))
    assert not answer.finalized
    assert [one["phase"] for one in status_of(answer)["endpoints"]] == ["Unloading", "Unloading"]
    late = finalize(request(deleted(61), pods(2), finalizing=True), FACTS, None, saying(w0=DOUBTED, w1=DOUBTED))
    (event,) = late.effects
    assert late.finalized
    assert isinstance(event, Event)
    assert event.reason == "LoRAUnloadFailed"
    assert event.message.endswith("no answer from w0 (not called), w1 (not called)")


def test_deletion_ends_when_the_doubt_is_over() -> None:
    call = request(deleted(1), pods(2), finalizing=True)
    for verdict, is_finalized in ((NEW, False), (DOUBTED, False), (AddressVerdict(), True), (REFUSED, True)):
        check = saying(w1=verdict)
        asked = wanted(call, FACTS, check)
        assert asked is not None
        phases = [AdapterPhase.UNLOADED] * len(asked.targets)
        assert finalize(call, FACTS, report(asked, *phases), check).finalized is is_finalized, verdict


def test_deletion_does_not_take_silence_of_the_prober_for_a_doubt() -> None:
    with pytest.raises(ProberUnavailable):
        finalize(request(deleted(1), pods(2), finalizing=True), FACTS, None, saying(w1=DOUBTED))
