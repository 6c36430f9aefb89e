"""What of a user's values has no effect is said, with the field, the value, and what is there instead."""

from typing import Any

import pytest

from hooks.component.rules.validate import review_component
from hooks.ground.problems import texts_of
from hooks.language.validation.review import Review
from tests import make
from tests.component.api_server_cases import main, pod

NODES = {"multinode": {"nodeCount": 2}, "resources": {"limits": {"gpu": "1"}}}
VLLM = {"command": ["python3", "-m", "dynamo.vllm"], "args": ["--tensor-parallel-size", "2"]}
BEGUN = {"annotations": {"nvidia.com/dynamo-operator-origin-version": "1.6.0"}}
OWN = {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}
MOUNT = {"name": "dshm", "mountPath": "/dev/shm"}
POD = {"componentType": "worker"}


def warnings(spec: dict[str, Any]) -> tuple[str, ...]:
    component = make.component("c", "", **spec)
    settings = make.facts().settings
    verdict = review_component(Review(new=component, old=None, user=None, settings=settings, installed=None))
    assert verdict.problems == ()
    return texts_of(make.without_release(verdict.warnings))


SAID: dict[str, tuple[dict[str, Any], str]] = {
    "label of the service": (
        {**POD, "labels": {"nvidia.com/dynamo-namespace": "mine"}},
        (
            "spec.labels[nvidia.com/dynamo-namespace]: 'mine' has no effect, and 'default-c' is there instead, because "
            "pods are found by it; remove it"
        ),
    ),
    "label of the pods": (
        {**POD, "extraPodMetadata": {"labels": {"nvidia.com/dynamo-component-type": "mine"}}},
        (
            "spec.extraPodMetadata.labels[nvidia.com/dynamo-component-type]: 'mine' has no effect, and 'worker' is "
            "there instead"
        ),
    ),
    "label of the workload": (
        {**POD, "labels": {"nvidia.com/selector": "mine"}},
        "spec.labels[nvidia.com/selector]: 'mine' has no effect, and the name of its workload is there instead",
    ),
    "label of a model": (
        {**POD, "modelRef": {"name": "m"}, "labels": {"nvidia.com/dynamo-base-model-hash": "mine"}},
        "spec.labels[nvidia.com/dynamo-base-model-hash]: 'mine' has no effect",
    ),
    "role": (
        {**POD, **NODES, **main(**VLLM), "labels": {"role": "mine"}},
        "spec.labels[role]: 'mine' has no effect, and leader or worker is there instead",
    ),
    "annotation of a model": (
        {**POD, "modelRef": {"name": "m"}, "annotations": {"nvidia.com/dynamo-base-model": "mine"}},
        "spec.annotations[nvidia.com/dynamo-base-model]: 'mine' has no effect, and 'm' is there instead",
    ),
    "annotation of restarts": (
        {**POD, "extraPodMetadata": {"annotations": {"nvidia.com/restartAt": "mine"}}},
        "spec.extraPodMetadata.annotations[nvidia.com/restartAt]: is written by restarts",
    ),
    "gang": (
        {**POD, **NODES, **main(**VLLM), "extraPodMetadata": {"annotations": {"scheduling.k8s.io/group-name": "mine"}}},
        (
            "spec.extraPodMetadata.annotations[scheduling.k8s.io/group-name]: 'mine' has no effect, and the PodGroup "
            "of its replica is there instead"
        ),
    ),
    "scheduler": (
        {**POD, **NODES, **pod(mainContainer=VLLM, schedulerName="mine")},
        "spec.extraPodSpec.schedulerName: 'mine' has no effect, and 'volcano' is there instead",
    ),
    "rank": (
        {**POD, **NODES, **BEGUN, **main(**VLLM), "envs": [{"name": "DYNAMO_RANK", "value": "7"}]},
        "spec.envs[0]: '7' has no effect, and the node's own value is there instead",
    ),
    "mount beside a size": (
        {**POD, **pod(mainContainer={"volumeMounts": [MOUNT]}, volumes=[OWN]), "sharedMemory": {"size": "16Gi"}},
        (
            "spec.extraPodSpec.mainContainer.volumeMounts[0]: '/dev/shm' is not used, and 16Gi of memory is there "
            "instead, because spec.sharedMemory sets the size of /dev/shm; remove one of them"
        ),
    ),
    "claim beside a size": (
        {**POD, "volumeMounts": [{"name": "c", "mountPoint": "/dev/shm"}], "sharedMemory": {"size": "16Gi"}},
        "spec.volumeMounts[0]: '/dev/shm' is not used, and 16Gi of memory",
    ),
    "volume beside a size": (
        {**POD, **pod(volumes=[{**OWN, "name": "shared-memory"}]), "sharedMemory": {"size": "16Gi"}},
        "spec.extraPodSpec.volumes[0]: 'shared-memory' is not used, and 16Gi of memory",
    ),
    "mount without a volume": (
        {**POD, **main(volumeMounts=[MOUNT])},
        (
            "spec.extraPodSpec.mainContainer.volumeMounts[0]: 'dshm' has no effect, and 8Gi of memory is there "
            "instead, because the pod has no volume of this name"
        ),
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_replaced_value_is_said_with_its_field(case: str) -> None:
    spec, beginning = SAID[case]
    assert len([text for text in warnings(spec) if text.startswith(beginning)]) == 1


SILENT: dict[str, dict[str, Any]] = {
    "the user's shared memory": {**POD, **pod(mainContainer={"volumeMounts": [MOUNT]}, volumes=[OWN])},
    "shared memory that is off": {
        **POD,
        **pod(mainContainer={"volumeMounts": [MOUNT]}, volumes=[OWN]),
        "sharedMemory": {"disabled": True},
    },
    "shared memory of the size that is set": {
        **POD,
        **pod(mainContainer={"volumeMounts": [MOUNT]}, volumes=[OWN]),
        "sharedMemory": {"size": "65536Mi"},
    },
    "a mount of the volume that the size makes": {
        **POD,
        **main(volumeMounts=[{**MOUNT, "name": "shared-memory"}]),
        "sharedMemory": {"size": "16Gi"},
    },
    "labels of their own value": {**POD, "labels": {"nvidia.com/dynamo-component-type": "worker"}},
    "labels of the user": {**POD, "labels": {"team": "a", "nvidia.com/metrics-enabled": "false"}},
    "scheduler on one node": {**POD, **pod(schedulerName="mine")},
    "rank on one node": {**POD, **BEGUN, "envs": [{"name": "DYNAMO_RANK", "value": "7"}]},
    "rank of a graph that began before": {
        **POD,
        **NODES,
        **main(command=["python3", "-m", "dynamo.vllm"], args=["--tensor-parallel-size", "2"]),
        "envs": [{"name": "DYNAMO_RANK", "value": "7"}],
    },
}


@pytest.mark.parametrize("case", SILENT)
def test_value_that_counts_is_not_warned_about(case: str) -> None:
    assert warnings(SILENT[case]) == ()


@pytest.mark.parametrize("size", ["abc", None, "0"])
def test_unreadable_size_is_a_problem_and_no_error(size: str | None) -> None:
    spec = {**POD, **pod(mainContainer={"volumeMounts": [MOUNT]}, volumes=[OWN]), "sharedMemory": {"size": size}}
    settings = make.facts().settings
    review = Review(new=make.component("c", "", **spec), old=None, user=None, settings=settings, installed=None)
    assert [text for text in texts_of(review_component(review).problems) if "sharedMemory.size" in text]
