"""What users are told on a real control plane while something around their graphs is wrong, and that it mends it."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from hooks.ground import contract
from hooks.tools.cli.kubectl.main import group
from hooks.wire.policy import rendering_mark
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

NAME, FRONTEND = "vllm-agg", "vllm-agg-frontend"


@pytest.fixture(scope="module", autouse=True)
def controllers(admin: ApiClient, metacontroller: HttpServer, hooks: HttpServer) -> Iterator[None]:
    with running_controllers(admin, hooks.url):
        yield


@pytest.fixture
def ready(api: ApiClient) -> Iterator[ApiClient]:
    """The client of a namespace in which the graph is ready."""
    api.create(load_example(NAME), strict=True)
    wait_until_ready(api, NAME)
    yield api
    api.delete(DYNAMO, GRAPH, NAME)


def ready_of(api: ApiClient, kind: str = GRAPH, name: str = NAME) -> dict[str, Any]:
    found = api.get(DYNAMO, kind, name)
    return condition(found, "Ready") if found is not None else {}


def uid_of(api: ApiClient, version: str, kind: str) -> str:
    found = api.get(version, kind, FRONTEND)
    assert found is not None
    return str(found["metadata"]["uid"])


def run_remedy(api: ApiClient, plane: ControlPlane, reason: str, kind: str, name: str) -> str:
    """Run the command that the condition names, once it has this reason; gives the message."""
    wait_for(lambda: ready_of(api, kind, name).get("reason") == reason or reason in message_of(api, kind, name), reason)
    message = message_of(api, kind, name)
    command = re.findall(r"kubectl (label [^()]+ --overwrite)", message)[0]
    plane.kubectl(*shlex.split(command))
    return message


def message_of(api: ApiClient, kind: str, name: str) -> str:
    return str(ready_of(api, kind, name).get("message", ""))


def test_deployment_that_lost_its_label_is_adopted_again_by_the_command(ready: ApiClient, plane: ControlPlane) -> None:
    before = uid_of(ready, "apps/v1", "Deployment")
    ready.patch("apps/v1", "Deployment", FRONTEND, {"metadata": {"labels": {"controller-uid": None}}})
    message = run_remedy(ready, plane, "NotAdopted", COMPONENT, FRONTEND)
    assert "lost its label controller-uid" in message
    wait_until_ready(ready, NAME)
    assert uid_of(ready, "apps/v1", "Deployment") == before


def test_children_of_a_deleted_graph_are_adopted_by_the_command(ready: ApiClient, plane: ControlPlane) -> None:
    before = uid_of(ready, DYNAMO, COMPONENT)
    plane.kubectl("delete", GRAPH, NAME, "-n", ready.namespace, "--cascade=orphan")
    wait_for(lambda: ready.get(DYNAMO, GRAPH, NAME) is None, "the graph is gone")
    assert uid_of(ready, DYNAMO, COMPONENT) == before
    ready.create(load_example(NAME), strict=True)
    assert "left by a deleted DynamoGraphDeployment" in run_remedy(ready, plane, "NotAdopted", GRAPH, NAME)
    wait_until_ready(ready, NAME)
    assert uid_of(ready, DYNAMO, COMPONENT) == before


def test_claim_that_is_lost_is_named(api: ApiClient) -> None:
    """Kubernetes says so of a claim whose volume is gone."""
    bound = {"name": "cache", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeName": f"gone-{api.namespace}",
        "storageClassName": "",
    }
    api.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": bound, "spec": spec}, strict=True)
    graph = load_example(NAME)
    api.create({**graph, "spec": {**graph["spec"], "pvcs": [{"name": "cache"}]}}, strict=True)
    cause = "PersistentVolumeClaim cache: WaitingForDependency: it is Lost, because its volume is gone"
    wait_for(lambda: cause in message_of(api, GRAPH, NAME), "the claim is named")
    assert the_graph(api, NAME)["status"]["notReadyReason"] == "WaitingForDependency"
    api.delete(DYNAMO, GRAPH, NAME)


def test_mark_of_another_version_is_no_roll_out(ready: ApiClient, audit: Audit, metacontroller: HttpServer) -> None:
    """As after `helm rollback` and up again, where both versions render the same pods.

    The API server counts a generation of a Deployment for an annotation too, so nobody should write one without need.
    """
    for version, kind, controller in (("apps/v1", "Deployment", "component"), (DYNAMO, COMPONENT, "graph")):
        before = sync_count(metacontroller, f"dynamo-{controller}")
        earlier = mark_as_earlier(ready, version, kind)
        wait_for(lambda: sync_count(metacontroller, f"dynamo-{controller}") > before, "it is synced")  # noqa: B023
        wait_for_silence(audit)
        live = ready.get(version, kind, FRONTEND)
        assert live is not None
        assert live["metadata"]["annotations"][contract.ANNOTATION_RENDERING] == earlier, "nobody writes it back"
    assert ready_of(ready)["status"] == "True"


def mark_as_earlier(api: ApiClient, version: str, kind: str) -> str:
    """Give an object, live and as it was last applied, the mark of an earlier revision of the hooks; gives the mark."""
    live = api.get(version, kind, FRONTEND)
    assert live is not None
    applied = orjson.loads(live["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED])
    found = rendering_mark.read_mark(applied)
    assert found is not None
    changed = rendering_mark.mark(applied, found.digest, rendering_mark.RENDERING_REVISION - 1)
    annotations = {
        contract.ANNOTATION_RENDERING: changed["metadata"]["annotations"][contract.ANNOTATION_RENDERING],
        contract.ANNOTATION_LAST_APPLIED: orjson.dumps(changed).decode(),
    }
    api.patch(version, kind, FRONTEND, {"metadata": {"annotations": annotations}})
    return str(annotations[contract.ANNOTATION_RENDERING])


def test_status_says_that_metacontroller_is_gone(
    ready: ApiClient, plane: ControlPlane, metacontroller: HttpServer
) -> None:
    metacontroller.stop()
    try:
        ready.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {"Frontend": {"replicas": 2}}}})
        wait_for(lambda: "Metacontroller does not call the hooks for it" in show(ready, plane), "status", poll=2)
        shown = show(ready, plane)
        assert "generation 2 of its spec was not processed, the status is of generation 1" in shown
    finally:
        metacontroller.start()
    wait_until_ready(ready, NAME)


def show(api: ApiClient, plane: ControlPlane) -> str:
    words = ("status", NAME, "-n", str(api.namespace), "--kubeconfig", str(plane.kubeconfig()))
    result = CliRunner().invoke(group, words)
    assert result.exit_code == 0, result.output
    return result.stdout
