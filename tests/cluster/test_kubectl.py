"""The real kubectl runs the plugin, whose commands act on a graph under a real Metacontroller."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from hooks.ground import contract
from hooks.ground.k8s.types import labels_of
from hooks.tools.cli.kubectl.restart import RESTARTED_AT
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    condition,
    load_example,
    running_controllers,
    the_graph,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer

NAME = "vllm-agg"
ADAPTER = "DynamoGraphDeploymentScalingAdapter"
ROOT = Path(__file__).parents[2]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module", autouse=True)
def controllers(admin: ApiClient, metacontroller: HttpServer, hooks: HttpServer) -> Iterator[None]:
    with running_controllers(admin, hooks.url):
        yield


@pytest.fixture
def kubectl(plane: ControlPlane, api: ApiClient, tmp_path: Path) -> Run:
    """Runs `kubectl dynamo …` in the namespace of the test, with the plugin of this checkout."""
    plugin = tmp_path / "kubectl-dynamo"
    plugin.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from hooks.tools.cli.kubectl.main import main; main()" "$@"\n'
    )
    plugin.chmod(0o755)
    paths = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    environment = {**os.environ, **paths, "KUBECONFIG": str(plane.kubeconfig())}

    def run(command: str, *words: str) -> subprocess.CompletedProcess[str]:
        line = [str(plane.binaries.kubectl), "dynamo", command, *words, "-n", str(api.namespace)]
        return subprocess.run(line, capture_output=True, text=True, check=False, env=environment)

    return run


def test_commands_act_on_a_graph_that_runs(api: ApiClient, kubectl: Run, tmp_path: Path) -> None:
    graph = load_example(NAME)
    graph["spec"]["services"]["VllmWorker"]["scalingAdapter"] = {"enabled": True}
    api.create(graph, strict=True)
    wait_until_ready(api, NAME)

    scaled = kubectl("scale", NAME, "vllmworker", "2")
    assert (scaled.returncode, scaled.stderr) == (0, "")
    adapter = api.get(DYNAMO, ADAPTER, f"{NAME}-vllmworker")
    assert adapter is not None
    assert adapter["spec"]["replicas"] == 2
    wait_for(lambda: len(pods(api, "VllmWorker")) == 2, "the worker has two pods")
    wait_until_ready(api, NAME)

    before = pods(api, "VllmWorker")
    restarted = kubectl("restart", NAME, "VllmWorker")
    assert (restarted.returncode, restarted.stderr) == (0, "")
    wait_for(lambda: len(pods(api, "VllmWorker")) == 2 and not pods(api, "VllmWorker") & before, "both are new")
    wait_until_ready(api, NAME)
    annotations = the_graph(api, NAME)["spec"]["services"]["VllmWorker"]["extraPodMetadata"]["annotations"]
    assert list(annotations) == [RESTARTED_AT]

    def shown_lines() -> list[str]:
        shown = kubectl("status", NAME)
        assert (shown.returncode, shown.stderr) == (0, "")
        return [line.strip(" │├└─") for line in shown.stdout.splitlines()]

    # The adapter has its status from a sync of its own, which may come after that of the graph.
    adapter_line = f"{ADAPTER} {NAME}-vllmworker  2/2 replicas, Ready"
    wait_for(lambda: adapter_line in shown_lines(), "the adapter is Ready too")
    lines = shown_lines()
    assert lines[0] == f"graph {NAME} in namespace {api.namespace}: Ready"
    assert f"Deployment {NAME}-vllmworker  2/2 ready" in lines
    assert adapter_line in lines
    assert sum(line.startswith("Pod ") and line.endswith("Ready") for line in lines) == 3
    assert sum(line.startswith("ReplicaSet ") for line in lines) == 2
    events = lines[lines.index("Events") + 1 :]
    assert len(events) == 10
    assert all(f" {NAME}" in event for event in events)

    log = kubectl("logs", NAME, "Frontend")
    assert log.returncode == 1
    assert f"{NAME}-frontend" in log.stderr
    assert "Traceback" not in log.stderr

    graph["spec"]["services"]["VllmWorker"]["resources"] = {"limits": {"gpu": "1000"}}  # all that the node has
    path = tmp_path / "graph.yaml"
    path.write_text(yaml.safe_dump(graph))
    compared = kubectl("diff", "--fit", str(path))
    assert (compared.returncode, compared.stderr) == (0, "")
    said = (
        f"VllmWorker (Deployment {api.namespace}/{NAME}-vllmworker): 1 pod would stay Pending, because a pod needs 1k "
    )
    assert said in compared.stdout

    lost = kubectl("status", "nowhere")
    sentence = f"there is no graph nowhere in namespace {api.namespace}; it has {NAME}\n"
    assert (lost.returncode, lost.stderr) == (1, sentence)
    api.delete(DYNAMO, GRAPH, NAME)


def test_rollout_of_workers_is_followed_by_its_status(api: ApiClient, kubectl: Run) -> None:
    name = "vllm-disagg"
    api.create(load_example(name), strict=True)
    wait_until_ready(api, name)

    def suffixes() -> set[str]:
        return {labels_of(one).get(contract.LABEL_WORKER_HASH, "") for one in api.list(DYNAMO, COMPONENT)} - {""}

    def said() -> list[str]:
        shown = kubectl("status", name)
        assert (shown.returncode, shown.stderr) == (0, "")
        return [line for line in shown.stdout.splitlines() if line.startswith(("graph ", "rollout "))]

    (old,) = suffixes()
    assert said() == [f"graph {name} in namespace {api.namespace}: Ready"]
    held = {"VllmDecodeWorker": {"extraPodMetadata": {"annotations": {"test/hold": "true"}}}}
    api.patch(DYNAMO, GRAPH, name, {"spec": {"services": held}})
    wait_for(lambda: old not in suffixes(), "all workers have the next generation")
    (new,) = suffixes()
    counts = f"new generation {new} 1/2 pods ready, old generation {old} 3/3 pods ready"
    expected = [f"graph {name} in namespace {api.namespace}: not ready", f"rollout InProgress: {counts}"]
    wait_for(lambda: said() == expected, lambda: f"old pods serve until a set is complete; it says {said()}")
    message = "new generation: 1 of 3 ready; old: 3; "
    wait_for(lambda: condition(the_graph(api, name), "Ready")["message"].startswith(message), "Ready says so too")

    def is_over() -> bool:
        for pod in api.list("v1", "Pod"):
            if pod["metadata"].get("annotations", {}).get("test/hold"):
                api.patch("v1", "Pod", pod["metadata"]["name"], {"metadata": {"annotations": {"test/hold": None}}})
        return said() == [f"graph {name} in namespace {api.namespace}: Ready"]

    wait_for(is_over, "the last old pod is gone")
    api.delete(DYNAMO, GRAPH, name)


def test_graphs_are_listed_and_completed(plane: ControlPlane, api: ApiClient, kubectl: Run, tmp_path: Path) -> None:
    graph = load_example(NAME)
    api.create(graph, strict=True)
    wait_until_ready(api, NAME)
    stuck = load_example(NAME)
    stuck["metadata"]["name"] = "stuck"
    stuck["spec"]["pvcs"] = [{"name": "models", "create": False}]
    stuck["spec"]["services"]["VllmWorker"]["volumeMounts"] = [{"name": "models", "mountPoint": "/models"}]
    api.create(stuck, strict=True)

    def rows() -> dict[str, list[str]]:
        shown = kubectl("status")
        assert (shown.returncode, shown.stderr) == (0, "")
        return {line.split()[0]: line.split() for line in shown.stdout.splitlines()}

    wait_for(
        lambda: rows().get("stuck", [])[1:4] == ["False", "Unknown", "WaitingForDependency"],
        lambda: f"the list says why it is not ready: {rows()}",
    )
    assert rows()[NAME][1:4] == ["True", "Unknown", "-"]
    found = json.loads(kubectl("status", "-A", "-o", "json").stdout)
    assert {(one["namespace"], one["name"]) for one in found} >= {(api.namespace, NAME), (api.namespace, "stuck")}
    why = kubectl("why", "stuck")
    assert why.stdout.startswith("graph stuck is not ready: PersistentVolumeClaim models: WaitingForDependency: it ")
    assert kubectl("why", NAME).stdout.startswith(
        f"graph {NAME} is ready, all 2 services; whether requests are answered"
    )
    logs = kubectl("logs", NAME)
    assert logs.returncode == 1, "kwok's pods have no logs"
    assert all(f"{NAME}-{service}-" in logs.stderr for service in ("frontend", "vllmworker"))

    completer = tmp_path / "kubectl_complete-dynamo"
    code = "from hooks.tools.cli.kubectl.completing import main; main()"
    completer.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n')
    completer.chmod(0o755)
    paths = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    environment = {**os.environ, **paths, "KUBECONFIG": str(plane.kubeconfig())}

    def complete(*words: str) -> list[str]:
        line = [str(plane.binaries.kubectl), "__complete", "dynamo", *words]
        done = subprocess.run(line, capture_output=True, text=True, check=True, env=environment)
        return done.stdout.splitlines()

    namespace = str(api.namespace)
    assert complete("restart", "-n", namespace, "s") == ["stuck", ":4"]
    assert complete("-n", namespace, "status", "") == ["stuck", NAME, ":4"]
    assert complete("restart", "-n", namespace, NAME, "V") == ["VllmWorker", ":4"]
    assert complete("wh")[0].startswith("why")
    for name in (NAME, "stuck"):
        api.delete(DYNAMO, GRAPH, name)


def pods(api: ApiClient, service: str) -> set[str]:
    found = api.list("v1", "Pod", labelSelector=f"nvidia.com/dynamo-component={service}")
    return {pod["metadata"]["uid"] for pod in found if "deletionTimestamp" not in pod["metadata"]}
