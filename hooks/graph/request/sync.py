"""The request hook: the stages in order, nothing else."""

from functools import lru_cache

from hooks.api.base import parse_parent
from hooks.api.graph_request import GraphRequest
from hooks.errors import InvalidSpec
from hooks.facts import Facts
from hooks.graph.request.build import build_children, keep_children
from hooks.graph.request.conditions import Grounds, is_overdue
from hooks.graph.request.events import Story, find_events
from hooks.graph.request.fingerprint import is_edited
from hooks.graph.request.observe import Observed, observe
from hooks.graph.request.phases import Position, State
from hooks.graph.request.plan import plan_request
from hooks.graph.request.previous import Previous
from hooks.graph.request.profiler_config import uses_ai_configurator
from hooks.graph.request.related import resolve_related
from hooks.graph.request.status import report, report_edit, report_end, report_unreadable
from hooks.graph.request.validate import FIXED_STATES
from hooks.k8s.types import Json
from hooks.metacontroller.parent_key import CACHED_PARENTS, make_parent_key, read_parent_key
from hooks.metacontroller.protocol import CustomizeRequest, RelatedRule, SyncAnswer, SyncRequest
from hooks.problems import Problem

_LOOK_AGAIN_SECONDS = 5
_WAITING = frozenset({Position.PENDING, Position.AWAITING_OUTPUT, Position.CREATING})
"""Where what is waited for may be there already without an event: a creation that met something about to go."""

_FROZEN_STATES = frozenset(State(state) for state in FIXED_STATES)


def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
    """Answer which children and status a request should have."""
    seen, previous = observe(request), Previous.of(request)
    state = _least_state(seen, previous)
    try:
        parent = _read(make_parent_key(request.parent))
    except InvalidSpec as error:
        return _keep(request, seen, _report_unreadable(state, previous, error, facts), error.problems)
    if state in _FROZEN_STATES and is_edited(parent, seen, previous):
        return _keep(request, seen, report_edit(previous, state, facts.now), ())
    plan = plan_request(parent, seen, previous, facts)
    status = report(Grounds(request=parent, plan=plan, seen=seen, previous=previous, now=facts.now))
    story = Story(
        is_simulated=uses_ai_configurator(parent.spec.profiling_config.config),
        is_foreign=plan.live is not None and not plan.live.is_ours,
        remarks=plan.remarks,
    )
    return SyncAnswer(
        children=build_children(plan, seen, request=parent.metadata.name, namespace=parent.metadata.namespace),
        status=status,
        effects=tuple(find_events(request.parent, previous, status, story)),
        resync_after_seconds=_LOOK_AGAIN_SECONDS if plan.position in _WAITING and not is_overdue(status) else 0,
        notes=plan.notes,
        problems=plan.problems if plan.position in {Position.REFUSED, Position.UNBUILDABLE} else (),
    )


def finalize(request: SyncRequest, facts: Facts) -> SyncAnswer:
    """Let a request go: the Job goes with it, the graph stays."""
    previous = Previous.of(request)
    return SyncAnswer(
        children=keep_children(observe(request)),
        status=report_end(previous, facts.now),
        finalized=True,
        notes=("nothing to undo",),
    )


def customize(request: CustomizeRequest, facts: Facts) -> list[RelatedRule]:
    """Ask for the anchor's Namespace, the profiler's output and what the spec names."""
    return resolve_related(request, facts.settings)


@lru_cache(maxsize=CACHED_PARENTS)
def _read(parent_key: bytes) -> GraphRequest:
    return parse_parent(GraphRequest, read_parent_key(parent_key))


def _least_state(seen: Observed, previous: Previous) -> State:
    """The state as last reported, or as far as the children show where that was lost."""
    if previous.state not in {State.INITIAL, State.PENDING}:
        return previous.state
    if any(graph.is_ours for graph in seen.graphs.values()):
        return State.DEPLOYING
    return State.PROFILING if seen.job else previous.state


def _report_unreadable(state: State, previous: Previous, error: InvalidSpec, facts: Facts) -> dict[str, Json]:
    if previous.resumable_state is State.FAILED:
        return report_end(previous, facts.now)
    unreadable = state if state in _FROZEN_STATES else State.FAILED
    return report_unreadable(previous, unreadable, error.problems, facts.now)


def _keep(request: SyncRequest, seen: Observed, status: dict[str, Json], problems: tuple[Problem, ...]) -> SyncAnswer:
    """Leave everything as it is, and say why."""
    return SyncAnswer(
        children=keep_children(seen),
        status=status,
        effects=tuple(find_events(request.parent, Previous.of(request), status, Story())),
        notes=("children as they are: the spec is not the profiled one, or cannot be read",),
        problems=problems,
    )
