"""Reads on demand under a real Metacontroller: other people's pods cost nothing, a failed read makes causes vaguer."""

import copy
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    condition,
    load_example,
    running_controllers,
    sync_count,
    wait_for_silence,
    wait_until_ready,
)
from tests.cluster.namespaces import own_namespace
from tests.cluster.processes import running
from tests.cluster.programs import HttpServer, hooks_server
from tests.contract.backend import Manifest
from tests.ports import free_port
from tests.waiting import stretch

NAME, FRONTEND = "vllm-agg", "vllm-agg-frontend"
PODS = 500
LATEST_LOOK_SECONDS = 12
"""Longer than the time after which a graph that has just begun is looked at again."""
CONTROLLERS = ("dynamo-graph", "dynamo-component", "dynamo-request", "dynamo-scaling-adapter")
STRANGER: Manifest = {
    "apiVersion": "v1",
    "kind": "Pod",
    "spec": {"containers": [{"name": "main", "image": "stranger"}], "terminationGracePeriodSeconds": 0},
}


@pytest.fixture
def other(admin: ApiClient) -> Iterator[ApiClient]:
    """A client in the namespace of another team."""
    with own_namespace(admin) as client:
        yield client


def wait_for_last_call(metacontroller: HttpServer) -> dict[str, int]:
    """Wait until no hook was called for longer than the last unready answer asked for."""
    last, since = counts(metacontroller), time.monotonic()

    def is_quiet() -> bool:
        nonlocal last, since
        now = counts(metacontroller)
        if now != last:
            last, since = now, time.monotonic()
        return time.monotonic() - since > stretch(LATEST_LOOK_SECONDS)

    wait_for(is_quiet, "no hook is called")
    return last


def counts(metacontroller: HttpServer) -> dict[str, int]:
    return {name: sync_count(metacontroller, name) for name in CONTROLLERS}


def come_and_go(api: ApiClient, number: int) -> None:
    """Pods of somebody else run, and are deleted."""
    names = [f"stranger-{index}" for index in range(number)]
    for name in names:
        api.create({**STRANGER, "metadata": {"name": name, "labels": {"app": "stranger"}}})
    wait_for(lambda: len(addressed(api)) == number, "the pods have addresses")
    for name in names:
        api.delete("v1", "Pod", name)
    wait_for(lambda: not api.list("v1", "Pod", labelSelector="app=stranger"), "the pods are gone")


def addressed(api: ApiClient) -> list[Manifest]:
    found = api.list("v1", "Pod", labelSelector="app=stranger")
    return [pod for pod in found if pod.get("status", {}).get("podIP")]


def test_pods_of_others_cause_no_call_and_no_write(
    admin: ApiClient, api: ApiClient, other: ApiClient, audit: Audit, metacontroller: HttpServer, hooks: HttpServer
) -> None:
    with running_controllers(admin, hooks.url):
        api.create(load_example(NAME), strict=True)
        wait_until_ready(api, NAME)
        mark = wait_for_silence(audit)
        before = wait_for_last_call(metacontroller)
        come_and_go(other, PODS - 50)
        come_and_go(api, 50)
        assert audit.writes(mark) == []
        assert counts(metacontroller) == before
        api.delete(DYNAMO, GRAPH, NAME)


def test_hooks_that_may_read_nothing_say_so_and_are_never_ready_for_it(
    admin: ApiClient, api: ApiClient, metacontroller: HttpServer, tmp_path: Path
) -> None:
    graph = copy.deepcopy(load_example(NAME))
    graph["spec"]["services"]["Frontend"]["extraPodMetadata"] = {"annotations": {"test/hold": "true"}}
    with running(hooks_server(tmp_path, free_port())) as blind:
        assert isinstance(blind, HttpServer)
        with running_controllers(admin, blind.url):
            api.create(graph, strict=True)
            wait_for(lambda: "its pods are not read" in message(api), "the component says what it cannot know")
            assert "because the hooks have no access to the API server" in message(api)
            assert f"kubectl get pods -n {api.namespace}" in message(api)
            api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {"Frontend": {"extraPodMetadata": None}}}})
            wait_until_ready(api, NAME)
            api.delete(DYNAMO, GRAPH, NAME)


def message(api: ApiClient) -> str:
    found = api.get(DYNAMO, COMPONENT, FRONTEND)
    return "" if found is None else str(condition(found, "Ready").get("message", ""))
