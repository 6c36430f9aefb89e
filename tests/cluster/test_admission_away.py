"""Which writes wait while nobody answers for admission and its webhooks fail closed; later all of it is done."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.cluster.admission import chart_webhooks, refusal, registered
from tests.cluster.admission import graph as small_graph
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import METACONTROLLER
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    SCALING_ADAPTER,
    running_controllers,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer
from tests.contract.backend import ApiRefused, Manifest
from tests.ports import free_port

ADAPTER, FRONTEND, WORKER = "g-worker", "g-frontend", "g-worker"
AWAY = "failed calling webhook"
Write = Callable[[ApiClient], Any]


def graph(name: str = "g") -> Manifest:
    """A graph whose worker has an adapter."""
    pod = {"mainContainer": {"image": "vllm:1"}}
    services = {
        "Frontend": {"componentType": "frontend", "replicas": 1, "extraPodSpec": pod},
        "Worker": {"componentType": "worker", "replicas": 1, "scalingAdapter": {"enabled": True}, "extraPodSpec": pod},
    }
    return {"apiVersion": DYNAMO, "kind": GRAPH, "metadata": {"name": name}, "spec": {"services": services}}


@pytest.fixture(scope="module", autouse=True)
def controllers(admin: ApiClient, metacontroller: HttpServer, hooks: HttpServer) -> Iterator[None]:
    with running_controllers(admin, hooks.url):
        yield


@pytest.fixture
def ready(api: ApiClient) -> Iterator[None]:
    """Two graphs that are ready."""
    for name in ("g", "doomed"):
        api.create(graph(name))
    for name in ("g", "doomed"):
        wait_until_ready(api, name)
    yield
    api.delete_all(DYNAMO, GRAPH)
    wait_until_nothing_is_left(api)


@pytest.fixture
def away(ready: None, admin: ApiClient, api: ApiClient) -> Iterator[Callable[[], None]]:
    """Webhooks of the test's namespace that fail closed, and nobody serves; gives what ends that."""
    selector = f"admission.namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name={api.namespace}"
    with ExitStack() as stack:
        stack.enter_context(registered(admin, chart_webhooks(f"away-{api.namespace}", free_port(), selector)))
        wait_for(lambda: AWAY in refusal(api, small_graph("new")), "webhooks are asked")
        yield stack.close


def patch(kind: str, name: str, change: Manifest, sub: str = "") -> Write:
    return lambda api: api.patch(DYNAMO, kind, name, change, sub=sub)


REFUSED: dict[str, Write] = {
    "new graph": lambda api: api.create(graph("new")),
    "spec of a graph": patch(GRAPH, "g", {"spec": {"services": {"Frontend": {"replicas": 2}}}}),
    "label of a graph": patch(GRAPH, "g", {"metadata": {"labels": {"a": "b"}}}),
    "spec of a component": patch(COMPONENT, FRONTEND, {"spec": {"replicas": 2}}),
    "spec of an adapter": patch(SCALING_ADAPTER, ADAPTER, {"spec": {"replicas": 2}}),
}
STORED: dict[str, Write] = {
    "status": patch(GRAPH, "g", {"status": {"state": "pending"}}, "status"),
    "scale of an adapter": patch(SCALING_ADAPTER, ADAPTER, {"spec": {"replicas": 2}}, "scale"),
    "deletion": lambda api: api.delete(DYNAMO, GRAPH, "doomed"),
}


def attempt(api: ApiClient, write: Write) -> str:
    """Why the API server refused it; empty if it did not."""
    try:
        write(api)
    except ApiRefused as refused:
        return refused.message
    return ""


def test_writes_of_specs_wait_and_what_waits_is_done_afterwards(
    api: ApiClient, audit: Audit, away: Callable[[], None]
) -> None:
    stored = [what for what, write in REFUSED.items() if AWAY not in attempt(api, write)]
    refused = [what for what, write in STORED.items() if attempt(api, write)]
    assert (stored, refused) == ([], [])
    wait_for(lambda: api.get(DYNAMO, GRAPH, "doomed") is None, "the deleted graph sheds its finalizers and is gone")

    before = uid_of_deployment(api, FRONTEND)
    api.delete("apps/v1", "Deployment", FRONTEND)
    wait_for(lambda: uid_of_deployment(api, FRONTEND) not in {"", before}, "a deleted Deployment comes back")
    api.delete(DYNAMO, COMPONENT, FRONTEND)
    wait_for(lambda: replicas(api, FRONTEND) == 0, "the Deployment of a deleted component is gone")
    wait_for(lambda: {("create", FRONTEND), ("update", WORKER)} <= refused_components(audit), "both writes are refused")
    assert api.get(DYNAMO, COMPONENT, FRONTEND) is None
    assert replicas(api, WORKER) == 1

    away()
    wait_for(lambda: replicas(api, FRONTEND) == 1, "the component comes back")
    wait_for(lambda: replicas(api, WORKER) == 2, "the adapter's replicas are carried out")
    wait_until_ready(api, "g")


def replicas(api: ApiClient, name: str) -> int:
    """The replicas that a Deployment asks for; 0 if it does not exist."""
    return int((api.get("apps/v1", "Deployment", name) or {"spec": {"replicas": 0}})["spec"]["replicas"])


def uid_of_deployment(api: ApiClient, name: str) -> str:
    return str((api.get("apps/v1", "Deployment", name) or {"metadata": {"uid": ""}})["metadata"]["uid"])


def refused_components(audit: Audit) -> set[tuple[str, str]]:
    """Verb and name of Metacontroller's writes of components that the API server refused."""
    calls = (call for call in audit.calls() if call.user == METACONTROLLER and call.code >= 500)
    return {(call.verb, call.name) for call in calls if call.resource == "dynamocomponentdeployments"}
