"""The one reason that a component gives for not being ready, in its conditions."""

from collections.abc import Sequence
from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from tests import make
from tests.component import groups
from tests.component.render import answer

SPEC = {"componentType": "worker", "replicas": 2}


def unschedulable(name: str = "c-1", **labels: str) -> Manifest:
    conditions = [
        {"type": "Ready", "status": "False"},
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available."},
    ]
    metadata = {
        "name": name,
        "namespace": make.NAMESPACE,
        "labels": labels,
        "creationTimestamp": "2026-03-01T11:00:00Z",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": "Pending", "conditions": conditions},
    }


def observed(spec: dict[str, Any], applied: dict[str, Any] | None = None, **status: Any) -> list[Manifest]:
    """Children as they were made from `applied` (the same spec, unless given), its Deployment in that state."""
    found = answer(make.component("c", "g", **(applied or spec))).children
    full = {**make.deployment_status(spec.get("replicas", 1), ready=0), **status}
    return [make.observed(child, **({"status": full} if child["kind"] == "Deployment" else {})) for child in found]


def ask(
    spec: dict[str, Any],
    children: Sequence[Manifest] = (),
    pods: tuple[Manifest, ...] = (),
    *,
    graph: str = "g",
    **settings: str,
) -> tuple[str, str]:
    """Reason and message of Ready, which is False."""
    facts = make.facts(make.NOW, **settings)
    given = answer(make.component("c", graph, **spec), children, pods, installed=groups.INSTALLED, facts=facts)
    assert given.status is not None
    ready = {condition["type"]: condition for condition in given.status["conditions"]}["Ready"]
    assert ready["status"] == "False"
    return ready["reason"], ready["message"]


def test_pod_and_next_step_are_named() -> None:
    reason, message = ask(SPEC, observed(SPEC), (unschedulable("c-2"), unschedulable("c-1")))
    assert reason == "Unschedulable"
    assert message == (
        "Unschedulable: pod c-1: 0/1 nodes are available - free or add nodes that fit the pod, or let it ask for less "
        "(Deployment is not ready: desired=2, available=0)"
    )


def test_old_pods_explain_nothing_while_a_new_spec_is_applied() -> None:
    changed = {**SPEC, "envs": [{"name": "A", "value": "1"}]}
    assert ask(changed, observed(changed, SPEC), (unschedulable(),))[0] == "RollingOut"


def test_old_pods_explain_nothing_while_the_controller_has_not_seen_the_spec() -> None:
    assert ask(SPEC, observed(SPEC, observedGeneration=0), (unschedulable(),))[0] == "RollingOut"


@pytest.mark.parametrize("changed", [{}, {"envs": [{"name": "A", "value": "1"}]}], ids=["as it is", "being changed"])
def test_paused_deployment_is_to_be_resumed(changed: dict[str, Any]) -> None:
    reason, message = ask({**SPEC, **changed}, [_pause(child) for child in observed(SPEC)], (unschedulable(),))
    assert reason == "WaitingForDependency"
    assert message == (
        "WaitingForDependency: resume it with kubectl rollout resume deployment/c -n default "
        "(Deployment is not ready: it is paused)"
    )


def test_paused_deployment_that_goes_is_not_to_be_resumed() -> None:
    children = [_pause(child, deletionTimestamp="2026-03-01T11:00:00Z") for child in observed(SPEC)]
    reason, message = ask(SPEC, children)
    assert (reason, "it is being deleted" in message, "resume" in message) == ("RollingOut", True, False)


def _pause(child: Manifest, **metadata: str) -> Manifest:
    if child["kind"] != "Deployment":
        return child
    return {
        **child,
        "metadata": {**child["metadata"], **metadata},
        "spec": {**child["spec"], "paused": True},
    }


@pytest.mark.parametrize(("updated", "reason"), [(1, "RollingOut"), (2, "Progressing")])
def test_without_a_pod_to_blame_a_rollout_is_told_from_a_start(updated: int, reason: str) -> None:
    assert ask(SPEC, observed(SPEC, updatedReplicas=updated))[0] == reason


@pytest.mark.parametrize(("updated", "reason"), [(1, "RollingOut"), (2, "Progressing")])
def test_pod_that_starts_is_named_whether_or_not_old_ones_are_left(updated: int, reason: str) -> None:
    starting = unschedulable()
    starting["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    found, message = ask(SPEC, observed(SPEC, updatedReplicas=updated), (starting,))
    assert found == reason
    assert message.startswith(f"{reason}: pod c-1: it is starting - wait (Deployment is not ready: ")


def test_denied_pods_are_told_from_the_deployment() -> None:
    denial = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: gpus"}
    reason, message = ask(SPEC, observed(SPEC, conditions=[denial]))
    assert reason == "QuotaDenied"
    assert message.startswith("QuotaDenied: exceeded quota: gpus - raise the quota or ask for less (")


def test_new_component_is_progressing() -> None:
    assert ask(SPEC)[0] == "Progressing"


def test_pods_that_are_not_read_are_to_be_looked_at_by_the_user() -> None:
    reason, message = ask(SPEC, observed(SPEC), explain_pods="off")
    assert reason == "Progressing"
    assert "see kubectl get pods -n default -l nvidia.com/dynamo-component=c (" in message


ADDRESSES: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "none": ({}, {}, "WaitingForDependency"),
    "setting": ({}, {"etcd_address": "http://etcd:2379"}, "Progressing"),
    "variable": ({"envs": [{"name": "ETCD_ENDPOINTS", "value": "http://e"}]}, {}, "Progressing"),
    "Secret": ({"envFromSecret": "s"}, {}, "Progressing"),
}


@pytest.mark.parametrize(("more", "settings", "reason"), ADDRESSES.values(), ids=ADDRESSES.keys())
def test_address_of_etcd_is_missed_where_nobody_gives_it(
    more: dict[str, Any], settings: dict[str, str], reason: str
) -> None:
    found, _ = ask({**SPEC, **more}, (), (), discovery_backend="etcd", **settings)
    assert found == reason


def test_ssh_key_that_is_not_there_is_waited_for() -> None:
    reason, message = ask(groups.spec(engine="trtllm"), graph="")
    assert reason == "WaitingForDependency"
    assert "Secret default/mpi-run-ssh-secret" in message
    assert "create it with the keys private.key and private.key.pub" in message


def test_worst_of_pods_and_lacks_is_the_reason() -> None:
    spec = {**SPEC, "annotations": {"nvidia.com/dynamo-discovery-backend": "etcd"}}
    assert ask(spec, observed(spec), (unschedulable(),))[0] == "Unschedulable"


def test_pod_within_its_probes_time_brings_the_component_back() -> None:
    container = {"name": "main", "ready": False, "started": True, "restartCount": 0}
    starting = unschedulable()
    starting["spec"]["containers"][0]["readinessProbe"] = {"periodSeconds": 10, "failureThreshold": 3}
    starting["status"] = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [{**container, "state": {"running": {"startedAt": "2026-03-01T11:59:40Z"}}}],
    }
    given = answer(make.component("c", "g", **SPEC), observed(SPEC), (starting,))
    assert given.resync_after_seconds == 10
