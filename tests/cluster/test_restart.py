"""Restarts of a graph under a real Metacontroller: in order, once, and held by a service that does not come up."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.dynamo import (
    DYNAMO,
    GRAPH,
    condition,
    load_example,
    running_controllers,
    the_graph,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer
from tests.contract.backend import Manifest

NAME = "vllm-disagg"
ORDER = ["VllmPrefillWorker", "Frontend", "VllmDecodeWorker"]
PODS = {"VllmPrefillWorker": 2, "Frontend": 1, "VllmDecodeWorker": 1}
RESTART_AT = "nvidia.com/restartAt"
SERVICE = "nvidia.com/dynamo-component"


@pytest.fixture(scope="module", autouse=True)
def controllers(admin: ApiClient, metacontroller: HttpServer, hooks: HttpServer) -> Iterator[None]:
    with running_controllers(admin, hooks.url):
        yield


@pytest.fixture
def ready(api: ApiClient) -> Iterator[ApiClient]:
    """The client of a namespace in which the example graph is ready; the graph goes with the test."""
    api.create(load_example(NAME), strict=True)
    wait_until_ready(api, NAME)
    yield api
    api.delete(DYNAMO, GRAPH, NAME)


def ask(api: ApiClient, id_: str, **strategy: Any) -> None:
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"restart": {"id": id_, "strategy": strategy or None}}})


def standing(api: ApiClient) -> dict[str, Any]:
    found: dict[str, Any] = the_graph(api, NAME)["status"].get("restart", {})
    return found


def wait_until_done(api: ApiClient, id_: str) -> None:
    expected = {"observedID": id_, "phase": "Completed"}
    wait_for(lambda: standing(api) == expected, f"restart {id_} is completed")
    wait_until_ready(api, NAME)


def pods(api: ApiClient, service: str) -> list[Manifest]:
    found = [pod for pod in api.list("v1", "Pod") if pod["metadata"]["labels"].get(SERVICE) == service]
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def uids(api: ApiClient) -> dict[str, set[str]]:
    return {service: {pod["metadata"]["uid"] for pod in pods(api, service)} for service in ORDER}


def told(api: ApiClient) -> dict[str, set[str]]:
    found = {service: pods(api, service) for service in ORDER}
    return {s: {p["metadata"].get("annotations", {}).get(RESTART_AT, "") for p in some} for s, some in found.items()}


def component_updates(audit: Audit, mark: int, namespace: str) -> list[str]:
    """Names of the components that Metacontroller gave a new spec, in order."""
    writes = [write for write in audit.writes(mark) if write.namespace == namespace and not write.subresource]
    return [write.name for write in writes if write.resource == "dynamocomponentdeployments" and write.code == 200]


def created_pods(audit: Audit, mark: int, namespace: str) -> int:
    calls = [call for call in audit.calls()[mark:] if call.namespace == namespace]
    return sum((call.resource, call.verb, call.subresource) == ("pods", "create", "") for call in calls)


def test_services_restart_in_order_and_once(ready: ApiClient, audit: Audit) -> None:
    before, mark = uids(ready), audit.mark()
    ask(ready, "r1", order=ORDER)
    wait_until_done(ready, "r1")
    assert told(ready) == {service: {"r1"} for service in ORDER}
    after = uids(ready)
    assert {service: len(found) for service, found in after.items()} == PODS
    assert all(not before[service] & after[service] for service in ORDER)
    names = [f"{NAME}-{service.lower()}" for service in ORDER]
    assert component_updates(audit, mark, ready.namespace) == names
    assert created_pods(audit, mark, ready.namespace) == sum(PODS.values())
    for first, second in pairwise(ORDER):
        up = max(condition(pod, "Ready")["lastTransitionTime"] for pod in pods(ready, first))
        assert up <= min(pod["metadata"]["creationTimestamp"] for pod in pods(ready, second))


def test_finished_restart_does_not_run_again_when_the_status_is_lost(ready: ApiClient, audit: Audit) -> None:
    ask(ready, "r1", type="Parallel")
    wait_until_done(ready, "r1")
    before, mark = uids(ready), audit.mark()
    ready.patch(DYNAMO, GRAPH, NAME, {"status": None}, sub="status")
    ready.patch(DYNAMO, GRAPH, NAME, {"metadata": {"annotations": {"test/touched": "yes"}}})
    wait_for(lambda: the_graph(ready, NAME).get("status", {}).get("restart"), "the status is back")
    wait_until_done(ready, "r1")
    ready.patch(DYNAMO, GRAPH, NAME, {"spec": {"restart": None}})
    generation = the_graph(ready, NAME)["metadata"]["generation"]
    wait_for(lambda: the_graph(ready, NAME)["status"]["observedGeneration"] == generation, "the change is seen")
    wait_until_done(ready, "r1")
    assert uids(ready) == before
    assert component_updates(audit, mark, ready.namespace) == []


def test_service_that_does_not_come_up_holds_the_rest(ready: ApiClient) -> None:
    before, order = uids(ready), ["Frontend", "VllmPrefillWorker", "VllmDecodeWorker"]
    held = {"Frontend": {"extraPodMetadata": {"annotations": {"test/hold": "true"}}}}
    restart = {"id": "r1", "strategy": {"order": order}}
    ready.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": held, "restart": restart}})
    wait_for(lambda: "r1" in told(ready)["Frontend"], "the first service rolls")
    wait_for(
        lambda: (
            "restart r1 waits for Frontend, then restarts VllmPrefillWorker, VllmDecodeWorker"
            in condition(the_graph(ready, NAME), "Ready")["message"]
        ),
        "the graph says who holds the restart",
    )
    assert {s: found for s, found in uids(ready).items() if s in order[1:]} == {s: before[s] for s in order[1:]}
    assert standing(ready) == {"observedID": "r1", "phase": "Restarting", "inProgress": ["Frontend"]}
    _release_until_done(ready)
    assert told(ready) == {service: {"r1"} for service in ORDER}


def _release_until_done(api: ApiClient) -> None:
    """Let held pods go, also those that a rollout makes later."""

    def is_done() -> bool:
        for pod in pods(api, "Frontend"):
            if pod["metadata"].get("annotations", {}).get("test/hold"):
                api.patch("v1", "Pod", pod["metadata"]["name"], {"metadata": {"annotations": {"test/hold": None}}})
        return standing(api) == {"observedID": "r1", "phase": "Completed"}

    wait_for(is_done, "the restart goes on to its end")
