"""Decides which workloads of a component wait with new defaults, and marks those that do not."""

from collections.abc import Mapping
from dataclasses import replace

from hooks.component.build import Built
from hooks.component.change.discovered_for_pods import find_needing
from hooks.component.plan.component import ComponentPlan
from hooks.component.seen.observe import ObservedComponent
from hooks.ground.k8s.readiness import has_ready_pods
from hooks.ground.k8s.types import Manifest, ReadManifest, gvk_of, name_of, sort_manifests
from hooks.ground.settings import Settings
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.new_defaults import (
    MARKED,
    find_held,
    find_unwanted,
    index_children,
    keep_following,
    keep_live_mark,
    takes_new_defaults,
)
from hooks.wire.policy.rendering_mark import mark


def mark_workloads(built: Built, digest: str) -> Built:
    """The children with marked workloads; `digest` is that of the component's spec."""
    return _replace_workloads(built, {name_of(workload): mark(workload, digest) for workload in built.workloads})


def hold_component(
    plan: ComponentPlan, built: Built, request: SyncRequest, *, seen: ObservedComponent, settings: Settings
) -> Built:
    """The children, whose workloads are marked; a held one, and what belongs to its pods, is as it was last applied.

    A workload without a ready pod has nothing to lose, and one whose pods need another account or Secret restarts
    anyway, so neither is held.
    """
    live = {name_of(found): found for found in _live_workloads(plan, seen)}
    marked = {name_of(one): keep_live_mark(one, live.get(name_of(one))) for one in built.workloads}
    held = {} if takes_new_defaults(request.parent, settings) else _find_held(marked, live, plan, seen)
    if not held:
        is_same = all(marked[name_of(one)] is one for one in built.workloads)
        return built if is_same else _replace_workloads(built, marked)
    chosen, observed = _replace_workloads(built, {**marked, **held}), index_children(request.children.all())
    kept = keep_following(chosen.children, observed)
    children = Children(sort_manifests([*kept, *find_unwanted(kept, observed)]))
    return replace(chosen, children=children, held=tuple(sorted(held)))


def _replace_workloads(built: Built, workloads: Mapping[str, Manifest]) -> Built:
    children = (workloads[name_of(child)] if gvk_of(child) in MARKED else child for child in built.children)
    chosen = tuple(workloads[name_of(workload)] for workload in built.workloads)
    return replace(built, children=Children(children), workloads=chosen)


def _find_held(
    marked: Mapping[str, Manifest], live: Mapping[str, ReadManifest], plan: ComponentPlan, seen: ObservedComponent
) -> dict[str, Manifest]:
    """The held workloads as they are returned, by name."""
    withheld = plan.groups.withheld if plan.groups else {}
    serving = {
        name: found for name, found in live.items() if name in marked and name not in withheld and has_ready_pods(found)
    }
    found = {name: held for name in serving if (held := find_held(marked[name], serving[name])) is not None}
    needing = find_needing(plan, seen) if found else frozenset()
    return {name: held for name, held in found.items() if name not in needing}


def _live_workloads(plan: ComponentPlan, seen: ObservedComponent) -> tuple[ReadManifest, ...]:
    """The live workloads of the kind that the plan has."""
    if plan.groups:
        return tuple(seen.workloads.leader_worker_sets.values())
    return () if seen.workloads.deployment is None else (seen.workloads.deployment,)
