"""What is counted, by whom, and what remains if it cannot be counted."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, plural_of
from hooks.server.clients.inventory import LEASE_NAME, ResourceCounter, find_reason, find_state
from hooks.server.serving.resource_counts import NOTHING
from tests import make
from tests.played_api_server import PlayedApiServer, played_api_server

KINDS = (contract.GRAPH, contract.COMPONENT, contract.GRAPH_REQUEST, contract.MODEL, contract.SCALING_ADAPTER)
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/dynamo-system/leases/{LEASE_NAME}"
SINCE = "2026-03-01T11:00:00Z"
UNOWNED = "!nvidia.com/dynamo-installation"


@dataclass
class Clock:
    now: datetime = make.NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def played(tmp_path: Path) -> Iterator[PlayedApiServer]:
    with played_api_server(tmp_path) as server:
        yield server


def list_path(kind: GroupVersionKind, namespace: str = "", selector: str = UNOWNED, more: str = "") -> str:
    where = f"/namespaces/{namespace}" if namespace else ""
    query = {"limit": 500, "labelSelector": selector, **({"continue": more} if more else {})}
    return f"/apis/{kind.api_version}{where}/{plural_of(kind)}?{urlencode(query)}"


def listed(*statuses: dict[str, Any], namespace: str = "a", more: str = "") -> dict[str, Any]:
    items = [{"metadata": {"name": f"x{i}", "namespace": namespace}, "status": s} for i, s in enumerate(statuses)]
    return {"items": items, "metadata": {"continue": more} if more else {}}


def fill(played: PlayedApiServer, **lists: dict[str, Any]) -> None:
    for kind in KINDS:
        played.objects[list_path(kind)] = lists.get(kind.kind, {"items": []})


def counter(played: PlayedApiServer, clock: Clock, process: str = "pod-1/7", **more: str) -> ResourceCounter:
    return ResourceCounter(server=played.server, clock=clock, namespace="dynamo-system", process=process, **more)


def ready(status: str) -> dict[str, Any]:
    return {"conditions": [{"type": "Ready", "status": status}]}


def not_ready(reason: str) -> dict[str, Any]:
    return {"conditions": [{"type": "Ready", "status": "False", "reason": reason, "lastTransitionTime": SINCE}]}


@pytest.mark.parametrize(
    ("kind", "status", "state"),
    [
        (contract.GRAPH, {"state": "successful"}, "successful"),
        (contract.GRAPH, {}, "unknown"),
        (contract.GRAPH_REQUEST, {"state": "Profiling"}, "Profiling"),
        (contract.COMPONENT, ready("True"), "ready"),
        (contract.MODEL, ready("False"), "not_ready"),
        (contract.SCALING_ADAPTER, {}, "unknown"),
    ],
)
def test_state_is_the_operators(kind: GroupVersionKind, status: dict[str, Any], state: str) -> None:
    assert find_state(kind, {"metadata": {"name": "x"}, "status": status}) == state
    assert find_state(kind, {"metadata": {"name": "x"}}) == "unknown", "the API server has not written a status yet"


@pytest.mark.parametrize(
    ("metadata", "status", "why"),
    [
        ({}, ready("True"), None),
        ({"creationTimestamp": SINCE}, {}, ("NotProcessed", SINCE)),
        ({}, not_ready("ImagePull"), ("ImagePull", SINCE)),
        ({}, {**not_ready("some_resources_are_not_ready"), "notReadyReason": "CrashLoop"}, ("CrashLoop", SINCE)),
        ({"deletionTimestamp": SINCE}, ready("True"), ("Deleting", SINCE)),
    ],
    ids=["ready", "new", "component", "graph", "deleted"],
)
def test_reason_is_the_worst_one_and_has_a_beginning(
    metadata: dict[str, str], status: dict[str, Any], why: tuple[str, str] | None
) -> None:
    assert find_reason({"metadata": metadata, "status": status}) == why


def test_objects_that_are_not_ready_are_counted_by_reason_with_their_ages(played: PlayedApiServer) -> None:
    pending = {**not_ready("some_resources_are_not_ready"), "notReadyReason": "ImagePull"}
    fill(played, DynamoGraphDeployment=listed(pending, pending, ready("True")))
    (key, ages), *others = counter(played, Clock()).count().not_ready.items()
    assert (key, list(ages), others) == (("DynamoGraphDeployment", "a", "ImagePull"), [3600.0, 3600.0], [])


def test_graphs_in_an_outage_are_named(played: PlayedApiServer) -> None:
    down: dict[str, Any] = {
        "metadata": {"name": "llm", "namespace": "a", "creationTimestamp": "2026-03-01T10:00:00Z"},
        "spec": {"services": {"Frontend": {"componentType": "frontend"}}},
        "status": {**not_ready("some_resources_are_not_ready"), "services": {"Frontend": {"replicas": 1}}},
    }
    new = {**down, "metadata": {**down["metadata"], "name": "new", "creationTimestamp": SINCE}}
    fill(played, DynamoGraphDeployment={"items": [down, new]})
    assert counter(played, Clock()).count().outages == {("a", "llm", "frontend")}


def test_rollouts_of_graphs_are_named_by_what_they_do(played: PlayedApiServer) -> None:
    def graph(name: str, *conditions: dict[str, str], **metadata: str) -> dict[str, Any]:
        return {"metadata": {"name": name, "namespace": "a", **metadata}, "status": {"conditions": list(conditions)}}

    stalled = {"type": "Rollout", "status": "True", "reason": "RolloutStalled"}
    at_rest = {"type": "Ready", "status": "True", "reason": "all_resources_are_ready"}
    found = [graph("llm", at_rest, stalled), graph("still", at_rest), graph("ends", stalled, deletionTimestamp=SINCE)]
    fill(played, DynamoGraphDeployment={"items": found})
    assert counter(played, Clock()).count().rollouts == {("a", "llm", "RolloutStalled")}


def test_all_pages_of_all_kinds_are_counted(played: PlayedApiServer) -> None:
    first = listed({"state": "pending"}, {"state": "failed"}, more="next")
    fill(played, DynamoGraphDeployment=first, DynamoModel=listed(ready("True"), namespace="b"))
    played.objects[list_path(contract.GRAPH, more="next")] = listed({"state": "pending"})
    assert counter(played, Clock()).count().states == {
        ("DynamoGraphDeployment", "a", "pending"): 2,
        ("DynamoGraphDeployment", "a", "failed"): 1,
        ("DynamoModel", "b", "ready"): 1,
    }


def test_installation_counts_its_own_in_its_namespace(played: PlayedApiServer) -> None:
    for kind in KINDS:
        path = list_path(kind, "team", "nvidia.com/dynamo-installation=blue")
        played.objects[path] = listed({"state": "pending"}) if kind == contract.GRAPH else {"items": []}
    found = counter(played, Clock(), installation="blue", restricted_to="team").count().states
    assert found == {("DynamoGraphDeployment", "a", "pending"): 1}


def test_only_one_process_counts_until_it_stops(played: PlayedApiServer) -> None:
    fill(played, DynamoModel=listed(ready("True")))
    clock = Clock()
    first, second = counter(played, clock), counter(played, clock, "pod-2/9")
    counted = {("DynamoModel", "a", "ready"): 1}
    assert (first.count().states, second.count(), first.count().states) == (counted, NOTHING, counted)
    clock.now += timedelta(seconds=76)
    assert (second.count().states, first.count()) == (counted, NOTHING)
    assert played.objects[LEASE]["spec"]["holderIdentity"] == "pod-2/9"


def test_process_that_is_slower_at_the_lease_does_not_count(played: PlayedApiServer) -> None:
    fill(played, DynamoModel=listed(ready("True")))
    played.before = lambda method, _path: 409 if method == "POST" else None
    assert counter(played, Clock()).count() == NOTHING


def test_refusal_is_logged_once_and_counts_nothing(played: PlayedApiServer, caplog: pytest.LogCaptureFixture) -> None:
    played.before = lambda _method, path: 403 if "dynamomodels" in path else None
    fill(played, DynamoGraphDeployment=listed({"state": "pending"}))
    one = counter(played, Clock())
    assert (one.count(), one.count()) == (NOTHING, NOTHING)
    assert [record.getMessage() for record in caplog.records if "not counted" in record.getMessage()] == [
        f"resources are not counted: GET {list_path(contract.MODEL)}: 403 refused with 403"
    ]
