"""Features that the hooks do not have are accepted while they are off, and refused by name when they are on."""

from typing import Any

import pytest

from hooks.graph.rules.validate import review_graph
from hooks.ground.problems import texts_of
from hooks.language.validation.review import Review
from tests import make
from tests.component.render import problems
from tests.language.validation.objects import graph

MAIN: dict[str, Any] = {"extraPodSpec": {"mainContainer": {"image": "i"}}}
OFF: dict[str, Any] = {
    "gpuMemoryService": {"enabled": False, "mode": "interPod", "extraClientContainers": ["a"]},
    "failover": {"enabled": False, "numShadows": 2},
    "checkpoint": {
        "enabled": False,
        "startupPolicy": "WaitForCheckpoint",
        "deletionPolicy": "Retain",
        "targetContainerName": "main",
        "job": {"gmsClientContainers": ["main"]},
    },
    "roles": [{"name": "leader"}, {"name": "worker", "providerOverride": {}}],
    "providerOverride": {"apiVersion": "grove.io/v1alpha1", "target": "PodCliqueSet", "value": {}},
}


@pytest.mark.parametrize("field", OFF)
def test_feature_that_is_off_is_accepted(field: str) -> None:
    assert problems({**MAIN, field: OFF[field]}) == ()
    assert problems({**MAIN, field: [] if field == "roles" else {}}) == ()


ROLES = "settings of a single role are not supported, because one template makes all pods of a replica"
ON: dict[str, tuple[Any, str]] = {
    "gpuMemoryService": (
        {"enabled": True},
        (
            "spec.gpuMemoryService.enabled: the GPU memory service is not supported, because it needs GPUs by Dynamic "
            "Resource Allocation; remove gpuMemoryService, or set spec.gpuMemoryService.enabled to false"
        ),
    ),
    "failover": (
        {"enabled": True, "mode": "intraPod"},
        (
            "spec.failover.enabled: failover between engines is not supported, because it needs the GPU memory "
            "service; remove failover, or set spec.failover.enabled to false"
        ),
    ),
    "checkpoint": (
        {"enabled": True},
        (
            "spec.checkpoint.enabled: checkpoints are not supported, because they need the Snapshot operator; remove "
            "checkpoint, or set spec.checkpoint.enabled to false"
        ),
    ),
    "roles": (
        [{"name": "leader"}, {"name": "worker", "podTemplate": {"spec": {"hostNetwork": True}}}],
        f"spec.roles[1].podTemplate: {ROLES}; write only the names leader and worker, or remove roles",
    ),
    "providerOverride": (
        {"apiVersion": "grove.io/v1alpha1", "target": "PodClique", "value": {"spec": {"a": 1}}},
        (
            "spec.providerOverride.value: overriding fields of Grove's objects is not supported, because the hooks "
            "decide all of them; remove providerOverride, and place pods by topologyConstraint"
        ),
    ),
}


@pytest.mark.parametrize("field", ON)
def test_feature_that_is_on_is_refused_with_what_it_needs(field: str) -> None:
    value, text = ON[field]
    assert problems({**MAIN, field: value}) == (text,)


@pytest.mark.parametrize(("role", "is_refused"), [("leader", False), ("worker", True)])
def test_number_of_pods_of_a_role_is_that_of_the_nodes(role: str, is_refused: bool) -> None:
    found = problems({**MAIN, "roles": [{"name": role, "replicas": 1}]})
    assert bool(found) is is_refused
    assert all(text.startswith(f"spec.roles[0].replicas: {ROLES}") for text in found)


def judge(**spec: Any) -> tuple[str, ...]:
    settings = make.facts().settings
    review = Review(new=graph(**spec), old=None, user=None, settings=settings, installed=None)
    return texts_of(review_graph(review).problems)


@pytest.mark.parametrize(
    "spec",
    [
        {"experimental": {}},
        {"experimental": {"kvTransferPolicy": {}, "componentGroups": []}},
        {"providerOverride": {}},
    ],
    ids=["nothing", "empty", "override of nothing"],
)
def test_graph_that_asks_for_no_preview_is_accepted(spec: dict[str, Any]) -> None:
    assert judge(**spec) == ()


def test_graph_that_asks_for_previews_is_refused_with_what_they_need() -> None:
    found = judge(
        experimental={"kvTransferPolicy": {"labelKey": "a", "domain": "zone"}, "componentGroups": [{"name": "a"}]},
        providerOverride={"value": {"spec": {}}},
    )
    assert found == (
        (
            "spec.providerOverride.value: overriding fields of Grove's objects is not supported, because the hooks "
            "decide all of them; remove providerOverride, and place pods by topologyConstraint"
        ),
        (
            "spec.experimental.kvTransferPolicy: a policy for KV cache transfers is not supported, because it needs "
            "the topology labels of nodes in the pods; remove kvTransferPolicy"
        ),
        (
            "spec.experimental.componentGroups: groups of services that scale together are not supported, because "
            "they need one scaling group for several services; remove componentGroups"
        ),
    )
