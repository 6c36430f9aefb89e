"""The graph hook: the stages in order, nothing else. A restart that moves on goes through them a second time."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from hooks.graph.change.ending import keep_ending
from hooks.graph.change.going_back import find_way_back, plan_going_back
from hooks.graph.change.kept_releases import find_kept_releases, with_releases
from hooks.graph.change.last_children import find_last_children
from hooks.graph.change.new_defaults import Holding, hold_graph
from hooks.graph.change.pacing import pace_children, plan_rollout
from hooks.graph.change.planning import GraphGrounds, decide_generation, plan_on, read_valid
from hooks.graph.change.restart import RestartPlan, advance, observe_restart_ids, plan_restart
from hooks.graph.change.revisions import add_revisions
from hooks.graph.change.shares import REGISTERS_IN, Share, find_rollout
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.plan.pool_selector import choose_selector
from hooks.graph.reads.frontends import find_targets, find_unrouted, plan_question
from hooks.graph.reads.queries import plan_reads, plan_worker_reads
from hooks.graph.reads.related import resolve_related
from hooks.graph.reads.topology import add_binding, check_topology
from hooks.graph.report.events import plan_adapter_events, plan_transition_events
from hooks.graph.report.explain import explain_services
from hooks.graph.report.progress import (
    GraphProgress,
    awaits_first_pods,
    find_graph_deviations,
    find_unknown,
    measure_graph,
)
from hooks.graph.report.serving import judge_serving
from hooks.graph.report.serving_reasons import SERVING
from hooks.graph.report.sharing import describe_sharing, find_sharing
from hooks.graph.report.status import GraphReason, Previous, report, report_failure
from hooks.graph.seen.observe import ObservedGraph, observe, without_progress
from hooks.graph.spec.namespace_prefix import find_looking, name_seen
from hooks.graph.workers.generation import Generation
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.conditions import find_beginning, is_true
from hooks.ground.k8s.not_ready import Explanation
from hooks.ground.k8s.types import Json, gvk_of, name_of
from hooks.ground.problems import Problem
from hooks.ground.settings.facts import Facts
from hooks.language.rules.graph import NO_ORCHESTRATOR
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.parent_key import make_parent_key
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule, SyncAnswer, SyncRequest
from hooks.wire.policy.accepted_changes import AcceptedChanges
from hooks.wire.policy.applied_condition import Applied, judge_deviations
from hooks.wire.policy.new_defaults import build_held_condition
from hooks.wire.policy.set_back import set_back_services
from hooks.wire.prober.frontends import NOT_ASKED, FrontendOutcome, FrontendQuestion

_RESYNC_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A sync of which only the end is left: `finish` gives the answer, once the graph's frontends were asked or not.

    `question` is for them, None if nobody is to be asked.
    """

    finish: Callable[[FrontendOutcome], SyncAnswer]
    question: FrontendQuestion | None = None


def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
    """Answer which children and status a graph should have, without asking its frontends.

    Raises:
        InvalidSpec: the spec cannot be rendered and a child's last good state is unknown.
    """
    return prepare(request, facts).finish(NOT_ASKED)


def prepare(request: SyncRequest, facts: Facts) -> Prepared:
    """Decide everything for which frontends need not be asked, and what they are asked.

    Raises:
        InvalidSpec: the spec cannot be rendered and a child's last good state is unknown.
    """
    seen, parent_key = observe(request, facts.settings), make_parent_key(request.parent)
    try:
        graph, _ = read_valid(parent_key, seen.installed, seen.live_path, seen.grove.set_name)
        check_topology(request, graph, facts.settings)
    except InvalidSpec as error:
        frozen = _freeze(request, seen, facts, reason=GraphReason.INVALID, problems=error.problems)
        return Prepared(finish=lambda _: frozen)
    if kept := find_kept_releases(request.parent, seen):
        seen, parent_key = replace(seen, kept_releases=kept), make_parent_key(with_releases(request.parent, kept))
    measure = partial(_plan_restarting, request, parent_key, seen, facts)
    try:
        planned = measure()
    except InvalidSpec as error:
        lacks_orchestrator = any(problem.rule == NO_ORCHESTRATOR for problem in error.problems)
        reason = GraphReason.NO_ORCHESTRATOR if lacks_orchestrator else GraphReason.FAILED
        stopped = _freeze(request, seen, facts, reason=reason, problems=error.problems)
        return Prepared(finish=lambda _: stopped)
    shares = find_rollout(planned.plan, seen, request.status)
    targets = find_targets(planned.plan, seen) if facts.settings.serving != "off" else ()
    is_rolling = bool(shares or planned.progress.rollout.roles)
    is_awaited = not planned.progress.unready and not is_true(request.status.get("conditions") or (), SERVING)

    def finish(outcome: FrontendOutcome) -> SyncAnswer:
        unrouted = find_unrouted(outcome.report) if planned.progress.rollout.roles else frozenset()
        final = measure(unrouted=unrouted) if unrouted else planned
        return _answer(request, facts, seen, final, shares=shares, outcome=outcome)

    return Prepared(
        finish=finish,
        question=plan_question(request.parent, planned.plan, targets, is_rolling=is_rolling, is_awaited=is_awaited),
    )


def _answer(
    request: SyncRequest,
    facts: Facts,
    seen: ObservedGraph,
    planned: "_Planned",
    *,
    shares: Mapping[str, Share],
    outcome: FrontendOutcome,
) -> SyncAnswer:
    plan, restart, progress = planned.plan, planned.restart, planned.progress
    explained = explain_services(plan, seen, progress, facts)
    serving, mode = None, facts.settings.serving
    if mode != "off":
        serving = judge_serving(plan, seen, outcome, shares=shares, before=request.status)
    progress = replace(progress, shares=shares, serving=serving, is_gated=mode == "gate")
    status = report(
        plan,
        seen,
        restart=restart,
        progress=progress,
        previous=_previous(request, facts),
        explained=explained,
    )
    reads = add_binding(plan_reads(request, plan, progress, seen=seen, facts=facts), request, facts)
    children = set_back_services(planned.children, request)
    return SyncAnswer(
        children=add_revisions(
            children, request, make_parent_key(request.parent), suffix=planned.suffix, settings=facts.settings
        ),
        status=status,
        queries=reads.queries,
        later=reads.later,
        waits=reads.waits,
        effects=(
            *(plan.grove.effects if plan.grove else ()),
            *plan_going_back(request, progress.rollout),
            *plan_transition_events(request, status, explained),
            *plan_adapter_events(request, (component.service for component in plan.components)),
        ),
        resync_after_seconds=_resync_after(
            plan, progress.applied, explained, (reads.seconds, serving.seconds if serving else 0.0)
        ),
        notes=(*plan.notes, *plan.warnings, *restart.remarks),
    )


def finalize(request: SyncRequest, facts: Facts) -> SyncAnswer:  # noqa: ARG001 - the signature that all hooks share
    """Finalize a graph: its children are deleted with it, or stay if the graph moves to another installation."""
    is_going = "deletionTimestamp" in request.parent["metadata"]
    children = [] if is_going else find_last_children(request, ())
    status = {key: value for key, value in request.status.items() if key != "observedGeneration"}
    return SyncAnswer(children=children, status=status, finalized=True, notes=("nothing to undo",))


def customize(request: CustomizeRequest, facts: Facts) -> list[RelatedRule]:
    """Ask for the claims that the graph names, Grove's objects, registry Secrets and the SSH key."""
    return resolve_related(request, facts.settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """The plan of a sync, its children, the restart, and how far the plan's children have come.

    `suffix` is the generation of the workers.
    """

    plan: GraphPlan
    suffix: str
    children: Children
    restart: RestartPlan
    progress: GraphProgress


def _plan_restarting(
    request: SyncRequest,
    parent_key: bytes,
    seen: ObservedGraph,
    facts: Facts,
    *,
    unrouted: frozenset[str] = frozenset(),
) -> _Planned:
    """Plan with the ids that the restart has set; if services became ready, let the restart proceed and plan again.

    Frontends do not route to the workers in the Dynamo namespaces `unrouted`.
    """
    graph, _ = read_valid(parent_key, seen.installed, seen.live_path, seen.grove.set_name)
    restart = plan_restart(graph, _read_restart(request), observe_restart_ids(graph, seen))
    grounds = GraphGrounds(
        parent_key=parent_key,
        seen=without_progress(seen),
        restarts=restart.restart_ids,
        generation=Generation(),
        settings=facts.settings,
    )
    grounds = replace(grounds, generation=decide_generation(request, graph, seen, grounds))
    measure = partial(_measure, request, facts, seen, unrouted=unrouted)
    planned = measure(restart=restart, grounds=grounds)
    if restart.is_running:
        proceeded = advance(restart, planned.progress.find_blocking(planned.plan))
        if proceeded.restart_ids != restart.restart_ids:
            return measure(restart=proceeded, grounds=replace(grounds, restarts=proceeded.restart_ids))
        return replace(planned, restart=proceeded)
    return planned


def _measure(
    request: SyncRequest,
    facts: Facts,
    seen: ObservedGraph,
    *,
    restart: RestartPlan,
    grounds: GraphGrounds,
    unrouted: frozenset[str],
) -> _Planned:
    generation = grounds.generation
    holding = hold_graph(*plan_on(grounds), request, seen=seen, settings=facts.settings, waiting=generation.waiting)
    plan, children = holding.plan, choose_selector(holding.plan, holding.children, seen)
    unknown = find_unknown(plan, seen)
    if unknown:
        children = Children(
            [one for one in children if gvk_of(one) != contract.COMPONENT or name_of(one) not in unknown]
        )
    namespaces = {service: one.get(REGISTERS_IN) for service, one in plan.projections.items()}
    rollout = plan_rollout(children, seen, request, facts, namespaces=namespaces, unrouted=unrouted)
    if (way_back := find_way_back(request, rollout, seen, facts.settings)) is not None:
        rollout = replace(rollout, way_back=way_back)
    children = pace_children(children, rollout, seen)
    deviations = find_graph_deviations(plan, children, request, seen, accepted=AcceptedChanges.of(facts.settings))
    applied = judge_deviations(
        request, deviations, facts.now, is_coming_up=not unknown and awaits_first_pods(plan, seen)
    )
    held = build_held_condition(request.parent, _name_held(holding, seen))
    progress = replace(measure_graph(plan, seen, applied, waiting=generation.waiting), held=held, rollout=rollout)
    children = keep_ending(children, plan, request, seen=seen, unready=progress.unready)
    if seen.longer or seen.seeing:
        graph, _ = read_valid(grounds.parent_key, seen.installed, seen.live_path, seen.grove.set_name)
        looking = find_looking(graph, children) if seen.longer else ()
        sharing, before = describe_sharing(looking, seen.longer, seen.seeing), find_sharing(request.status)
        is_ending = before and not sharing and progress.unready  # pods of before still run
        progress = replace(progress, sharing=(before,) if is_ending else sharing)
        children = name_seen(children, plan.name, seen.longer) if looking or is_ending else children
    return _Planned(plan=plan, suffix=generation.suffix, children=children, restart=restart, progress=progress)


def _name_held(holding: Holding, seen: ObservedGraph) -> frozenset[str]:
    """The workloads that wait: those of the graph, and components whose own workload waits."""
    wanted = {component.name for component in holding.plan.components}
    return frozenset(holding.held) | {name for name, one in seen.components.items() if one.is_held and name in wanted}


def _read_restart(request: SyncRequest) -> Mapping[str, Json]:
    """`status.restart`; empty if it is absent or cannot be read."""
    stored = request.status.get("restart")
    return stored if isinstance(stored, dict) else {}


def _freeze(
    request: SyncRequest, seen: ObservedGraph, facts: Facts, *, reason: GraphReason, problems: tuple[Problem, ...]
) -> SyncAnswer:
    """Leave all children as they were last applied, with the problems in the status; a rollout goes on."""
    status = report_failure(reason, problems, _previous(request, facts), serves=facts.settings.serving != "off")
    children = set_back_services(Children.of(find_last_children(request, problems)), request)
    rollout = plan_rollout(children, seen, request, facts)
    reads = add_binding(plan_worker_reads(request, rollout), request, facts, problems)
    return SyncAnswer(
        children=list(pace_children(children, rollout, seen)),
        status=status,
        queries=reads.queries,
        waits=reads.waits,
        resync_after_seconds=reads.seconds,
        effects=plan_transition_events(request, status, {}),
        notes=("children as last applied: the spec cannot be rendered",),
        problems=problems,
    )


def _previous(request: SyncRequest, facts: Facts) -> Previous:
    since = find_beginning(request.parent, facts.now)
    return Previous(status=request.status, generation=request.generation, now=since)


def _resync_after(
    plan: GraphPlan, applied: Applied, explained: Mapping[str, Explanation], others: Iterable[float]
) -> float:
    """Seconds until the next sync without a change; 0 for none. A failed effect causes no event that starts a sync."""
    effects = _RESYNC_SECONDS if plan.grove is not None and plan.grove.effects else 0
    seconds = (effects, applied.resync_after_seconds, *others, *(one.seconds for one in explained.values()))
    return min((one for one in seconds if one), default=0.0)
