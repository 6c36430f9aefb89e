"""Decides which workloads of a graph wait with new defaults, and what stays as it was last applied beside them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from hooks.component.spec.subject import ComponentType
from hooks.graph.grove.plan import with_set
from hooks.graph.grove.scaling import NEVER
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.seen.observe import ObservedGraph
from hooks.graph.seen.worker_labels import LivePool
from hooks.graph.spec.namespace_prefix import TAKEN
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, ReadManifest, annotations_of, gvk_of, labels_of, name_of, sort_manifests
from hooks.ground.settings import Settings
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy import identity
from hooks.wire.policy.new_defaults import (
    MARKED,
    NOW,
    find_held,
    find_unwanted,
    index_children,
    keep_applied,
    keep_following,
    keep_live_mark,
    takes_new_defaults,
)
from hooks.wire.policy.rendering_mark import digest_graph, digest_service, mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A plan and its children with what is held; `held` names the workloads that wait with new defaults."""

    plan: GraphPlan
    children: Children
    held: tuple[str, ...] = ()


def mark_workloads(
    plan: GraphPlan, children: Iterable[Manifest], graph: ReadManifest, restarts: Mapping[str, str]
) -> list[Manifest]:
    """The children with marked workloads; `restarts` is by service the id of the restart that its pods get.

    Components also get the graph's annotation that lets new defaults in now.
    """
    services = {component.name: component.service for component in plan.components}
    is_now = annotations_of(graph).get(contract.ANNOTATION_ROLLOUT) == NOW
    found: list[Manifest] = []
    for child in children:
        match child["kind"]:
            case kinds.POD_CLIQUE_SET.kind:
                found.append(mark(child, digest_graph(graph, restarts)))
            case contract.COMPONENT.kind:
                service = services[name_of(child)]
                marked = mark(child, digest_service(graph, service, restarts.get(service, "")))
                found.append(_ask(marked) if is_now else marked)
            case _:
                found.append(child)
    return found


def hold_graph(
    plan: GraphPlan,
    children: Children,
    request: SyncRequest,
    *,
    seen: ObservedGraph,
    settings: Settings,
    waiting: Collection[str] = (),
) -> Holding:
    """The plan and the children with held workloads, and what belongs to their pods, as they were last applied.

    `waiting` are services whose components stay as they were last applied until others are ready for the change.
    """
    plan, children = _keep_waiting(plan, _keep_live_marks(children, request), request, waiting)
    held = {} if takes_new_defaults(request.parent, settings) else _find_held(plan, children, request, seen)
    if not held:
        return Holding(plan=plan, children=children)
    observed = index_children(request.children.all())
    chosen = [held.get(name_of(child), child) if _is_workload(child) else child for child in children]
    following = [child for child in chosen if not _is_workload(child) and _belongs_to(child, plan, held)]
    kept = {id(child): new for child, new in zip(following, keep_following(following, observed), strict=True)}
    wanted = [kept.get(id(child), child) for child in chosen]
    # A PodCliqueSet is held only while the whole graph is as it was, so nothing else can have become unwanted.
    left = find_unwanted(wanted, observed) if plan.grove is not None else []
    return Holding(
        plan=_with_held(plan, held, seen, settings),
        children=Children(sort_manifests([*wanted, *left])),
        held=tuple(sorted(held)),
    )


def _keep_waiting(
    plan: GraphPlan, children: Children, request: SyncRequest, waiting: Collection[str]
) -> tuple[GraphPlan, Children]:
    names = {one.name for one in plan.components if one.service in waiting}
    if not names:
        return plan, children
    namespace = request.parent["metadata"]["namespace"]
    kept = {
        name_of(child): found
        for child in children
        if gvk_of(child) == contract.COMPONENT
        and name_of(child) in names
        and (found := keep_applied(child, request.children.get(contract.COMPONENT, name_of(child), namespace)))
    }
    chosen = (kept.get(name_of(child), child) if gvk_of(child) == contract.COMPONENT else child for child in children)
    return _with_specs(plan, kept), Children(chosen)


def _ask(component: Manifest) -> Manifest:
    annotations = {**annotations_of(component), contract.ANNOTATION_ROLLOUT: NOW}
    return {**component, "metadata": {**component["metadata"], "annotations": dict(sorted(annotations.items()))}}


def _is_workload(child: ReadManifest) -> bool:
    return gvk_of(child) in MARKED


def _find_held(
    plan: GraphPlan, children: Iterable[Manifest], request: SyncRequest, seen: ObservedGraph
) -> dict[str, Manifest]:
    """The held workloads as they are returned, by name."""
    namespace = request.parent["metadata"]["namespace"]
    found: dict[str, Manifest] = {}
    for child in children:
        if _is_workload(child) and _has_ready_pods(child, plan, seen):
            held = find_held(child, request.children.get(gvk_of(child), name_of(child), namespace))
            if held is not None and not _is_told(child, held) and not _needs_class(child, held, request, seen):
                found[name_of(child)] = _with_delay(held, child) if plan.grove is not None else held
    return found


def _with_delay(held: Manifest, wanted: ReadManifest) -> Manifest:
    """A held PodCliqueSet whose termination delay follows a service at 0, which restarts nothing."""
    spec, now = held["spec"], wanted["spec"]["template"].get("terminationDelay")
    if NEVER not in {now, spec["template"].get("terminationDelay")}:
        return held
    template = {key: value for key, value in {**spec["template"], "terminationDelay": now}.items() if value is not None}
    return {**held, "spec": {**spec, "template": template}}


def _is_told(wanted: ReadManifest, held: ReadManifest) -> bool:
    """Whether a component gets another generation, or is told that its frontends need the prefix.

    Both follow from changes of other services, which the digest of a component does not have.
    """
    if gvk_of(wanted) != contract.COMPONENT:
        return False
    suffixes = {labels_of(one).get(contract.LABEL_WORKER_HASH, "") for one in (wanted, held)}
    return len(suffixes) > 1 or (_is_announced(wanted) and not _is_announced(held))


def _is_announced(component: ReadManifest) -> bool:
    return (component["spec"].get("annotations") or {}).get(contract.ANNOTATION_NAMESPACE_PREFIX) == TAKEN


def _needs_class(wanted: ReadManifest, held: ReadManifest, request: SyncRequest, seen: ObservedGraph) -> bool:
    """Whether a picker that is new to the graph finds these workers only by a label that they do not have yet.

    The digest of a worker has nothing of the picker, so it does not show that the graph got one.
    """
    if not _has_class(wanted) or _has_class(held) or seen.pool is LivePool.BY_TYPE:
        return False
    components = request.children.of(contract.COMPONENT)
    had_picker = any((one.get("spec") or {}).get("componentType") == ComponentType.EPP for one in components)
    return seen.pool is LivePool.BY_CLASS or not had_picker


def _has_class(component: ReadManifest) -> bool:
    return contract.LABEL_COMPONENT_CLASS in (component["spec"].get("labels") or {})


def _keep_live_marks(children: Children, request: SyncRequest) -> Children:
    """The children; the same object, with what it caches, unless a mark is kept."""
    namespace = request.parent["metadata"]["namespace"]
    kept = [
        keep_live_mark(child, request.children.get(gvk_of(child), name_of(child), namespace))
        if _is_workload(child)
        else child
        for child in children
    ]
    return Children(kept) if any(new is not old for new, old in zip(kept, children, strict=True)) else children


def _has_ready_pods(workload: ReadManifest, plan: GraphPlan, seen: ObservedGraph) -> bool:
    if plan.grove is None:
        component = seen.components.get(name_of(workload))
        return component is not None and component.has_ready_pods
    # Also the cliques of a scaling group: its own status follows theirs, and may still say that none is available.
    return any(part.available > 0 for part in seen.grove.scalables.values())


def _belongs_to(child: ReadManifest, plan: GraphPlan, held: Mapping[str, Manifest]) -> bool:
    """Whether an object belongs to the pods of a held workload.

    The objects of the endpoint picker and of the planner follow from the spec of that service alone.
    """
    type_ = _owners(plan.name).get(name_of(child))
    if plan.grove is not None or type_ is None:
        return True
    owners = (one.name for one in plan.components if one.spec.get("componentType") == type_.value)
    return any(name in held for name in owners)


def _owners(graph: str) -> dict[str, ComponentType]:
    """Objects that follow from the services of one type: name to type."""
    epp, planner = identity.epp_account(graph), identity.planner_account(graph)
    of_picker = (identity.epp_config_map(graph), identity.epp_pool(graph), epp, f"{epp}-role")
    return {**dict.fromkeys(of_picker, ComponentType.EPP), planner: ComponentType.PLANNER}


def _with_held(plan: GraphPlan, held: Mapping[str, Manifest], seen: ObservedGraph, settings: Settings) -> GraphPlan:
    """The plan with the specs of held workloads, which progress is measured against."""
    notes = (*plan.notes, *(f"{name} waits with new defaults" for name in sorted(held)))
    if plan.grove is not None:
        return replace(plan, grove=with_set(plan.grove, held[plan.grove.name], seen.grove, settings), notes=notes)
    return replace(_with_specs(plan, held), notes=notes)


def _with_specs(plan: GraphPlan, kept: Mapping[str, Manifest]) -> GraphPlan:
    components = tuple(
        replace(one, spec=kept[one.name]["spec"]) if one.name in kept else one for one in plan.components
    )
    return replace(plan, components=components)
