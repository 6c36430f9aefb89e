"""The simulator's Metacontroller on a real API server, as `make e2e` has it where no `metacontroller` is found."""

from collections.abc import Iterator

import pytest

from hooks.wire.metacontroller import install_files
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import METACONTROLLER, ControlPlane
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    load_example,
    the_graph,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer
from tests.e2e.simulated_controller import running_simulated

NAME = "vllm-agg"


@pytest.fixture(scope="module", autouse=True)
def controllers(plane: ControlPlane, hooks: HttpServer) -> Iterator[None]:
    api = plane.client(METACONTROLLER, "simulated-metacontroller")
    with running_simulated(hooks.url, install_files.controllers(hooks.url), install_files.crds(), api):
        yield


def test_graph_comes_up_and_changes_and_goes(api: ApiClient) -> None:
    api.create(load_example(NAME), strict=True)
    wait_until_ready(api, NAME)
    services = the_graph(api, NAME)["spec"]["services"]
    frontend = next(name for name, spec in services.items() if spec["componentType"] == "frontend")
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {frontend: {"replicas": 2}}}})
    wait_for(lambda: ready_replicas(api) == 2, "the frontend is scaled")
    wait_until_ready(api, NAME)
    api.delete("apps/v1", "Deployment", f"{NAME}-frontend")
    wait_for(lambda: ready_replicas(api) == 2, "the deleted Deployment is made again")
    api.delete(DYNAMO, GRAPH, NAME, propagation="Foreground")
    wait_for(lambda: api.get(DYNAMO, GRAPH, NAME) is None, "the graph is gone")
    wait_until_nothing_is_left(api)


def test_failed_sync_is_an_event_and_is_tried_again(api: ApiClient, hooks: HttpServer) -> None:
    hooks.stop()
    try:
        api.create(load_example(NAME), strict=True)
        about = f"involvedObject.name={NAME},reason=SyncError"
        wait_for(lambda: api.list("v1", "Event", fieldSelector=about), "an event tells of it")
        assert api.list(DYNAMO, COMPONENT) == []
    finally:
        hooks.start()
    wait_until_ready(api, NAME)
    api.delete(DYNAMO, GRAPH, NAME)
    wait_until_nothing_is_left(api)


def ready_replicas(api: ApiClient) -> int:
    found = api.get("apps/v1", "Deployment", f"{NAME}-frontend") or {}
    return int(found.get("status", {}).get("readyReplicas", 0))
