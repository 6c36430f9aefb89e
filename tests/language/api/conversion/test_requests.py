"""Requests of both versions that say the same, and what each keeps for the other in an annotation."""

import json
from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import HERE, SPEC, FieldPath
from hooks.language.versions import convert, written_path
from tests.language.api.conversion.taken import refusals

KIND = "DynamoGraphDeploymentRequest"
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists"}
ALPHA_SPEC = {
    "model": "m",
    "backend": "vllm",
    "autoApply": True,
    "useMocker": True,
    "runtimeVersionOverride": "1.5.1",
    "profilingConfig": {
        "profilerImage": "p:1.5.1",
        "resources": {"limits": {"cpu": "2"}},
        "tolerations": [TOLERATION],
        "nodeSelector": {"pool": "gpu"},
        "config": {
            "sla": {"ttft": 200.0, "itl": 20.0, "isl": 3000, "osl": 150, "optimizationType": "latency"},
            "deployment": {"modelCache": {"pvcName": "c", "modelPathInPvc": "a/b", "pvcMountPath": "/m"}},
            "planner": {"mode": "disagg"},
        },
    },
}
BETA_SPEC = {
    "model": "m",
    "backend": "vllm",
    "autoApply": True,
    "runtimeVersionOverride": "1.5.1",
    "image": "p:1.5.1",
    "modelCache": {"pvcName": "c", "pvcModelPath": "a/b", "pvcMountPath": "/m"},
    "workload": {"isl": 3000, "osl": 150},
    "sla": {"ttft": 200.0, "itl": 20.0, "optimizationType": "latency"},
    "features": {"planner": {"mode": "disagg"}, "mocker": {"enabled": True}},
    "overrides": {
        "profilingJob": {
            "template": {
                "spec": {
                    "tolerations": [TOLERATION],
                    "nodeSelector": {"pool": "gpu"},
                    "containers": [{"name": "profiler", "resources": {"limits": {"cpu": "2"}}}],
                }
            }
        }
    },
}


def request(version: str, spec: Any, **more: Any) -> Manifest:
    return {"apiVersion": f"nvidia.com/{version}", "kind": KIND, "metadata": {"name": "r"}, "spec": spec, **more}


def kept(document: Manifest, part: str = "spec") -> Any:
    return json.loads(document["metadata"].get("annotations", {}).get(f"nvidia.com/dgdr-{part}", "null"))


def test_what_both_versions_say_is_said_without_an_annotation() -> None:
    assert convert(request("v1alpha1", ALPHA_SPEC), "v1beta1") == request("v1beta1", BETA_SPEC)
    assert convert(request("v1beta1", BETA_SPEC), "v1alpha1") == request("v1alpha1", ALPHA_SPEC)


def test_apply_is_written_because_its_absence_means_the_opposite() -> None:
    assert convert(request("v1alpha1", {"model": "m"}), "v1beta1")["spec"] == {"model": "m", "autoApply": False}
    assert convert(request("v1beta1", {"model": "m"}), "v1alpha1")["spec"] == {"model": "m", "autoApply": True}


ONLY_ALPHA = {
    "enableGpuDiscovery": True,
    "deploymentOverrides": {"name": "g", "workersImage": "w:1"},
    "profilingConfig": {"configMapRef": {"name": "c"}, "outputPVC": "p", "config": {"sweep": {"a": 1}}},
}
ONLY_BETA = {
    "hardware": {"gpuSku": "h200_sxm", "totalGpus": 8},
    "searchStrategy": "rapid",
    "workload": {"concurrency": 5.0},
    "sla": {"e2eLatency": 9.0},
    "features": {"mocker": {"enabled": False}},
    "overrides": {"dgd": {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment"}},
}


@pytest.mark.parametrize(
    ("version", "other", "spec"), [("v1alpha1", "v1beta1", ONLY_ALPHA), ("v1beta1", "v1alpha1", ONLY_BETA)]
)
def test_what_only_one_version_says_is_in_upstreams_annotation(version: str, other: str, spec: Any) -> None:
    document = request(version, {"model": "m", "autoApply": True, **spec})
    there = convert(document, other)
    assert kept(there) == {"version": 1, "spec": spec}
    assert convert(there, version) == document


def test_live_value_wins_over_what_was_kept() -> None:
    there = convert(request("v1beta1", {**BETA_SPEC, "hardware": {"gpuSku": "l40s"}}), "v1alpha1")
    there["spec"]["profilingConfig"]["config"]["sla"]["ttft"] = 7
    back = convert(there, "v1beta1")
    assert back["spec"]["sla"]["ttft"] == 7
    assert back["spec"]["hardware"] == {"gpuSku": "l40s"}


def test_other_containers_of_the_job_stay_where_resources_change() -> None:
    containers = [
        {"name": "a", "image": "i"},
        {"name": "profiler", "env": [{"name": "X"}], "resources": {"limits": {}}},
    ]
    spec = {
        "model": "m",
        "autoApply": True,
        "overrides": {"profilingJob": {"template": {"spec": {"containers": containers}}}},
    }
    there = convert(request("v1beta1", spec), "v1alpha1")
    there["spec"]["profilingConfig"]["resources"] = {"limits": {"cpu": "1"}}
    back = convert(there, "v1beta1")["spec"]["overrides"]["profilingJob"]["template"]["spec"]["containers"]
    assert back == [containers[0], {"name": "profiler", "env": [{"name": "X"}], "resources": {"limits": {"cpu": "1"}}}]


GRAPH = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoGraphDeployment",
    "spec": {"services": {"a": {"replicas": 1}}},
}
BETA_GRAPH = {**GRAPH, "apiVersion": "nvidia.com/v1beta1", "spec": {"components": [{"name": "a", "replicas": 1}]}}
STATUSES = [
    ({"state": "Pending"}, {"phase": "Pending"}),
    ({"state": "Ready"}, {"phase": "Ready"}),
    ({"state": "Ready", "deployment": {"name": "g", "created": True}}, {"phase": "Deployed", "dgdName": "g"}),
    ({"state": "Deploying", "deployment": {"name": "g", "created": True}}, {"phase": "Deploying", "dgdName": "g"}),
    (
        {"state": "DeploymentDeleted", "deployment": {"name": "g", "created": True, "state": "Deleted"}},
        {"phase": "Failed", "dgdName": "g"},
    ),
    ({"state": "Failed"}, {"phase": "Failed"}),
    (
        {"state": "Profiling", "profilingPhase": "Done", "profilingJobName": "j"},
        {"phase": "Profiling", "profilingPhase": "Done", "profilingJobName": "j"},
    ),
    (
        {"generatedDeployment": GRAPH, "profilingResults": "configmap/c"},
        {"profilingResults": {"selectedConfig": BETA_GRAPH, "output": "configmap/c"}},
    ),
]


@pytest.mark.parametrize(("alpha", "beta"), STATUSES, ids=[str(alpha)[:60] for alpha, _ in STATUSES])
def test_status_needs_no_annotation(alpha: Any, beta: Any) -> None:
    document = request("v1alpha1", {"model": "m", "autoApply": True}, status=alpha)
    there = convert(document, "v1beta1")
    shared = {"deployment": alpha["deployment"]} if "deployment" in alpha else {}
    assert there["status"] == {**beta, **shared}
    assert "annotations" not in there["metadata"]
    assert convert(there, "v1alpha1") == document


PATHS: dict[FieldPath, str] = {
    SPEC / "profilingConfig.profilerImage": "spec.image",
    SPEC / "useMocker": "spec.features.mocker.enabled",
    SPEC / "profilingConfig.config.sla.ttft": "spec.sla.ttft",
    SPEC / "profilingConfig.config.sla.isl": "spec.workload.isl",
    SPEC / "profilingConfig.config.deployment.modelCache.modelPathInPvc": "spec.modelCache.pvcModelPath",
    SPEC / "profilingConfig.config.planner.mode": "spec.features.planner.mode",
    SPEC / "profilingConfig.tolerations" / 0: "spec.overrides.profilingJob.template.spec.tolerations[0]",
    SPEC / "profilingConfig.resources.limits": (
        "spec.overrides.profilingJob.template.spec.containers[0].resources.limits"
    ),
    SPEC / "profilingConfig.outputPVC": "spec",
    SPEC / "hardware.gpuSku": "spec.hardware.gpuSku",
    HERE / "status.state": "status.phase",
    HERE / "status.generatedDeployment.spec": "status.profilingResults.selectedConfig",
}


@pytest.mark.parametrize(("path", "written"), PATHS.items(), ids=map(str, PATHS))
def test_path_names_the_field_that_was_written(path: FieldPath, written: str) -> None:
    assert str(written_path(path, request("v1beta1", BETA_SPEC))) == written


RETIRED = {
    "nvidia.com/dgdr-enable-gpu-discovery": "true",
    "nvidia.com/dgdr-config-map-ref": '{"name": "c", "key": "disagg.yaml"}',
    "nvidia.com/dgdr-output-pvc": "p",
    "nvidia.com/dgdr-profiling-config": '{"sla": {"ttft": 1.0, "other": 2}, "sweep": {"a": 1}}',
    "nvidia.com/dgdr-deployment-overrides": '{"name": "g", "namespace": "n"}',
}
"""How operators of 1.0 to 1.3 kept what only v1alpha1 says."""


def test_annotations_of_early_operators_are_read_and_replaced() -> None:
    early = request("v1beta1", {"model": "m", "autoApply": True, "sla": {"ttft": 200.0}})
    early["metadata"]["annotations"] = {**RETIRED, "mine": "stays"}
    found = convert(early, "v1alpha1")
    assert found["metadata"]["annotations"] == {"mine": "stays"}
    assert found["spec"] == {
        "model": "m",
        "autoApply": True,
        "enableGpuDiscovery": True,
        "deploymentOverrides": {"name": "g", "namespace": "n"},
        "profilingConfig": {
            "configMapRef": {"name": "c", "key": "disagg.yaml"},
            "outputPVC": "p",
            "config": {"sla": {"ttft": 200.0, "other": 2}, "sweep": {"a": 1}},
        },
    }
    back = convert(found, "v1beta1")
    assert back["spec"] == early["spec"]
    assert back["metadata"]["annotations"].keys() == {"mine", "nvidia.com/dgdr-spec"}
    assert convert(back, "v1alpha1") == found


def test_field_that_was_removed_does_not_come_back_from_an_annotation_of_before() -> None:
    newer = convert(request("v1alpha1", ONLY_ALPHA), "v1beta1")
    newer["metadata"]["annotations"] |= {"nvidia.com/dgdr-output-pvc": "other"}
    assert convert(newer, "v1alpha1")["spec"]["profilingConfig"]["outputPVC"] == "p"


@pytest.mark.parametrize("text", ["{", "[1]", "", "null"])
def test_annotation_of_early_operators_that_cannot_be_read_counts_as_absent(text: str) -> None:
    early = request("v1beta1", {"model": "m", "autoApply": True})
    early["metadata"]["annotations"] = dict.fromkeys(RETIRED.keys() - {"nvidia.com/dgdr-output-pvc"}, text)
    assert convert(early, "v1alpha1") == request("v1alpha1", {"model": "m", "autoApply": True})


def test_a_request_without_the_name_of_a_model_has_one_in_v1beta1_which_takes_no_empty_name() -> None:
    first = request("v1alpha1", {"model": "", "autoApply": True})
    beta = convert(first, "v1beta1")
    assert refusals(beta) == []
    assert beta["spec"] == {"model": "unnamed", "autoApply": True}
    assert convert(beta, "v1alpha1") == first
    named = {**beta, "spec": {**beta["spec"], "model": "m"}}
    assert convert(named, "v1alpha1")["spec"] == {"model": "m", "autoApply": True}


THOROUGH = {"model": "m", "backend": "vllm", "searchStrategy": "thorough", "autoApply": True}
WHOLE = {"model": "m", "sla": {"e2eLatency": 9.0}, "autoApply": True}
TOKENS = {"profilingConfig": {"config": {"sla": {"ttft": 3}}}}
CONTRADICTED: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "any engine": (THOROUGH, {"backend": "auto"}, {"backend": "auto"}),
    "no engine": (THOROUGH, {"backend": None}, {}),
    "time to the first token": (WHOLE, TOKENS, {"sla": {"ttft": 3}}),
}


@pytest.mark.parametrize(("asked", "edit", "found"), CONTRADICTED.values(), ids=CONTRADICTED)
def test_what_was_kept_of_v1beta1_is_left_out_where_a_later_edit_contradicts_it(
    asked: Any, edit: Any, found: Any
) -> None:
    stored = convert(request("v1beta1", asked), "v1alpha1")
    spec = {key: value for key, value in {**stored["spec"], **edit}.items() if value is not None}
    beta = convert({**stored, "spec": spec}, "v1beta1")
    assert refusals(beta) == []
    assert beta["spec"] == {"model": "m", "autoApply": True, **found}


@pytest.mark.parametrize(
    ("asked", "edit", "found"),
    [
        (THOROUGH, {"backend": "sglang"}, {**THOROUGH, "backend": "sglang"}),
        (WHOLE, {"backend": "auto"}, {**WHOLE, "backend": "auto"}),
    ],
    ids=["another engine", "goals"],
)
def test_what_was_kept_of_v1beta1_stays_with_an_edit_that_it_does_not_contradict(
    asked: Any, edit: Any, found: Any
) -> None:
    stored = convert(request("v1beta1", asked), "v1alpha1")
    assert convert({**stored, "spec": {**stored["spec"], **edit}}, "v1beta1")["spec"] == found


@pytest.mark.parametrize(
    "spec",
    [
        {"model": "m", "searchStrategy": "thorough", "autoApply": True},
        {"model": "m", "backend": None, "searchStrategy": "thorough", "autoApply": True},
        {"model": "m", "backend": "auto", "searchStrategy": "thorough", "autoApply": True},
        {"model": "m", "sla": {"e2eLatency": 9.0, "ttft": 3, "itl": "x"}, "autoApply": True},
    ],
    ids=str,
)
def test_what_v1beta1_refused_in_the_first_place_comes_back_as_it_was(spec: Any) -> None:
    first = request("v1beta1", spec)
    assert convert(convert(first, "v1alpha1"), "v1beta1") == first
