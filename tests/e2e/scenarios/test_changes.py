"""What happens to a graph while its clients send requests: scaling, restarts, rollouts, a lost worker, new hooks."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from hooks.wire.policy.rendering_mark import RENDERING_REVISION
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import (
    DYNAMO,
    GRAPH,
    ROOT,
    SCALING_ADAPTER,
    condition,
    the_graph,
    wait_until_nothing_is_left,
)
from tests.contract.backend import Manifest
from tests.e2e.bench import Bench, replaced_hooks
from tests.e2e.graphs import explained, load_graph, serve, touch, wait_for_answer, wait_until_ready
from tests.e2e.kubelet.kubelet import processes_of
from tests.e2e.trickle import Trickle, trickling

NAME, WORKER, WORKERS = "mocker-agg", "MockerWorker", "mocker-agg-mockerworker"
Report = Callable[[str], None]


@pytest.fixture
def serving(bench: Bench, api: ApiClient, newest: str) -> ApiClient:
    """A namespace in which the example with one worker answers, which an adapter may scale."""
    graph = load_graph(NAME, newest, MockerWorker=1)
    graph["spec"]["services"][WORKER]["scalingAdapter"] = {"enabled": True}
    serve(bench, api, graph)
    return api


def pods(api: ApiClient, component: str = "") -> dict[str, Manifest]:
    """The pods that are not being deleted, of one component or all, by name."""
    found = {pod["metadata"]["name"]: pod for pod in api.list("v1", "Pod")}
    return {
        name: pod
        for name, pod in found.items()
        if name.startswith(component) and "deletionTimestamp" not in pod["metadata"]
    }


def uids(api: ApiClient) -> set[str]:
    return {str(pod["metadata"]["uid"]) for pod in pods(api).values()}


def judge(found: Trickle, what: str, report: Report) -> None:
    """None may fail but what the runtime drops by itself, which the run's end tells."""
    report(f"{what}: {found.describe()}")
    assert not found.lost, f"requests were lost: {found.lost}"
    assert found.answered > found.dropped


def test_worker_that_the_adapter_adds_is_discovered_and_takes_requests(
    bench: Bench, serving: ApiClient, report: Report
) -> None:
    before = set(pods(serving, WORKERS))
    (adapter,) = serving.list(DYNAMO, SCALING_ADAPTER)
    with trickling(serving, NAME) as found:
        serving.patch(DYNAMO, SCALING_ADAPTER, adapter["metadata"]["name"], {"spec": {"replicas": 2}}, sub="scale")
        with explained(bench, serving):
            wait_for(lambda: len(pods(serving, WORKERS)) == 2, "a second worker's pod exists", 60)
            wait_until_ready(bench, serving, NAME)
            (new,) = set(pods(serving, WORKERS)) - before
            metadatas = serving.list(DYNAMO, "DynamoWorkerMetadata")
            assert new in {one["metadata"]["name"] for one in metadatas}, f"{new} did not register"
            wait_for(lambda: takes_requests(bench, serving, new), f"{new} takes a request", 60)
    judge(found, "a worker more", report)


def takes_requests(bench: Bench, api: ApiClient, pod: str) -> bool:
    """Whether a worker's own metrics count requests."""
    listens = bench.kubelet.worker_of(api.namespace, pod).place.listens
    text = requests.get(f"http://{listens}:9090/metrics", timeout=5).text
    counts = [line for line in text.splitlines() if "requests_total" in line and "generate" in line and line[0] != "#"]
    return any(float(line.rpartition(" ")[2]) > 0 for line in counts)


def test_sequential_restart_under_requests(bench: Bench, serving: ApiClient, report: Report) -> None:
    before = uids(serving)
    with trickling(serving, NAME) as found:
        restart = {"id": "r1", "strategy": {"type": "Sequential", "order": [WORKER, "Frontend"]}}
        serving.patch(DYNAMO, GRAPH, NAME, {"spec": {"restart": restart}})
        with explained(bench, serving):
            done = {"observedID": "r1", "phase": "Completed"}
            wait_for(lambda: the_graph(serving, NAME)["status"].get("restart") == done, "restart r1 is completed", 180)
        wait_until_ready(bench, serving, NAME)
        assert not before & uids(serving), "a pod was not restarted"
        wait_for_answer(bench, serving, NAME)
    judge(found, "sequential restart", report)


def test_rollout_under_requests(bench: Bench, serving: ApiClient, report: Report) -> None:
    before = set(pods(serving, WORKERS))
    others = uids(serving) - {pod["metadata"]["uid"] for pod in pods(serving, WORKERS).values()}
    with trickling(serving, NAME) as found:
        envs = [{"name": "CHANGED", "value": "1"}]
        serving.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {WORKER: {"envs": envs}}}})
        with explained(bench, serving):
            wait_for(lambda: not before & set(pods(serving, WORKERS)), "the worker's pod is another", 120)
        wait_until_ready(bench, serving, NAME)
        assert others < uids(serving), "the frontend was restarted too"
        wait_for_answer(bench, serving, NAME)
    judge(found, "rollout of the worker", report)


def test_killed_worker_is_told_and_recovers(bench: Bench, serving: ApiClient) -> None:
    (pod,) = pods(serving, WORKERS)
    before = uids(serving)
    process = bench.kubelet.worker_of(serving.namespace, pod).containers[0].process
    assert process is not None
    os.killpg(process.pid, signal.SIGKILL)
    with explained(bench, serving):
        wait_for(
            lambda: condition(the_graph(serving, NAME), "Ready").get("status") == "False", "the graph is not ready", 30
        )
        (entry,) = pods(serving, WORKERS)[pod]["status"]["containerStatuses"]
        assert entry["restartCount"] == 1
        assert entry["lastState"]["terminated"]["exitCode"] == 137
        wait_until_ready(bench, serving, NAME)
        wait_for_answer(bench, serving, NAME)
    assert uids(serving) == before, "the container is started again, not its pod"


def test_foreground_deletion_leaves_no_process_and_no_object(bench: Bench, serving: ApiClient) -> None:
    workers = [bench.kubelet.worker_of(serving.namespace, name) for name in pods(serving)]
    numbers = {one.process.pid for worker in workers for one in worker.containers if one.process is not None}
    assert len(numbers) == 2
    serving.delete(DYNAMO, GRAPH, NAME, propagation="Foreground")
    with explained(bench, serving):
        wait_for(lambda: serving.get(DYNAMO, GRAPH, NAME) is None, "the graph is gone", 120)
    wait_until_nothing_is_left(serving)
    assert serving.list(DYNAMO, "DynamoWorkerMetadata") == []
    assert not numbers & set(processes_of(bench.kubelet)), "a process outlived its pod"


def test_new_hooks_restart_no_pod(bench: Bench, serving: ApiClient, report: Report, tmp_path: Path) -> None:
    before = uids(serving)
    with trickling(serving, NAME) as found:
        with replaced_hooks(bench, tmp_path, {}, _next_version(tmp_path / "source")):
            touch(serving, "upgraded")
            with explained(bench, serving):
                wait_for(lambda: is_held(serving) or uids(serving) != before, "the new defaults wait", 60)
            assert uids(serving) == before, "pods restart with the new hooks"
            wait_until_ready(bench, serving, NAME)
        touch(serving, "back")
        wait_for(lambda: not is_held(serving), "nothing waits under the hooks of before", 60)
    assert uids(serving) == before
    judge(found, "hooks upgraded and back", report)


def is_held(api: ApiClient) -> bool:
    return bool(condition(the_graph(api, NAME), "Held"))


def _next_version(folder: Path) -> Path:
    """The hooks as a later version may be: workers get one variable more."""
    for name in ("hooks", "metacontroller", "crds"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, before, after in (
        ("wire/policy/rendering_mark.py", f"RENDERING_REVISION = {RENDERING_REVISION}", "RENDERING_REVISION = 99"),
        (
            "component/pod/defaults/worker.py",
            '"DYN_SYSTEM_ENABLED": "true",',
            '"DYN_SYSTEM_ENABLED": "true", "NEW": "1",',
        ),
    ):
        file = folder / "hooks" / name
        text = file.read_text()
        assert before in text
        file.write_text(text.replace(before, after))
    return folder
