"""When a workload counts as ready, and what is said when it does not."""

from typing import Any

import pytest

from hooks.ground.k8s.readiness import has_old_pods, read_deployment, read_leader_worker_set, reports_generation
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


@pytest.mark.parametrize(
    ("observed", "is_current"),
    [
        (None, True),
        (deployment(), True),
        (deployment(updatedReplicas=1), True),
        (deployment(observedGeneration=2), False),
        (deployment(paused=True), False),
    ],
    ids=["none", "ready", "short", "old generation", "paused"],
)
def test_pods_speak_for_the_newest_spec_only_once_its_controller_acts_on_it(observed: Any, *, is_current: bool) -> None:
    assert read_deployment(observed).is_current is is_current


@pytest.mark.parametrize(("updated", "is_old"), [(2, False), (1, True), (0, True)])
def test_pods_beyond_the_updated_ones_are_old(updated: int, *, is_old: bool) -> None:
    assert has_old_pods(deployment(updatedReplicas=updated)) is is_old


def test_deployment_scaled_to_zero_waits_for_its_last_pod() -> None:
    assert not read_deployment(deployment(0, replicas=1)).ready
    assert read_deployment(deployment(0)).ready


def lws(desired: int = 2, **status: Any) -> dict[str, Any]:
    full = {
        "observedGeneration": 3,
        "replicas": desired,
        "readyReplicas": desired,
        "updatedReplicas": desired,
        "conditions": [{**condition("Available", "True"), "observedGeneration": 3}],
        **status,
    }
    kept = {key: value for key, value in full.items() if value is not None}
    return {"metadata": {"name": "l", "generation": 3}, "spec": {"replicas": desired}, "status": kept}


AVAILABLE = condition("Available", "True")
SETS_NOT_READY = {
    "there is none": (None, "it is not created yet"),
    "being deleted": (
        {**lws(), "metadata": {"name": "l", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        "it is being deleted",
    ),
    "old generation": (lws(observedGeneration=2), "its controller has not seen generation 3 yet, only 2"),
    "not updated": (lws(updatedReplicas=1), "desired=2, updated=1"),
    "not ready": (lws(readyReplicas=1), "desired=2, ready=1"),
    "zero is absent": (lws(readyReplicas=None), "desired=2, ready=0"),
    "condition missing": (lws(conditions=[]), "it does not report Available"),
    "condition false keeps its old reason": (
        lws(conditions=[{**AVAILABLE, "status": "False", "reason": "AllGroupsReady"}]),
        "it does not report Available",
    ),
    "condition of an old generation": (
        lws(conditions=[{**AVAILABLE, "observedGeneration": 2}]),
        "it does not report Available",
    ),
    "being updated": (lws(conditions=[AVAILABLE, condition("UpdateInProgress", "True")]), "it is being updated"),
    "no status at all": ({"metadata": {"name": "l"}, "spec": {}}, "desired=1, updated=0"),
}


@pytest.mark.parametrize(("observed", "reason"), SETS_NOT_READY.values(), ids=SETS_NOT_READY.keys())
def test_leader_worker_set_is_not_ready_and_says_why(observed: Any, reason: str) -> None:
    readiness = read_leader_worker_set(observed)
    assert (readiness.ready, readiness.reason) == (False, reason)


SETS_READY = {
    "all groups": lws(),
    "surge groups are counted too": lws(replicas=3, readyReplicas=3, updatedReplicas=3),
    "version that reports no generation": lws(observedGeneration=None, conditions=[AVAILABLE]),
    "update is over": lws(conditions=[AVAILABLE, condition("UpdateInProgress", "False")]),
    "none wanted": lws(0, replicas=None, readyReplicas=None, updatedReplicas=None),
}


@pytest.mark.parametrize("observed", SETS_READY.values(), ids=SETS_READY.keys())
def test_leader_worker_set_is_ready(observed: Any) -> None:
    readiness = read_leader_worker_set(observed)
    assert (readiness.ready, readiness.reason) == (True, "")


def test_a_status_without_generation_is_known_as_such() -> None:
    assert reports_generation(lws())
    assert not reports_generation(lws(observedGeneration=None))
    assert not reports_generation({"metadata": {"name": "l"}})
