"""Builds a component's status from its live children: conditions and counts.

Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go. Types, reasons and the beginnings
of messages are upstream's; the part of a message after a colon is ours. Ready is ours alone: while it is False, its
message begins with the cause, because people read no further than the edge of their terminal.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hooks.component.plan.component import ComponentPlan
from hooks.component.plan.groups import GroupsPlan
from hooks.component.report.explain import explain
from hooks.component.report.progress import Progress, awaits_first_pods, find_namespaces, has_left_pods
from hooks.component.report.reasons import ComponentReason
from hooks.component.seen.observe import ObservedComponent, Workloads, first_set, has_run_sets
from hooks.component.spec.projection import keep_projected
from hooks.ground.k8s.conditions import READY, Condition, Truth, find_beginning, find_condition, merge_conditions
from hooks.ground.k8s.deadlines import seconds_left
from hooks.ground.k8s.not_ready import Explanation, NotReadyReason, choose_worst
from hooks.ground.k8s.readiness import describe_new as describe_new_deployment
from hooks.ground.k8s.types import Json, ReadManifest, is_deleting, name_of
from hooks.ground.problems import Problem, join_texts
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.applied_condition import APPLIED
from hooks.wire.policy.conditions import judge_spec
from hooks.wire.policy.new_defaults import build_held_condition

AVAILABLE = "Available"
COMPONENT_READY = "DynamoComponentReady"

SETTLING_SECONDS = 10.0
"""After a change of the spec, a status without a generation is believed only after this time."""


_DEPLOYMENT_COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
_GROUP_COUNTS = ("replicas", "updatedReplicas", "readyReplicas")
_ENDING = Explanation(
    reason=NotReadyReason.PROGRESSING,
    finding="the component is being deleted",
    remedy="wait until its pods have ended",
)
_GOING = "its objects are deleted with it"
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

    A component is not ready while a child is missing or differs from the wanted one: the status of such a workload does
    not belong to the wanted spec. If it is not ready, the reason of Ready is a `NotReadyReason`, and the reasons of
    Available and DynamoComponentReady are upstream's.
    """
    wait = _settling_seconds(request, now) if progress.is_unconfirmed and not progress.waiting else 0.0
    words = _GROUP_WORDS if plan.groups else _DEPLOYMENT_WORDS
    state = _judge(plan, progress, seen, wait=wait, now=now)
    if state.reason and is_deleting(request.parent):  # all that is missing follows from that
        state = _State(reason=_ENDING.reason, because=state.because or _GOING, explanation=_ENDING)
    of_workloads = _workload_conditions(words, state, (*warnings, *progress.remarks))
    waiting = build_held_condition(request.parent, progress.held)
    conditions = (*of_workloads, progress.applied.condition, judge_spec(), *waiting)
    counts = _count_groups(request, plan.groups, seen.workloads) if plan.groups else _count(seen.workloads)
    if (
        not counts
        and awaits_first_pods(plan, seen.workloads)
        and not any(one.is_lasting for one in progress.of_workloads)
    ):
        counts = count_new(plan.subject.name)
    service = {**counts, **plan.projection, **_registers_in(request, plan, progress, seen)} if counts else {}
    seconds = min((one for one in (state.seconds, progress.applied.resync_after_seconds) if one), default=0.0)
    return Report(status=_write(request, conditions, service, now), resync_after_seconds=seconds)


def _registers_in(
    request: SyncRequest, plan: ComponentPlan, progress: Progress, seen: ObservedComponent
) -> dict[str, str]:
    """Where its workers are found: in the Dynamo namespace of their last generation until its last pod is gone."""
    if not plan.subject.type.is_worker:
        return {}
    before, wanted = find_namespaces(request, plan, progress)
    return {"runtimeNamespace": before if before != wanted and has_left_pods(plan, progress, seen) else wanted}


def report_problems(
    request: SyncRequest, problems: tuple[Problem, ...], *, reason: ComponentReason, seen: Workloads, now: datetime
) -> dict[str, Json]:
    """The status of a component that cannot be rendered.

    Its live workloads stay as they are. Their counts are reported, and beside them what was said of the last good spec.
    """
    text, is_invalid = join_texts(problems), reason is ComponentReason.VALIDATION_FAILED
    message = f"Validation failed: {text}" if is_invalid else text
    refused = (
        Condition(type=type_, status="False", reason=reason, message=message)
        for type_ in (AVAILABLE, COMPONENT_READY, READY, APPLIED)
    )
    conditions = (*refused, judge_spec(problems if is_invalid else ()))
    sets = seen.leader_worker_sets
    counts = _count_sets(sets, tuple(sets)) or _count(seen)
    service = {**counts, **keep_projected(request.status.get("service") or {})} if counts else {}
    return _write(request, conditions, service, now)


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
    """Why the component is not ready.

    `because` says it of the workloads, `explanation` is why that is so. `lacking` are sentences about the other
    children. All are empty if these are ready. `is_lacking_worse`: the other children have the worst reason. `reason`
    is the worst one of all, None if the component is ready. `seconds` are those until the next sync.
    """

    reason: NotReadyReason | None = None
    because: str = ""
    explanation: Explanation | None = None
    lacking: tuple[str, ...] = ()
    is_lacking_worse: bool = False
    seconds: float = 0

    def say(self, beginning: str = "") -> str:
        """Why the workloads are not ready: the cause, then what is seen, which may have a beginning."""
        what = f"{beginning}: {self.because}" if beginning else self.because
        return f"{self.explanation} ({what})" if self.explanation else what

    def order(self, of_workloads: str) -> tuple[str, ...]:
        """What is said of the workloads and of the other children, the worst first."""
        return (*self.lacking, of_workloads) if self.is_lacking_worse else (of_workloads, *self.lacking)


def _judge(plan: ComponentPlan, progress: Progress, seen: ObservedComponent, *, wait: float, now: datetime) -> _State:
    because = _because(plan, progress)
    found = [one for one in progress.applied.judged if one not in progress.of_workloads]
    # While the workload is not ready either, an object that is just being created tells a reader nothing.
    others = [one for one in found if not (because and one.is_being_created)]
    contested = progress.applied.contested
    lacking = (*([contested] if contested else ()), *(f"{one.deviation.title}: {one}" for one in others))
    explanation = explain(plan, progress, seen, now) if because else None
    differs = Explanation(reason=NotReadyReason.DIFFERS)
    worst = choose_worst(
        [
            *(one.explanation for one in others),
            *([explanation] if explanation else []),
            *([differs] if contested else []),
        ]
    )
    if wait:
        reason = worst.reason if worst else NotReadyReason.PROGRESSING
        return _State(reason=reason, because=_UNCONFIRMED, lacking=lacking, seconds=wait)
    if worst is None:
        return _State()
    return _State(
        reason=worst.reason,
        because=because if explanation else "",
        explanation=explanation,
        lacking=lacking,
        is_lacking_worse=explanation is None or worst.reason is not explanation.reason,
        seconds=worst.seconds,
    )


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
    reason, beginning = words.not_ready if state.because else words.ready
    available = f"{beginning}: {state.say()}" if state.because else beginning
    is_available: Truth = "False" if state.because else "True"
    is_ready: Truth = "False" if state.because or state.lacking else "True"
    of_component, component = ComponentReason.COMPONENT_READY, "DynamoComponent is ready"
    if is_ready == "False":
        why = "; ".join(state.order(state.say()) if state.because else state.lacking)
        of_component, component = ComponentReason.COMPONENT_NOT_READY, f"DynamoComponent is not ready: {why}"
    message = "; ".join((*state.order(state.say(beginning) if state.because else beginning), *remarks))
    return (
        Condition(type=AVAILABLE, status=is_available, reason=reason, message=available),
        Condition(type=COMPONENT_READY, status=is_ready, reason=of_component, message=component),
        Condition(type=READY, status=is_ready, reason=state.reason or reason, message=message),
    )


def _write(
    request: SyncRequest, conditions: tuple[Condition, ...], service: Mapping[str, Json], now: datetime
) -> dict[str, Json]:
    previous, since = request.status.get("conditions") or (), find_beginning(request.parent, now)
    status: dict[str, Json] = {
        "conditions": merge_conditions(previous, conditions, now=since, generation=request.generation)
    }
    return {**status, "service": service} if service else status


def count_new(name: str) -> dict[str, Json]:
    """The counts of a Deployment that is being created."""
    names: dict[str, Json] = {"componentKind": "Deployment", "componentName": name, "componentNames": [name]}
    return {**names, **dict.fromkeys(_DEPLOYMENT_COUNTS, 0)}


def describe_new(replicas: int) -> str:
    """The message of the condition Ready while the Deployment is being created."""
    _, beginning = _DEPLOYMENT_WORDS.not_ready
    explanation = Explanation(reason=NotReadyReason.PROGRESSING)
    return _State(because=describe_new_deployment(replicas), explanation=explanation).say(beginning)


def _count(seen: Workloads) -> Mapping[str, Json]:
    """Counts of the Deployment; {} if it does not exist."""
    deployment = seen.deployment
    if deployment is None:
        return {}
    counts = deployment.get("status") or {}
    return {
        **count_new(name_of(deployment)),
        **{field: int(counts.get(field) or 0) for field in _DEPLOYMENT_COUNTS},
    }


def _count_groups(request: SyncRequest, plan: GroupsPlan, seen: Workloads) -> Mapping[str, Json]:
    """The sum of the counts of the wanted LeaderWorkerSets; {} if replicas are wanted and no set has existed yet.

    Without replicas there may be none, and a planner that scales the component up needs to know its GPUs. So the counts
    are 0, and the name is that of the first LeaderWorkerSet that there will be. The same where all were deleted: that
    they have existed decides which release the component keeps (`hooks.component.seen.observe`).
    """
    found = _count_sets(seen.leader_worker_sets, plan.names)
    if found or (plan.replicas and not has_run_sets(request)):
        return found
    return {
        "componentKind": "LeaderWorkerSet",
        "componentName": first_set(name_of(request.parent)),
        **dict.fromkeys(_GROUP_COUNTS, 0),
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
