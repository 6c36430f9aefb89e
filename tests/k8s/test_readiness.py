"""When a Deployment counts as ready, and what is said when it does not."""

from typing import Any

import pytest

from hooks.k8s.readiness import read_deployment
from tests import make


def deployment(desired: int = 2, *, paused: bool = False, **status: Any) -> dict[str, Any]:
    spec = {"replicas": desired, **({"paused": True} if paused else {})}
    full = {**make.deployment_status(desired, generation=3), **status}
    return {"metadata": {"name": "d", "generation": 3}, "spec": spec, "status": full}


def condition(kind: str, status: str, message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": "R", "message": message}


NOT_READY = {
    "there is none": (None, "it is not created yet"),
    "being deleted": (
        {**deployment(), "metadata": {"name": "d", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        "it is being deleted",
    ),
    "paused": (deployment(paused=True), "it is paused"),
    "old generation": (
        deployment(observedGeneration=2),
        "its controller has not seen generation 3 yet, only 2",
    ),
    "not updated": (deployment(updatedReplicas=1), "desired=2, updated=1"),
    "not available": (deployment(availableReplicas=1), "desired=2, available=1"),
    "old pods": (deployment(replicas=3), "desired=2, replicas=3, old pods are still there"),
    "condition missing": (deployment(conditions=[]), "it does not report Available"),
    "condition false": (deployment(conditions=[condition("Available", "False")]), "it does not report Available"),
    "no status at all": (
        {"metadata": {"name": "d"}, "spec": {"replicas": 1}},
        "desired=1, updated=0",
    ),
    "quota": (
        deployment(updatedReplicas=0, conditions=[condition("ReplicaFailure", "True", "exceeded quota: gpus")]),
        "desired=2, updated=0; exceeded quota: gpus",
    ),
    "stands still": (
        deployment(availableReplicas=0, conditions=[condition("Progressing", "False", "has timed out progressing")]),
        "desired=2, available=0; has timed out progressing",
    ),
}


@pytest.mark.parametrize(("observed", "reason"), NOT_READY.values(), ids=NOT_READY.keys())
def test_deployment_is_not_ready_and_says_why(observed: Any, reason: str) -> None:
    readiness = read_deployment(observed)
    assert (readiness.ready, readiness.reason) == (False, reason)


READY = {
    "all pods": deployment(),
    "replicas absent are one": {
        "metadata": {"name": "d"},
        "spec": {},
        "status": make.deployment_status(1),
    },
    "none wanted": {"metadata": {"name": "d"}, "spec": {"replicas": 0}},
    "newer generation observed": deployment(observedGeneration=9),
}


@pytest.mark.parametrize("observed", READY.values(), ids=READY.keys())
def test_deployment_is_ready(observed: Any) -> None:
    readiness = read_deployment(observed)
    assert (readiness.ready, readiness.reason) == (True, "")


def test_deployment_scaled_to_zero_waits_for_its_last_pod() -> None:
    assert not read_deployment(deployment(0, replicas=1)).ready
    assert read_deployment(deployment(0)).ready
