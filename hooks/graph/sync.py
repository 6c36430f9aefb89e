"""The graph hook: the stages in order, nothing else."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from hooks.component.spec.kept_fields import find_frontend_containers
from hooks.graph.build import build_children
from hooks.graph.change.ending import keep_ending
from hooks.graph.change.holding import Holding, hold_graph, mark_workloads
from hooks.graph.change.restart import RestartPlan, advance, observe_restart_ids, plan_restart
from hooks.graph.grove.generation import find_changed_services, is_set_unchanged, plan_set_generation
from hooks.graph.plan.graph import GraphPlan, plan_graph
from hooks.graph.plan.path import takes_grove
from hooks.graph.plan.pool_selector import choose_selector
from hooks.graph.reads.queries import plan_lookup
from hooks.graph.reads.related import resolve_related
from hooks.graph.report.events import plan_adapter_events, plan_transition_events
from hooks.graph.report.explain import explain_services
from hooks.graph.report.progress import (
    GraphProgress,
    awaits_first_pods,
    find_graph_deviations,
    find_unknown,
    measure_graph,
)
from hooks.graph.report.status import GraphReason, Previous, report, report_failure
from hooks.graph.rules.validate import validate_graph
from hooks.graph.seen.observe import ObservedGraph, observe, without_progress
from hooks.graph.seen.standing_path import GraphPath
from hooks.graph.spec.components import clean_json
from hooks.graph.spec.namespace_prefix import TAKEN, decide_prefix
from hooks.graph.workers.changes import find_changed_pods
from hooks.graph.workers.generation import (
    Generation,
    WorkerSpecs,
    find_added,
    find_live,
    find_trusted,
    find_workers,
    plan_generation,
    read_worker_specs,
)
from hooks.graph.workers.sight import Sight, judge_sight
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.conditions import find_beginning
from hooks.ground.k8s.not_ready import Explanation
from hooks.ground.k8s.types import (
    GroupVersionKind,
    Json,
    Manifest,
    ReadManifest,
    annotations_of,
    build_manifest,
    build_metadata,
    gvk_of,
    name_of,
)
from hooks.ground.problems import Problem
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules.graph import NO_ORCHESTRATOR
from hooks.language.validation.reading import validate_parent
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.controllers import NEVER_UPDATED
from hooks.wire.metacontroller.last_applied import last_applied_children
from hooks.wire.metacontroller.parent_key import CACHED_PARENTS, make_parent_key, read_parent_key
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule, SyncAnswer, SyncRequest
from hooks.wire.policy.applied_condition import Applied, judge_deviations
from hooks.wire.policy.holding import build_held_condition, takes_new_defaults

_RESYNC_SECONDS = 5


def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
    """Answer which children and status a graph should have.

    Raises:
        InvalidSpec: the spec cannot be rendered and a child's last good state is unknown.
    """
    seen, parent_key = observe(request, facts.settings), make_parent_key(request.parent)
    try:
        _read_valid(parent_key, seen.installed, seen.standing, seen.grove.set_name)
    except InvalidSpec as error:
        return _freeze(request, facts, GraphReason.INVALID, error.problems)
    try:
        planned = _plan_restarting(request, parent_key, seen, facts)
    except InvalidSpec as error:
        lacks_orchestrator = any(problem.rule == NO_ORCHESTRATOR for problem in error.problems)
        reason = GraphReason.NO_ORCHESTRATOR if lacks_orchestrator else GraphReason.FAILED
        return _freeze(request, facts, reason, error.problems)
    plan, restart, progress = planned.plan, planned.restart, planned.progress
    explained = explain_services(plan, seen, progress, facts)
    status = report(
        plan,
        seen,
        restart=restart,
        progress=progress,
        previous=_previous(request, facts),
        explained=explained,
    )
    lookup = plan_lookup(request, plan, progress, seen=seen, facts=facts)
    return SyncAnswer(
        children=planned.children,
        status=status,
        queries=lookup.queries,
        later=lookup.later,
        waits=lookup.waits,
        effects=(
            *(plan.grove.effects if plan.grove else ()),
            *plan_transition_events(request, status, explained),
            *plan_adapter_events(request, (component.service for component in plan.components)),
        ),
        resync_after_seconds=_resync_after(plan, progress.applied, explained, lookup.seconds),
        notes=(*plan.notes, *plan.warnings, *restart.remarks),
    )


def finalize(request: SyncRequest, facts: Facts) -> SyncAnswer:  # noqa: ARG001 - the signature that all hooks share
    """Finalize a graph: its children are deleted with it, or stay if the graph moves to another installation."""
    is_going = "deletionTimestamp" in request.parent["metadata"]
    children = [] if is_going else _last_children(request, ())
    status = {key: value for key, value in request.status.items() if key != "observedGeneration"}
    return SyncAnswer(children=children, status=status, finalized=True, notes=("nothing to undo",))


def customize(request: CustomizeRequest, facts: Facts) -> list[RelatedRule]:
    """Ask for the claims that the graph names, Grove's objects, registry Secrets and the SSH key."""
    return resolve_related(request, facts.settings)


@lru_cache(maxsize=CACHED_PARENTS)
def _read_valid(
    parent_key: bytes, installed: frozenset[GroupVersionKind], standing: GraphPath | None, known_set: str
) -> tuple[GraphDeployment, Mapping[str, Mapping[str, Json]]]:
    """The graph, and each service's spec as the user wrote it, without nulls and floats."""
    parent = read_parent_key(parent_key)
    graph, problems = validate_parent(
        GraphDeployment,
        parent,
        partial(validate_graph, installed=installed, standing=standing, known_set=known_set),
    )
    if problems:
        raise InvalidSpec(problems)
    return graph, clean_json(parent["spec"].get("services") or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphGrounds:
    """All inputs of a graph's plan. It is the key of the plan's cache, so `plan_on` receives nothing else.

    Two are equal if all their fields are equal. The hash is that of one field, because maps have no hash.
    """

    parent_key: bytes
    seen: ObservedGraph
    restarts: Mapping[str, str]
    generation: Generation
    settings: Settings

    def __hash__(self) -> int:
        return hash(self.parent_key)


@lru_cache(maxsize=CACHED_PARENTS)
def plan_on(grounds: GraphGrounds) -> tuple[GraphPlan, Children]:
    """The plan and its children, built once."""
    seen = grounds.seen
    graph, services = _read_valid(grounds.parent_key, seen.installed, seen.standing, seen.grove.set_name)
    plan = plan_graph(graph, services, seen, grounds.settings, restarts=grounds.restarts, generation=grounds.generation)
    parent = read_parent_key(grounds.parent_key)
    return plan, Children(mark_workloads(plan, build_children(plan), parent, grounds.restarts))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """The plan of a sync, its children, the restart, and how far the plan's children have come."""

    plan: GraphPlan
    children: Children
    restart: RestartPlan
    progress: GraphProgress


def _plan_restarting(request: SyncRequest, parent_key: bytes, seen: ObservedGraph, facts: Facts) -> _Planned:
    """Plan with the ids that the restart has set; if services became ready, let the restart proceed and plan again."""
    graph, _ = _read_valid(parent_key, seen.installed, seen.standing, seen.grove.set_name)
    restart = plan_restart(graph, _read_restart(request), observe_restart_ids(graph, seen))
    grounds = GraphGrounds(
        parent_key=parent_key,
        seen=without_progress(seen),
        restarts=restart.restart_ids,
        generation=Generation(),
        settings=facts.settings,
    )
    grounds = replace(grounds, generation=_plan_generation(request, graph, seen, grounds))
    measure = partial(_measure, request, facts, seen)
    planned = measure(restart=restart, grounds=grounds)
    if restart.is_running:
        proceeded = advance(restart, planned.progress.find_blocking(planned.plan))
        if proceeded.restart_ids != restart.restart_ids:
            return measure(restart=proceeded, grounds=replace(grounds, restarts=proceeded.restart_ids))
        return replace(planned, restart=proceeded)
    return planned


@lru_cache(maxsize=CACHED_PARENTS)
def _judge_sight(grounds: GraphGrounds, trusted: frozenset[str]) -> Sight:
    seen = grounds.seen
    graph, services = _read_valid(grounds.parent_key, seen.installed, seen.standing, seen.grove.set_name)
    frontends = find_frontend_containers(graph.metadata.annotations, services)
    takes_bare = decide_prefix(graph, seen.prefix, grounds.settings) == TAKEN
    return judge_sight(graph, frontends, takes_bare=takes_bare, trusted=trusted)


@lru_cache(maxsize=CACHED_PARENTS)
def _read_specs(parent_key: bytes, workers: tuple[str, ...]) -> WorkerSpecs:
    return read_worker_specs(read_parent_key(parent_key), workers)


def _plan_generation(
    request: SyncRequest, graph: GraphDeployment, seen: ObservedGraph, grounds: GraphGrounds
) -> Generation:
    """The generation of the workers, on the path that the graph takes."""
    specs = _read_specs(grounds.parent_key, find_workers(graph))
    is_asked = takes_new_defaults(request.parent, grounds.settings)
    if not takes_grove(graph.metadata.annotations, seen.installed, seen.standing):
        sight, live = _judge_sight(grounds, find_trusted(graph, seen)), find_live(graph, seen)
        added = find_added(graph, seen, request.status.get("services") or ())

        def find_changed(generation: Generation) -> Collection[str]:
            _, children = plan_on(replace(grounds, generation=generation))
            return find_changed_pods(children, live, grounds.settings) | added

        return plan_generation(graph, specs, seen, sight, is_asked=is_asked, changes=find_changed)

    def find_changes(suffix: str) -> Collection[str]:
        if is_set_unchanged(specs.graph, seen):
            return ()
        _, children = plan_on(replace(grounds, generation=Generation(suffix=suffix)))
        return find_changed_services(children, seen)

    sight = _judge_sight(grounds, frozenset())
    return plan_set_generation(graph, seen, sight, wanted=specs.suffix, is_asked=is_asked, changes=find_changes)


def _measure(
    request: SyncRequest, facts: Facts, seen: ObservedGraph, *, restart: RestartPlan, grounds: GraphGrounds
) -> _Planned:
    generation = grounds.generation
    holding = hold_graph(*plan_on(grounds), request, seen=seen, settings=facts.settings, waiting=generation.waiting)
    plan, children = holding.plan, choose_selector(holding.plan, holding.children, seen)
    unknown = find_unknown(plan, seen)
    if unknown:
        children = Children(
            [one for one in children if gvk_of(one) != contract.COMPONENT or name_of(one) not in unknown]
        )
    deviations = find_graph_deviations(plan, children, request, seen)
    applied = judge_deviations(
        request, deviations, facts.now, is_coming_up=not unknown and awaits_first_pods(plan, seen)
    )
    held = build_held_condition(request.parent, _name_held(holding, seen))
    progress = replace(measure_graph(plan, seen, applied, waiting=generation.waiting), held=held)
    children = keep_ending(children, plan, request, seen=seen, unready=progress.unready)
    return _Planned(plan=plan, children=children, restart=restart, progress=progress)


def _name_held(holding: Holding, seen: ObservedGraph) -> frozenset[str]:
    """The workloads that wait: those of the graph, and components whose own workload waits."""
    wanted = {component.name for component in holding.plan.components}
    return frozenset(holding.held) | {name for name, one in seen.components.items() if one.is_held and name in wanted}


def _read_restart(request: SyncRequest) -> Mapping[str, Json]:
    """`status.restart`; empty if it is absent or cannot be read."""
    stored = request.status.get("restart")
    return stored if isinstance(stored, dict) else {}


def _freeze(request: SyncRequest, facts: Facts, reason: GraphReason, problems: tuple[Problem, ...]) -> SyncAnswer:
    """Leave all children as they were last applied, with the problems in the status."""
    status = report_failure(reason, problems, _previous(request, facts))
    return SyncAnswer(
        children=_last_children(request, problems),
        status=status,
        effects=plan_transition_events(request, status, {}),
        notes=("children as last applied: the spec cannot be rendered",),
        problems=problems,
    )


def _last_children(request: SyncRequest, problems: tuple[Problem, ...]) -> list[Manifest]:
    observed = request.children.all()
    applied = last_applied_children((child for child in observed if not _is_kept_by_stub(child)), problems)
    return [*applied, *(_stub(child) for child in observed if _is_kept_by_stub(child))]


def _is_kept_by_stub(child: ReadManifest) -> bool:
    """Whether an object is never updated and has no last-applied state, because another operator created it."""
    is_never_updated = gvk_of(child) in NEVER_UPDATED[contract.GRAPH]
    return is_never_updated and contract.ANNOTATION_LAST_APPLIED not in annotations_of(child)


def _stub(child: ReadManifest) -> Manifest:
    return build_manifest(gvk_of(child), build_metadata(name_of(child), child["metadata"]["namespace"]))


def _previous(request: SyncRequest, facts: Facts) -> Previous:
    since = find_beginning(request.parent, facts.now)
    return Previous(status=request.status, generation=request.generation, now=since)


def _resync_after(
    plan: GraphPlan, applied: Applied, explained: Mapping[str, Explanation], look_seconds: float
) -> float:
    """Seconds until the next sync without a change; 0 for none. A failed effect causes no event that starts a sync."""
    effects = _RESYNC_SECONDS if plan.grove is not None and plan.grove.effects else 0
    seconds = (effects, applied.resync_after_seconds, look_seconds, *(one.seconds for one in explained.values()))
    return min((one for one in seconds if one), default=0.0)
