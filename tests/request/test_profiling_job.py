"""The profiling Job: whole Jobs as recorded under `jobs/`, and what decides about their parts.

`pytest --update-golden` rewrites the Jobs; their diff is read like code.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.names import is_dns_label, is_subdomain
from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.language.rules import profiling as rules
from hooks.request.plan.job_plan import JobPlan
from hooks.request.plan.profiling_job import build_profiling_access, build_profiling_job
from hooks.request.spec.names import account_name, job_name, output_config_map_name
from hooks.request.spec.profiler_config import uses_ai_configurator
from hooks.tools.offline.manifests.writing import format_documents
from tests.request import jobs

GOLDEN = Path(__file__).parent / "jobs"
AIC = {"sweep": {"use_ai_configurator": True, "aic_system": "h200_sxm"}, "sla": {"ttft": 200.5, "itl": 20}}
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
PLANS = {
    "online": jobs.plan(),
    "aic": jobs.plan(jobs.request(config=AIC)),
    "mocker": jobs.plan(jobs.request(config=AIC, useMocker=True)),
    "everything": jobs.plan(
        jobs.request(
            config={
                "deployment": {"namespace": "bench", "model": "another", "serviceAccount": "x"},
                "engine": {"backend": "trtllm", "max_context_length": 16384},
                "hardware": {"numGpusPerNode": 4},
                "output_dir": "/data/run-1",
            },
            backend="sglang",
            configMapRef={"name": "base", "key": "graph.yaml"},
            deploymentOverrides={"workersImage": "workers:2"},
            enableGpuDiscovery=True,
            nodeSelector={"pool": "gpu", "disk": "ssd"},
            outputPVC="artifacts",
            resources={"requests": {"cpu": 4, "memory": "2048Mi"}, "limits": {"cpu": "8000m", "nvidia.com/gpu": 1}},
            tolerations=[TOLERATION],
        ),
        hardware={"numGpusPerNode": 8, "gpuModel": "NVIDIA-H200", "gpuVramMib": 143771, "system": "h200_sxm"},
        nats_address="nats://nats.example:4222",
        etcd_address="http://etcd.example:2379",
        profiler_module="dynamo.profiler.profile_sla",
        profiling_deadline="4000s",
        profiling_cluster_role="mine",
    ),
}


def containers(job: Manifest) -> dict[str, Any]:
    return {container["name"]: container for container in job["spec"]["template"]["spec"]["containers"]}


def config_of(job: Manifest) -> Any:
    arguments = containers(job)["profiler"]["args"]
    return yaml.safe_load(arguments[arguments.index("--profile-config") + 1])


def merged(plan: JobPlan) -> Any:
    return yaml.safe_load(plan.arguments[1])


def arguments_of(plan: JobPlan) -> dict[str, str]:
    copier = containers(build_profiling_job(plan))["output-copier"]
    return dict(argument.removeprefix("--").split("=", 1) for argument in copier["args"])


@pytest.mark.parametrize("case", PLANS)
def test_job_and_access_are_as_recorded(case: str, request: pytest.FixtureRequest) -> None:
    text = format_documents([build_profiling_job(PLANS[case]), *build_profiling_access(jobs.access(PLANS[case]))])
    path = GOLDEN / f"{case}.yaml"
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.is_file(), f"{path.name} is missing; pytest --update-golden writes it"
    assert path.read_text() == text


NAMES = [
    ("qwen", "profile-qwen", "dgdr-output-qwen", "qwen-profiling"),
    ("a.b", "profile-a.b", "dgdr-output-a.b", "a.b-profiling"),
]


@pytest.mark.parametrize(("request_name", "job", "config_map", "account"), NAMES, ids=[row[0] for row in NAMES])
def test_names_follow_the_request(request_name: str, job: str, config_map: str, account: str) -> None:
    found = job_name(request_name), output_config_map_name(request_name), account_name(request_name)
    assert found == (job, config_map, account)


@pytest.mark.parametrize("length", [55, 56, 63, 241, 242, 253])
def test_long_names_fit_and_stay_apart(length: int) -> None:
    one, other = "a" * (length - 1) + "b", "a" * (length - 1) + "c"
    assert is_dns_label(job_name(one))
    assert is_subdomain(output_config_map_name(one))
    assert is_subdomain(account_name(one))
    for name in (job_name, output_config_map_name, account_name):
        assert name(one) != name(other)


def test_labels_and_names_of_a_long_request_are_valid() -> None:
    plan = jobs.plan(jobs.request("r" * 253))
    for child in (build_profiling_job(plan), *build_profiling_access(jobs.access(plan))):
        assert is_subdomain(child["metadata"]["name"])
        for value in child["metadata"]["labels"].values():
            assert len(value) <= 63


SWEEPS: list[tuple[Any, bool]] = [
    (None, False),
    ("sweep: x", False),
    ({}, False),
    ({"sweep": None}, False),
    ({"sweep": {"use_ai_configurator": False}}, False),
    ({"sweep": {"use_ai_configurator": "true"}}, False),
    ({"sweep": {"use_ai_configurator": True}}, True),
    ({"sweep": {"useAiConfigurator": True}}, True),
]


@pytest.mark.parametrize(("config", "expected"), SWEEPS, ids=[str(config) for config, _ in SWEEPS])
def test_only_a_true_switch_makes_profiling_a_simulation(config: Any, expected: bool) -> None:
    assert uses_ai_configurator(config) is expected


def test_pods_carry_the_labels_of_the_job() -> None:
    job = build_profiling_job(PLANS["aic"])
    assert job["spec"]["template"]["metadata"]["labels"] == job["metadata"]["labels"]
    assert job["metadata"]["labels"]["app"] == "aic-profiler"


def test_what_the_request_says_wins_over_the_configuration() -> None:
    config = merged(PLANS["everything"])
    assert config["deployment"] == {
        "namespace": "bench",
        "model": "Qwen/Qwen3-0.6B",
        "serviceAccount": "x",
        "dgd_image": "workers:2",
    }
    assert config["engine"] == {"backend": "sglang", "max_context_length": 16384, "config": "/config/disagg.yaml"}


def test_discovered_hardware_fills_only_what_the_user_left_out() -> None:
    assert merged(PLANS["everything"])["hardware"] == {
        "numGpusPerNode": 4,
        "gpuModel": "NVIDIA-H200",
        "gpuVramMib": 143771,
        "system": "h200_sxm",
    }
    assert "hardware" not in merged(PLANS["online"])


def test_configuration_of_the_user_is_not_changed() -> None:
    config = {"deployment": {"a": 1}, "engine": None}
    merged(jobs.plan(jobs.request(config=config)))
    assert config == {"deployment": {"a": 1}, "engine": None}


def test_profiler_reads_the_configuration_that_was_merged() -> None:
    for plan in PLANS.values():
        assert config_of(build_profiling_job(plan)) == merged(plan)


def test_profiler_discovers_gpus_itself_only_where_nothing_was_discovered_for_it() -> None:
    asked = jobs.request(enableGpuDiscovery=True)
    alone = containers(build_profiling_job(jobs.plan(asked)))["profiler"]["args"]
    discovered = containers(build_profiling_job(jobs.plan(asked, hardware={"system": "l40s"})))["profiler"]["args"]
    assert alone[-1] == "--enable-gpu-discovery"
    assert "--enable-gpu-discovery" not in discovered


RESOURCES = [
    ({}, {"requests": {"cpu": "16", "memory": "10Gi"}}),
    ({"resources": {"limits": {"cpu": "2000m"}}}, {"limits": {"cpu": "2"}}),
    ({"resources": {}}, None),
]


@pytest.mark.parametrize(("spec", "expected"), RESOURCES, ids=["absent", "given", "empty"])
def test_resources_of_the_user_replace_the_default_whole(spec: Any, expected: Any) -> None:
    profiler = containers(build_profiling_job(jobs.plan(jobs.request(**spec))))["profiler"]
    assert profiler.get("resources") == expected


def test_failed_profiler_is_not_tried_again_but_an_evicted_one_is() -> None:
    spec = build_profiling_job(PLANS["online"])["spec"]
    disrupted, failed = spec["podFailurePolicy"]["rules"]
    assert spec["backoffLimit"] == 3
    assert disrupted == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    assert failed == {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}


def test_copier_gets_the_folder_and_the_required_file() -> None:
    assert arguments_of(PLANS["everything"]) == {
        "config-map": "dgdr-output-qwen",
        "request": "qwen",
        "request-uid": "u-qwen",
        "folder": "/data/run-1",
        "required": "config_with_planner.yaml",
        "deadline": "4000",
    }
    assert arguments_of(PLANS["mocker"])["required"] == "mocker_config_with_planner.yaml"


FOLDERS = ["/results", "results", "/data/../etc", "/database", 7, None]
OUTSIDE = (
    "spec.profilingConfig.config.output_dir: is {!r}, but the container that copies the output sees only /data; name a "
    "folder in it, or leave output_dir out"
)
PROBLEMS: list[tuple[Any, list[str]]] = [
    (
        {"deployment": "x", "engine": [], "hardware": 1},
        [
            "spec.profilingConfig.config.deployment: is 'x', must be an object",
            "spec.profilingConfig.config.engine: is [], must be an object",
            "spec.profilingConfig.config.hardware: is 1, must be an object",
        ],
    ),
    *(({"output_dir": folder}, [OUTSIDE.format(folder)]) for folder in FOLDERS),
]


@pytest.mark.parametrize(("config", "problems"), PROBLEMS, ids=[str(config) for config, _ in PROBLEMS])
def test_configuration_that_could_not_work_is_refused(config: Any, problems: list[str]) -> None:
    with pytest.raises(InvalidSpec) as refused:
        jobs.plan(jobs.request(config=config))
    assert list(texts_of(refused.value.problems)) == problems


def test_missing_image_of_the_hooks_is_named_by_its_setting_beside_other_problems() -> None:
    with pytest.raises(InvalidSpec) as refused:
        jobs.plan(jobs.request(config={"engine": 1}), hooks_image="")
    assert [problem.rule for problem in refused.value.problems] == [rules.PROFILER_CONFIG_SECTION, rules.HOOKS_IMAGE]
    assert "the setting hooks_image is empty" in str(refused.value)


def test_configuration_that_no_process_takes_is_refused() -> None:
    with pytest.raises(InvalidSpec, match=r"is \d+ bytes as YAML, a process takes at most 131071"):
        jobs.plan(jobs.request(config={"notes": "x" * 131_072}))


def test_registry_secrets_follow_the_one_of_upstream_each_once() -> None:
    plan = replace(jobs.plan(), pull_secrets=("mine", "nvcr-imagepullsecret"))
    pod = build_profiling_job(plan)["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "nvcr-imagepullsecret"}, {"name": "mine"}]


def test_same_plan_gives_the_same_job_in_any_order_of_keys() -> None:
    config = {"b": {"y": 1, "x": 2}, "a": 1}
    turned = {"a": 1, "b": {"x": 2, "y": 1}}
    one, other = (build_profiling_job(jobs.plan(jobs.request(config=c))) for c in (config, turned))
    assert format_documents([one]) == format_documents([other])


def test_binding_grants_the_role_to_the_account_of_the_pod() -> None:
    account, binding = build_profiling_access(jobs.access(PLANS["everything"]))
    pod = build_profiling_job(PLANS["everything"])["spec"]["template"]["spec"]
    assert account["metadata"]["name"] == pod["serviceAccountName"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "qwen-profiling", "namespace": "default"}]
    assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == ("ClusterRole", "mine")


def test_command_of_the_copier_is_one_of_ours() -> None:
    command = containers(build_profiling_job(PLANS["online"]))["output-copier"]["command"]
    entry = re.search(r'^ENTRYPOINT \["(.+?)"\]', (Path(__file__).parents[2] / "Dockerfile").read_text(), re.MULTILINE)
    assert entry is not None
    assert command == [entry[1], "copy-output"]
