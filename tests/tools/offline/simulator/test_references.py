"""Pods that wait for claims, Secrets and ConfigMaps, and which of them they wait for."""

from typing import Any

import pytest

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.kubelet import PodJudges
from hooks.tools.offline.simulator.workloads.pods import phase_of
from hooks.tools.offline.simulator.workloads.references import find_references
from tests.tools.offline.simulator.worlds import deployment, world


def pod_with(**spec: Any) -> dict[str, Any]:
    containers = spec.pop("containers", [{"name": "main", "image": "i"}])
    return {"containers": containers, **spec}


def env_from(**source: Any) -> dict[str, Any]:
    return pod_with(containers=[{"name": "main", "image": "i", "envFrom": [source]}])


def env(**source: Any) -> dict[str, Any]:
    return pod_with(containers=[{"name": "main", "image": "i", "env": [{"name": "A", "valueFrom": source}]}])


def volume(**source: Any) -> dict[str, Any]:
    return pod_with(volumes=[{"name": "v", **source}])


NEEDS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "claim": (volume(persistentVolumeClaim={"claimName": "c"}), ["PersistentVolumeClaim c"]),
    "secret volume": (volume(secret={"secretName": "s"}), ["Secret s"]),
    "map volume": (volume(configMap={"name": "m"}), ["ConfigMap m"]),
    "projected": (
        volume(projected={"sources": [{"secret": {"name": "s"}}, {"configMap": {"name": "m"}}, {"downwardAPI": {}}]}),
        ["Secret s", "ConfigMap m"],
    ),
    "all of a secret": (env_from(secretRef={"name": "s"}), ["Secret s"]),
    "all of a map": (env_from(configMapRef={"name": "m"}), ["ConfigMap m"]),
    "key of a secret": (env(secretKeyRef={"name": "s", "key": "k"}), ["Secret s"]),
    "key of a map": (env(configMapKeyRef={"name": "m", "key": "k"}), ["ConfigMap m"]),
    "init container": (
        pod_with(initContainers=[{"name": "i", "envFrom": [{"secretRef": {"name": "s"}}]}]),
        ["Secret s"],
    ),
}
NO_NEEDS = {
    "optional secret": env_from(secretRef={"name": "s", "optional": True}),
    "optional key": env(secretKeyRef={"name": "s", "key": "k", "optional": True}),
    "optional volume": volume(secret={"secretName": "s", "optional": True}),
    "optional projection": volume(projected={"sources": [{"configMap": {"name": "m", "optional": True}}]}),
    "pull secret": pod_with(imagePullSecrets=[{"name": "s"}]),
    "field": env(fieldRef={"fieldPath": "metadata.name"}),
    "empty directory": volume(emptyDir={}),
}


@pytest.mark.parametrize(("spec", "found"), NEEDS.values(), ids=NEEDS)
def test_references_of_a_pod(spec: dict[str, Any], found: list[str]) -> None:
    assert [str(reference) for reference in find_references(spec)] == found


@pytest.mark.parametrize("spec", NO_NEEDS.values(), ids=NO_NEEDS)
def test_what_is_optional_or_for_pulling_images_is_not_needed(spec: dict[str, Any]) -> None:
    assert list(find_references(spec)) == []


def waiting(spec: dict[str, Any], *given: str) -> SimulatedCluster:
    """A cluster with a Deployment of such pods, in which only some objects count as given."""
    cluster = world(judges=PodJudges(given=lambda found, _namespace: str(found) in given))
    manifest = deployment("d")
    template = manifest["spec"]["template"]
    manifest["spec"]["template"] = {**template, "spec": {**template["spec"], **spec}}
    cluster.create(manifest)
    cluster.settle()
    return cluster


def the_pod(cluster: SimulatedCluster) -> Manifest:
    [pod] = cluster.list_kind(kinds.POD)
    return pod


CREATED: dict[str, Manifest] = {
    "PersistentVolumeClaim c": {"spec": {"accessModes": ["ReadWriteOnce"]}},
    "Secret s": {"type": "Opaque"},
    "ConfigMap m": {"data": {}},
}


@pytest.mark.parametrize(
    ("need", "phase"),
    [
        ("claim", "Unschedulable"),
        ("secret volume", "ContainerCreating"),
        ("key of a map", "CreateContainerConfigError"),
    ],
)
def test_pod_waits_until_the_object_is_created(need: str, phase: str) -> None:
    spec, [missing] = NEEDS[need]
    cluster = waiting(spec)
    assert (the_pod(cluster)["status"]["phase"], phase_of(the_pod(cluster))) == ("Pending", phase)
    assert str(cluster.kubelet.missing(the_pod(cluster))) == missing
    kind, name = missing.split()
    metadata = {"name": name, "namespace": "default"}
    cluster.create({"apiVersion": "v1", "kind": kind, "metadata": metadata, **CREATED[missing]})
    cluster.settle()
    assert phase_of(the_pod(cluster)) == "Ready"
    assert cluster.kubelet.missing(the_pod(cluster)) is None


def test_object_that_counts_as_given_is_not_waited_for() -> None:
    assert phase_of(the_pod(waiting(NEEDS["projected"][0], "Secret s", "ConfigMap m"))) == "Ready"
    half = waiting(NEEDS["projected"][0], "Secret s")
    assert str(half.kubelet.missing(the_pod(half))) == "ConfigMap m"


def test_claim_is_waited_for_before_anything_else() -> None:
    spec = {**NEEDS["all of a secret"][0], "volumes": NEEDS["claim"][0]["volumes"]}
    assert str(waiting(spec).kubelet.missing(the_pod(waiting(spec)))) == "PersistentVolumeClaim c"
