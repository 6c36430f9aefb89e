"""The Deployment of a worker that rolls together with others, at the pace that its graph writes into an annotation."""

from dataclasses import replace

from hooks.component.build import Built
from hooks.component.plan.component import ComponentPlan
from hooks.component.plan.strategy import pace_strategy
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, ReadManifest, annotations_of, gvk_of
from hooks.ground.k8s.workloads import RECREATE, delay_availability, restore_availability
from hooks.wire.metacontroller.children import Children
from hooks.wire.policy.rollout_pace import read_pace


def pace_workload(built: Built, plan: ComponentPlan, component: ReadManifest) -> Built:
    """The children with a Deployment that keeps as many old pods as the component says; the same object without any.

    A Deployment that waits with new defaults is what was last applied, and may have an earlier pace.
    """
    pace = read_pace(annotations_of(component).get(contract.ANNOTATION_PACE, ""))

    def apply(child: Manifest) -> Manifest:
        if gvk_of(child) != kinds.DEPLOYMENT:
            return child
        if pace is None or plan.strategy == RECREATE:
            return restore_availability(child, plan.strategy)
        return delay_availability(child, pace_strategy(plan.strategy, plan.replicas, kept=pace.kept, most=pace.most))

    workloads = tuple(map(apply, built.workloads))
    if all(new is old for new, old in zip(workloads, built.workloads, strict=True)):
        return built
    return replace(built, children=Children(map(apply, built.children)), workloads=workloads)
