"""Graphs of `examples/` on a release of the runtime, what their clients get, and why they do not get it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
import yaml

from hooks.ground import contract
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import COMPONENT, DYNAMO, GRAPH, condition, is_ready
from tests.cluster.dynamo import MODEL as MODEL_KIND
from tests.contract.backend import Manifest
from tests.e2e.bench import Bench
from tests.e2e.examples import find_example, with_release
from tests.e2e.model import MODEL
from tests.loopback import on_loopback

READY_SECONDS, ANSWER_SECONDS, CALL_SECONDS = 120.0, 60.0, 20.0
TOKENS = 8
LEAVING = Path(__file__).with_name("ending_mocker.py")
_FOLDER = "/opt/worker"


def load_graph(example: str, tag: str, **replicas: int) -> Manifest:
    """An example with images of that tag; `replicas` are by service."""
    graph: Manifest = yaml.safe_load(with_release(find_example(example, tag).read_text(), tag))
    for service, count in replicas.items():
        graph["spec"]["services"][service]["replicas"] = count
    return graph


def serve(bench: Bench, api: ApiClient, graph: Manifest) -> str:
    """Create the graph, wait until it is ready and answers, and give its frontend's URL."""
    api.create(graph, strict=True)
    name = graph["metadata"]["name"]
    wait_until_ready(bench, api, name)
    return wait_for_answer(bench, api, name)


def let_leave(api: ApiClient, *workers: Manifest) -> None:
    """Let these services leave discovery before their pods end, as other engines do."""
    metadata, data = {"name": "worker"}, {LEAVING.name: LEAVING.read_text()}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    for worker in workers:
        pod = worker["extraPodSpec"]
        pod["volumes"] = [{"name": "worker", "configMap": {"name": "worker"}}]
        pod["mainContainer"] |= {
            "command": ["python3", f"{_FOLDER}/{LEAVING.name}"],
            "volumeMounts": [{"name": "worker", "mountPath": _FOLDER}],
        }


def wait_until_ready(bench: Bench, api: ApiClient, name: str, seconds: float = READY_SECONDS) -> None:
    """Wait until the graph says, about what it is now, that it is ready; a failure says what is known of its pods."""
    with explained(bench, api):
        wait_for(lambda: is_ready(api, name), f"graph {name} is ready", seconds)


def wait_for_answer(bench: Bench, api: ApiClient, name: str, seconds: float = ANSWER_SECONDS) -> str:
    """Wait until a chat completion comes back, and give the frontend's URL."""
    said = ""

    def answers() -> str:
        nonlocal said
        url = frontend_of(api, name)
        said = complete(url) if url else f"Service {name}-frontend has no ready endpoint"
        return "" if said else url

    with explained(bench, api):
        try:
            return wait_for(answers, f"graph {name} answers a chat completion", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {said}") from None


def frontend_of(api: ApiClient, name: str) -> str:
    """Where a ready frontend of the graph listens on this machine, as a client of its Service would find it."""
    selector = f"kubernetes.io/service-name={name}-frontend"
    for piece in api.list("discovery.k8s.io/v1", "EndpointSlice", labelSelector=selector):
        for endpoint in piece.get("endpoints") or ():
            if endpoint["conditions"].get("ready"):
                return f"http://{on_loopback(endpoint['addresses'][0])}:{contract.HTTP_PORT}"
    return ""


def complete(url: str, seconds: float = CALL_SECONDS) -> str:
    """What was wrong with a chat completion; empty if all its tokens came."""
    body = {"model": MODEL, "max_tokens": TOKENS, "messages": [{"role": "user", "content": "w5 w6 w7"}]}
    try:
        answer = requests.post(f"{url}/v1/chat/completions", json=body, timeout=seconds)
    except requests.RequestException as error:
        return f"chat completion: {type(error).__name__}"
    if answer.status_code != 200:
        return f"chat completion: {answer.status_code} {answer.text[:200]}"
    found: dict[str, Any] = answer.json()
    tokens = found["usage"]["completion_tokens"]
    return "" if tokens == TOKENS else f"chat completion: {tokens} tokens instead of {TOKENS}"


def touch(api: ApiClient, how: str) -> None:
    """Let every object of ours be synced, as a Metacontroller does that is restarted."""
    for kind in (COMPONENT, GRAPH):
        for found in api.list(DYNAMO, kind):
            api.patch(DYNAMO, kind, found["metadata"]["name"], {"metadata": {"annotations": {"test/touched": how}}})


@contextmanager
def explained(bench: Bench, api: ApiClient) -> Iterator[None]:
    """Add to a failure in the block what the graphs, components and pods of the namespace say."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError("\n".join([str(error), *explain(bench, api)])) from None


def explain(bench: Bench, api: ApiClient) -> Iterator[str]:
    """What each graph, component and model that is not ready says, pods with the last lines of their logs, warnings."""
    for kind in (GRAPH, COMPONENT, MODEL_KIND):
        for found in api.list(DYNAMO, kind):
            ready = condition(found, "Ready")
            if ready.get("status") != "True":
                name = found["metadata"]["name"]
                yield f"{kind} {name}: {ready.get('reason', 'no status')}: {ready.get('message', '')}"
    for pod in api.list("v1", "Pod"):
        yield from _explain_pod(bench, api, pod)
    for event in api.list("v1", "Event"):
        if event["type"] == "Warning":
            yield f"event {event['reason']} of {event['involvedObject']['name']}: {event['message']}"


def _explain_pod(bench: Bench, api: ApiClient, pod: Manifest) -> Iterator[str]:
    name = pod["metadata"]["name"]
    kept = ", ".join(pod["metadata"].get("finalizers") or ())
    ending = f", deleted, kept by {kept}" if kept and "deletionTimestamp" in pod["metadata"] else ""
    yield f"pod {name}: {pod.get('status', {}).get('phase')}{ending}"
    try:
        worker = bench.kubelet.worker_of(api.namespace, name)
    except LookupError:
        return
    for container in worker.containers:
        seen = container.seen()
        if not seen.ready:
            yield f"  container {container.name}: {json.dumps(seen.state)}, {seen.restarts} restarts"
        yield from (f"  {probe.name} failed: {probe.said}" for probe in container.probes if probe.said)
        yield from (f"  | {line}" for line in container.last_words(6).splitlines())
