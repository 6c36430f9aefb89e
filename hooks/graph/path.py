"""Which way a graph takes, Grove or components, and what of the other way must be gone before.

Old and new pods side by side would ask for twice the GPUs, and both ways use the same names of Services.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from hooks import contract
from hooks.api.graph import GraphDeployment
from hooks.graph.observe import Observed
from hooks.identity import component_name
from hooks.k8s import kinds
from hooks.k8s.names import to_dns_label
from hooks.k8s.types import GroupVersionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPlan:
    """The way taken; `waits_for` is half a sentence, empty where nothing is in the way."""

    takes_grove: bool
    waits_for: str


def plan_path(graph: GraphDeployment, seen: Observed) -> PathPlan:
    """Choose the way and look for what the other one left."""
    if takes_grove(graph.metadata.annotations, seen.installed):
        return PathPlan(takes_grove=True, waits_for=_find_components(seen))
    return PathPlan(takes_grove=False, waits_for=_find_grove(graph, seen))


def takes_grove(annotations: Mapping[str, str], installed: Set[GroupVersionKind]) -> bool:
    """Whether Grove runs a graph: its kind is declared, and the graph's annotation is anything but `false`.

    Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go, isGrovePathway.
    """
    return may_take_grove(annotations) and kinds.POD_CLIQUE_SET in installed


def may_take_grove(annotations: Mapping[str, str]) -> bool:
    """Whether Grove runs a graph where it is installed."""
    return annotations.get(contract.ANNOTATION_ENABLE_GROVE, "").lower() != "false"


def _find_components(seen: Observed) -> str:
    names = ", ".join(sorted(seen.components))
    return f"it waits until {contract.COMPONENT.kind} {names} is gone" if names else ""


def _find_grove(graph: GraphDeployment, seen: Observed) -> str:
    """What components wait for; once they exist only for the graph's own set, as leftovers can be somebody else's.

    Whatever else carries the graph's name in a label would otherwise stop a graph that runs.
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
