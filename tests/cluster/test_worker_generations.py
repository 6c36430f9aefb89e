"""Generations of workers under a real Metacontroller: none by an upgrade, the first with a worker's change, for all."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from hooks.graph.workers import generation as worker_generation
from hooks.ground import contract
from hooks.ground.k8s.types import labels_of
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import DYNAMO, GRAPH, load_example, running_controllers, the_graph, wait_until_ready
from tests.cluster.processes import Server, running
from tests.cluster.programs import HttpServer
from tests.contract.backend import Manifest
from tests.waiting import PATIENCE

NAME = "vllm-disagg"
BEFORE = "HOOKS_OF_BEFORE"
"""Variable with the folder of an earlier state of this repository, whose hooks then play those of before."""


def test_upgrade_restarts_nothing_and_a_workers_change_gives_all_workers_a_generation(
    api: ApiClient,
    admin: ApiClient,
    metacontroller: HttpServer,
    acting_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert metacontroller
    with hooks_of_before(acting_url, tmp_path, monkeypatch) as url, running_controllers(admin, url):
        api.create(load_example(NAME), strict=True)
        wait_until_ready(api, NAME)
    before = pods(api)
    workers = {uid for uid, pod in before.items() if type_of(pod) != "frontend"}
    assert workers
    assert {suffix_of(pod) for pod in before.values()} == {""}

    with running_controllers(admin, acting_url):
        name, replicas = decode_of(api)
        change(api, name, replicas=replicas + 1)
        wait_for(lambda: len(pods(api)) == len(before) + 1, "the new hooks scale")
        wait_until_ready(api, NAME)
        assert before.keys() <= pods(api).keys(), "no pod was replaced"
        assert {suffix_of(pod) for pod in pods(api).values()} == {""}

        change(api, name, envs=[{"name": "CHANGED", "value": "1"}])
        wait_for(lambda: not workers & pods(api).keys(), "all workers are replaced, also the unchanged ones")
        wait_until_ready(api, NAME)
        wait_for(lambda: "rollingUpdate" not in the_graph(api, NAME)["status"], "the rollout is over")
        found = pods(api)
        assert before.keys() - workers <= found.keys(), "the frontend stays"
        (suffix,) = {suffix_of(pod) for pod in found.values() if type_of(pod) != "frontend"}
        assert len(suffix) == 8
        services = the_graph(api, NAME)["status"]["services"].items()
        registered = {entry["runtimeNamespace"] for service, entry in services if service != "Frontend"}
        assert registered == {f"{api.namespace}-{NAME}-{suffix}"}
        api.delete(DYNAMO, GRAPH, NAME)


@contextmanager
def hooks_of_before(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of hooks that know no generations."""
    source = os.environ.get(BEFORE)
    if not source:
        with monkeypatch.context() as patched:
            patched.setattr(worker_generation, "choose_suffix", lambda *_, **__: "")
            yield url
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        "env",
        "-C",
        source,
        f"PYTHONPATH={source}",
        "DYNAMO_HOOKS_EFFECT_EVENTS=off",
        sys.executable,
        "-m",
        "hooks",
    ]
    server = Server("before", [*command, "serve", "--bind", f"127.0.0.1:{port}"], folder)
    with running(server):
        server.wait_until(lambda: requests.get(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE).ok)
        yield f"http://127.0.0.1:{port}"


def pods(api: ApiClient) -> dict[str, Manifest]:
    """The graph's pods that do not end, by uid."""
    found = api.list("v1", "Pod", labelSelector=f"{contract.LABEL_GRAPH}={NAME}")
    return {pod["metadata"]["uid"]: pod for pod in found if "deletionTimestamp" not in pod["metadata"]}


def type_of(pod: Manifest) -> str:
    return str(labels_of(pod)[contract.LABEL_COMPONENT_TYPE])


def suffix_of(pod: Manifest) -> str:
    """The generation in a pod's variables and labels."""
    variables = {entry["name"]: entry.get("value", "") for entry in pod["spec"]["containers"][-1]["env"]}
    found = str(variables.get(contract.WORKER_SUFFIX, ""))
    assert labels_of(pod).get(contract.LABEL_WORKER_HASH, "") == found
    return found


def decode_of(api: ApiClient) -> tuple[str, int]:
    """A worker of the graph, and its replicas."""
    services = the_graph(api, NAME)["spec"]["services"]
    name = next(name for name, spec in services.items() if spec["componentType"] != "frontend")
    return name, int(services[name].get("replicas", 1))


def change(api: ApiClient, service: str, **fields: object) -> None:
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {service: fields}}})
