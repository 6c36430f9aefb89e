"""When a graph's InferencePool changes from the type of workers to their class: once every worker pod has the class.

Until then the old selector finds them all, because existing workers keep their type, and so do new ones beside them.
"""

from hooks.graph.plan.graph import GraphPlan
from hooks.graph.seen.observe import ChildComponent, ObservedGraph
from hooks.graph.seen.worker_labels import LivePool, has_class_in_all_cliques
from hooks.graph.spec.inference_pool import select_workers
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove_parts import why_unready
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.children import Children


def choose_selector(plan: GraphPlan, children: Children, seen: ObservedGraph) -> Children:
    """The children with the selector that finds all workers; the same object unless the pool changes."""
    if plan.picker is None or seen.pool is LivePool.NONE:
        return children
    by_class = seen.pool is LivePool.BY_CLASS or _all_have_class(plan, seen)
    selector = {"matchLabels": select_workers(plan.picker, by_class=by_class)}
    chosen = [_with_selector(child, selector) for child in children]
    return Children(chosen) if any(new is not old for new, old in zip(chosen, children, strict=True)) else children


def _with_selector(child: Manifest, selector: dict[str, dict[str, str]]) -> Manifest:
    if child["kind"] != kinds.INFERENCE_POOL.kind or child["spec"].get("selector") == selector:
        return child
    return {**child, "spec": {**child["spec"], "selector": selector}}


def _all_have_class(plan: GraphPlan, seen: ObservedGraph) -> bool:
    """Whether each worker's pods are of a template with the class; pods of an earlier one may still end."""
    workers = [one for one in plan.components if contract.LABEL_COMPONENT_CLASS in one.labels]
    if plan.blocked_by:
        return False
    if plan.grove is None:
        return all(_is_settled(seen.components.get(one.name)) for one in workers)
    existing, names = seen.grove.pod_clique_set, {one.service for one in workers}
    if existing is None or existing.is_deleting or not seen.grove.is_processed():
        return False
    scalables = (
        seen.grove.scalables.get((one.kind, one.target)) for one in plan.grove.services if one.service in names
    )
    return has_class_in_all_cliques(existing.spec, names) and not any(map(why_unready, scalables))


def _is_settled(component: ChildComponent | None) -> bool:
    if component is None or component.is_deleting or component.is_held:
        return False
    is_processed = component.observed_generation >= component.generation
    has_class = contract.LABEL_COMPONENT_CLASS in (component.spec.get("labels") or {})
    return has_class and is_processed and component.is_available and not component.unready
