"""Decides whether an adapter's replicas are written into its graph's spec, for planners that read them there.

The graph's hook renders an adapter's replicas and ignores those of the spec, so the write changes no pod. The adapter's
sync causes it, not the graph's: it has the latest replicas from the adapter itself, while the graph's sync may see the
adapter one write late. An outdated related graph does no harm: the effect writes only where the live graph differs.

Source: Dynamo operator, internal/controller/dynamographdeploymentscalingadapter_controller.go, which always writes.
"""

from dataclasses import dataclass

from hooks.adapter.seen.observe import ScaledGraph, ScaledService
from hooks.ground.settings import Settings
from hooks.language.api.scaling_adapter import GraphScalingAdapter
from hooks.wire.metacontroller.effects import Event, WriteBackReplicas


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBack:
    """The effect, None if there is nothing to write; `remark` is a sentence for the user, or empty."""

    effect: WriteBackReplicas | None = None
    remark: str = ""


def plan_write_back(
    adapter: GraphScalingAdapter, graph: ScaledGraph, service: ScaledService, settings: Settings, *, failed: Event
) -> WriteBack:
    """Compare the adapter's replicas, which it controls, with the graph's; `failed` is the Event of a failed write."""
    wanted, reference = adapter.spec.replicas, adapter.spec.dgd_ref
    if service.spec_replicas == wanted:
        return WriteBack()
    field = f"spec.services[{reference.service_name}].replicas of the graph"
    if settings.effect_write_back == "always" or (settings.effect_write_back == "planner" and graph.has_planner):
        effect = WriteBackReplicas(
            graph=reference.name,
            namespace=adapter.metadata.namespace,
            service=reference.service_name,
            replicas=wanted,
            if_failed=failed,
        )
        return WriteBack(effect=effect, remark=f"{field} is being set from {service.spec_replicas} to {wanted}")
    if graph.has_planner:
        text = f"{field} stays {service.spec_replicas}, and the planner reads it: the setting effect_write_back is off"
        return WriteBack(remark=text)
    return WriteBack()
