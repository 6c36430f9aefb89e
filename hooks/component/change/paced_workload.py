"""The workload of a worker that rolls together with others, at the pace that its graph writes into an annotation."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate

from hooks.component.build import Built
from hooks.component.plan.component import ComponentPlan
from hooks.component.plan.strategy import pace_strategy
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import count_running_pods
from hooks.ground.k8s.types import Manifest, ReadManifest, annotations_of, gvk_of, name_of
from hooks.ground.k8s.workloads import (
    RECREATE,
    delay_availability,
    keep_groups,
    pause_deployment,
    release_groups,
    restore_availability,
)
from hooks.wire.metacontroller.children import Children
from hooks.wire.policy.rollout_pace import RolloutPace, read_pace
from hooks.wire.policy.rollout_wishes import read_wishes


def pace_workload(
    built: Built, plan: ComponentPlan, component: ReadManifest, live: ReadManifest | None = None
) -> Built:
    """The children with workloads that keep as many old pods as the component says; the same object without any.

    `live` is the Deployment: without pods it is not paused, because it would get none. A workload that waits with new
    defaults is what was last applied, and may have an earlier pace.
    """
    annotations = annotations_of(component)
    pace = read_pace(annotations.get(contract.ANNOTATION_PACE, ""))
    is_paused = pace is not None and read_wishes(annotations).is_paused
    sizes = {one.name: one.replicas for one in plan.groups.sets} if plan.groups else {}
    groups = _share_pace(sizes, pace)

    def apply(child: Manifest) -> Manifest:
        if gvk_of(child) == kinds.LEADER_WORKER_SET and name_of(child) in sizes:
            return _pace_groups(child, sizes[name_of(child)], groups.get(name_of(child)))
        if gvk_of(child) != kinds.DEPLOYMENT:
            return child
        found = _pace_deployment(child, plan, pace)
        return pause_deployment(found, live) if is_paused and live is not None and count_running_pods(live) else found

    workloads = tuple(map(apply, built.workloads))
    if all(new is old for new, old in zip(workloads, built.workloads, strict=True)):
        return built
    return replace(built, children=Children(map(apply, built.children)), workloads=workloads)


def _pace_deployment(child: Manifest, plan: ComponentPlan, pace: RolloutPace | None) -> Manifest:
    if pace is None or plan.strategy == RECREATE:
        return restore_availability(child, plan.strategy)
    found = restore_availability(child, plan.strategy)
    return delay_availability(found, pace_strategy(plan.strategy, plan.replicas, kept=pace.kept, most=pace.most))


def _pace_groups(child: Manifest, size: int, pace: RolloutPace | None) -> Manifest:
    found = release_groups(child, size)
    return found if pace is None else keep_groups(found, kept=pace.kept, extra=pace.most - size)


def _share_pace(sizes: Mapping[str, int], pace: RolloutPace | None) -> Mapping[str, RolloutPace]:
    """By LeaderWorkerSet its part of the pace of all; {} without any. Each of several has one group.

    The first ones keep theirs, and have the additional ones.
    """
    if pace is None:
        return {}
    firsts = [0, *accumulate(sizes.values())]
    extra = max(0, pace.most - sum(sizes.values()))
    return {
        name: RolloutPace(
            kept=max(0, min(size, pace.kept - first)),
            most=size + extra // len(sizes) + (number < extra % len(sizes)),
        )
        for number, (first, (name, size)) in enumerate(zip(firsts, sizes.items(), strict=False))
    }
