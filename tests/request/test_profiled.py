"""What NVIDIA's profiler 1.5.1 wrote, as the process of rendered Jobs: it becomes a graph that is ready.

`profiled/` has its files, unchanged; its workspace was `/workspace`, as in its image.
"""

from pathlib import Path
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import Manifest, name_of
from hooks.request.seen.profiler_output import READ_FILES, NoOutput, OutputFile, OutputReady, plan_copy
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.profiler import Profiler
from tests import make
from tests.request import jobs
from tests.request.test_profiler_output import STARTED, ended, task
from tests.request.test_profiler_spec import HARDWARE, stored
from tests.tools.offline.simulator.hooked import build_switchable

FOLDER = Path(__file__).parent / "profiled"
IMAGE = "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.5.1"
ASKED: dict[str, dict[str, Any]] = {
    "vllm": {},
    "sglang": {"backend": "sglang"},
    "moe": {"backend": "sglang", "model": "Qwen/Qwen3-30B-A3B-FP8"},
    "mocker": {"model": "Qwen/Qwen3-0.6B", "features": {"mocker": {"enabled": True}}},
    "planner": {"features": {"planner": {}}},
    "naive": {"hardware": {**HARDWARE, "gpuSku": "t4"}},
}
"""What each request asked, beside the same goals."""
FOUND = {
    "vllm": {"Frontend": 1, "VllmDecodeWorker": 1, "VllmPrefillWorker": 4},
    "sglang": {"Frontend": 1, "decode": 2},
    "moe": {"Frontend": 1, "decode": 8},
    "mocker": {"Frontend": 1, "decode": 1, "prefill": 1},
    "planner": {"Frontend": 1, "VllmDecodeWorker": 1, "VllmPrefillWorker": 1, "Planner": 1},
    "naive": {"Frontend": 1, "VllmDecodeWorker": 8},
}
"""Replicas of the components that it found."""


def files(case: str) -> dict[str, OutputFile]:
    """The files of the profiler, as the copier reads them."""
    found = {name: (FOLDER / case / name).read_bytes() for name in READ_FILES if (FOLDER / case / name).exists()}
    return {name: OutputFile(content=text, size=len(text), modified=STARTED) for name, text in found.items()}


def profile(case: str) -> SimulatedCluster:
    """A cluster in which the request's profiler writes what was recorded, until nothing happens any more."""
    text = (FOLDER / case / contract.PROFILER_FINAL_OUTPUT).read_text()
    cluster = build_switchable((), {"hooks_image": jobs.HOOKS_IMAGE}, profiler=Profiler(output=text))
    asked = stored("my-model", image=IMAGE, sla={"ttft": 2000.0, "itl": 30.0}, **ASKED[case])
    known = {key: value for key, value in asked["metadata"].items() if key not in {"uid", "generation"}}
    cluster.create({**asked, "metadata": known})
    cluster.run_for(120)
    return cluster


def the_request(cluster: SimulatedCluster) -> Manifest:
    found = cluster.get(contract.GRAPH_REQUEST, "my-model", make.NAMESPACE)
    assert found is not None
    return found


@pytest.mark.parametrize("case", ASKED)
def test_copier_takes_what_the_profiler_wrote(case: str) -> None:
    decision = plan_copy(task(contract.PROFILER_FINAL_OUTPUT), ended(), files(case))
    assert isinstance(decision, OutputReady)
    data = decision.config_map["data"]
    assert (data["profiler_status"], data["phase"]) == ("success", "Done")
    assert data[contract.PROFILER_FINAL_OUTPUT] == (FOLDER / case / contract.PROFILER_FINAL_OUTPUT).read_text()
    said = "SLA is unverified (ttft=2000.0ms, itl=30.0ms): no performance estimates are available"
    assert data.get("unverified", "").startswith(said) == (case == "naive")


@pytest.mark.parametrize("case", ASKED)
def test_graph_that_the_profiler_found_becomes_ready(case: str) -> None:
    cluster = profile(case)
    status = the_request(cluster)["status"]
    assert (status["state"], status["deployment"]["name"]) == ("Ready", "my-model-dgd"), status["conditions"]
    generated = find_condition(status["conditions"], "SpecGenerated")
    assert generated is not None
    assert generated["message"] == "DynamoGraphDeployment spec generated successfully", "nothing was left out"
    graph = cluster.get(contract.GRAPH, "my-model-dgd", make.NAMESPACE)
    assert graph is not None
    assert {name: one["replicas"] for name, one in graph["spec"]["services"].items()} == FOUND[case]
    assert graph["status"]["state"] == "successful"


def test_planner_gets_its_configuration_and_may_scale() -> None:
    cluster = profile("planner")
    maps = [name for one in cluster.list_kind(kinds.CONFIG_MAP) if (name := name_of(one)).startswith("planner-config-")]
    deployment = cluster.get(kinds.DEPLOYMENT, "my-model-dgd-planner", make.NAMESPACE)
    assert deployment is not None
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    assert [one["configMap"]["name"] for one in volumes if "configMap" in one] == maps
    adapters = {name_of(one) for one in cluster.list_kind(contract.SCALING_ADAPTER)}
    assert adapters == {"my-model-dgd-vllmdecodeworker", "my-model-dgd-vllmprefillworker"}


def test_hub_that_is_not_reached_is_named() -> None:
    decision = plan_copy(task(contract.PROFILER_FINAL_OUTPUT), ended(1, reason="Error"), files("hub"))
    assert isinstance(decision, NoOutput)
    assert "the profiler did not reach the hub of the model" in decision.reason
    assert decision.report is not None
    assert decision.report["data"]["phase"] == "GeneratingDGD"
    assert "Qwen/Qwen3-32B" in decision.report["data"]["profiler_error"]
