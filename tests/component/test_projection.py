"""What clients of Dynamo 1.x read in a component's status: present with the workload, and of the spec that runs."""

from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.component import groups
from tests.component.render import VLLM, answer

ARGS = ["--model", "Qwen/Q", "--endpoint", "dyn://ns.backend.generate"]
WORKER: dict[str, Any] = {
    "componentType": "worker",
    "resources": {"limits": {"gpu": "2"}},
    "extraPodSpec": {"mainContainer": {"image": "i", "command": VLLM, "args": ARGS}, "containers": []},
}
PROJECTED = {
    "runtimeNamespace": "default-g",
    "runtimeComponentName": "backend",
    "servedModelName": "Qwen/Q",
    "gpusPerEngine": 2,
    "gpusPerReplica": 2,
}


def running(spec: dict[str, Any]) -> list[Manifest]:
    found = answer(make.component("c", "g", **spec)).children
    status = {"Deployment": {"status": make.deployment_status()}}
    return [make.observed(child, **status.get(child["kind"], {})) for child in found]


def entry(given: SyncAnswer) -> dict[str, Any]:
    assert given.status is not None
    return dict(given.status.get("service") or {})


def test_replicas_over_several_nodes_that_are_scaled_to_zero_keep_their_gpus() -> None:
    found = entry(answer(make.component("c", "g", **groups.spec(replicas=0)), installed=groups.INSTALLED))
    assert {key: found[key] for key in ("componentKind", "componentName", "replicas", "readyReplicas")} == {
        "componentKind": "LeaderWorkerSet",
        "componentName": "c-0",
        "replicas": 0,
        "readyReplicas": 0,
    }
    assert found["gpusPerEngine"] == found["gpusPerReplica"] > 0
    some = answer(make.component("c", "g", **groups.spec(replicas=1)), installed=groups.INSTALLED)
    assert entry(some) == {}, "a LeaderWorkerSet that is wanted and does not exist yet has no entry"


@pytest.mark.parametrize(
    ("text", "watts"),
    [("350", 350), ("0", None), ("-1", None), ("300W", None), ("", None), (" 300", None), ("1.5", None)],
)
def test_limit_of_a_gpus_watts_is_that_of_the_pods_annotation(text: str, watts: int | None) -> None:
    spec = {**WORKER, "extraPodMetadata": {"annotations": {"dynamo.nvidia.com/gpu-power-limit": text}}}
    found = entry(answer(make.component("c", "g", **spec), running(spec)))
    assert found.get("gpuPowerLimitWatts") == watts


def test_frontend_has_no_limit_of_watts() -> None:
    metadata = {"annotations": {"dynamo.nvidia.com/gpu-power-limit": "350"}}
    spec = {**WORKER, "componentType": "frontend", "extraPodMetadata": metadata}
    assert "gpuPowerLimitWatts" not in entry(answer(make.component("c", "g", **spec), running(spec)))


def test_entry_of_a_deployment_has_the_names_and_gpus() -> None:
    given = answer(make.component("c", "g", **WORKER), running(WORKER))
    assert entry(given) == {
        "componentKind": "Deployment",
        "componentName": "c",
        "componentNames": ["c"],
        "replicas": 1,
        "updatedReplicas": 1,
        "readyReplicas": 1,
        "availableReplicas": 1,
        **PROJECTED,
    }


def test_entry_of_several_nodes_counts_the_gpus_of_all() -> None:
    spec = groups.spec(nodes=3)
    children = [
        make.observed(one) for one in answer(make.component("c", "g", **spec), installed=groups.INSTALLED).children
    ]
    found = entry(answer(make.component("c", "g", **spec), children, installed=groups.INSTALLED))
    assert (found["componentKind"], found["gpusPerEngine"], found["gpusPerReplica"]) == ("LeaderWorkerSet", 3, 3)


def test_entry_is_there_before_the_deployment_with_no_pods() -> None:
    found = entry(answer(make.component("c", "g", **WORKER)))
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    assert (found["componentName"], [found[field] for field in counts]) == ("c", [0, 0, 0, 0])
    assert found["gpusPerEngine"] == 2


def test_no_entry_without_a_workload() -> None:
    assert entry(answer(make.component("c", "g", **WORKER, multinode={"nodeCount": 2}))) == {}


@pytest.mark.parametrize("component_type", ["frontend", "planner", "epp"])
def test_component_without_engine_serves_no_model(component_type: str) -> None:
    args = {"mainContainer": {"image": "i", "command": VLLM, "args": ARGS}}
    spec = {"componentType": component_type, "extraPodSpec": args, "eppConfig": {"config": {"a": 1}}}
    if component_type != "epp":
        del spec["eppConfig"]
    found = entry(answer(make.component("c", "g", **spec), running(spec)))
    assert found["runtimeNamespace"] == "default-g"
    assert not {"servedModelName", "runtimeComponentName"} & found.keys()


def test_component_of_its_own_says_its_own_namespace() -> None:
    spec = {**WORKER, "dynamoNamespace": "shared"}
    children = [make.observed(child) for child in answer(make.component("c", **spec)).children]
    assert entry(answer(make.component("c", **spec), children))["runtimeNamespace"] == "shared"


def test_refused_spec_leaves_what_was_said_of_the_running_one() -> None:
    good = answer(make.component("c", "g", **WORKER), running(WORKER))
    bad = {**WORKER, "replicas": -1, "resources": {"limits": {"gpu": "9"}}}
    refused = answer(make.component("c", "g", **bad, status=good.status), running(WORKER))
    assert refused.problems
    assert entry(refused) == entry(good)


def test_changed_spec_is_told_at_once() -> None:
    good = answer(make.component("c", "g", **WORKER), running(WORKER))
    changed = {**WORKER, "extraPodSpec": {"mainContainer": {"image": "i", "command": VLLM, "args": ["--model", "new"]}}}
    found = entry(answer(make.component("c", "g", **changed, status=good.status), running(WORKER)))
    assert found["servedModelName"] == "new"
    assert "runtimeComponentName" not in found
