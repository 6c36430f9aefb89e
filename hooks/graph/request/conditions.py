"""The conditions of a request, each from its position and what is observed.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hooks.api.graph_request import GraphRequest
from hooks.graph.request.names import job_name
from hooks.graph.request.observe import Observed
from hooks.graph.request.phases import Position, State
from hooks.graph.request.plan import RequestPlan
from hooks.graph.request.previous import DEPLOYMENT_READY, PROFILING, SPEC_GENERATED, VALIDATION, Previous
from hooks.k8s.conditions import MAX_MESSAGE, READY, Condition
from hooks.k8s.types import Json
from hooks.problems import join_texts

DELETED_BY_USER = "Deployment was deleted by user. Create a new DGDR to redeploy."
_CREATION_DEADLINE = timedelta(minutes=5)
_READY_DEADLINE = timedelta(hours=1)

VALID = Condition(type=VALIDATION, status="True", reason="SpecValid", message="The spec is valid")
NO_JOB_YET = Condition(type=PROFILING, status="False", reason="ProfilingPending", message="Profiling has not begun")
_COMPLETED = Condition(
    type=PROFILING, status="True", reason="ProfilingCompleted", message="Profiling job completed successfully"
)
NOT_GENERATED = Condition(
    type=SPEC_GENERATED, status="False", reason="WaitingForProfiling", message="Profiling is not completed"
)
NOT_DEPLOYED = Condition(
    type=DEPLOYMENT_READY, status="False", reason="WaitingForSpec", message="There is no generated spec to be applied"
)
_NOT_ASKED_FOR = Condition(
    type=DEPLOYMENT_READY,
    status="False",
    reason="AutoApplyDisabled",
    message="spec.autoApply is false: apply status.generatedDeployment yourself",
)

_NOT_CREATED = frozenset({"JobCreationFailed", "DeploymentCreationFailed"})

BEFORE_JOB = frozenset({Position.REFUSED, Position.UNBUILDABLE, Position.PENDING})
_AFTER_GENERATION = frozenset(
    {
        Position.GENERATED,
        Position.CREATING,
        Position.DEPLOYING,
        Position.DEGRADED,
        Position.DEPLOYED,
        Position.DELETED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What a status follows from."""

    request: GraphRequest
    plan: RequestPlan
    seen: Observed
    previous: Previous
    now: datetime


def describe(grounds: Grounds) -> list[Condition]:
    """The conditions in the order of the phases, without the summary."""
    plan, auto_apply = grounds.plan, grounds.request.spec.auto_apply
    refusal = false(VALIDATION, "ValidationFailed", join_texts(plan.problems))
    profiling, deployment = _PROFILING.get(plan.position), _DEPLOYMENT.get(plan.position)
    applied = deployment(grounds) if deployment else NOT_DEPLOYED
    return [
        refusal if plan.position is Position.REFUSED else VALID,
        profiling(grounds) if profiling else _COMPLETED,
        _spec_generated(grounds),
        applied if auto_apply else _NOT_ASKED_FOR,
    ]


def is_overdue(status: Mapping[str, Json]) -> bool:
    """Whether something should have been created long ago; then the controller's own resyncs do."""
    return bool({str(condition["reason"]) for condition in status["conditions"]} & _NOT_CREATED)


def summarise(conditions: list[Condition], state: State) -> Condition:
    """`Ready`: the first condition that holds the request up, or the last one when it has come to its end."""
    if state is State.READY:
        met = [c for c in conditions if c.status == "True"]
        return Condition(type=READY, status="True", reason=met[-1].reason, message=met[-1].message)
    obstacle = next((c for c in conditions if c.status != "True"), conditions[-1])
    return Condition(type=READY, status="False", reason=obstacle.reason, message=obstacle.message)


def false(condition_type: str, reason: str, message: str) -> Condition:
    """A condition that is not met."""
    return Condition(type=condition_type, status="False", reason=reason, message=message[:MAX_MESSAGE])


def _not_begun(_grounds: Grounds) -> Condition:
    return NO_JOB_YET


def _running(grounds: Grounds) -> Condition:
    job = grounds.seen.job
    trouble = f"; {job.pods}" if job and job.pods else ""
    return false(PROFILING, "ProfilingRunning", f"Profiling is in progress{trouble}")


def _failed(grounds: Grounds) -> Condition:
    job = grounds.seen.job
    failure, pods = (job.failure, job.pods) if job else ("", "")
    details = f". Details: {pods}" if pods else ""
    return false(PROFILING, "ProfilingFailed", f"profiling job failed: {failure}{details}")


def _gone(grounds: Grounds) -> Condition:
    name = job_name(grounds.request.metadata.name)
    return false(
        PROFILING, "ProfilingFailed", f"profiling job failed: Job {name} was deleted before its output was there"
    )


def _unbuildable(grounds: Grounds) -> Condition:
    return false(PROFILING, "JobCreationFailed", join_texts(grounds.plan.problems))


def _pending(grounds: Grounds) -> Condition:
    """The Job is asked for; where it does not appear, Metacontroller's events on the request say why."""
    since = grounds.previous.since(VALIDATION)
    if grounds.previous.state is State.PENDING and since and grounds.now - since >= _CREATION_DEADLINE:
        name, span = job_name(grounds.request.metadata.name), _minutes(_CREATION_DEADLINE)
        text = f"Job {name} could not be created for {span}; see this request's SyncError events"
        return false(PROFILING, "JobCreationFailed", text)
    return NO_JOB_YET


def _spec_generated(grounds: Grounds) -> Condition:
    plan = grounds.plan
    if plan.position is Position.GENERATION_FAILED:
        return false(SPEC_GENERATED, "GenerationFailed", join_texts(plan.problems))
    if plan.position not in _AFTER_GENERATION:
        return NOT_GENERATED
    message = "Generated spec is available in status.generatedDeployment"
    if grounds.request.spec.auto_apply:
        message = "DynamoGraphDeployment spec generated successfully"
    text = "; ".join([message, *plan.remarks])
    return Condition(type=SPEC_GENERATED, status="True", reason="SpecGenerated", message=text[:MAX_MESSAGE])


def _degraded(grounds: Grounds) -> Condition:
    plan = grounds.plan
    state = (plan.live.state if plan.live else "") or "pending"
    return false(DEPLOYMENT_READY, "DeploymentDegraded", f"Deployment degraded to {state}{_because(plan)}")


def _deployed(grounds: Grounds) -> Condition:
    message = f"DGD {grounds.plan.target.name} is ready"
    return Condition(type=DEPLOYMENT_READY, status="True", reason="DeploymentReady", message=message)


def _creating(grounds: Grounds) -> Condition:
    target = grounds.plan.target
    if not target.uid:
        text = f"DGD {target.name} cannot be created: namespace {target.namespace} not found; create it"
        return false(DEPLOYMENT_READY, "DeploymentCreationFailed", text)
    since = grounds.previous.since(SPEC_GENERATED)
    if grounds.previous.state is State.DEPLOYING and since and grounds.now - since >= _CREATION_DEADLINE:
        text = (
            f"DGD {target.name} could not be created for {_minutes(_CREATION_DEADLINE)}; see this request's SyncError "
            f"events"
        )
        return false(DEPLOYMENT_READY, "DeploymentCreationFailed", text)
    return false(DEPLOYMENT_READY, "DeploymentPending", f"DGD {target.name} is to be created")


def _coming_up(grounds: Grounds) -> Condition:
    plan, live = grounds.plan, grounds.plan.live
    is_foreign = live is not None and not live.is_ours
    origin = "was there before and is used as it is" if is_foreign else "created"
    waiting = f"DGD {plan.target.name} {origin}, waiting for Ready"
    # A graph that was there before has its time from when it was first asked for.
    moments = (grounds.previous.since(SPEC_GENERATED), live.created if live else None)
    since = max((moment for moment in moments if moment), default=None)
    if since and grounds.now - since >= _READY_DEADLINE:
        text = f"{waiting} for more than {_minutes(_READY_DEADLINE)}{_because(plan)}"
        return false(DEPLOYMENT_READY, "DeploymentOverdue", text)
    return false(DEPLOYMENT_READY, "DeploymentCreated", f"{waiting}{_because(plan)}")


def _deleted(_grounds: Grounds) -> Condition:
    return false(DEPLOYMENT_READY, "DeploymentDeleted", DELETED_BY_USER)


def _because(plan: RequestPlan) -> str:
    return f": {plan.live.message}" if plan.live and plan.live.message else ""


def _minutes(span: timedelta) -> str:
    minutes = int(span.total_seconds()) // 60
    return f"{minutes} minutes" if minutes < 60 else f"{minutes // 60} h"


_PROFILING: Mapping[Position, Callable[[Grounds], Condition]] = {
    Position.REFUSED: _not_begun,
    Position.UNBUILDABLE: _unbuildable,
    Position.PENDING: _pending,
    Position.PROFILING: _running,
    Position.PROFILING_FAILED: _failed,
    Position.JOB_GONE: _gone,
}
"""How profiling stands; at every other position it is done."""

_DEPLOYMENT: Mapping[Position, Callable[[Grounds], Condition]] = {
    Position.CREATING: _creating,
    Position.DEPLOYING: _coming_up,
    Position.DEGRADED: _degraded,
    Position.DEPLOYED: _deployed,
    Position.DELETED: _deleted,
}
"""How the graph stands; at every other position there is none."""
