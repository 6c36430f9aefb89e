"""What users see of graphs under a real Metacontroller: reasons, columns, Events, and who waits for Ready."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    condition,
    load_example,
    running_controllers,
    sync_count,
    the_graph,
    wait_for_silence,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer
from tests.contract.backend import Manifest
from tests.kstatus import Kstatus, compute

NAME, DECODE = "vllm-disagg", "vllm-disagg-vllmdecodeworker"


@pytest.fixture(scope="module", autouse=True)
def controllers(admin: ApiClient, metacontroller: HttpServer, acting_url: str) -> Iterator[None]:
    with running_controllers(admin, acting_url):
        yield


@pytest.fixture
def held(api: ApiClient) -> Iterator[ApiClient]:
    """The client of a namespace with a graph whose decode worker's pod does not come up."""
    graph = copy.deepcopy(load_example(NAME))
    graph["spec"]["services"]["VllmDecodeWorker"]["extraPodMetadata"] = {"annotations": {"test/hold": "true"}}
    api.create(graph, strict=True)
    wait_for(lambda: pods_of_decode(api), "the held pod is there")
    yield api
    api.delete(DYNAMO, GRAPH, NAME)


@pytest.fixture
def ready(api: ApiClient) -> Iterator[ApiClient]:
    """The client of a namespace in which the graph is ready."""
    api.create(load_example(NAME), strict=True)
    wait_until_ready(api, NAME)
    yield api
    api.delete(DYNAMO, GRAPH, NAME)


def pods_of_decode(api: ApiClient) -> list[Manifest]:
    return api.list("v1", "Pod", labelSelector=f"nvidia.com/selector={DECODE}")


def component(api: ApiClient) -> Manifest:
    found = api.get(DYNAMO, COMPONENT, DECODE)
    assert found is not None
    return found


def reason(api: ApiClient) -> str:
    found: str = condition(component(api), "Ready").get("reason", "")
    return found


def crash(api: ApiClient, restarts: int) -> str:
    """Let the held pod's container crash for the n-th time, as the kubelet would report it; gives the pod's name."""
    (pod,) = pods_of_decode(api)
    ended = {"exitCode": 1, "reason": "Error", "startedAt": None, "finishedAt": None, "message": "hunter2"}
    container: dict[str, Any] = {
        "name": "main",
        "image": "i",
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": restarts,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": f"back-off {restarts}0s"}},
        "lastState": {"terminated": ended},
    }
    name: str = pod["metadata"]["name"]
    api.patch("v1", "Pod", name, {"status": {"phase": "Running", "containerStatuses": [container]}}, sub="status")
    return name


def events_about(api: ApiClient, kind: str, name: str) -> list[tuple[str, str, int]]:
    """Type, reason and count of the hooks' Events about an object, in a fixed order."""
    found = api.list("v1", "Event", fieldSelector=f"involvedObject.kind={kind},involvedObject.name={name}")
    ours = [event for event in found if event["source"].get("component") == "dynamo-hooks"]
    return sorted((event["type"], event["reason"], event["count"]) for event in ours)


def test_pod_that_keeps_a_graph_from_being_ready_is_named_with_what_to_do(held: ApiClient, plane: ControlPlane) -> None:
    (pod,) = pods_of_decode(held)
    wait_for(lambda: f"Progressing: pod {pod['metadata']['name']}" in message(held), "the pod that starts is named")
    name = crash(held, 3)
    wait_for(lambda: reason(held) == "CrashLoop", "the component says that it crashes")
    wait_for(lambda: f"CrashLoop: pod {name}: " in message(held), "the graph says so too")
    assert f"kubectl logs -n {held.namespace} {name} -c main --previous" in message(held)
    assert "hunter2" not in message(held)
    header, row = plane.kubectl("get", "dcd", DECODE, "-n", held.namespace).splitlines()
    assert (header.split()[4:6], row.split()[3:5]) == (["READY", "REASON"], ["False", "CrashLoop"])
    header, row = plane.kubectl("get", "dgd", NAME, "-n", held.namespace).splitlines()
    assert header.split() == ["NAME", "READY", "SERVING", "REASON", "COMPONENTS", "GPUS", "AGE"]
    assert row.split()[:-1] == [NAME, "False", "False", "CrashLoop", "2/3", "3"]
    header, row = plane.kubectl("get", "dgd", NAME, "-n", held.namespace, "-o", "wide").splitlines()
    assert header.split()[7:] == ["PATH", "BACKEND", "MESSAGE"]
    assert "   Deployments   " in row
    assert f"kubectl logs -n {held.namespace} {name} -c main --previous" in row
    assert ("Warning", "CrashLoop", 1) in events_about(held, COMPONENT, DECODE)


def message(api: ApiClient) -> str:
    found: str = condition(the_graph(api, NAME), "Ready").get("message", "")
    return found


def test_restarts_of_a_container_are_no_writes(held: ApiClient, audit: Audit, metacontroller: HttpServer) -> None:
    crash(held, 3)
    wait_for(lambda: reason(held) == "CrashLoop", "the component says that it crashes")
    mark, told = wait_for_silence(audit), events_about(held, COMPONENT, DECODE)
    for restarts in (4, 5):
        before = sync_count(metacontroller, "dynamo-component")
        crash(held, restarts)
        wait_for(lambda: sync_count(metacontroller, "dynamo-component") > before, "the component is synced")  # noqa: B023
    wait_for_silence(audit)
    assert audit.writes(mark) == []
    assert events_about(held, COMPONENT, DECODE) == told


def test_changes_are_told_once_and_stillness_is_not(ready: ApiClient, audit: Audit, metacontroller: HttpServer) -> None:
    up = ("Normal", "all_resources_are_ready", 1)
    wait_for(lambda: up in events_about(ready, GRAPH, NAME), "the graph's readiness is told")
    wait_for_silence(audit)
    told = events_about(ready, GRAPH, NAME), events_about(ready, COMPONENT, DECODE)
    assert told[1] == [("Normal", "Reconciling", 1), ("Normal", "Update", 1)]
    before = sync_count(metacontroller, "dynamo-graph")
    ready.patch(DYNAMO, GRAPH, NAME, {"metadata": {"annotations": {"test/touched": "yes"}}})
    wait_for(lambda: sync_count(metacontroller, "dynamo-graph") > before, "the graph is synced")
    wait_for_silence(audit)
    assert (events_about(ready, GRAPH, NAME), events_about(ready, COMPONENT, DECODE)) == told


def test_spec_that_validation_refuses_past_admission_changes_no_child(ready: ApiClient, audit: Audit) -> None:
    """Whether the kind InferencePool is declared is nothing that the API server can judge a graph by."""
    mark = wait_for_silence(audit)
    uids = {item["metadata"]["uid"] for item in (*ready.list("v1", "Pod"), *ready.list("apps/v1", "Deployment"))}
    picker = {"componentType": "epp", "eppConfig": {"configMapRef": {"name": "c", "key": "k"}}}
    pickers = dict.fromkeys(("Frontend", "VllmDecodeWorker"), picker)
    ready.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": pickers}})
    wait_for(lambda: condition(the_graph(ready, NAME), "Ready")["reason"] == "ValidationFailed", "it is refused")
    for name in pickers:
        assert f"spec.services[{name}]" in message(ready)
    wait_for_silence(audit)
    writes = [write for write in audit.writes(mark) if write.namespace == ready.namespace]
    assert {(write.resource, write.subresource) for write in writes} == {("dynamographdeployments", "status")}
    left = {item["metadata"]["uid"] for item in (*ready.list("v1", "Pod"), *ready.list("apps/v1", "Deployment"))}
    assert left == uids
    graph = the_graph(ready, NAME)
    assert set(graph["status"]["services"]) == {"Frontend", "VllmPrefillWorker", "VllmDecodeWorker"}
    assert compute(graph) is Kstatus.IN_PROGRESS
    assert ("Warning", "ValidationFailed", 1) in events_about(ready, GRAPH, NAME)
    before = {
        "Frontend": {"componentType": "frontend", "eppConfig": None},
        "VllmDecodeWorker": {"componentType": "worker", "eppConfig": None},
    }
    ready.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": before}})
    wait_until_ready(ready, NAME)


def test_kubectl_waits_for_a_graph_for_as_long_as_it_is_not_ready(held: ApiClient, plane: ControlPlane) -> None:
    wait_for(lambda: message(held), "the graph says why it is not ready")
    wait = ("wait", "--for=condition=Ready", f"dgd/{NAME}", "-n", held.namespace)
    with pytest.raises(AssertionError, match="timed out"):
        plane.kubectl(*wait, "--timeout=1s")
    assert compute(the_graph(held, NAME)) is Kstatus.IN_PROGRESS
    (pod,) = pods_of_decode(held)
    held.patch("v1", "Pod", pod["metadata"]["name"], {"metadata": {"annotations": {"test/hold": None}}})
    assert "condition met" in plane.kubectl(*wait, "--timeout=60s")
    assert compute(the_graph(held, NAME)) is Kstatus.CURRENT
