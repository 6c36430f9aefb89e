"""GPUs of one replica: by hand, and against the pods that are rendered."""

from collections.abc import Iterable
from typing import Any

import pytest

from hooks.component.spec.gpu_shape import GpuShape, resolve_gpu_shape
from hooks.ground.k8s.types import Manifest
from hooks.language.api.component_spec import ComponentSpec
from tests import make
from tests.component import groups
from tests.component.render import answer

Fields = dict[str, Any]
GPU = "nvidia.com/gpu"
TWO: Fields = {"resources": {"limits": {"gpu": "2"}}}


def container(gpus: int | str, name: str = "side", resource: str = GPU, **fields: Any) -> Fields:
    return {"name": name, "image": "i", "resources": {"limits": {resource: gpus}}, **fields}


def sidecar(gpus: int) -> Fields:
    return container(gpus, f"sidecar-{gpus}", restartPolicy="Always")


def pod(**fields: Any) -> Fields:
    return {"extraPodSpec": {"mainContainer": {"image": "i"}, **fields}}


def shape_of(spec: Fields) -> GpuShape | None:
    return resolve_gpu_shape(ComponentSpec.model_validate(spec))


SHAPES: list[tuple[str, Fields, tuple[int, int]]] = [
    ("no GPUs", {}, (0, 0)),
    ("limits", TWO, (2, 2)),
    ("requests alone", {"resources": {"requests": {"gpu": "2"}}}, (2, 2)),
    ("limits before requests", {"resources": {"limits": {"gpu": "2"}, "requests": {"gpu": "1"}}}, (2, 2)),
    ("of the main container", pod(mainContainer=container(4, "main")), (4, 4)),
    ("spec before the main container", {**pod(mainContainer=container(4, "main")), **TWO}, (2, 2)),
    ("nodes", {**TWO, "multinode": {"nodeCount": 3}}, (6, 6)),
    ("nodes beyond int64", {**TWO, "multinode": {"nodeCount": 2**63}}, (2**63 - 1, 2**63 - 1)),
    ("second container", {**TWO, **pod(containers=[container(1)])}, (2, 3)),
    ("second container's requests", {**TWO, **pod(containers=[{"resources": {"requests": {GPU: "1"}}}])}, (2, 3)),
    ("second container on each node", {**TWO, **pod(containers=[container(1)]), "multinode": {"nodeCount": 2}}, (4, 6)),
    ("init containers that need less", {**TWO, **pod(initContainers=[container(1), container(2)])}, (2, 2)),
    ("init container that needs more", {**TWO, **pod(initContainers=[container(8)])}, (2, 8)),
    ("sidecars", {**TWO, **pod(initContainers=[sidecar(1), sidecar(3)])}, (2, 6)),
    ("init container beside a sidecar", {**TWO, **pod(initContainers=[sidecar(1), container(4)])}, (2, 5)),
    ("init container before a sidecar", {**TWO, **pod(initContainers=[container(4), sidecar(1)])}, (2, 4)),
    ("sidecar without engine's GPUs", pod(containers=[container(1)]), (0, 1)),
    (
        "another type of GPU",
        {
            "resources": {"limits": {"gpu": "2", "gpuType": "amd.com/gpu"}},
            **pod(containers=[container(1, "s", "amd.com/gpu")]),
        },
        (2, 3),
    ),
    ("other resources", {**TWO, **pod(containers=[container("2", "s", "rdma/ib")])}, (2, 2)),
    ("claims of a device beside GPUs", {"resources": {"limits": {"gpu": "2"}, "claims": [{"name": "nic"}]}}, (2, 2)),
]


@pytest.mark.parametrize(("spec", "expected"), [case[1:] for case in SHAPES], ids=[case[0] for case in SHAPES])
def test_gpus_of_a_replica(spec: Fields, expected: tuple[int, int]) -> None:
    assert shape_of(spec) == GpuShape(per_engine=expected[0], per_replica=expected[1])


UNKNOWN: list[tuple[str, Fields]] = [
    ("claims of the spec", {"resources": {"claims": [{"name": "gpus"}]}}),
    ("claims of the main container", pod(mainContainer={"resources": {"claims": [{"name": "gpus"}]}})),
    ("no whole number", {"resources": {"limits": {"gpu": "1500m"}}}),
    ("no number", {**TWO, **pod(containers=[container("many")])}),
]


@pytest.mark.parametrize("spec", [case[1] for case in UNKNOWN], ids=[case[0] for case in UNKNOWN])
def test_gpus_that_the_spec_does_not_say_are_not_guessed(spec: Fields) -> None:
    assert shape_of(spec) is None


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
def test_rendered_pods_of_a_replica_have_as_many_gpus(engine: str) -> None:
    spec = groups.spec(nodes=4, engine=engine, resources={"limits": {"gpu": "2"}})
    spec["extraPodSpec"] = {**spec["extraPodSpec"], "containers": [container(1)], "initContainers": [sidecar(3)]}
    found = answer(make.component("c", "g", **spec), installed=groups.INSTALLED).children
    template = next(child for child in found if child["kind"] == groups.SETS)["spec"]["leaderWorkerTemplate"]
    leader, worker = (template[f"{role}Template"]["spec"] for role in ("leader", "worker"))
    shape = shape_of(spec)
    assert shape is not None
    assert shape.per_engine == gpus([main_of(leader)]) + 3 * gpus([main_of(worker)]) == 8
    assert shape.per_replica == sum(gpus(all_of(one)) for one in (leader, *[worker] * 3)) == 24


def main_of(spec: Manifest) -> Manifest:
    found: Manifest = spec["containers"][-1]
    return found


def all_of(spec: Manifest) -> list[Manifest]:
    return [*spec["containers"], *spec["initContainers"]]


def gpus(containers: Iterable[Manifest]) -> int:
    return sum(int(one["resources"]["limits"][GPU]) for one in containers if "resources" in one)
