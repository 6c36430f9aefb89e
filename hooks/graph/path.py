"""Which path a graph takes, Grove or components, and which objects of the other path must be deleted first.

Old and new pods together would need twice the GPUs, and both paths use the same names for Services.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from hooks import contract
from hooks.api.graph import GraphDeployment
from hooks.graph.observe import ObservedGraph
from hooks.identity import component_name
from hooks.k8s import kinds
from hooks.k8s.names import to_dns_label
from hooks.k8s.types import GroupVersionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPlan:
    """The path; `blocked_by` is half a sentence about the rest of the other path, empty if nothing is left."""

    takes_grove: bool
    blocked_by: str


def plan_path(graph: GraphDeployment, seen: ObservedGraph) -> PathPlan:
    """Choose the path, and look for objects of the other one."""
    if takes_grove(graph.metadata.annotations, seen.installed):
        return PathPlan(takes_grove=True, blocked_by=_find_components(seen))
    return PathPlan(takes_grove=False, blocked_by=_find_grove(graph, seen))


def takes_grove(annotations: Mapping[str, str], installed: Set[GroupVersionKind]) -> bool:
    """Whether Grove runs a graph: PodCliqueSet is declared, and the graph's annotation is not `false`.

    Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go, isGrovePathway.
    """
    return may_take_grove(annotations) and kinds.POD_CLIQUE_SET in installed


def may_take_grove(annotations: Mapping[str, str]) -> bool:
    """Whether Grove runs the graph if Grove is installed."""
    return annotations.get(contract.ANNOTATION_ENABLE_GROVE, "").lower() != "false"


def _find_components(seen: ObservedGraph) -> str:
    names = ", ".join(sorted(seen.components))
    return f"it waits until {contract.COMPONENT.kind} {names} is gone" if names else ""


def _find_grove(graph: GraphDeployment, seen: ObservedGraph) -> str:
    """The rest of Grove's objects; once components exist, only the graph's own PodCliqueSet counts.

    Other objects may carry the graph's name in a label without belonging to it. They must not stop a running graph.
    """
    grove, name = seen.grove, graph.metadata.name
    if grove.pod_clique_set is not None:
        return f"it waits until {kinds.POD_CLIQUE_SET.kind} {name} is gone"
    if seen.components:
        return ""
    if grove.scalables:
        kind, part = min(grove.scalables)
        return f"it waits until {kind} {part} is gone"
    components = [component_name(name, service) for service in graph.spec.services]
    ours = {(kinds.SERVICE.kind, to_dns_label(component)) for component in components}
    ours |= {(kind.kind, c) for kind in (kinds.INGRESS, kinds.VIRTUAL_SERVICE) for c in components}
    if left := sorted(ours & grove.exposing):
        kind, part = left[0]
        return f"it waits until {kind} {part} is gone"
    return ""
