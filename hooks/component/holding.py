"""Decides which workloads of a component wait with new defaults, and marks those that do not."""

from dataclasses import replace

from hooks.component.build import Built
from hooks.component.keeping import find_needing
from hooks.component.observe import ObservedComponent
from hooks.component.plan import ComponentPlan
from hooks.k8s.readiness import has_ready_pods
from hooks.k8s.types import Manifest, gvk_of, name_of, sort_manifests
from hooks.metacontroller.held import mark
from hooks.metacontroller.holding import (
    WORKLOADS,
    find_held,
    find_unwanted,
    index_children,
    keep_following,
    takes_new_defaults,
)
from hooks.metacontroller.protocol import SyncRequest
from hooks.settings import Settings


def hold_component(
    plan: ComponentPlan, built: Built, request: SyncRequest, *, seen: ObservedComponent, digest: str, settings: Settings
) -> Built:
    """The children with marked workloads; a held one, and what belongs to its pods, is as it was last applied.

    `digest` is that of the component's spec. A workload without a ready pod has nothing to lose, and one whose pods
    need another account or Secret restarts anyway, so neither is held.
    """
    marked = {name_of(workload): mark(workload, digest) for workload in built.workloads}
    held = {} if takes_new_defaults(request.parent, settings) else _find_held(marked, plan, seen)
    workloads = tuple({**marked, **held}[name_of(workload)] for workload in built.workloads)
    chosen = {name_of(workload): workload for workload in workloads}
    children: list[Manifest] = [
        chosen[name_of(child)] if gvk_of(child) in WORKLOADS else child for child in built.children
    ]
    if held:
        observed = index_children(request.children.all())
        kept = keep_following(children, observed)
        children = sort_manifests([*kept, *find_unwanted(kept, observed)])
    return replace(built, children=tuple(children), workloads=workloads, held=tuple(sorted(held)))


def _find_held(marked: dict[str, Manifest], plan: ComponentPlan, seen: ObservedComponent) -> dict[str, Manifest]:
    """The held workloads as they are returned, by name."""
    deployment = seen.workloads.deployment
    live = dict(seen.workloads.leader_worker_sets) if plan.groups else {}
    if plan.groups is None and deployment is not None:
        live = {name_of(deployment): deployment}
    withheld = plan.groups.withheld if plan.groups else {}
    serving = {
        name: found for name, found in live.items() if name in marked and name not in withheld and has_ready_pods(found)
    }
    found = {name: held for name in serving if (held := find_held(marked[name], serving[name])) is not None}
    needing = find_needing(plan, seen) if found else frozenset()
    return {name: held for name, held in found.items() if name not in needing}
