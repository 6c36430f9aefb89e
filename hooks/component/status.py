"""A component's status: three conditions and the counts of its workloads, from what was observed.

Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go; types, reasons and the beginnings
of messages are upstream's, what follows a colon is ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hooks.component.explain import explain
from hooks.component.observe import ObservedComponent, Workloads
from hooks.component.plan import ComponentPlan
from hooks.component.progress import Progress
from hooks.component.reasons import ComponentReason
from hooks.k8s.conditions import MAX_MESSAGE, READY, Condition, Truth, find_condition, merge_conditions
from hooks.k8s.deadlines import seconds_left
from hooks.k8s.not_ready import NotReadyReason
from hooks.k8s.types import Json, ReadManifest, name_of
from hooks.metacontroller.protocol import SyncRequest
from hooks.problems import Problem, join_texts

AVAILABLE = "Available"
COMPONENT_READY = "DynamoComponentReady"

SETTLING_SECONDS = 10.0
"""How long a status that does not say which spec it is of must have had to become that of the new one."""


_DEPLOYMENT_COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
_GROUP_COUNTS = ("replicas", "updatedReplicas", "readyReplicas")
_UNCONFIRMED = (
    "LeaderWorkerSet before version 0.9 does not say which spec its status is of, so it is looked at again in a moment"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The status, and the seconds after which it is to be looked at again; 0 when nothing is waited for but changes."""

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
    """Write the status of a component; `warnings` are further sentences for the condition Ready.

    While a workload differs in spec from the one wanted the component is not ready: what was observed is the state of
    an older spec. The reason of Ready is a `NotReadyReason` then, those of the other two conditions are upstream's.
    """
    wait = _settling_seconds(request, now) if progress.is_unconfirmed and not progress.waiting else 0.0
    words = _GROUP_WORDS if plan.groups else _DEPLOYMENT_WORDS
    state = _judge(plan, progress, seen, wait=wait, now=now)
    conditions = _workload_conditions(words, state, (*warnings, *progress.remarks))
    sets, deployment = seen.workloads.leader_worker_sets, seen.workloads.deployment
    service = _count_sets(sets, plan.groups.names) if plan.groups else _count(deployment)
    return Report(status=_write(request, conditions, service, now), resync_after_seconds=state.seconds)


def report_problems(
    request: SyncRequest, problems: tuple[Problem, ...], *, reason: ComponentReason, seen: Workloads, now: datetime
) -> dict[str, Json]:
    """Write the status of a component that cannot be rendered; its workloads are as they were, and still counted."""
    text = join_texts(problems)
    message = f"Validation failed: {text}" if reason is ComponentReason.VALIDATION_FAILED else text
    conditions = tuple(
        Condition(type=type_, status="False", reason=reason, message=message[:MAX_MESSAGE])
        for type_ in (AVAILABLE, COMPONENT_READY, READY)
    )
    sets = seen.leader_worker_sets
    return _write(request, conditions, _count_sets(sets, tuple(sets)) or _count(seen.deployment), now)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """How a condition names the workloads when they are ready and when not: reason and beginning of the message."""

    ready: tuple[ComponentReason, str]
    not_ready: tuple[ComponentReason, str]


_DEPLOYMENT_WORDS = _Words(
    ready=(ComponentReason.DEPLOYMENT_READY, "Deployment is ready"),
    not_ready=(ComponentReason.DEPLOYMENT_NOT_READY, "Deployment is not ready"),
)
_GROUP_WORDS = _Words(
    ready=(ComponentReason.ALL_LEADER_WORKER_SETS_READY, "All LeaderWorkerSets are ready"),
    not_ready=(ComponentReason.LEADER_WORKER_SETS_NOT_READY, "Some LeaderWorkerSets are not ready"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Why the component is not ready, as a reason and as text; None and "" when it is. `seconds` until another look."""

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
    """Why the workloads are not ready; empty when they are. One reason for all of them is said once."""
    if plan.waits_for:
        return plan.waits_for
    if plan.groups is None:
        return "; ".join(progress.waiting.values())
    return "; ".join(f"{name}: {reason}" for name, reason in progress.waiting.items())


def _settling_seconds(request: SyncRequest, now: datetime) -> float:
    """How long to wait before a good status is believed; 0 once it was believed, or has been good for long enough.

    The sync that changes a workload turns Ready to False, so the time since then is the time since the change.
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
        Condition(type=AVAILABLE, status=truth, reason=reason, message=available[:MAX_MESSAGE]),
        Condition(type=COMPONENT_READY, status=truth, reason=of_component, message=component[:MAX_MESSAGE]),
        Condition(type=READY, status=truth, reason=state.reason or reason, message=message[:MAX_MESSAGE]),
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
    """Counts of a Deployment; none while there is none."""
    if deployment is None:
        return {}
    counts = deployment.get("status") or {}
    return {
        "componentKind": "Deployment",
        "componentName": name_of(deployment),
        **{field: int(counts.get(field) or 0) for field in _DEPLOYMENT_COUNTS},
    }


def _count_sets(sets: Mapping[str, ReadManifest], names: tuple[str, ...]) -> Mapping[str, Json]:
    """Counts of those LeaderWorkerSets that are among the names, in sum; none while there is none of them."""
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
