"""The conditions of a request, each from its position and what is observed.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hooks.ground import contract
from hooks.ground.k8s.conditions import READY, Condition
from hooks.ground.k8s.types import Json
from hooks.ground.problems import join_texts
from hooks.language.api.graph_request import GraphRequest
from hooks.request.plan.request import RequestPlan
from hooks.request.seen.observe import ObservedRequest
from hooks.request.seen.previous import PreviousRequestStatus
from hooks.request.seen.profiler_report import KEY_ERROR, KEY_MESSAGE, read_phase
from hooks.request.spec.names import job_name, output_config_map_name
from hooks.request.spec.phases import Position, RequestState
from hooks.request.spec.reasons import (
    DEPLOYMENT_READY,
    PROFILING,
    SPEC_GENERATED,
    SUCCEEDED,
    VALIDATION,
    VERIFIED,
    RequestReason,
)

DELETED_BY_USER = "Deployment was deleted by user. Create a new DGDR to redeploy."
_CREATION_DEADLINE = timedelta(minutes=5)
_READY_DEADLINE = timedelta(hours=1)


def unmet(condition_type: str, reason: RequestReason, message: str) -> Condition:
    """A condition that is not met."""
    return Condition(type=condition_type, status="False", reason=reason.value, message=message)


def _met(condition_type: str, reason: RequestReason, message: str) -> Condition:
    return Condition(type=condition_type, status="True", reason=reason.value, message=message)


VALIDATED = _met(VALIDATION, RequestReason.SPEC_VALID, "The spec is valid")
NO_JOB_YET = unmet(PROFILING, RequestReason.PROFILING_PENDING, "Profiling has not begun")
_COMPLETED = _met(PROFILING, RequestReason.PROFILING_COMPLETED, "Profiling job completed successfully")
NOT_GENERATED = unmet(SPEC_GENERATED, RequestReason.WAITING_FOR_PROFILING, "Profiling is not completed")
NOT_DEPLOYED = unmet(DEPLOYMENT_READY, RequestReason.WAITING_FOR_SPEC, "There is no generated spec to be applied")
_NOT_APPLIED = unmet(
    DEPLOYMENT_READY,
    RequestReason.AUTO_APPLY_DISABLED,
    "spec.autoApply is false: apply status.generatedDeployment yourself",
)

_NOT_CREATED = frozenset({RequestReason.JOB_CREATION_FAILED, RequestReason.DEPLOYMENT_CREATION_FAILED})

BEFORE_JOB = frozenset({Position.REFUSED, Position.UNBUILDABLE, Position.PENDING})
_AFTER_GENERATION = frozenset(
    {
        Position.GENERATED,
        Position.UNACCEPTED,
        Position.CREATING,
        Position.DEPLOYING,
        Position.DEGRADED,
        Position.DEPLOYED,
        Position.DELETED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusInput:
    """Everything that the status of a request depends on."""

    request: GraphRequest
    plan: RequestPlan
    seen: ObservedRequest
    previous: PreviousRequestStatus
    now: datetime


def describe_conditions(found: StatusInput) -> list[Condition]:
    """The conditions in the order of the phases, without Ready."""
    plan = found.plan
    verified = [_verified(found)] if plan.unverified else []
    refusal = unmet(VALIDATION, RequestReason.VALIDATION_FAILED, join_texts(plan.problems))
    profiling, deployment = _PROFILING.get(plan.position), _DEPLOYMENT.get(plan.position)
    applied = deployment(found) if deployment else NOT_DEPLOYED
    return [
        refusal if plan.position is Position.REFUSED else VALIDATED,
        profiling(found) if profiling else _COMPLETED,
        _spec_generated(found),
        *verified,
        applied if found.request.spec.auto_apply else _NOT_APPLIED,
    ]


def is_overdue(conditions: list[dict[str, Json]]) -> bool:
    """Whether the Job or the graph should exist by now; then the controller's own resyncs are enough."""
    return any(condition["reason"] in _NOT_CREATED for condition in conditions)


def summarise(conditions: list[Condition], state: RequestState) -> Condition:
    """Ready: the last met condition if the request is ready, else the first unmet one, else the last."""
    if state is RequestState.READY and not is_waiting(conditions):
        met = [c for c in conditions if c.status == "True"]
        return replace(met[-1], type=READY)
    obstacle = next((c for c in conditions if c.status != "True" and c.type != VERIFIED), conditions[-1])
    return replace(obstacle, type=READY, status="False")


def is_waiting(conditions: Iterable[Condition]) -> bool:
    """Whether a graph that is only a guess waits to be accepted."""
    return any(condition.reason == RequestReason.WAITING_FOR_ACCEPTANCE for condition in conditions)


def summarise_as_upstream(conditions: list[Condition], position: Position) -> Condition:
    """Succeeded, the summary that the Go operator writes from 1.0 on."""
    state = position.state
    if position is Position.DEPLOYED:
        return _met(SUCCEEDED, RequestReason.DEPLOYED, conditions[-1].message)
    if state is RequestState.READY:
        told = DEPLOYMENT_READY if is_waiting(conditions) else SPEC_GENERATED
        message = next(condition.message for condition in conditions if condition.type == told)
        return _met(SUCCEEDED, RequestReason.SPEC_GENERATED, message)
    obstacle = next((c for c in conditions if c.status != "True" and c.type != VERIFIED), conditions[-1])
    return replace(obstacle, type=SUCCEEDED, status="False")


def _not_begun(_found: StatusInput) -> Condition:
    return NO_JOB_YET


def _running(found: StatusInput) -> Condition:
    job, report = found.seen.job, _report(found)
    said = f": {report[KEY_MESSAGE]}" if report.get(KEY_MESSAGE) else ""
    details = f"; {job.pods}" if job and job.pods else ""
    reason = RequestReason(read_phase(report) or RequestReason.PROFILING_RUNNING)
    return unmet(PROFILING, reason, f"Profiling is in progress{said}{details}")


def _failed(found: StatusInput) -> Condition:
    job, report = found.seen.job, _report(found)
    failure, pods = (job.failure, job.pods) if job else ("", "")
    said = report.get(KEY_ERROR, "")
    details = f". Details: {pods}" if pods and not (said and said in pods) else ""
    told = f": {said}" if said else ""
    left = ", ".join(found.seen.trials)
    trials = f". Graphs of the search are left until the request is deleted: {left}" if left else ""
    return unmet(PROFILING, _failed_reason(report), f"profiling job failed: {failure}{told}{details}{trials}")


def _failed_reason(report: Mapping[str, str]) -> RequestReason:
    """The phase in which the profiler failed, if it said so."""
    phase = f"{read_phase(report)}Failed"
    return next((reason for reason in RequestReason if reason.value == phase), RequestReason.PROFILING_FAILED)


def _report(found: StatusInput) -> Mapping[str, str]:
    """What the copier says of this request's profiler."""
    metadata = found.request.metadata
    config_map = found.seen.config_maps.get((metadata.namespace, output_config_map_name(metadata.name)))
    return config_map.data if config_map and config_map.request_uid == metadata.uid else {}


def _verified(found: StatusInput) -> Condition:
    return unmet(VERIFIED, RequestReason.UNVERIFIED, found.plan.unverified)


def _unaccepted(found: StatusInput) -> Condition:
    text = (
        f"DGD {found.plan.target.name} is not created, because its profiler only guessed it: {found.plan.unverified}; "
        f'to create it, annotate the request with {contract.ANNOTATION_ACCEPT_UNVERIFIED}: "true"'
    )
    return unmet(DEPLOYMENT_READY, RequestReason.WAITING_FOR_ACCEPTANCE, text)


def _gone(found: StatusInput) -> Condition:
    name = job_name(_name(found))
    text = f"profiling job failed: Job {name} was deleted before its output was found"
    return unmet(PROFILING, RequestReason.PROFILING_FAILED, text)


def _unbuildable(found: StatusInput) -> Condition:
    return unmet(PROFILING, RequestReason.JOB_CREATION_FAILED, join_texts(found.plan.problems))


def _pending(found: StatusInput) -> Condition:
    """The Job is wanted; if it does not appear, Metacontroller's Events on the request say why."""
    previous = found.previous
    if previous.state is RequestState.PENDING and _is_past(previous.since(VALIDATION), _CREATION_DEADLINE, found.now):
        return unmet(PROFILING, RequestReason.JOB_CREATION_FAILED, _not_created(f"Job {job_name(_name(found))}"))
    return NO_JOB_YET


def _spec_generated(found: StatusInput) -> Condition:
    plan = found.plan
    if plan.position is Position.GENERATION_FAILED:
        return unmet(SPEC_GENERATED, RequestReason.GENERATION_FAILED, join_texts(plan.problems))
    if plan.position not in _AFTER_GENERATION:
        return NOT_GENERATED
    message = "Generated spec is available in status.generatedDeployment"
    if found.request.spec.auto_apply:
        message = "DynamoGraphDeployment spec generated successfully"
    return _met(SPEC_GENERATED, RequestReason.SPEC_GENERATED, "; ".join([message, *plan.remarks]))


def _creating(found: StatusInput) -> Condition:
    target, previous = found.plan.target, found.previous
    reason = RequestReason.DEPLOYMENT_CREATION_FAILED
    if not target.uid:
        text = f"DGD {target.name} cannot be created: namespace {target.namespace} not found; create it"
        return unmet(DEPLOYMENT_READY, reason, text)
    if previous.state is RequestState.DEPLOYING and _is_past(
        previous.since(SPEC_GENERATED), _CREATION_DEADLINE, found.now
    ):
        return unmet(DEPLOYMENT_READY, reason, _not_created(f"DGD {target.name}"))
    return unmet(DEPLOYMENT_READY, RequestReason.DEPLOYMENT_PENDING, f"DGD {target.name} will be created")


def _deploying(found: StatusInput) -> Condition:
    plan, live = found.plan, found.plan.live
    is_foreign = live is not None and not live.is_ours
    origin = "already existed and is used unchanged" if is_foreign else "created"
    waiting = f"DGD {plan.target.name} {origin}, waiting for Ready"
    # For a graph that already existed, the hour begins when the request first wanted it.
    moments = (found.previous.since(SPEC_GENERATED), live.created if live else None)
    since = max((moment for moment in moments if moment), default=None)
    if _is_past(since, _READY_DEADLINE, found.now):
        text = f"{waiting} for more than {_format_span(_READY_DEADLINE)}{_because(plan)}"
        return unmet(DEPLOYMENT_READY, RequestReason.DEPLOYMENT_OVERDUE, text)
    return unmet(DEPLOYMENT_READY, RequestReason.DEPLOYMENT_CREATED, f"{waiting}{_because(plan)}")


def _degraded(found: StatusInput) -> Condition:
    plan = found.plan
    state = (plan.live.state if plan.live else "") or "pending"
    text = f"Deployment degraded to {state}{_because(plan)}"
    return unmet(DEPLOYMENT_READY, RequestReason.DEPLOYMENT_DEGRADED, text)


def _deployed(found: StatusInput) -> Condition:
    return _met(DEPLOYMENT_READY, RequestReason.DEPLOYMENT_READY, f"DGD {found.plan.target.name} is ready")


def _deleted(_found: StatusInput) -> Condition:
    return unmet(DEPLOYMENT_READY, RequestReason.DEPLOYMENT_DELETED, DELETED_BY_USER)


def _name(found: StatusInput) -> str:
    return found.request.metadata.name


def _is_past(since: datetime | None, span: timedelta, now: datetime) -> bool:
    return since is not None and now - since >= span


def _not_created(what: str) -> str:
    return f"{what} could not be created for {_format_span(_CREATION_DEADLINE)}; see this request's SyncError events"


def _because(plan: RequestPlan) -> str:
    return f": {plan.live.message}" if plan.live and plan.live.message else ""


def _format_span(span: timedelta) -> str:
    minutes = int(span.total_seconds()) // 60
    return f"{minutes} minutes" if minutes < 60 else f"{minutes // 60} h"


_Describe = Callable[[StatusInput], Condition]

_PROFILING: Mapping[Position, _Describe] = {
    Position.REFUSED: _not_begun,
    Position.UNBUILDABLE: _unbuildable,
    Position.PENDING: _pending,
    Position.PROFILING: _running,
    Position.PROFILING_FAILED: _failed,
    Position.JOB_GONE: _gone,
}
"""The condition Profiling; it is met at every other position."""

_DEPLOYMENT: Mapping[Position, _Describe] = {
    Position.UNACCEPTED: _unaccepted,
    Position.CREATING: _creating,
    Position.DEPLOYING: _deploying,
    Position.DEGRADED: _degraded,
    Position.DEPLOYED: _deployed,
    Position.DELETED: _deleted,
}
"""The condition DeploymentReady; at every other position there is no graph."""
