"""Where a component's workers are found while pods of two generations exist."""

from collections.abc import Iterable
from typing import Any

import pytest

from hooks.component.sync import sync
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from tests import make

OLD, NEW = "0a1b2c3d", "ffee0011"


def component(suffix: str, previous: str = "") -> Manifest:
    labels = {contract.LABEL_WORKER_HASH: suffix} if suffix else {}
    envs = [{"name": contract.WORKER_SUFFIX, "value": suffix}] if suffix else []
    spec = {"componentType": "worker", "replicas": 2, "envs": envs, "labels": labels}
    spec["extraPodSpec"] = {"mainContainer": {"image": "r/vllm-runtime:1.6.1", "command": ["python3"]}}
    found = make.component("c", "g", **spec)
    found["metadata"]["labels"] = labels
    if previous:
        found["status"] = {"service": {"runtimeNamespace": previous}}
    return found


def where(parent: Manifest, children: Iterable[Manifest], pods: Iterable[Manifest] = ()) -> str:
    answer = sync(make.sync_request(parent, children, pods), make.facts())
    assert answer.status is not None
    return str(answer.status["service"]["runtimeNamespace"])


def running(suffix: str, **counts: int) -> list[Manifest]:
    """The children for that generation, with a Deployment of these counts."""
    answer = sync(make.sync_request(component(suffix)), make.facts())
    return [_with_counts(make.observed(child), counts) for child in answer.children]


def _with_counts(child: Manifest, counts: dict[str, int]) -> Manifest:
    if child["kind"] != "Deployment":
        return child
    status = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 2) | counts
    conditions = [{"type": "Available", "status": "True"}]
    generation = child["metadata"].get("generation", 1)
    return {**child, "status": {"observedGeneration": generation, "conditions": conditions, **status}}


def pod(suffix: str, phase: str = "Running") -> Manifest:
    env = [{"name": contract.WORKER_SUFFIX, "value": suffix}]
    metadata = {"name": f"c-{suffix}", "namespace": "default", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    container = {"name": "main", "env": env}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container]},
        "status": {"phase": phase},
    }


def test_pods_say_the_generation_by_variable_and_label() -> None:
    (deployment,) = (child for child in running(NEW) if child["kind"] == "Deployment")
    template: dict[str, Any] = deployment["spec"]["template"]
    assert template["metadata"]["labels"][contract.LABEL_WORKER_HASH] == NEW
    assert {"name": contract.WORKER_SUFFIX, "value": NEW} in template["spec"]["containers"][-1]["env"]
    assert contract.LABEL_WORKER_HASH not in deployment["spec"]["selector"]["matchLabels"]


@pytest.mark.parametrize(("suffix", "name"), [(OLD, f"default-g-{OLD}"), ("", "default-g")], ids=["of one", "of none"])
def test_old_dynamo_namespace_is_named_until_its_last_pod_is_gone(suffix: str, name: str) -> None:
    parent = component(NEW, name)
    assert where(parent, running(suffix)) == name  # the new spec is not applied yet
    assert where(parent, running(NEW, updatedReplicas=1)) == name
    assert where(parent, running(NEW), [pod(OLD)]) == name  # it is about to end
    assert where(parent, running(NEW), [pod(OLD, "Failed"), pod(NEW)]) == f"default-g-{NEW}"
    assert where(parent, running(NEW)) == name  # no pod was read, so some may be left


def test_status_that_is_of_an_older_deployment_says_nothing_about_the_end() -> None:
    children = running(NEW)
    for child in children:
        if child["kind"] == "Deployment":
            child["metadata"]["generation"] = 9
    assert where(component(NEW, f"default-g-{OLD}"), children) == f"default-g-{OLD}"


def test_new_component_is_found_in_its_own_generation() -> None:
    assert where(component(NEW), running(NEW, replicas=0, updatedReplicas=0)) == f"default-g-{NEW}"
