"""Whether a workload is ready, and if not, why: from the status that its controller reports.

Source: Kubernetes, kubectl's rollout_status.go; Dynamo operator, internal/controller, IsDeploymentReady and
IsLeaderWorkerSetReady; LeaderWorkerSet, pkg/controllers/leaderworkerset_controller.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.ground.k8s.conditions import find_condition, is_true
from hooks.ground.k8s.deletion import why_deleting
from hooks.ground.k8s.pod_sets import wanted_replicas
from hooks.ground.k8s.types import Json, ReadManifest, is_deleting

NOT_CREATED = "it is not created yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether a workload is ready; `reason` is half a sentence, empty if it is.

    `is_current` is False while its controller does not act on the newest spec; then its pods do not explain that spec.
    """

    ready: bool
    reason: str = ""
    is_current: bool = True


def read_deployment(deployment: ReadManifest | None) -> Readiness:
    """Whether a Deployment has all its pods, all of the newest spec, and no older ones."""
    if deployment is None:
        return Readiness(ready=False, reason=NOT_CREATED)
    if why := _why_inactive(deployment):
        return Readiness(ready=False, reason=why, is_current=False)
    reason = _shortage(deployment)
    if not reason:
        return Readiness(ready=True)
    why_stuck = _why_stuck(deployment.get("status") or {})
    return Readiness(ready=False, reason=f"{reason}; {why_stuck}" if why_stuck else reason)


def describe_new(replicas: int) -> str:
    """Why a Deployment without pods is not ready, be it created already or not."""
    return f"desired={replicas}, updated=0" if replicas else NOT_CREATED


def read_leader_worker_set(found: ReadManifest | None) -> Readiness:
    """Whether a LeaderWorkerSet has all its groups, all of the newest spec.

    In its status, counts of 0 are absent, and surge groups may be counted. Before version 0.9 it reports no generation
    (see `reports_generation`), so the status may belong to an older spec.
    """
    if found is None:
        return Readiness(ready=False, reason=NOT_CREATED)
    if why := _set_why_inactive(found):
        return Readiness(ready=False, reason=why, is_current=False)
    reason = _set_shortage(found)
    return Readiness(ready=not reason, reason=reason)


def has_old_pods(workload: ReadManifest) -> bool:
    """Whether some of its pods or groups have an older spec than the newest that its controller has seen."""
    return _count(workload, "replicas") > _count(workload, "updatedReplicas")


def is_paused(deployment: ReadManifest) -> bool:
    """Whether its rollouts are paused, as by `kubectl rollout pause`, and it is not being deleted."""
    return bool((deployment.get("spec") or {}).get("paused")) and not is_deleting(deployment)


def has_ready_pods(workload: ReadManifest) -> bool:
    """Whether any of its pods or groups is ready, of any spec."""
    return _count(workload, "readyReplicas") > 0


def reports_generation(workload: ReadManifest) -> bool:
    """Whether the status has `observedGeneration`."""
    return "observedGeneration" in (workload.get("status") or {})


def _set_why_inactive(found: ReadManifest) -> str:
    if why := why_deleting(found):
        return why
    return _unseen_generation(found) if reports_generation(found) else ""


def _set_shortage(found: ReadManifest) -> str:
    desired = wanted_replicas(found)
    for field in ("updatedReplicas", "readyReplicas"):
        if (count := _count(found, field)) < desired:
            return f"desired={desired}, {field.removesuffix('Replicas')}={count}"
    conditions = (found.get("status") or {}).get("conditions") or ()
    available = find_condition(conditions, "Available") or {}
    generation = int(found["metadata"].get("generation", 0))
    # A condition that becomes False keeps its old reason and message, so only its status counts.
    if available.get("status") != "True" or int(available.get("observedGeneration", generation)) != generation:
        return "it does not report Available"
    if is_true(conditions, "UpdateInProgress"):
        return "it is being updated"
    return ""


def _why_inactive(deployment: ReadManifest) -> str:
    if why := why_deleting(deployment):
        return why
    if is_paused(deployment):
        return "it is paused"
    return "" if _is_new(deployment) else _unseen_generation(deployment)


def _is_new(deployment: ReadManifest) -> bool:
    """Whether its controller has not acted on it at all; then it is as true that there are no pods yet."""
    counts = ("observedGeneration", "replicas", "updatedReplicas")
    return wanted_replicas(deployment) > 0 and not any(_count(deployment, field) for field in counts)


def _unseen_generation(workload: ReadManifest) -> str:
    generation = int(workload["metadata"].get("generation", 0))
    observed = _count(workload, "observedGeneration")
    if observed < generation:
        return f"its controller has not seen generation {generation} yet, only {observed}"
    return ""


def _shortage(deployment: ReadManifest) -> str:
    desired = wanted_replicas(deployment)
    for field in ("updatedReplicas", "availableReplicas"):
        if (count := _count(deployment, field)) < desired:
            return f"desired={desired}, {field.removesuffix('Replicas')}={count}"
    if (count := _count(deployment, "replicas")) > desired:
        return f"desired={desired}, replicas={count}, old pods are still there"
    conditions = (deployment.get("status") or {}).get("conditions") or ()
    if desired and not is_true(conditions, "Available"):
        return "it does not report Available"
    return ""


def _why_stuck(status: Mapping[str, Json]) -> str:
    """Why a rollout makes no progress, says the Deployment's controller; `explain_denial` reads ReplicaFailure."""
    progress = find_condition(status.get("conditions") or (), "Progressing")
    if progress is not None and progress.get("status") == "False":
        return str(progress.get("message") or progress.get("reason") or "the rollout makes no progress")
    return ""


def _count(workload: ReadManifest, field: str) -> int:
    return int((workload.get("status") or {}).get(field) or 0)
