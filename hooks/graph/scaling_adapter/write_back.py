"""Whether an adapter's replicas are to be written into its graph's spec, where a planner reads them.

The graph's own hook renders an adapter's replicas whatever the graph's spec says, so this changes no pod. It is asked
for by the adapter's sync and not by the graph's: what an autoscaler wrote is the adapter's, which that sync has from
the adapter itself, while the graph's sees adapters as children, perhaps one write old. How old the related graph is
does no harm: the effect is carried out only where the live graph differs.

Source: Dynamo operator, internal/controller/dynamographdeploymentscalingadapter_controller.go, which always writes.
"""

from dataclasses import dataclass

from hooks.api.scaling_adapter import GraphScalingAdapter
from hooks.effects import Event, WriteBackReplicas
from hooks.graph.scaling_adapter.observe import Graph, Service
from hooks.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBack:
    """The effect, None where there is nothing to write; `remark` is a sentence for the user, or empty."""

    effect: WriteBackReplicas | None = None
    remark: str = ""


def plan_write_back(
    adapter: GraphScalingAdapter, graph: Graph, service: Service, settings: Settings, *, failed: Event
) -> WriteBack:
    """Compare the replicas of an adapter that is in force with its graph's; `failed` is told where that fails."""
    asked, reference = adapter.spec.replicas, adapter.spec.dgd_ref
    if service.own_replicas == asked:
        return WriteBack()
    field = f"spec.services[{reference.service_name}].replicas of the graph"
    if settings.effect_write_back == "always" or (settings.effect_write_back == "planner" and graph.has_planner):
        effect = WriteBackReplicas(
            graph=reference.name,
            namespace=adapter.metadata.namespace,
            service=reference.service_name,
            replicas=asked,
            if_failed=failed,
        )
        return WriteBack(effect=effect, remark=f"{field} is being set from {service.own_replicas} to {asked}")
    if graph.has_planner:
        left = f"{field} stays {service.own_replicas}, which the planner reads"
        return WriteBack(remark=f"{left}, as the setting effect_write_back is off")
    return WriteBack()
