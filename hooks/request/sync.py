"""The request hook: the stages in order, nothing else."""

from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json
from hooks.ground.problems import Problem
from hooks.ground.settings import Settings, Switch
from hooks.ground.settings.facts import Facts
from hooks.language.api.base import read_parent
from hooks.language.api.graph_request import GraphRequest
from hooks.language.validation.reading import add_problems
from hooks.request.build import build_children, keep_children
from hooks.request.plan.fingerprint import is_edited
from hooks.request.plan.request import RequestPlan, plan_request
from hooks.request.reads.related import resolve_related
from hooks.request.report.conditions import StatusInput, is_overdue
from hooks.request.report.events import EventDetails, find_events
from hooks.request.report.status import report, report_edit, report_end, report_unreadable
from hooks.request.rules.validate import validate_request
from hooks.request.seen.observe import ObservedRequest, observe, query_job_pods
from hooks.request.seen.previous import PreviousRequestStatus
from hooks.request.spec.phases import FIXED_STATES, JobState, Position, RequestState
from hooks.request.spec.profiler_config import uses_ai_configurator
from hooks.wire.metacontroller.parent_key import make_parent_key, read_parent_key
from hooks.wire.metacontroller.plan_cache import cached_by_parent
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule, SyncAnswer, SyncRequest
from hooks.wire.policy.on_demand import PlannedReads, plan_next_read, reads_on_demand

_LOOK_AGAIN_SECONDS = 5
_TRY_AGAIN_SECONDS = 60
"""After so long nodes and claims are read again that a request lacks; nothing tells of them."""
_WAITING = frozenset({Position.PENDING, Position.AWAITING_OUTPUT, Position.CREATING})
"""Positions in which no event may start the next sync: a create fails while an object of that name is being deleted."""


def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
    """Answer which children and status a request should have."""
    seen, previous = observe(request), PreviousRequestStatus.of(request)
    state = _recover_state(seen, previous)
    try:
        parent = _read(make_parent_key(request.parent), facts.settings)
    except InvalidSpec as error:
        return _keep(request, seen, _report_unreadable(state, previous, error, facts), error.problems)
    if state in FIXED_STATES and is_edited(parent, seen, previous):
        return _keep(request, seen, report_edit(previous, state, facts.now), ())
    plan = plan_request(parent, seen, previous, facts)
    status = report(StatusInput(request=parent, plan=plan, seen=seen, previous=previous, now=facts.now))
    details = EventDetails(
        is_simulated=uses_ai_configurator(parent.spec.profiling_config.config),
        is_foreign=plan.live is not None and not plan.live.is_ours,
        remarks=plan.remarks,
    )
    looks_again = plan.position in _WAITING and not is_overdue(status["conditions"])
    lookup = _plan_lookup(request, seen, facts) if not plan.looks_for else _look_first(plan)
    return SyncAnswer(
        children=build_children(plan, seen, request=parent.metadata.name, namespace=parent.metadata.namespace),
        status=status,
        effects=tuple(find_events(request.parent, previous, status, details)),
        resync_after_seconds=_LOOK_AGAIN_SECONDS if looks_again else lookup.seconds,
        queries=lookup.queries,
        later=lookup.later,
        waits=lookup.waits,
        notes=plan.notes,
        problems=plan.problems if plan.position in {Position.REFUSED, Position.UNBUILDABLE} else (),
    )


def finalize(request: SyncRequest, facts: Facts) -> SyncAnswer:
    """Let the request be deleted; the garbage collector deletes its Job, and keeps the graph."""
    previous = PreviousRequestStatus.of(request)
    return SyncAnswer(
        children=keep_children(observe(request)),
        status=report_end(previous, facts.now),
        finalized=True,
        notes=("nothing to clean up",),
    )


def customize(request: CustomizeRequest, facts: Facts) -> list[RelatedRule]:
    """Answer which related objects sync needs: Namespace, the profiler's output, and what the spec names."""
    return resolve_related(request, facts.settings)


def _look_first(plan: RequestPlan) -> PlannedReads:
    """What must be read before profiling can begin, again after a while if it is still missing."""
    seconds = _TRY_AGAIN_SECONDS if plan.position is Position.REFUSED else 0
    return PlannedReads(queries=plan.looks_for, seconds=seconds, waits=True)


def _plan_lookup(request: SyncRequest, seen: ObservedRequest, facts: Facts) -> PlannedReads:
    """The pods of a Job that has not succeeded, which say why."""
    job, query = seen.job, query_job_pods(request.parent)
    if job is None or job.progress is JobState.COMPLETE or facts.settings.explain_pods is Switch.OFF:
        return PlannedReads()
    if not reads_on_demand(request, kinds.POD):
        return PlannedReads()
    if job.progress is JobState.FAILED:
        return PlannedReads(queries=(query,))
    next_read = plan_next_read(request.status, facts.now)
    return PlannedReads(
        queries=(query,) if next_read.is_due else (),
        later=() if next_read.is_due else (query,),
        seconds=next_read.seconds,
    )


@cached_by_parent()
def _read(parent_key: bytes, settings: Settings) -> GraphRequest:
    """The request.

    Raises:
        InvalidSpec: fields do not fit the model; the error has all problems, including those of other fields.
    """
    parent, misfits = read_parent(GraphRequest, read_parent_key(parent_key))
    if misfits:
        raise InvalidSpec(add_problems(misfits, validate_request(parent, settings)))
    return parent


def _recover_state(seen: ObservedRequest, previous: PreviousRequestStatus) -> RequestState:
    """The state as last reported; if the status was lost, the state that the children show."""
    if previous.state not in {RequestState.INITIAL, RequestState.PENDING}:
        return previous.state
    if any(graph.is_ours for graph in seen.graphs.values()):
        return RequestState.DEPLOYING
    return RequestState.PROFILING if seen.job else previous.state


def _report_unreadable(
    state: RequestState, previous: PreviousRequestStatus, error: InvalidSpec, facts: Facts
) -> dict[str, Json]:
    if previous.resumable_state is RequestState.FAILED:
        return report_end(previous, facts.now, is_changed=True)
    unreadable = state if state in FIXED_STATES else RequestState.FAILED
    return report_unreadable(previous, unreadable, error.problems, facts.now)


def _keep(
    request: SyncRequest, seen: ObservedRequest, status: dict[str, Json], problems: tuple[Problem, ...]
) -> SyncAnswer:
    """Keep all children unchanged."""
    return SyncAnswer(
        children=keep_children(seen),
        status=status,
        effects=tuple(find_events(request.parent, PreviousRequestStatus.of(request), status, EventDetails())),
        notes=("children unchanged: the spec differs from the profiled one, or cannot be read",),
        problems=problems,
    )
