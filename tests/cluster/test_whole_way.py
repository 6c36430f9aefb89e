"""Graphs under a real Metacontroller with the real hooks: up, changed, disturbed, gone."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    SCALING_ADAPTER,
    condition,
    is_ready,
    load_example,
    objects_left,
    running_controllers,
    sync_count,
    the_graph,
    wait_for_silence,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer
from tests.contract.backend import ApiRefused, Manifest, Propagation

NAME = "vllm-disagg"
DEPLOYMENTS = {"vllm-disagg-frontend": 1, "vllm-disagg-vllmdecodeworker": 1, "vllm-disagg-vllmprefillworker": 2}


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
    if api.get(DYNAMO, GRAPH, NAME):
        api.delete(DYNAMO, GRAPH, NAME)


def deployments(api: ApiClient) -> dict[str, int]:
    """Name to ready replicas."""
    found = api.list("apps/v1", "Deployment")
    return {item["metadata"]["name"]: item.get("status", {}).get("readyReplicas", 0) for item in found}


def service_patch(service: str, **fields: Any) -> Manifest:
    return {"spec": {"services": {service: fields}}}


def test_graph_comes_up_with_all_its_components(ready: ApiClient) -> None:
    graph = the_graph(ready, NAME)
    assert deployments(ready) == DEPLOYMENTS
    assert condition(graph, "Ready")["status"] == "True"
    assert set(graph["status"]["services"]) == {"Frontend", "VllmPrefillWorker", "VllmDecodeWorker"}
    owners = {
        owner["kind"] for item in ready.list("apps/v1", "Deployment") for owner in item["metadata"]["ownerReferences"]
    }
    assert owners == {COMPONENT}
    services = {item["metadata"]["name"] for item in ready.list("v1", "Service")}
    assert "vllm-disagg-frontend" in services


def test_graph_is_not_ready_while_one_pod_is_pending(api: ApiClient) -> None:
    graph = copy.deepcopy(load_example(NAME))
    graph["spec"]["services"]["VllmDecodeWorker"]["extraPodMetadata"] = {"annotations": {"test/hold": "true"}}
    api.create(graph, strict=True)
    wanted = {**DEPLOYMENTS, "vllm-disagg-vllmdecodeworker": 0}
    wait_for(lambda: deployments(api) == wanted, "all but the held pod are up")
    wait_for(lambda: condition(the_graph(api, NAME), "Ready").get("status") == "False", "the graph says not ready")
    assert the_graph(api, NAME)["status"]["state"] == "pending"
    assert "vllmdecodeworker" in condition(the_graph(api, NAME), "Ready")["message"].lower()
    for pod in api.list("v1", "Pod"):
        api.patch("v1", "Pod", pod["metadata"]["name"], {"metadata": {"annotations": {"test/hold": None}}})
    wait_until_ready(api, NAME)
    api.delete(DYNAMO, GRAPH, NAME)


@pytest.mark.parametrize(
    ("service", "rolling", "images"),
    [
        ("Frontend", {"vllm-disagg-frontend"}, ["1.6.1", "1.6.1", "1.6.1", "1.6.2"]),
        (
            "VllmPrefillWorker",
            {"vllm-disagg-vllmdecodeworker", "vllm-disagg-vllmprefillworker"},
            ["1.6.1", "1.6.1", "1.6.2", "1.6.2"],
        ),
    ],
)
def test_spec_change_rolls_the_changed_component_and_all_workers_together(
    ready: ApiClient, service: str, rolling: set[str], images: list[str]
) -> None:
    before = {item["metadata"]["name"]: item["metadata"]["generation"] for item in ready.list("apps/v1", "Deployment")}
    image = {"mainContainer": {"image": "my-registry/vllm-runtime:1.6.2"}}
    ready.patch(DYNAMO, GRAPH, NAME, service_patch(service, extraPodSpec=image))
    wait_until_ready(ready, NAME)
    after = {item["metadata"]["name"]: item["metadata"]["generation"] for item in ready.list("apps/v1", "Deployment")}
    assert {name for name in before if before[name] != after[name]} == rolling
    wait_for(lambda: _images(ready) == images, "only pods of the changed spec are left")


def _images(api: ApiClient) -> list[str]:
    pods = [pod for pod in api.list("v1", "Pod") if "deletionTimestamp" not in pod["metadata"]]
    return sorted(pod["spec"]["containers"][0]["image"].rpartition(":")[2] for pod in pods)


def test_service_cannot_be_removed_and_all_stay(ready: ApiClient) -> None:
    uids = {item["metadata"]["name"]: item["metadata"]["uid"] for item in ready.list("apps/v1", "Deployment")}
    with pytest.raises(ApiRefused, match=r"services removed: \[VllmPrefillWorker\]"):
        ready.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {"VllmPrefillWorker": None}}})
    left = {item["metadata"]["name"]: item["metadata"]["uid"] for item in ready.list("apps/v1", "Deployment")}
    assert left == uids


def test_hand_edit_of_a_deployment_is_put_right(ready: ApiClient) -> None:
    ready.patch("apps/v1", "Deployment", "vllm-disagg-frontend", {"spec": {"replicas": 5}})
    wait_for(lambda: deployments(ready) == DEPLOYMENTS, "the frontend has its replicas again")


def test_scaling_adapter_sets_the_replicas(ready: ApiClient) -> None:
    ready.patch(DYNAMO, GRAPH, NAME, service_patch("VllmDecodeWorker", scalingAdapter={"enabled": True}))
    wait_for(lambda: ready.list(DYNAMO, SCALING_ADAPTER), "the adapter appears")
    adapter = ready.list(DYNAMO, SCALING_ADAPTER)[0]["metadata"]["name"]
    ready.patch(DYNAMO, SCALING_ADAPTER, adapter, {"spec": {"replicas": 3}}, sub="scale")
    wait_for(lambda: deployments(ready)["vllm-disagg-vllmdecodeworker"] == 3, "three decode workers are up")
    wait_until_ready(ready, NAME)


def test_graph_that_cannot_be_rendered_keeps_what_runs(ready: ApiClient, audit: Audit) -> None:
    mark = wait_for_silence(audit)
    ready.patch(DYNAMO, GRAPH, NAME, service_patch("VllmDecodeWorker", resources={"limits": {"cpu": "many"}}))
    wait_for(lambda: the_graph(ready, NAME)["status"]["state"] == "failed", "the graph says failed")
    assert "VllmDecodeWorker" in condition(the_graph(ready, NAME), "Ready")["message"]
    wait_for_silence(audit)
    writes = [write for write in audit.writes(mark) if write.namespace == ready.namespace]
    assert {(write.resource, write.subresource) for write in writes} == {("dynamographdeployments", "status")}
    assert deployments(ready) == DEPLOYMENTS
    ready.patch(DYNAMO, GRAPH, NAME, service_patch("VllmDecodeWorker", resources={"limits": {"cpu": None}}))
    wait_until_ready(ready, NAME)


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_deletion_leaves_nothing(propagation: Propagation, ready: ApiClient) -> None:
    assert list(objects_left(ready))
    ready.delete(DYNAMO, GRAPH, NAME, propagation=propagation)
    wait_for(lambda: ready.get(DYNAMO, GRAPH, NAME) is None, "the graph is gone")
    wait_until_nothing_is_left(ready)


def test_components_and_pods_run_on_if_the_graph_alone_is_deleted(
    ready: ApiClient, audit: Audit, metacontroller: HttpServer
) -> None:
    def running() -> tuple[dict[str, Any], set[str]]:
        """Pod templates of the Deployments by name, and the pods."""
        templates = {one["metadata"]["name"]: one["spec"]["template"] for one in ready.list("apps/v1", "Deployment")}
        return templates, {pod["metadata"]["uid"] for pod in ready.list("v1", "Pod")}

    before = running()
    ready.delete(DYNAMO, GRAPH, NAME, propagation="Orphan")
    wait_for(lambda: ready.get(DYNAMO, GRAPH, NAME) is None, "the graph is gone")
    components = ready.list(DYNAMO, COMPONENT)
    assert [one["metadata"].get("ownerReferences", []) for one in components] == [[]] * len(DEPLOYMENTS)
    syncs = sync_count(metacontroller, "dynamo-component")
    for one in components:
        ready.patch(DYNAMO, COMPONENT, one["metadata"]["name"], {"metadata": {"annotations": {"touched": "yes"}}})
    wait_for(lambda: sync_count(metacontroller, "dynamo-component") >= syncs + len(components), "all are synced")
    wait_for_silence(audit)
    assert running() == before


def test_nothing_is_written_in_steady_state(ready: ApiClient, audit: Audit, metacontroller: HttpServer) -> None:
    mark = wait_for_silence(audit)
    counts = {name: sync_count(metacontroller, name) for name in ("dynamo-graph", "dynamo-component")}
    touch = {"metadata": {"annotations": {"test/touched": "yes"}}}
    ready.patch(DYNAMO, GRAPH, NAME, touch)
    for component in ready.list(DYNAMO, COMPONENT):
        ready.patch(DYNAMO, COMPONENT, component["metadata"]["name"], touch)
    wait_for(lambda: sync_count(metacontroller, "dynamo-graph") > counts["dynamo-graph"], "the graph is synced")
    wait_for(
        lambda: sync_count(metacontroller, "dynamo-component") >= counts["dynamo-component"] + 3,
        "the components are synced",
    )
    wait_for_silence(audit)
    assert audit.writes(mark) == []


def test_restarted_metacontroller_writes_nothing(ready: ApiClient, audit: Audit, metacontroller: HttpServer) -> None:
    mark = wait_for_silence(audit)
    metacontroller.stop()
    metacontroller.start()
    wait_for(lambda: sync_count(metacontroller, "dynamo-graph") >= 1, "the graph is synced")
    wait_for(lambda: sync_count(metacontroller, "dynamo-component") >= 3, "the components are synced")
    wait_for_silence(audit)
    assert audit.writes(mark) == []
    assert is_ready(ready, NAME)


def test_outage_of_the_hooks_changes_nothing_and_ends_by_itself(ready: ApiClient, hooks: HttpServer) -> None:
    uids = {item["metadata"]["name"]: item["metadata"]["uid"] for item in ready.list("apps/v1", "Deployment")}
    hooks.kill()
    try:
        ready.patch(DYNAMO, GRAPH, NAME, service_patch("Frontend", replicas=2))
        about = f"involvedObject.name={NAME},reason=SyncError"
        wait_for(lambda: ready.list("v1", "Event", fieldSelector=about), "an event tells of the outage")
        left = {item["metadata"]["name"]: item["metadata"]["uid"] for item in ready.list("apps/v1", "Deployment")}
        assert left == uids
        assert deployments(ready) == DEPLOYMENTS
    finally:
        hooks.start()
    wait_for(lambda: deployments(ready) == {**DEPLOYMENTS, "vllm-disagg-frontend": 2}, "the change is carried out")
    wait_until_ready(ready, NAME)
