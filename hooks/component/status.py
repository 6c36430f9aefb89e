"""Builds a component's status from its live workloads: conditions and counts.

Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go. Types, reasons and the beginnings
of messages are upstream's; the part of a message after a colon is ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hooks.component.explain import explain
from hooks.component.observe import ObservedComponent, Workloads
from hooks.component.plan import ComponentPlan
from hooks.component.progress import Progress
from hooks.component.reasons import ComponentReason
from hooks.k8s.conditions import READY, Condition, Truth, find_condition, merge_conditions
from hooks.k8s.deadlines import seconds_left
from hooks.k8s.not_ready import NotReadyReason
from hooks.k8s.types import Json, ReadManifest, name_of
from hooks.metacontroller.protocol import SyncRequest
from hooks.problems import Problem, join_texts
from hooks.valid_condition import judge_spec

AVAILABLE = "Available"
COMPONENT_READY = "DynamoComponentReady"

SETTLING_SECONDS = 10.0
"""After a change of the spec, a status without a generation is believed only after this time."""


_DEPLOYMENT_COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
_GROUP_COUNTS = ("replicas", "updatedReplicas", "readyReplicas")
_UNCONFIRMED = (
    "LeaderWorkerSet before version 0.9 does not report the generation of its status, so it is read again in a moment"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The status, and the seconds until the next sync; 0 if only a change in the cluster needs one."""

    status: dict[str, Json]
    resync_after_seconds: float = 0


def report(
    request: SyncRequest,
    plan: ComponentPlan,
    progress: Progress,
    *,
    seen: ObservedComponent,
    warnings: tuple[str, ...],
    now: datetime,
) -> Report:
    """The status of a component; `warnings` are further sentences for the condition Ready.

    A component is not ready while the spec of a live workload differs from the wanted one, because the workload's
    status belongs to an older spec. If it is not ready, the reason of Ready is a `NotReadyReason`, and the reasons of
    the other two conditions are upstream's.
    """
    wait = _settling_seconds(request, now) if progress.is_unconfirmed and not progress.waiting else 0.0
    words = _GROUP_WORDS if plan.groups else _DEPLOYMENT_WORDS
    state = _judge(plan, progress, seen, wait=wait, now=now)
    conditions = (*_workload_conditions(words, state, (*warnings, *progress.remarks)), judge_spec())
    sets, deployment = seen.workloads.leader_worker_sets, seen.workloads.deployment
    service = _count_sets(sets, plan.groups.names) if plan.groups else _count(deployment)
    return Report(status=_write(request, conditions, service, now), resync_after_seconds=state.seconds)


def report_problems(
    request: SyncRequest, problems: tuple[Problem, ...], *, reason: ComponentReason, seen: Workloads, now: datetime
) -> dict[str, Json]:
    """The status of a component that cannot be rendered; its live workloads stay, and their counts are reported."""
    text, is_invalid = join_texts(problems), reason is ComponentReason.VALIDATION_FAILED
    message = f"Validation failed: {text}" if is_invalid else text
    refused = (
        Condition(type=type_, status="False", reason=reason, message=message)
        for type_ in (AVAILABLE, COMPONENT_READY, READY)
    )
    conditions = (*refused, judge_spec(problems if is_invalid else ()))
    sets = seen.leader_worker_sets
    return _write(request, conditions, _count_sets(sets, tuple(sets)) or _count(seen.deployment), now)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """The reason of a condition and the beginning of its message, for workloads that are ready and that are not."""

    ready: tuple[ComponentReason, str]
    not_ready: tuple[ComponentReason, str]


_DEPLOYMENT_WORDS = _Words(
    ready=(ComponentReason.DEPLOYMENT_READY, "Deployment is ready"),
    not_ready=(ComponentReason.DEPLOYMENT_NOT_READY, "Deployment is not ready"),
)
_GROUP_WORDS = _Words(
    ready=(ComponentReason.ALL_LEADER_WORKER_SETS_READY, "All LeaderWorkerSets are ready"),
    not_ready=(ComponentReason.SOME_LEADER_WORKER_SETS_NOT_READY, "Some LeaderWorkerSets are not ready"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Why the component is not ready, as a reason and as text, None and "" if it is; `seconds` until the next sync."""

    reason: NotReadyReason | None = None
    because: str = ""
    seconds: float = 0


def _judge(plan: ComponentPlan, progress: Progress, seen: ObservedComponent, *, wait: float, now: datetime) -> _State:
    if wait:
        return _State(reason=NotReadyReason.PROGRESSING, because=_UNCONFIRMED, seconds=wait)
    because = _because(plan, progress)
    if not because:
        return _State()
    explanation = explain(plan, progress, seen, now)
    return _State(reason=explanation.reason, because=f"{because}; {explanation}", seconds=round(explanation.seconds, 1))


def _because(plan: ComponentPlan, progress: Progress) -> str:
    """Why the workloads are not ready; empty if they are."""
    if plan.waits_for:
        return plan.waits_for
    if plan.groups is None:
        return "; ".join(progress.waiting.values())
    return "; ".join(f"{name}: {reason}" for name, reason in progress.waiting.items())


def _settling_seconds(request: SyncRequest, now: datetime) -> float:
    """Seconds until a status without a generation is believed; 0 if the component is ready already.

    The sync that changes a workload sets Ready to False, so the wait begins at the last transition of Ready.
    """
    ready = find_condition(request.status.get("conditions") or (), READY)
    if ready is None:
        return SETTLING_SECONDS
    if ready.get("status") == "True":
        return 0.0
    return seconds_left(ready["lastTransitionTime"], SETTLING_SECONDS, now)


def _workload_conditions(words: _Words, state: _State, remarks: tuple[str, ...]) -> tuple[Condition, ...]:
    because = state.because
    truth: Truth = "False" if because else "True"
    reason, beginning = words.not_ready if because else words.ready
    of_component, ready = (
        (ComponentReason.COMPONENT_NOT_READY, "not ready") if because else (ComponentReason.COMPONENT_READY, "ready")
    )
    end = f": {because}" if because else ""
    available, component = f"{beginning}{end}", f"DynamoComponent is {ready}{end}"
    message = "; ".join((available, *remarks))
    return (
        Condition(type=AVAILABLE, status=truth, reason=reason, message=available),
        Condition(type=COMPONENT_READY, status=truth, reason=of_component, message=component),
        Condition(type=READY, status=truth, reason=state.reason or reason, message=message),
    )


def _write(
    request: SyncRequest, conditions: tuple[Condition, ...], service: Mapping[str, Json], now: datetime
) -> dict[str, Json]:
    previous = request.status.get("conditions") or ()
    status: dict[str, Json] = {
        "conditions": merge_conditions(previous, conditions, now=now, generation=request.generation)
    }
    return {**status, "service": service} if service else status


def _count(deployment: ReadManifest | None) -> Mapping[str, Json]:
    """Counts of a Deployment; {} if it does not exist."""
    if deployment is None:
        return {}
    counts = deployment.get("status") or {}
    return {
        "componentKind": "Deployment",
        "componentName": name_of(deployment),
        **{field: int(counts.get(field) or 0) for field in _DEPLOYMENT_COUNTS},
    }


def _count_sets(sets: Mapping[str, ReadManifest], names: tuple[str, ...]) -> Mapping[str, Json]:
    """The sum of the counts of the LeaderWorkerSets with these names; {} if none of them exists."""
    present = [name for name in names if name in sets]
    if not present:
        return {}
    counts = [sets[name].get("status") or {} for name in present]
    return {
        "componentKind": "LeaderWorkerSet",
        "componentName": present[0],
        "componentNames": sorted(present),
        **{field: sum(int(count.get(field) or 0) for count in counts) for field in _GROUP_COUNTS},
    }
