"""The component hook's sync and customize: the stages in order. The deletion is in `removal`."""

from dataclasses import dataclass

from hooks.component.build import Built, build_component
from hooks.component.change.discovered_for_pods import keep_discovered
from hooks.component.change.kept_release import keep_in_component
from hooks.component.change.new_defaults import hold_component, mark_workloads
from hooks.component.change.paced_workload import pace_workload
from hooks.component.plan.component import ComponentPlan, plan_component, refuse_multinode
from hooks.component.reads.queries import plan_reads
from hooks.component.reads.related import resolve_related
from hooks.component.report.events import build_change_events
from hooks.component.report.progress import awaits_first_pods, find_component_deviations, measure_progress
from hooks.component.report.reasons import ComponentReason
from hooks.component.report.status import report, report_problems
from hooks.component.rules.validate import validate_component
from hooks.component.seen.observe import ObservedComponent, observe, observe_workloads, without_progress
from hooks.ground.errors import InvalidSpec
from hooks.ground.problems import Problem, sort_problems, texts_of
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.language.api.base import read_parent
from hooks.language.api.component import ComponentDeployment
from hooks.language.validation.reading import add_problems
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.last_applied import last_applied_children
from hooks.wire.metacontroller.parent_key import make_parent_key, read_parent_key
from hooks.wire.metacontroller.plan_cache import cached_by_parent
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule, SyncAnswer, SyncRequest
from hooks.wire.policy.accepted_changes import AcceptedChanges
from hooks.wire.policy.applied_condition import judge_deviations
from hooks.wire.policy.rendering_mark import digest_component
from hooks.wire.policy.set_back import set_back_services


def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
    """The wanted children and the status of a component.

    If the spec cannot be rendered, the children are those of the last good sync.

    Raises:
        InvalidSpec: the spec cannot be rendered, and a child has no last-applied annotation.
    """
    seen = observe(request, facts.settings)
    refusal: tuple[Problem, ...] = ()
    try:
        parent_key = make_parent_key(request.parent)
        component, problems = _read(parent_key)
        refusal = refuse_multinode(component, seen)
        if not refusal and not problems:
            if (kept := keep_in_component(component, request.parent, seen)) is not request.parent:
                parent_key = make_parent_key(kept)
            return _render(request, parent_key, seen, facts)
    except InvalidSpec as error:
        # Sorted, because the order of keys in a request must not change the answer.
        problems = sort_problems(error.problems)
    reason = ComponentReason.NO_ORCHESTRATOR_AVAILABLE if refusal else ComponentReason.VALIDATION_FAILED
    return _freeze(request, (*refusal, *problems), reason, facts)


def customize(request: CustomizeRequest, facts: Facts) -> list[RelatedRule]:
    """The rules for the related objects that a component's sync needs; [] if its spec is invalid.

    Metacontroller caches the answer while the spec stays the same, so it must depend on the spec only.
    """
    try:
        component, problems = _read(make_parent_key(request.parent))
    except InvalidSpec:
        return []  # sync reports the problems, and Metacontroller asks again about another spec
    return [] if problems else resolve_related(request, component, facts.settings)


@cached_by_parent(times=4)
def _read(parent_key: bytes) -> tuple[ComponentDeployment, tuple[Problem, ...]]:
    """The component, and its problems in a fixed order.

    Raises:
        InvalidSpec: fields do not fit the model; the error has all problems, including those of other fields.
    """
    component, misfits = read_parent(ComponentDeployment, read_parent_key(parent_key))
    problems = validate_component(component)
    if misfits:
        raise InvalidSpec(add_problems(misfits, problems))
    return component, sort_problems(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentGrounds:
    """All inputs of a component's plan. It is the key of the plan's cache, so `plan_on` receives nothing else.

    Two are equal if all their fields are equal. The hash is that of one field, because live objects have no hash.
    """

    parent_key: bytes
    seen: ObservedComponent
    settings: Settings

    def __hash__(self) -> int:
        return hash(self.parent_key)


@cached_by_parent(times=4)
def plan_on(grounds: ComponentGrounds) -> tuple[ComponentPlan, Built]:
    """The plan of a component without problems, and its marked children, built once."""
    component, _ = _read(grounds.parent_key)
    plan = plan_component(component, grounds.seen, grounds.settings)
    return plan, _build(plan, grounds.parent_key)


def _build(plan: ComponentPlan, parent_key: bytes) -> Built:
    return mark_workloads(build_component(plan), digest_component(read_parent_key(parent_key)["spec"]))


def _render(request: SyncRequest, parent_key: bytes, seen: ObservedComponent, facts: Facts) -> SyncAnswer:
    found, built = plan_on(
        ComponentGrounds(parent_key=parent_key, seen=without_progress(seen), settings=facts.settings)
    )
    plan = keep_discovered(found, seen)
    if plan is not found:
        built = _build(plan, parent_key)
    built = hold_component(plan, built, request, seen=seen, settings=facts.settings)
    built = pace_workload(built, plan, request.parent, seen.workloads.deployment)
    deviations = find_component_deviations(plan, built, request, AcceptedChanges.of(facts.settings))
    applied = judge_deviations(request, deviations, facts.now, is_coming_up=awaits_first_pods(plan, seen.workloads))
    progress = measure_progress(plan, built, seen, applied)
    warnings = (*plan.warnings, *texts_of(built.warnings))
    reported = report(request, plan, progress, seen=seen, warnings=warnings, now=facts.now)
    reads = plan_reads(request, _read(parent_key)[0], plan, progress, seen=seen, facts=facts)
    return SyncAnswer(
        children=set_back_services(built.children, request),
        status=reported.status,
        effects=build_change_events(request, reported.status),
        resync_after_seconds=min((one for one in (reported.resync_after_seconds, reads.seconds) if one), default=0.0),
        queries=reads.queries,
        later=reads.later,
        waits=reads.waits,
        notes=(*plan.notes, *warnings, *(f"{name} waits with new defaults" for name in built.held)),
    )


def _freeze(request: SyncRequest, problems: tuple[Problem, ...], reason: ComponentReason, facts: Facts) -> SyncAnswer:
    children = list(set_back_services(Children(last_applied_children(request.children.all(), problems)), request))
    seen = observe_workloads(request)
    status = report_problems(request, problems, reason=reason, seen=seen, now=facts.now)
    effects = build_change_events(request, status)
    return SyncAnswer(
        children=children,
        status=status,
        effects=effects,
        notes=texts_of(problems),
        problems=problems,
    )
