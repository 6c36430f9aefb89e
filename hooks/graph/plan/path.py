"""Which path a graph takes, Grove or components, and which objects of the other path must be deleted first.

A new graph takes Grove if PodCliqueSet is declared. A graph that runs stays on its path: installing Grove restarts no
pod. Only the annotation `nvidia.com/enable-grove` moves it, and it counts for as long as it stands there: so a move
makes the same choice at each sync, also when the objects of one path are gone and those of the other do not exist yet.

Old and new pods together would need twice the GPUs, and both paths use the same names for Services.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from hooks.graph.seen.live_path import GraphPath
from hooks.graph.seen.observe import ObservedGraph
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.names import to_dns_label
from hooks.ground.k8s.types import GroupVersionKind
from hooks.language.api.graph import GraphDeployment
from hooks.wire.policy.identity import component_name

WORKLOAD_PROVIDERS = ("component", "grove")
_ANNOTATION = contract.ANNOTATION_ENABLE_GROVE


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPlan:
    """The path, and a note that says why.

    `blocked_by` is half a sentence about the rest of the other path, empty if nothing is left; `warnings` are for the
    user.
    """

    takes_grove: bool
    blocked_by: str
    note: str
    warnings: tuple[str, ...] = ()


def plan_path(graph: GraphDeployment, seen: ObservedGraph) -> PathPlan:
    """Choose the path, and look for objects of the other one."""
    annotations = graph.metadata.annotations
    by_grove = takes_grove(annotations, seen.installed, seen.live_path)
    left = _find_components(seen) if by_grove else _find_grove(graph, seen)
    return PathPlan(
        takes_grove=by_grove,
        blocked_by=_explain_wait(annotations, left, by_grove=by_grove) if left else "",
        note=_explain_choice(annotations, seen, by_grove=by_grove),
        warnings=_find_idle_annotation(annotations, seen),
    )


def takes_grove(
    annotations: Mapping[str, str], installed: Set[GroupVersionKind], live_path: GraphPath | None = None
) -> bool:
    """Whether Grove runs a graph that runs on the path `live_path` already; None for a new graph.

    Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go, isGrovePathway, which moves a
    running graph when Grove is installed.
    """
    if kinds.POD_CLIQUE_SET not in installed:
        return False
    chosen = wanted_path(annotations) or live_path or _path_of_provider(annotations)
    return chosen is not GraphPath.COMPONENTS


def may_take_grove(annotations: Mapping[str, str]) -> bool:
    """Whether Grove runs a new graph if Grove is installed."""
    return (wanted_path(annotations) or _path_of_provider(annotations)) is not GraphPath.COMPONENTS


def _path_of_provider(annotations: Mapping[str, str]) -> GraphPath | None:
    """The path on which a Go operator ran the graph; it counts only for a graph that is new here."""
    is_component = annotations.get(contract.ANNOTATION_WORKLOAD_PROVIDER) == WORKLOAD_PROVIDERS[0]
    return GraphPath.COMPONENTS if is_component else None


def wanted_path(annotations: Mapping[str, str]) -> GraphPath | None:
    """The path that the graph's annotation asks for; None if it is absent, or neither true nor false."""
    match annotations.get(_ANNOTATION, "").lower():
        case "true":
            return GraphPath.GROVE
        case "false":
            return GraphPath.COMPONENTS
        case _:
            return None


def _explain_wait(annotations: Mapping[str, str], left: str, *, by_grove: bool) -> str:
    waits = f"it waits until {left} is gone"
    if wanted_path(annotations) is not (GraphPath.GROVE if by_grove else GraphPath.COMPONENTS):
        return waits
    way = "from components to Grove" if by_grove else "from Grove to components"
    return f'it moves {way}, because its annotation {_ANNOTATION} is "{annotations[_ANNOTATION]}": {waits}'


def _explain_choice(annotations: Mapping[str, str], seen: ObservedGraph, *, by_grove: bool) -> str:
    path = f"path: {GraphPath.GROVE if by_grove else GraphPath.COMPONENTS}"
    if kinds.POD_CLIQUE_SET not in seen.installed:
        return f"{path}, as Grove is not declared"
    if wanted_path(annotations) is not None:
        return f"{path}, by the annotation {_ANNOTATION}"
    if seen.live_path is None:
        return path
    return f'{path}, on which the graph runs already; {_ANNOTATION}: "{str(not by_grove).lower()}" moves it'


def _find_idle_annotation(annotations: Mapping[str, str], seen: ObservedGraph) -> tuple[str, ...]:
    """The warning that the annotation asks for a Grove that is not there."""
    if wanted_path(annotations) is not GraphPath.GROVE or kinds.POD_CLIQUE_SET in seen.installed:
        return ()
    given = f'metadata.annotations[{_ANNOTATION}] is "{annotations[_ANNOTATION]}"'
    reason = "the controller dynamo-graph does not declare PodCliqueSet"
    remedy = "install Grove, then run helm upgrade or apply dynamo-hooks controllers --with grove"
    return (f"{given} and has no effect, because {reason}: {remedy}",)


def _find_components(seen: ObservedGraph) -> str:
    names = ", ".join(sorted(seen.components))
    return f"{contract.COMPONENT.kind} {names}" if names else ""


def _find_grove(graph: GraphDeployment, seen: ObservedGraph) -> str:
    """The rest of Grove's objects; once components exist, only the graph's own PodCliqueSet counts.

    Other objects may carry the graph's name in a label without belonging to it. They must not stop a running graph.
    """
    grove, name = seen.grove, graph.metadata.name
    if grove.pod_clique_set is not None:
        return f"{kinds.POD_CLIQUE_SET.kind} {grove.set_name}"
    if seen.components:
        return ""
    if grove.scalables:
        kind, part = min(grove.scalables)
        return f"{kind} {part}"
    components = [component_name(name, service) for service in graph.spec.services]
    ours = {(kinds.SERVICE.kind, to_dns_label(component)) for component in components}
    ours |= {(kind.kind, c) for kind in (kinds.INGRESS, kinds.VIRTUAL_SERVICE) for c in components}
    if left := sorted(ours & grove.exposing):
        kind, part = left[0]
        return f"{kind} {part}"
    return ""
