"""Why a graph's services are not ready at the wanted spec, on either path."""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.component.explain import explain_rollout
from hooks.graph.applied import is_applied
from hooks.graph.components import GraphServicePlan
from hooks.graph.grove.progress import GroveProgress, find_unready, measure_grove
from hooks.graph.observe import ChildComponent, ObservedGraph
from hooks.graph.plan import GraphPlan
from hooks.k8s.not_ready import Explanation, NotReadyReason
from hooks.k8s.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphProgress:
    """How far the workloads of a graph have come.

    `unready` are the services that are not ready. `components` says by component's name why it is not ready; `grove` is
    the progress of Grove. Both are empty while no workload is returned.
    """

    unready: frozenset[str]
    components: Mapping[str, str]
    grove: GroveProgress | None


def measure_graph(plan: GraphPlan, seen: ObservedGraph) -> GraphProgress:
    """Compare the observed objects with the plan, by the rules of the condition Ready."""
    if plan.blocked_by:
        every = frozenset(component.service for component in plan.components)
        return GraphProgress(unready=every, components={}, grove=None)
    if plan.grove is not None:
        grove = measure_grove(plan.grove, seen.grove)
        return GraphProgress(unready=find_unready(plan.grove, grove), components={}, grove=grove)
    found = [(one, _why_unready(one, seen.components.get(one.name))) for one in plan.components]
    return GraphProgress(
        unready=frozenset(component.service for component, reason in found if reason),
        components={component.name: reason for component, reason in found if reason},
        grove=None,
    )


def _why_unready(plan: GraphServicePlan, seen: ChildComponent | None) -> str:
    """Why a component is not ready at the wanted spec; empty when it is.

    Upstream reads only the condition Available, so a changed graph still shows its old success for a moment.
    """
    if seen is None or seen.is_deleting:
        what = "resource not found" if seen is None else "it is being deleted"
        return f"{what} ({Explanation(reason=NotReadyReason.PROGRESSING)})"
    if not is_applied(plan.spec, live=seen.spec, applied=seen.applied_spec):
        return f"spec not yet applied ({explain_rollout()})"
    if seen.observed_generation < seen.generation:
        counts = f"generation={seen.generation}, observedGeneration={seen.observed_generation}"
        return f"spec not yet processed: {counts} ({explain_rollout()})"
    if not seen.is_available:
        detail = f" ({seen.message})" if seen.message else ""
        return f"Component deployment not ready - Available condition not true{detail}"
    if _init_containers(seen.spec) != _init_containers(plan.spec):
        return (
            "init containers were inserted or reordered; this cannot be applied to an existing object, delete it once"
        )
    return ""


def _init_containers(spec: Mapping[str, Json]) -> list[Json]:
    """Names in order: Metacontroller merges the list by name and keeps the order of the existing object."""
    found = (spec.get("extraPodSpec") or {}).get("initContainers")
    return [container.get("name") for container in found if isinstance(container, dict)] if found else []
