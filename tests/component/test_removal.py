"""A component that goes: what is dropped in etcd, how long that may take, and what is said when it cannot be done."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient

from hooks.component.change.removal import finalize, wanted_drop
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings.facts import Facts
from hooks.server.app import create_app
from hooks.server.routes import all_hooks
from hooks.wire.metacontroller.effects import DropReport, EtcdPrefixDrop, Event
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from tests import make

DELETED = datetime(2026, 3, 1, 11, 59, 30, tzinfo=UTC)
ETCD = {"discovery_backend": "etcd", "etcd_address": "127.0.0.1:2379"}
DROP = EtcdPrefixDrop(prefix="/default-g/components/service1/")
FAULT = "127.0.0.1:2379 does not answer"


def going(**fields: Any) -> Manifest:
    parent = make.component("c", "g", **{"serviceName": "service1", **fields})
    parent["metadata"]["deletionTimestamp"] = DELETED.strftime("%Y-%m-%dT%H:%M:%SZ")
    return parent


def call(parent: Manifest, children: tuple[Manifest, ...] = ()) -> SyncRequest:
    return make.sync_request(parent, children, finalizing=True)


def wanted(parent: Manifest, **settings: str) -> EtcdPrefixDrop | None:
    return wanted_drop(call(parent), make.facts(make.NOW, **{**ETCD, **settings}))


def ask(parent: Manifest, report: DropReport | None, *, after: float = 30) -> SyncAnswer:
    """The answer so many seconds after the deletion."""
    return finalize(call(parent), make.facts(DELETED + timedelta(seconds=after), **ETCD), report)


# What is dropped


def test_keys_of_the_service_are_dropped_and_of_no_other_that_begins_like_it() -> None:
    drop = wanted(going(serviceName="worker"))
    assert drop == EtcdPrefixDrop(prefix="/default-g/components/worker/")
    assert not "/default-g/components/worker2/generate".startswith(drop.prefix)


@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        ({}, {"discovery_backend": "kubernetes"}),
        ({}, {"effect_etcd": "off"}),
        ({}, {"etcd_address": ""}),
        ({"annotations": {"nvidia.com/dynamo-discovery-backend": "kubernetes"}}, {}),
    ],
    ids=["other backend", "switched off", "no address", "other backend by annotation"],
)
def test_nothing_is_dropped_where_nothing_is_or_may_be(spec: dict[str, Any], settings: dict[str, str]) -> None:
    assert wanted(going(**spec), **settings) is None


def test_keys_are_dropped_where_only_the_graph_chose_etcd() -> None:
    annotations = {"nvidia.com/dynamo-discovery-backend": "etcd"}
    assert wanted(going(annotations=annotations), discovery_backend="kubernetes") == DROP


def test_what_a_component_left_is_found_though_its_spec_is_invalid() -> None:
    spec = {"serviceName": 5, "replicas": "many", "annotations": {"a": 1}, "globalDynamoNamespace": "yes"}
    assert wanted({**going(), "spec": spec}) == EtcdPrefixDrop(prefix="/default-g/components/c/")


# How it goes


def test_component_goes_once_its_keys_are_dropped() -> None:
    answer = ask(going(), DropReport(drop=DROP))
    assert (answer.finalized, answer.children, answer.effects) == (True, (), ())
    assert answer.notes == ("dropped /default-g/components/service1/ in etcd",)


def test_component_without_keys_just_goes_and_keeps_its_status_to_the_end() -> None:
    answer = ask(going(status={"conditions": []}), None)
    assert (answer.finalized, answer.children, answer.effects) == (True, (), ())
    assert answer.status == {"conditions": []}


def test_etcd_that_does_not_answer_is_waited_for_and_the_condition_says_until_when() -> None:
    ready = {"type": "Ready", "status": "True", "reason": "r", "message": "", "lastTransitionTime": "t"}
    other = {**ready, "type": "Available"}
    answer = ask(
        going(status={"conditions": [ready, other], "service": {"replicas": 1}}), DropReport(drop=DROP, fault=FAULT)
    )
    assert (answer.finalized, answer.children, answer.resync_after_seconds) == (False, (), 5.0)
    assert answer.status is not None
    available, told = answer.status["conditions"]
    assert available == other
    assert (told["type"], told["status"], told["reason"]) == ("Ready", "False", "EtcdKeysNotDropped")
    assert told["message"] == (
        "keys under /default-g/components/service1/ in etcd cannot be dropped (127.0.0.1:2379 does not answer); "
        "this is tried again until 2026-03-01T12:00:30Z, then the component is deleted and its keys stay"
    )
    assert answer.status["service"] == {"replicas": 1}


def test_waiting_says_the_same_at_every_attempt() -> None:
    first = ask(going(), DropReport(drop=DROP, fault=FAULT), after=1)
    again = ask({**going(), "status": first.status}, DropReport(drop=DROP, fault=FAULT), after=40)
    assert again.status == first.status


def test_last_attempt_is_made_at_the_deadline() -> None:
    assert ask(going(), DropReport(drop=DROP, fault=FAULT), after=57).resync_after_seconds == 3.0
    assert ask(going(), DropReport(drop=DROP, fault=FAULT), after=59.9).resync_after_seconds == 1.0


def test_component_goes_at_the_deadline_and_an_event_says_what_was_left() -> None:
    answer = ask(going(), DropReport(drop=DROP, fault=FAULT), after=60)
    assert answer.finalized
    (event,) = answer.effects
    assert isinstance(event, Event)
    assert (event.type, event.reason, event.about.name) == ("Warning", "EtcdKeysNotDropped", "c")
    assert event.message.startswith(f"keys under /default-g/components/service1/ were left in etcd: {FAULT}; ")
    assert answer.notes == (event.message,)


def test_component_waits_no_longer_because_the_clock_was_set_back() -> None:
    assert ask(going(), DropReport(drop=DROP, fault=FAULT), after=-30).resync_after_seconds == 5.0
    assert ask(going(), DropReport(drop=DROP, fault=FAULT), after=-3600).finalized


def test_late_first_call_still_tries_once() -> None:
    late = make.facts(DELETED + timedelta(hours=1), **ETCD)
    assert wanted_drop(call(going()), late) == DROP
    assert finalize(call(going()), late, DropReport(drop=DROP)).effects == ()


def test_component_that_only_changes_hands_keeps_what_it_has() -> None:
    service = make.observed({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "c"}, "spec": {}})
    parent = make.component("c", "g", serviceName="service1", status={"conditions": []})
    request = call(parent, (service,))
    assert wanted_drop(request, make.facts(make.NOW, **ETCD)) is None
    answer = finalize(request, make.facts(make.NOW, **ETCD), None)
    assert answer.finalized
    assert [child["metadata"]["name"] for child in answer.children] == ["c"]


# Over HTTP


def no_model(*_: object) -> Any:
    pytest.fail("no model is asked about")


def client(outcome: str, asked: list[EtcdPrefixDrop], **more: str) -> FlaskClient:
    def drop_keys(request: SyncRequest, facts: Facts) -> DropReport | None:
        drop = wanted_drop(request, facts)
        if drop is None:
            return None
        asked.append(drop)
        return DropReport(drop=drop, fault=outcome)

    settings = make.facts(make.NOW, **{**ETCD, **more}).settings
    hooks = all_hooks(no_model, drop_keys, no_model)
    return create_app(settings, lambda: make.NOW, hooks=hooks).test_client()


@pytest.mark.parametrize(("fault", "is_finalized"), [("", True), (FAULT, False)], ids=["dropped", "unreachable"])
def test_keys_are_dropped_before_the_answer_is_given(fault: str, is_finalized: bool) -> None:
    asked: list[EtcdPrefixDrop] = []
    body = {**make.wire_request(going()), "finalizing": True}
    answer = client(fault, asked).post("/component/finalize", json=body).get_json()
    assert asked == [DROP]
    assert answer.get("finalized", False) is is_finalized


def test_component_that_did_not_use_etcd_goes_at_once_though_another_might_have() -> None:
    asked: list[EtcdPrefixDrop] = []
    body = {**make.wire_request(going()), "finalizing": True}
    answer = client(FAULT, asked, discovery_backend="kubernetes").post("/component/finalize", json=body).get_json()
    assert (asked, answer["finalized"]) == ([], True)
