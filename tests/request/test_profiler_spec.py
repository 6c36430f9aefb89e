"""What a request of v1beta1, or one of v1alpha1 with a profiler of 1.x, asks of its profiler, and what is refused."""

import json
from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.ground.settings import parse_settings
from hooks.language.api.base import parse_parent
from hooks.language.api.graph_request import GraphRequest
from hooks.language.versions import convert
from hooks.request.plan.job_plan import plan_job
from hooks.request.plan.profiling_job import build_profiling_job
from hooks.request.rules.profiler_rules import find_profiler_problems, find_profiler_warnings
from hooks.request.seen.gpu_discovery import observe_nodes
from hooks.request.seen.hardware import NoHardware, fill_hardware, sku_of
from hooks.request.spec.profiler_spec import write_profiler_spec
from hooks.request.spec.profilers import find_profiler
from tests import make
from tests.request import jobs
from tests.request.world import node

SETTINGS = parse_settings({}, {"hooks_image": jobs.HOOKS_IMAGE})
HARDWARE = {"gpuSku": "h200_sxm", "totalGpus": 8, "numGpusPerNode": 8}
DGD = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment"}


def beta(name: str = "qwen", **spec: Any) -> Manifest:
    """A request of v1beta1 that has all that it needs."""
    metadata = {"name": name, "namespace": make.NAMESPACE, "uid": f"u-{name}", "generation": 1}
    body = {"model": "Qwen/Qwen3-32B", "backend": "vllm", "image": "r/dynamo-planner:1.6.1", "hardware": HARDWARE}
    kind = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest"}
    return {**kind, "metadata": metadata, "spec": {**body, **spec}}


def stored(name: str = "qwen", **spec: Any) -> Manifest:
    """The same request as the hooks read it."""
    return convert(beta(name, **spec), "v1alpha1")


def read(manifest: Manifest) -> GraphRequest:
    return parse_parent(GraphRequest, manifest)


def texts(manifest: Manifest) -> tuple[str, ...]:
    return texts_of(find_profiler_problems(read(manifest), SETTINGS))


def asked(manifest: Manifest, hardware: Any = None) -> Any:
    request = read(manifest)
    return json.loads(write_profiler_spec(request, find_profiler(request, SETTINGS), hardware or HARDWARE))


def test_profiler_gets_what_was_written_and_what_it_needs() -> None:
    workload = {"isl": 3000, "osl": 150, "concurrency": 5.5}
    found = asked(stored(workload=workload, sla={"e2eLatency": 900.0}, features={"planner": {"mode": "disagg"}}))
    assert found == {
        "model": "Qwen/Qwen3-32B",
        "backend": "vllm",
        "image": "r/dynamo-planner:1.6.1",
        "hardware": HARDWARE,
        "workload": workload,
        "sla": {"e2eLatency": 900.0},
        "features": {"planner": {"mode": "disagg"}},
        "searchStrategy": "rapid",
        "autoApply": True,
    }


def test_profiler_never_sees_the_override_of_the_graph() -> None:
    job = {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}
    assert asked(stored(overrides={"dgd": DGD, "profilingJob": job}))["overrides"] == {"profilingJob": job}
    assert "overrides" not in asked(stored(overrides={"dgd": DGD}))


def test_request_of_v1alpha1_asks_a_new_profiler_in_v1beta1() -> None:
    config = {
        "sla": {"isl": 3000, "osl": 150, "ttft": 200, "itl": 20},
        "sweep": {"use_ai_configurator": False, "aic_system": "h200_sxm"},
        "hardware": {"num_gpus_per_node": 8},
        "output_dir": "/data/x",
    }
    manifest = jobs.request(profilerImage="p:1.5.1", config=config, useMocker=True)
    found = asked(manifest, HARDWARE)
    assert found == {
        "model": "Qwen/Qwen3-0.6B",
        "backend": "vllm",
        "image": "p:1.5.1",
        "hardware": HARDWARE,
        "workload": {"isl": 3000, "osl": 150},
        "sla": {"ttft": 200, "itl": 20},
        "features": {"mocker": {"enabled": True}},
        "searchStrategy": "thorough",
        "autoApply": False,
    }
    assert texts_of(find_profiler_warnings(read(manifest), SETTINGS)) == (
        "spec.profilingConfig.config.output_dir: a profiler of Dynamo 1.5.1 does not read it; it has no effect",
    )


def test_job_runs_the_module_of_1_x_with_the_claim_and_the_users_fields() -> None:
    pod = {
        "nodeSelector": {"a": "b"},
        "containers": [{"name": "profiler", "env": [{"name": "HF_TOKEN", "value": "x"}]}],
    }
    manifest = stored(
        modelCache={"pvcName": "c", "pvcModelPath": "m"},
        overrides={"profilingJob": {"backoffLimit": 1, "template": {"spec": pod}}},
    )
    job = build_profiling_job(plan_job(read(manifest), SETTINGS, hardware=HARDWARE))
    found = job["spec"]["template"]["spec"]
    profiler, copier = found["containers"]
    assert profiler["command"] == ["python", "-m", "dynamo.profiler"]
    assert profiler["args"][::2] == ["--config", "--output-dir"]
    assert profiler["workingDir"] == "/workspace"
    assert {"name": "model-cache", "mountPath": "/opt/model-cache", "readOnly": True} in profiler["volumeMounts"]
    names = [entry["name"] for entry in profiler["env"]]
    assert {"HF_TOKEN", "DGDR_NAME", "DGDR_UID"} <= set(names)
    assert "--required=final_config.yaml" in copier["args"]
    assert (job["spec"]["backoffLimit"], found["nodeSelector"]) == (1, {"a": "b"})
    assert found["restartPolicy"] == "Never"


def overridden(**pod: Any) -> Any:
    """The pod of the Job of a request whose `overrides.profilingJob` has this pod."""
    request = read(stored(overrides={"profilingJob": {"template": {"spec": pod}}}))
    return build_profiling_job(plan_job(request, SETTINGS, hardware=HARDWARE))["spec"]["template"]["spec"]


TOKEN = "HUGGING_FACE_HUB_TOKEN"
SECRET = {"secretKeyRef": {"name": "mine", "key": "token"}}


def test_token_is_taken_where_its_secret_exists() -> None:
    (token,) = [one for one in overridden()["containers"][0]["env"] if one["name"] == TOKEN]
    reference = {"name": "hf-token-secret", "key": "HF_TOKEN", "optional": True}
    assert token == {"name": TOKEN, "valueFrom": {"secretKeyRef": reference}}


@pytest.mark.parametrize("given", [{"valueFrom": SECRET}, {"value": "t"}], ids=["Secret", "text"])
def test_token_that_is_named_replaces_it(given: Any) -> None:
    pod = overridden(containers=[{"name": "profiler", "env": [{"name": TOKEN, **given}]}])
    assert [one for one in pod["containers"][0]["env"] if one["name"] == TOKEN] == [{"name": TOKEN, **given}]


def test_volume_of_the_output_can_be_a_claim() -> None:
    claim = {"persistentVolumeClaim": {"claimName": "c"}}
    pod = overridden(volumes=[{"name": "profiling-output", **claim}])
    assert pod["volumes"] == [{"name": "profiling-output", **claim}]


def test_init_container_of_older_releases_is_merged_over_the_profiler() -> None:
    pod = {"initContainers": [{"name": "profiler", "env": [{"name": "HF_TOKEN", "value": "x"}]}], "containers": []}
    manifest = stored(overrides={"profilingJob": {"template": {"spec": pod}}})
    found = build_profiling_job(plan_job(read(manifest), SETTINGS, hardware=HARDWARE))["spec"]["template"]["spec"]
    assert "initContainers" not in found
    assert [one["name"] for one in found["containers"]] == ["profiler", "output-copier"]
    assert {"name": "HF_TOKEN", "value": "x"} in found["containers"][0]["env"]


PROBLEMS: list[tuple[dict[str, Any], str]] = [
    ({"searchStrategy": "thorough", "backend": "auto"}, "spec.searchStrategy: is thorough, which measures one engine"),
    ({"workload": {"concurrency": 1.0, "requestRate": 1.0}}, "spec.workload: concurrency and requestRate exclude"),
    ({"sla": {"e2eLatency": 1.0, "ttft": 1.0}}, "spec.sla: e2eLatency excludes ttft and itl"),
    ({"sla": {"ttft": 0.0, "itl": 1.0}}, "spec.sla.ttft: is 0.0, should be more than 0"),
    ({"hardware": {**HARDWARE, "gpuSku": "h200-sxm"}}, "spec.hardware.gpuSku: is h200-sxm, which no profiler knows"),
    ({"hardware": {**HARDWARE, "gpuSku": "h200-sxm"}}, "did you mean h200_sxm?"),
    ({"hardware": {**HARDWARE, "totalGpus": 0}}, "spec.hardware.totalGpus: is 0, should be more than 0"),
    ({"modelCache": {"pvcModelPath": "a"}}, "spec.modelCache.pvcName: is required beside"),
    ({"image": "p:1.6.1@sha256:1"}, "spec.profilingConfig.profilerImage: names an image by its digest"),
    ({"image": "p:1.5.1", "overrides": {"trustRemoteCode": True}}, "spec.overrides.trustRemoteCode: is read by"),
    ({"overrides": {"dgd": {"kind": "Pod"}}}, "spec.overrides.dgd.kind: should be DynamoGraphDeployment"),
    ({"overrides": {"dgd": {**DGD, "apiVersion": "v1"}}}, "spec.overrides.dgd.apiVersion: should be nvidia.com/"),
    ({"overrides": {"dgd": {**DGD, "status": {}}}}, "spec.overrides.dgd.status: is no part of what is asked for"),
    ({"overrides": {"dgd": {**DGD, "spec": {"env": None}}}}, "spec.overrides.dgd.spec.env: is null; a field that"),
    ({"overrides": {"dgd": {**DGD, "spec": {"services": {}}}}}, "spec.overrides.dgd.spec.services: unknown field"),
    ({"overrides": {"dgd": {**DGD, "metadata": {"name": "A_b"}}}}, "spec.overrides.dgd.metadata.name: is A_b"),
]


@pytest.mark.parametrize(("spec", "said"), PROBLEMS, ids=[f"{n}-{said[:40]}" for n, (_, said) in enumerate(PROBLEMS)])
def test_what_the_profiler_would_say_after_its_search_is_said_before(spec: dict[str, Any], said: str) -> None:
    found = texts(stored(**spec))
    assert any(said in one for one in found), found


def test_sound_requests_have_no_problem() -> None:
    component = {"name": "prefill", "multinode": {"nodeCount": 2}}
    override = {**DGD, "metadata": {"name": "mine"}, "spec": {"components": [component]}}
    for spec in ({}, {"overrides": {"dgd": override}}, {"searchStrategy": "thorough"}, {"sla": {"e2eLatency": 5}}):
        assert texts(stored(**spec)) == ()


@pytest.mark.parametrize(
    ("image", "backend", "limit"),
    [("p:1.6.1", "vllm", 33), ("p:1.6.1", "trtllm", 29), ("p:1.5.1", "vllm", 24), ("p:1.5.1", "sglang", 33)],
)
def test_name_is_too_long_where_the_profiler_would_say_so(image: str, backend: str, limit: int) -> None:
    assert texts(stored("a" * limit, image=image, backend=backend)) == ()
    (found,) = texts(stored("a" * (limit + 1), image=image, backend=backend))
    assert found.startswith(f"metadata.name: the graph would be named {'a' * (limit + 1)}-dgd")
    assert found.endswith(f"a request has at most {limit} characters here")


def test_thorough_search_does_not_see_the_override_and_says_so() -> None:
    override = {**DGD, "spec": {"components": [{"name": "prefill", "replicas": 2}]}}
    found = texts_of(
        find_profiler_warnings(read(stored(searchStrategy="thorough", overrides={"dgd": override})), SETTINGS)
    )
    assert len(found) == 1
    assert "the graphs that a thorough search measures do not have it" in found[0]


# Hardware


def fill(hardware: Any, *nodes: Manifest) -> Any:
    return fill_hardware(hardware, observe_nodes(nodes))


H100, H200, L40S = "NVIDIA-H100-80GB-HBM3", "NVIDIA-H200", "NVIDIA-L40S"


def test_nodes_say_all_four_fields() -> None:
    expected = {"gpuSku": "h100_sxm", "vramMb": 81559, "numGpusPerNode": 8, "totalGpus": 16}
    assert fill({}, node("a"), node("b")) == expected


def test_no_more_than_32_gpus_are_searched_unless_somebody_says_so() -> None:
    nodes = [node(f"n{n}") for n in range(9)]
    assert fill({}, *nodes)["totalGpus"] == 32
    assert fill({"totalGpus": 72}, *nodes)["totalGpus"] == 72


def test_gpu_with_most_nodes_is_taken_then_the_one_with_most_memory() -> None:
    assert fill({}, node("a", product=L40S), node("b", product=L40S), node("c"))["gpuSku"] == "l40s"
    assert fill({}, node("a"), node("b", product=H200, memory="143771"))["gpuSku"] == "h200_sxm"


def test_written_gpu_chooses_the_nodes() -> None:
    found = fill({"gpuSku": "h200_sxm"}, node("a"), node("b"), node("c", "4", product=H200))
    assert (found["numGpusPerNode"], found["totalGpus"]) == (4, 4)


@pytest.mark.parametrize(
    ("hardware", "nodes", "why"),
    [
        ({}, [], "no node has the labels nvidia.com/gpu.count"),
        ({}, [node("a", product="Quadro")], "the nodes have Quadro, and none of them is known to the profiler"),
        ({"gpuSku": "l4"}, [node("a")], f"the nodes have {H100}, and none of them is l4"),
    ],
)
def test_what_the_nodes_do_not_say_is_named(hardware: Any, nodes: list[Manifest], why: str) -> None:
    with pytest.raises(NoHardware, match=why):
        fill(hardware, *nodes)


SKUS = {
    H100: "h100_sxm",
    "NVIDIA-H100-PCIe": "h100_pcie",
    "NVIDIA-H100-NVL": "h100_pcie",
    "NVIDIA-A100-SXM4-80GB": "a100_sxm",
    "NVIDIA-A100-80GB-PCIe": "a100_pcie",
    "Tesla-V100-SXM2-32GB": "v100_sxm",
    "Tesla-T4": "t4",
    H200: "h200_sxm",
    "NVIDIA-GB200": "gb200_sxm",
    "NVIDIA-B200": "b200_sxm",
    "NVIDIA-GB10": "gb10",
    L40S: "l40s",
    "NVIDIA-L40": "l40",
    "NVIDIA-L4": "l4",
    "NVIDIA-A30": "a30",
    "NVIDIA-RTX-A6000": "",
}


@pytest.mark.parametrize(("product", "sku"), SKUS.items())
def test_product_has_the_profilers_name(product: str, sku: str) -> None:
    assert sku_of(product) == sku
