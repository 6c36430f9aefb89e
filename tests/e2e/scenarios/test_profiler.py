"""A request that NVIDIA's own profiler answers, as the process of its Job, to a graph that answers a chat completion.

The imitation engine is searched for, because its graph can run without GPUs; the search is that of the real engine.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hooks.ground import contract
from hooks.request.seen.gpu_discovery import LABEL_COUNT, LABEL_MEMORY, LABEL_PRESENT, LABEL_PRODUCT
from hooks.request.spec.names import job_name
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.conversion import BETA
from tests.cluster.dynamo import DYNAMO, GRAPH, REQUEST, condition
from tests.contract.backend import Manifest
from tests.e2e import hooks_image, profilers
from tests.e2e.bench import Bench, replaced_hooks
from tests.e2e.graphs import explained, wait_for_answer
from tests.e2e.kubelet.kubelet import FIRST
from tests.e2e.model import MODEL
from tests.e2e.releases import NotInstalled, releases_folder
from tests.installation import named, plain

NAME, ROLE, TOKEN = "my-model", "dynamo-hooks-profiling", "hf-token-secret"
SEARCH_SECONDS, READY_SECONDS = 400.0, 180.0
LABELS = {LABEL_PRESENT: "true", LABEL_COUNT: "8", LABEL_PRODUCT: "NVIDIA-H200", LABEL_MEMORY: "143771"}
REQUEST_TEXT: Manifest = {
    "apiVersion": BETA,
    "kind": REQUEST,
    "metadata": {"name": NAME},
    "spec": {
        "model": MODEL,
        "backend": "vllm",
        "image": f"nvcr.io/nvidia/ai-dynamo/dynamo-planner:{profilers.NAME}",
        "sla": {"ttft": 200.0, "itl": 20.0},
        "features": {"mocker": {"enabled": True}},
    },
}
"""A model and its goals; what GPUs there are is said by the node."""


@pytest.fixture
def profiler(bench: Bench, tmp_path: Path) -> Iterator[None]:
    """The images of the profiler and of the hooks, its account's role, and hooks that know their image."""
    try:
        release = profilers.install_profiler(releases_folder())
    except NotInstalled as error:
        pytest.skip(f"the profiler cannot be installed here: {error}")
    before = dict(bench.kubelet.programs)
    bench.kubelet.programs |= {release.tag: release.programs, hooks_image.TAG: hooks_image.write_programs(tmp_path)}
    bench.admin.create(named(plain("rbac.yaml"), "ClusterRole", ROLE))
    bench.admin.patch("v1", "Node", FIRST.name, {"metadata": {"labels": LABELS}})
    with replaced_hooks(bench, tmp_path, {"hooks_image": hooks_image.IMAGE}):
        yield
    bench.admin.patch("v1", "Node", FIRST.name, {"metadata": {"labels": dict.fromkeys(LABELS)}})
    bench.admin.delete("rbac.authorization.k8s.io/v1", "ClusterRole", ROLE)
    bench.kubelet.programs.clear()
    bench.kubelet.programs |= before


def the_request(api: ApiClient) -> Manifest:
    found = api.get(BETA, REQUEST, NAME)
    assert found is not None
    return found


def phase(api: ApiClient) -> str:
    return str(the_request(api).get("status", {}).get("phase"))


def test_request_becomes_a_graph_that_answers(
    bench: Bench, api: ApiClient, profiler: None, report: Callable[[str], None]
) -> None:
    api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": TOKEN}, "stringData": {"HF_TOKEN": "t"}})
    api.create(REQUEST_TEXT, strict=True)
    began, seen = time.monotonic(), set[str]()

    def is_profiled() -> bool:
        status = the_request(api).get("status", {})
        seen.add(str(status.get("profilingPhase")))
        return status.get("phase") in {"Deploying", "Deployed", "Failed"}

    with explained(bench, api):
        wait_for(is_profiled, "the profiler has ended", SEARCH_SECONDS)
        report(f"request: profiler {profilers.NAME} searched for {time.monotonic() - began:.0f} s")
        wait_for(lambda: phase(api) in {"Deployed", "Failed"}, "the graph is ready", READY_SECONDS)
    found = the_request(api)
    assert found["status"]["phase"] == "Deployed", found["status"]
    assert seen & {"Initializing", "SweepingPrefill", "GeneratingDGD"}, seen
    assert found["status"]["hardware"] == {"gpuSku": "h200_sxm", "numGpusPerNode": 8, "totalGpus": 8, "vramMb": 143771}
    assert condition(found, "SpecGenerated")["status"] == "True"
    assert api.get("batch/v1", "Job", job_name(NAME)) is not None
    wait_for_answer(bench, api, f"{NAME}-dgd")
    api.delete(BETA, REQUEST, NAME)
    wait_for(lambda: api.get(BETA, REQUEST, NAME) is None, "the request is gone")
    assert api.get(DYNAMO, GRAPH, f"{NAME}-dgd") is not None, "the graph outlives it"
    api.delete(DYNAMO, GRAPH, f"{NAME}-dgd")
    wait_for(lambda: not api.list("v1", "Pod"), "all pods are gone", 120)


def test_profiler_that_is_killed_in_the_middle_is_told(bench: Bench, api: ApiClient, profiler: None) -> None:
    api.create(REQUEST_TEXT, strict=True)
    with explained(bench, api):
        process = wait_for(lambda: find_profiler(bench, api), "the profiler runs", 60)
        wait_for(lambda: phase(api) == "Profiling", "the request says so")
        os.killpg(process, signal.SIGKILL)
        wait_for(lambda: phase(api) == "Failed", "the request has failed", 60)
    said = condition(the_request(api), "Profiling")
    assert said["reason"].endswith("Failed")
    assert "the profiler failed with exit code 137" in said["message"]
    assert api.get(DYNAMO, GRAPH, f"{NAME}-dgd") is None


def find_profiler(bench: Bench, api: ApiClient) -> int:
    """The number of the profiler's process, 0 before it runs."""
    for pod in api.list("v1", "Pod", labelSelector=f"job-name={job_name(NAME)}"):
        try:
            containers = bench.kubelet.worker_of(api.namespace, pod["metadata"]["name"]).containers
        except LookupError:
            return 0
        started = [one.process.pid for one in containers if one.name == contract.PROFILER_CONTAINER and one.process]
        return started[0] if started else 0
    return 0
