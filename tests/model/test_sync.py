"""Hook calls without a prober process: reports are values."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from hooks.ground import contract
from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.problems import texts_of
from hooks.model.prober.messages import Adapter, AdapterPhase, LoadReport
from hooks.model.sync import customize
from hooks.wire.metacontroller.protocol import CustomizeRequest, Objects, SyncAnswer
from hooks.wire.metacontroller.wire import write_sync_answer
from tests import make
from tests.model import parts
from tests.model.parts import condition, model, pods, report, request, sync, wanted

FACTS = make.facts()
CONFIRMED = 3
"""Seconds after a change until it is looked whether Metacontroller wrote it."""


def sync_with(parent: Any, *related: Any, phases: tuple[AdapterPhase, ...], **fields: Any) -> SyncAnswer:
    call = request(parent, *related)
    return sync(call, FACTS, report(wanted(call, FACTS), *phases, **fields))


def test_base_model_asks_nothing_and_is_ready_when_discovered() -> None:
    call = request(model(model_type="base", uri=None), pods(2))
    assert wanted(call, FACTS) is None
    answer = sync(call, FACTS, None)
    assert answer.status is not None
    assert answer.status["endpoints"] == [
        {"address": "http://10.0.0.1:9090", "podName": "w0", "ready": False},
        {"address": "http://10.0.0.2:9090", "podName": "w1", "ready": False},
    ]
    assert (answer.status["readyEndpoints"], answer.status["totalEndpoints"]) == (0, 2)
    assert condition(answer.status, "EndpointsReady")["message"] == "Found 2 endpoint(s) for base model"
    assert condition(answer.status, "ServicesFound")["message"] == "Found 1 service(s)"
    assert condition(answer.status, "Ready")["status"] == "True"
    assert answer.resync_after_seconds == CONFIRMED
    stored = request(model(model_type="base", uri=None, status=answer.status), pods(2))
    assert sync(stored, FACTS, None).resync_after_seconds == 0


def test_base_model_without_a_ready_pod_is_discovered_and_not_ready() -> None:
    answer = sync(request(model(model_type="base", uri=None), pods(2, ready=False)), FACTS, None)
    assert condition(answer.status, "EndpointsReady")["status"] == "True", "as upstream: they are discovered"
    ready = condition(answer.status, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "NotReady")
    message = f"None of the 2 pod(s) of base model {parts.BASE} is ready; see kubectl describe pod w0 -n default"
    assert ready["message"] == message


def test_adapter_without_a_ready_pod_is_loaded_and_not_ready() -> None:
    both = parts.endpoint_slice(
        endpoints=[parts.endpoint("w0", "10.0.0.1", ready=False), parts.endpoint("w1", "10.0.0.2", ready=True)]
    )
    loaded, none = AdapterPhase.LOADED, AdapterPhase.UNSUPPORTED
    for slices, phases, status in (
        (pods(2, ready=False), (loaded, loaded), "False"),
        (both, (loaded, loaded), "True"),
        (both, (loaded, none), "False"),
    ):
        answer = sync_with(model(), slices, phases=phases)
        assert condition(answer.status, "EndpointsReady")["status"] == "True", "the engines have the adapter"
        assert condition(answer.status, "Ready")["status"] == status
    ready = condition(answer.status, "Ready")
    assert (ready["reason"], ready["message"]) == (
        "NotReady",
        "None of the 1 pod(s) with the adapter is ready; see kubectl describe pod w0 -n default",
    )


@pytest.mark.parametrize("model_type", ["base", "lora"])
def test_missing_endpoints_are_reported_as_upstream_does_and_not_polled(model_type: str) -> None:
    call = request(model(model_type=model_type))
    assert wanted(call, FACTS) is None
    answer = sync(call, FACTS, None)
    message = parts.NO_SLICES
    for name, reason in (
        ("EndpointsReady", "NoEndpoints"),
        ("ServicesFound", "NoServicesFound"),
        ("Ready", "NoEndpoints"),
    ):
        found = condition(answer.status, name)
        assert (found["status"], found["reason"], found["message"]) == ("False", reason, message)
    stored = request(model(model_type=model_type, status=answer.status))
    assert sync(stored, FACTS, None).resync_after_seconds == 0


def test_endpoint_without_an_ip_address_does_not_delay_the_others() -> None:
    named = parts.endpoint_slice("s2", [parts.endpoint("bad", "engine.example")])
    answer = sync_with(model(), pods(1), named, phases=(AdapterPhase.LOADED,))
    reason = "not called: its address 'engine.example' is not an IP address"
    ready = condition(answer.status, "Ready")
    assert (ready["status"], ready["message"]) == ("True", f"All 1 endpoint(s) are ready; bad is {reason}")
    assert answer.notes == ("1 endpoint(s) Loaded", f"endpoints without an engine's address: bad ({reason})")


LOOPBACK = "not called: its address 127.0.0.1 is a loopback address (setting engine_addresses)"


def test_endpoint_that_is_not_called_is_in_the_status_with_its_reason_and_does_not_count() -> None:
    bad = parts.endpoint_slice("s2", [parts.endpoint("bad", "127.0.0.1")])
    call = request(model(), pods(1), bad)
    asked = wanted(call, FACTS)
    assert asked is not None
    assert [target.pod for target in asked.targets] == ["w0"]
    answer = sync_with(model(), pods(1), bad, phases=(AdapterPhase.LOADED,))
    assert answer.status is not None
    assert (answer.status["readyEndpoints"], answer.status["totalEndpoints"]) == (1, 1)
    assert [entry["podName"] for entry in answer.status["endpoints"]] == ["w0", "bad"]
    entry = answer.status["endpoints"][1]
    assert entry == {"address": "http://127.0.0.1:9090", "podName": "bad", "ready": False, "lastError": LOOPBACK}


@pytest.mark.parametrize("model_type", ["lora", "base"])
def test_model_with_no_other_endpoints_is_not_ready_and_says_why(model_type: str) -> None:
    bad = parts.endpoint_slice("s2", [parts.endpoint(f"bad{n}", f"127.0.0.{n}") for n in range(1, 6)])
    parent = model() if model_type == "lora" else parts.model(model_type="base", uri=None)
    call = request(parent, bad)
    assert wanted(call, FACTS) is None
    answer = sync(call, FACTS, None)
    found = condition(answer.status, "Ready")
    assert (found["status"], found["reason"]) == ("False", "NoEndpoints")
    assert f"bad1 is {LOOPBACK}; bad2 is not called" in found["message"]
    assert found["message"].endswith("and 2 more are not called")


def test_refused_endpoint_is_loaded_once_the_setting_allows_it() -> None:
    bad = parts.endpoint_slice("s2", [parts.endpoint("bad", "127.0.0.1")])
    before = sync(request(model(), bad), FACTS, None)
    asked = wanted(request(model(status=before.status), bad), make.facts(engine_addresses="any"))
    assert asked is not None
    assert (asked.targets[0].pod, asked.targets[0].failed) == ("bad", "")


def test_slices_without_a_service_name_are_reported() -> None:
    alone = parts.endpoint_slice(endpoints=[parts.endpoint("w0", "10.0.0.1")], service=None)
    found = condition(sync_with(model(), alone, phases=(AdapterPhase.LOADED,)).status, "ServicesFound")
    assert (found["reason"], found["message"]) == ("NoServicesFound", "No services associated with endpoint slices")


def test_first_request_names_adapter_source_and_targets() -> None:
    asked = wanted(request(model(), pods(1)), FACTS)
    assert asked is not None
    assert (asked.key, asked.adapter, asked.former) == ("default/m", Adapter(name="a", uri=parts.URI), ())
    assert [(t.address, t.pod, t.recorded) for t in asked.targets] == [("http://10.0.0.1:9090", "w0", "")]


def test_loaded_everywhere_is_ready_and_renews_the_mandate() -> None:
    known = model(status=parts.RECORDED)
    answer = sync_with(known, pods(2), phases=(AdapterPhase.LOADED, AdapterPhase.UNVERIFIED), age=90.0, attempts=1)
    assert answer.status is not None
    assert answer.status["observedGeneration"] == 1
    assert answer.status["endpoints"][0] == {
        "address": "http://10.0.0.1:9090",
        "podName": "w0",
        "ready": True,
        "phase": "Loaded",
        "attempts": 1,
        "since": "2026-03-01T11:58:30Z",
        "source": parts.URI,
    }
    assert answer.status["adapters"] == [{"name": "a", "source": parts.URI}]
    assert condition(answer.status, "EndpointsReady")["reason"] == "AllEndpointsReady"
    assert condition(answer.status, "EndpointsReady")["message"] == "All 2 endpoint(s) are ready"
    assert answer.resync_after_seconds == CONFIRMED
    loaded = (AdapterPhase.LOADED, AdapterPhase.UNVERIFIED)
    stored = sync_with(model(status=answer.status), pods(2), phases=loaded, age=90.0, attempts=1)
    assert stored.resync_after_seconds == 15


def test_failing_endpoint_is_named_with_its_error() -> None:
    call = request(model(status=parts.RECORDED), pods(2))
    asked = wanted(call, FACTS)
    assert asked is not None
    good, bad = report(asked, AdapterPhase.LOADED, AdapterPhase.RETRYING).endpoints
    bad = msgspec.structs.replace(bad, attempts=3, last_error="HTTP 500: no space left")
    answer = sync(call, FACTS, LoadReport(endpoints=(good, bad)))
    assert condition(answer.status, "EndpointsReady")["message"] == "Found 1 ready endpoint(s) out of 2 total"
    assert condition(answer.status, "EndpointsReady")["reason"] == "NotReady"
    message = condition(answer.status, "Ready")["message"]
    assert "w1 is Retrying after 3 attempt(s): HTTP 500: no space left" in message
    assert answer.status is not None
    assert answer.status["endpoints"][1]["lastError"] == "HTTP 500: no space left"
    assert answer.resync_after_seconds == 1


def test_model_with_a_final_failure_is_synced_only_to_renew_the_mandate() -> None:
    known = model(status=parts.RECORDED)
    answer = sync_with(known, pods(1), phases=(AdapterPhase.FAILED,), last_error="HTTP 404: no such source")
    assert condition(answer.status, "Ready")["reason"] == "LoadFailed"
    known = model(status=answer.status)
    stored = sync_with(known, pods(1), phases=(AdapterPhase.FAILED,), last_error="HTTP 404: no such source")
    assert stored.resync_after_seconds == 15


def test_workers_without_lora_are_counted_apart() -> None:
    answer = sync_with(model(), pods(3), phases=(AdapterPhase.LOADED, AdapterPhase.UNSUPPORTED, AdapterPhase.LOADED))
    assert answer.status is not None
    assert (answer.status["readyEndpoints"], answer.status["unsupportedEndpoints"]) == (2, 1)
    assert (
        condition(answer.status, "EndpointsReady")["message"]
        == "All 2 endpoint(s) are ready; 1 more without LoRA support"
    )
    none = sync_with(model(), pods(1), phases=(AdapterPhase.UNSUPPORTED,))
    assert condition(none.status, "Ready")["reason"] == "Unsupported"


def test_change_that_users_wait_for_is_confirmed_and_a_step_of_a_load_is_not() -> None:
    since = (make.NOW - timedelta(seconds=60)).isoformat().replace("+00:00", "Z")
    old = {"type": "Ready", "status": "False", "reason": "NotReady", "message": "", "lastTransitionTime": since}
    parent = model(status={**parts.RECORDED, "conditions": [old]})
    step = sync_with(parent, pods(2), phases=(AdapterPhase.LOADED, AdapterPhase.LOADING))
    assert (condition(step.status, "Ready")["status"], step.resync_after_seconds) == ("False", 6)
    assert step.status != parent["status"]
    done = sync_with(model(status=step.status), pods(2), phases=(AdapterPhase.LOADED, AdapterPhase.LOADED))
    assert (condition(done.status, "Ready")["status"], done.resync_after_seconds) == ("True", CONFIRMED)
    failing = sync_with(model(status=done.status), pods(2), phases=(AdapterPhase.LOADED, AdapterPhase.LOADING))
    assert failing.resync_after_seconds <= CONFIRMED


def test_pending_model_is_synced_less_often_as_time_passes() -> None:
    old = {"type": "Ready", "status": "False", "reason": "NotReady", "message": "", "lastTransitionTime": ""}
    delays = []
    for age in (0, 60, 3600):
        moment = (make.NOW - timedelta(seconds=age)).isoformat().replace("+00:00", "Z")
        parent = model(status={**parts.RECORDED, "conditions": [{**old, "lastTransitionTime": moment}]})
        delays.append(sync_with(parent, pods(1), phases=(AdapterPhase.LOADING,)).resync_after_seconds)
    assert delays == [1, 6, 15]


def test_starting_prober_leaves_a_known_status_alone() -> None:
    known = sync_with(model(), pods(1), phases=(AdapterPhase.LOADED,)).status
    call = request(model(status=known), pods(1))
    with pytest.raises(LeaveAlone, match="started a moment ago") as refusal:
        sync(call, FACTS, report(wanted(call, FACTS), AdapterPhase.UNKNOWN, starting=True))
    assert refusal.value.retry_after == 1


def test_starting_prober_leaves_a_status_alone_whose_ready_endpoints_are_not_listed() -> None:
    phases = (*(AdapterPhase.PENDING,) * 1000, *(AdapterPhase.LOADED,) * 10)
    known = sync_with(model(), parts.thousands(1010), phases=phases).status
    assert known is not None
    assert {entry["phase"] for entry in known["endpoints"]} == {"Pending"}
    call = request(model(status=known), parts.thousands(1010))
    with pytest.raises(LeaveAlone, match="started a moment ago"):
        sync(call, FACTS, report(wanted(call, FACTS), *(AdapterPhase.UNKNOWN,) * 1010, starting=True))


def test_starting_prober_reports_what_it_knows_beside_an_unknown_engine() -> None:
    status = None
    for phases in (
        (AdapterPhase.UNKNOWN, AdapterPhase.UNKNOWN),
        (AdapterPhase.LOADING, AdapterPhase.UNKNOWN),
        (AdapterPhase.LOADED, AdapterPhase.UNKNOWN),
    ):
        call = request(model(status=status), pods(2))
        status = sync(call, FACTS, report(wanted(call, FACTS), *phases, starting=True)).status
    assert status is not None
    assert [entry["phase"] for entry in status["endpoints"]] == ["Loaded", "Pending"]
    assert status["readyEndpoints"] == 1


def test_starting_prober_does_not_hide_a_new_model() -> None:
    answer = sync_with(model(), pods(1), phases=(AdapterPhase.UNKNOWN,), starting=True)
    assert answer.status is not None
    assert answer.status["endpoints"][0]["phase"] == "Pending"


def test_engine_that_was_not_listed_yet_keeps_its_entry_beside_a_new_one() -> None:
    known = sync_with(model(), pods(1), phases=(AdapterPhase.LOADED,), age=60.0).status
    answer = sync_with(model(status=known), pods(2), phases=(AdapterPhase.UNKNOWN, AdapterPhase.UNKNOWN))
    assert answer.status is not None
    assert known is not None
    assert answer.status["endpoints"][0] == known["endpoints"][0]
    assert answer.status["endpoints"][1]["phase"] == "Pending"


def test_phase_keeps_its_time_while_it_lasts() -> None:
    first = sync_with(model(), pods(1), phases=(AdapterPhase.LOADED,), age=10.0).status
    call = request(model(status=first), pods(1))
    later = make.facts(make.NOW + timedelta(seconds=7.6))
    second = sync(call, later, report(wanted(call, later), AdapterPhase.LOADED, age=17.1)).status
    assert second == first


def test_status_of_unchanged_world_never_changes() -> None:
    status: Any = None
    for step in range(4):
        now = make.facts(make.NOW + timedelta(seconds=15 * step))
        call = request(model(status=status), pods(2))
        new = sync(
            call, now, report(wanted(call, now), AdapterPhase.LOADED, AdapterPhase.RETRYING, age=15.0 * step + 3)
        ).status
        assert status is None or new == status
        status = new


def test_request_without_a_report_gives_no_status() -> None:
    with pytest.raises(ProberUnavailable):
        sync(request(model(), pods(1)), FACTS, None)


def test_status_lists_both_sources_until_the_new_one_is_everywhere() -> None:
    old = sync_with(model(), pods(2), phases=(AdapterPhase.LOADED, AdapterPhase.LOADED)).status
    changed = model(uri="s3://bucket/new", status=old)
    call = request(changed, pods(2))
    asked = wanted(call, FACTS)
    assert asked is not None
    assert not asked.is_recorded
    assert [(t.recorded, t.loading) for t in asked.targets] == [("", (parts.URI,))] * 2
    moving = sync(call, FACTS, report(asked, AdapterPhase.LOADED, AdapterPhase.UNLOADING)).status
    assert moving is not None
    assert [a["source"] for a in moving["adapters"]] == ["s3://bucket/new", parts.URI]
    call = request(model(uri="s3://bucket/new", status=moving), pods(2))
    asked = wanted(call, FACTS)
    assert asked is not None
    assert asked.is_recorded
    assert [(t.recorded, t.loading) for t in asked.targets] == [
        ("s3://bucket/new", ()),
        ("", (parts.URI, "s3://bucket/new")),
    ]
    done = sync(call, FACTS, report(asked, AdapterPhase.LOADED, AdapterPhase.LOADED)).status
    assert done is not None
    assert [a["source"] for a in done["adapters"]] == ["s3://bucket/new"]


def test_renamed_adapter_has_its_old_name_unloaded_and_then_forgotten() -> None:
    old = sync_with(model(), pods(1), phases=(AdapterPhase.LOADED,)).status
    call = request(model(adapter="b", status=old), pods(1))
    asked = wanted(call, FACTS)
    assert asked is not None
    assert (asked.adapter, asked.former) == (Adapter(name="b", uri=parts.URI), ("a",))
    assert asked.targets[0].recorded == ""
    answer = sync(call, FACTS, report(asked, AdapterPhase.LOADED, left=("a",)))
    assert answer.status is not None
    assert [a["name"] for a in answer.status["adapters"]] == ["b", "a"]
    assert answer.resync_after_seconds == 0.2, "the new name is loaded once the status has come back"
    done = sync(call, FACTS, report(asked, AdapterPhase.LOADED)).status
    assert done is not None
    assert [a["name"] for a in done["adapters"]] == ["b"]


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        pytest.param({}, "HTTP 404: no such source", id="same"),
        pytest.param({"generation": 2}, "", id="new generation"),
        pytest.param({"generation": 2, "uri": "s3://bucket/new"}, "", id="new source"),
        pytest.param({"generation": 2, "adapter": "b"}, "", id="new name"),
    ],
)
def test_final_failure_of_this_generation_is_sent_to_a_restarted_prober(change: dict[str, Any], failed: str) -> None:
    phases = (AdapterPhase.FAILED, AdapterPhase.RETRYING)
    old = sync_with(model(), pods(2), phases=phases, attempts=1, last_error="HTTP 404: no such source").status
    asked = wanted(request(model(status=old, **change), pods(2)), FACTS)
    assert asked is not None
    assert [t.failed for t in asked.targets] == [failed, ""]


DELETED = {"deletionTimestamp": "2026-03-01T11:59:59Z"}
NEW = {"uri": "s3://bucket/new"}


@pytest.mark.parametrize(
    ("phase", "change", "recorded", "loading"),
    [
        pytest.param(AdapterPhase.LOADED, {}, parts.URI, (), id="loaded"),
        pytest.param(AdapterPhase.LOADED, {"generation": 3}, parts.URI, (), id="loaded, and another field changed"),
        pytest.param(AdapterPhase.LOADING, {}, "", (parts.URI,), id="its own load may arrive"),
        pytest.param(AdapterPhase.PENDING, {}, "", (parts.URI,), id="a load may have been sent since"),
        pytest.param(AdapterPhase.LOADED, NEW, "", (parts.URI,), id="new source"),
        pytest.param(AdapterPhase.RETRYING, NEW, "", (parts.URI,), id="new source after a timeout"),
        pytest.param(AdapterPhase.LOADING, {"adapter": "b"}, "", (parts.URI,), id="new name while loading"),
        pytest.param(AdapterPhase.LOADING, DELETED, "", (parts.URI,), id="deleted while loading"),
        pytest.param(AdapterPhase.LOADED, DELETED, "", (), id="deleted"),
        pytest.param("Phase of another version", {}, "", (parts.URI,), id="a phase that is not ours"),
    ],
)
def test_prober_learns_from_the_status_what_the_engine_has_and_may_get(
    phase: Any, change: dict[str, Any], recorded: str, loading: tuple[str, ...]
) -> None:
    old = sync_with(model(), pods(1), phases=(phase if phase in set(AdapterPhase) else AdapterPhase.PENDING,)).status
    assert old is not None
    old = {**old, "endpoints": [{**old["endpoints"][0], "phase": phase}]}
    call = request(model(status=old, **change), pods(1), finalizing="deletionTimestamp" in change)
    asked = wanted(call, FACTS)
    assert asked is not None
    assert [(t.recorded, t.loading) for t in asked.targets] == [(recorded, loading)]


def test_engines_that_a_long_status_leaves_out_keep_their_adapter() -> None:
    phases = (*(AdapterPhase.PENDING,) * 10, *(AdapterPhase.LOADED,) * 1000)
    known = sync_with(model(), parts.thousands(1010), phases=phases).status
    asked = wanted(request(model(status=known), parts.thousands(1011)), FACTS)
    assert asked is not None
    assert [t.recorded for t in asked.targets] == [""] * 10 + [parts.URI] * 1001
    changed = wanted(request(model(status=known, uri="s3://bucket/new"), parts.thousands(1010)), FACTS)
    assert changed is not None
    assert {(t.recorded, t.loading) for t in changed.targets} == {("", (parts.URI,))}


def test_engines_whose_source_is_not_settled_are_not_left_out_of_a_long_status() -> None:
    call = request(model(status={"adapters": [{"name": "a", "source": parts.URI}]}), parts.thousands(1010))
    told = report(wanted(call, FACTS), *(AdapterPhase.LOADED,) * 1010)
    unsettled = tuple(msgspec.structs.replace(one, source="") for one in told.endpoints[-20:])
    known = sync(call, FACTS, LoadReport(endpoints=(*told.endpoints[:-20], *unsettled))).status
    asked = wanted(request(model(status=known), parts.thousands(1010)), FACTS)
    assert asked is not None
    assert [t.loading for t in asked.targets] == [()] * 990 + [(parts.URI,)] * 20
    none_settled = sync(call, FACTS, report(wanted(call, FACTS), *(AdapterPhase.LOADED,) * 1010, source="")).status
    asked = wanted(request(model(status=none_settled), parts.thousands(1010)), FACTS)
    assert asked is not None
    assert {(t.recorded, t.loading) for t in asked.targets} == {("", (parts.URI,))}


def test_status_of_another_version_loses_nothing_and_is_written_anew() -> None:
    entry = {"address": "http://10.0.0.1:9090", "podName": "w0", "ready": True, "phase": "Warming", "source": parts.URI}
    old = {"adapters": [{"name": "a", "source": parts.URI, "rank": 8}], "endpoints": [{**entry, "shards": [1]}]}
    call = request(model(status={**old, "conditions": [], "mode": "fast"}), pods(1))
    asked = wanted(call, FACTS)
    assert asked is not None
    assert (asked.is_recorded, asked.targets[0].recorded) == (True, parts.URI)
    answer = sync(call, FACTS, report(asked, AdapterPhase.UNKNOWN))
    assert answer.status is not None
    assert "mode" not in answer.status
    assert answer.status["adapters"] == [{"name": "a", "source": parts.URI}]
    assert answer.status["endpoints"][0]["phase"] == "Pending"
    assert condition(answer.status, "Ready")["status"] == "False", "an engine that was not asked yet counts for nothing"


def test_broken_spec_keeps_what_was_loaded_and_says_all_problems() -> None:
    good = sync_with(model(), pods(1), phases=(AdapterPhase.LOADED,)).status
    call = request(model(uri="http://x", base=parts.BASE, status=good), pods(1))
    asked = wanted(call, FACTS)
    assert asked is not None
    assert asked.adapter == Adapter(name="a", uri=parts.URI)
    answer = sync(call, FACTS, report(asked, AdapterPhase.LOADED))
    assert texts_of(answer.problems) == ("source URI must start with 's3://' or 'hf://', got: http://x",)
    assert condition(answer.status, "Ready")["reason"] == "InvalidSpec"
    assert answer.status is not None
    assert answer.status["readyEndpoints"] == 1


@pytest.mark.parametrize(("switch", "adapter"), [("on", Adapter(name="a", uri="file:///x")), ("off", None)])
def test_file_is_loaded_only_where_the_setting_allows_it(switch: str, adapter: Adapter | None) -> None:
    asked = wanted(request(model(uri="file:///x"), pods(1)), make.facts(lora_file_sources=switch))
    assert (asked and asked.adapter) == adapter


def test_broken_spec_without_history_loads_nothing() -> None:
    call = request(model(uri=None), pods(1))
    assert wanted(call, FACTS) is None
    answer = sync(call, FACTS, None)
    assert condition(answer.status, "Ready")["message"] == "spec.source is required when modelType is 'lora'"
    assert answer.status is not None
    assert answer.status["totalEndpoints"] == 1
    stored = sync(request(model(uri=None, status=answer.status), pods(1)), FACTS, None)
    assert stored.resync_after_seconds == 0


def test_spec_that_does_not_parse_is_a_problem_not_a_crash() -> None:
    parent = model()
    parent["spec"]["source"] = "s3://not-an-object"
    answer = sync(request(parent, pods(1)), FACTS, None)
    assert answer.problems
    assert condition(answer.status, "Ready")["reason"] == "InvalidSpec"


def test_second_model_of_one_adapter_name_is_refused_and_loads_nothing() -> None:
    second = model("second", created="2026-03-01T11:00:00Z")
    call = request(second, pods(1), model("first"))
    assert wanted(call, FACTS) is None
    message = condition(sync(call, FACTS, None).status, "Ready")["message"]
    assert message.startswith(f"spec.modelName: a on base model {parts.BASE} belongs to DynamoModel first")


def test_model_that_is_refused_later_gives_up_the_name() -> None:
    held = {"adapters": [{"name": "a", "source": parts.URI}]}
    second = model("second", created="2026-03-01T11:00:00Z", status=held)
    call = request(second, pods(1), model("first", status=held))
    assert wanted(call, FACTS) is None
    answer = sync(call, FACTS, None)
    assert answer.status is not None
    assert "adapters" not in answer.status


def test_ten_thousand_endpoints_fit_a_status() -> None:
    phases = tuple(AdapterPhase.FAILED if i == 9_999 else AdapterPhase.LOADED for i in range(10_000))
    answer = sync_with(model(), parts.thousands(10_000), phases=phases, last_error="x" * 256)
    assert answer.status is not None
    assert answer.status["totalEndpoints"] == 10_000
    assert answer.status["endpoints"][0]["podName"] == "w09999"
    assert len(answer.status["endpoints"]) == 1000
    assert len(write_sync_answer(answer, Objects({}), decorator=True)) < 2**20


def test_customize_asks_for_slices_and_an_adapter_for_its_neighbours() -> None:
    rules = customize(CustomizeRequest(parent=model()), FACTS)
    assert [rule.to_json() for rule in rules] == [
        {
            "apiVersion": "discovery.k8s.io/v1",
            "resource": "endpointslices",
            "namespace": "default",
            "labelSelector": {"matchLabels": {contract.LABEL_MODEL_HASH: "fb68f5a6"}},
        },
        {"apiVersion": "nvidia.com/v1alpha1", "resource": "dynamomodels", "namespace": "default"},
    ]
    assert len(customize(CustomizeRequest(parent=model(model_type="base")), FACTS)) == 1
