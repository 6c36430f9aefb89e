"""Statuses, components with an object of their own, and scaling adapters, in both directions."""

import pytest

from hooks.ground.k8s.types import Json, Manifest
from hooks.language.versions import convert

CONDITIONS = [{"type": "Ready", "status": "True"}]
COUNTS = {"componentKind": "Deployment", "replicas": 2, "readyReplicas": 1, "gpusPerEngine": 8}


def document(version: str, kind: str, spec: Json, status: Json) -> Manifest:
    metadata = {"name": "n", "namespace": "default"}
    return {"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": metadata, "spec": spec, "status": status}


EQUAL = {
    "graph": (
        "DynamoGraphDeployment",
        {},
        {
            "state": "successful",
            "conditions": CONDITIONS,
            "services": {"w": {**COUNTS, "componentName": "g-w-1", "componentNames": ["g-w-0", "g-w-1"]}},
            "restart": {"observedID": "1", "phase": "Completed", "inProgress": ["w"]},
            "rollingUpdate": {"phase": "InProgress", "updatedServices": ["w"]},
            "gpus": 16,
        },
        {},
        {
            "state": "successful",
            "conditions": CONDITIONS,
            "components": {"w": {**COUNTS, "componentNames": ["g-w-0", "g-w-1"]}},
            "restart": {"observedID": "1", "phase": "Completed", "inProgress": ["w"]},
            "rollingUpdate": {"phase": "InProgress", "updatedComponents": ["w"]},
            "gpus": 16,
        },
    ),
    "graph's spec": (
        "DynamoGraphDeployment",
        {
            "envs": [{"name": "A"}],
            "topologyConstraint": {"topologyProfile": "t", "packDomain": "rack"},
            "restart": {"id": "1", "strategy": {"type": "Sequential", "order": ["a"]}},
            "experimental": {"kvTransferPolicy": {"domain": "rack"}},
            "labels": {"a": "b"},
        },
        {},
        {
            "env": [{"name": "A"}],
            "topologyConstraint": {"clusterTopologyName": "t", "packDomain": "rack"},
            "restart": {"id": "1", "strategy": {"type": "Sequential", "order": ["a"]}},
            "experimental": {"kvTransferPolicy": {"domain": "rack"}},
            "labels": {"a": "b"},
        },
        {},
    ),
    "component": (
        "DynamoComponentDeployment",
        {"componentType": "frontend", "serviceName": "Frontend", "replicas": 1, "backendFramework": "vllm"},
        {"conditions": CONDITIONS, "service": {**COUNTS, "componentName": "n", "componentNames": ["n"]}},
        {"type": "frontend", "name": "Frontend", "replicas": 1, "backendFramework": "vllm"},
        {"conditions": CONDITIONS, "component": {**COUNTS, "componentNames": ["n"]}},
    ),
    "component with the name of its object": (
        "DynamoComponentDeployment",
        {"componentType": "worker", "replicas": 1},
        {},
        {"type": "worker", "name": "n", "replicas": 1},
        {},
    ),
    "scaling adapter": (
        "DynamoGraphDeploymentScalingAdapter",
        {"replicas": 2, "dgdRef": {"name": "g", "serviceName": "w"}},
        {"replicas": 2, "selector": "a=b", "lastScaleTime": "2026-03-01T12:00:00Z"},
        {"replicas": 2, "dgdRef": {"name": "g", "componentName": "w"}},
        {"replicas": 2, "selector": "a=b", "lastScaleTime": "2026-03-01T12:00:00Z"},
    ),
}


@pytest.mark.parametrize(("kind", "old_spec", "old_status", "new_spec", "new_status"), EQUAL.values(), ids=EQUAL)
def test_a_kind_is_converted_both_ways_without_annotation(
    kind: str, old_spec: Json, old_status: Json, new_spec: Json, new_status: Json
) -> None:
    old, new = document("v1alpha1", kind, old_spec, old_status), document("v1beta1", kind, new_spec, new_status)
    assert convert(old, "v1beta1") == new
    assert convert(new, "v1alpha1") == old


KEPT = {
    "selector of pods": (
        document("v1alpha1", "DynamoComponentDeployment", {"replicas": 1}, {"podSelector": {"a": "b"}}),
        "nvidia.com/dcd-status",
    ),
    "fields of a component": (
        document("v1alpha1", "DynamoComponentDeployment", {"replicas": 1, "dynamoNamespace": "x"}, {}),
        "nvidia.com/dcd-spec",
    ),
    "name that is that of the object": (
        document("v1alpha1", "DynamoComponentDeployment", {"replicas": 1, "serviceName": "n"}, {}),
        "nvidia.com/dcd-spec",
    ),
    "fields of the other version": (
        document("v1alpha1", "DynamoGraphDeploymentScalingAdapter", {"dgdRef": {"componentName": "w"}}, {}),
        "nvidia.com/dgdsa-spec",
    ),
    "no name": (document("v1beta1", "DynamoComponentDeployment", {"replicas": 1}, {}), "nvidia.com/dcd-spec"),
}


@pytest.mark.parametrize(("given", "key"), KEPT.values(), ids=KEPT)
def test_what_the_other_version_cannot_say_is_in_an_annotation_of_the_kind(given: Manifest, key: str) -> None:
    own, other = ("v1alpha1", "v1beta1") if given["apiVersion"].endswith("alpha1") else ("v1beta1", "v1alpha1")
    there = convert(given, other)
    assert list(there["metadata"]["annotations"]) == [key]
    assert convert(there, own) == given
