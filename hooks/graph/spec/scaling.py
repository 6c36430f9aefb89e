"""Scaling adapters: which services have one, and how many replicas it asks for.

While a service's adapter is enabled, the adapter's `spec.replicas` counts; the graph's field is only the initial value.

Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go, reconcileScalingAdapters.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, build_manifest, build_metadata
from hooks.language.api.graph import GraphDeployment
from hooks.wire.policy import identity


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterPlan:
    """An adapter of one service and the replicas that it asks for."""

    service: str
    name: str
    graph: str
    namespace: str
    replicas: int
    is_new: bool


def plan_adapters(graph: GraphDeployment, observed: Mapping[str, int]) -> tuple[AdapterPlan, ...]:
    """The adapters of all services that enable one, sorted by service; `observed` are replicas by adapter's name."""
    return tuple(
        _plan_adapter(graph, service, observed)
        for service, spec in sorted(graph.spec.services.items())
        if spec.scaling_adapter is not None and spec.scaling_adapter.enabled
    )


def keep_adapters(
    graph: GraphDeployment, observed: Mapping[str, int], services: Iterable[str]
) -> tuple[AdapterPlan, ...]:
    """The adapters of services that no longer enable one, unchanged."""
    return tuple(_plan_adapter(graph, service, observed) for service in services)


def build_adapter(plan: AdapterPlan) -> Manifest:
    """Build the adapter; an existing adapter is never updated (OnDelete), so an autoscaler's value stays."""
    labels = {contract.LABEL_GRAPH: plan.graph, contract.LABEL_COMPONENT: plan.service}
    spec = {"replicas": plan.replicas, "dgdRef": {"name": plan.graph, "serviceName": plan.service}}
    return build_manifest(contract.SCALING_ADAPTER, build_metadata(plan.name, plan.namespace, labels=labels), spec=spec)


def _plan_adapter(graph: GraphDeployment, service: str, observed: Mapping[str, int]) -> AdapterPlan:
    name, spec = identity.component_name(graph.metadata.name, service), graph.spec.services[service]
    begun_with = 1 if spec.replicas is None else spec.replicas
    # An endpoint picker is one pod for the whole graph; an autoscaler cannot change that.
    is_picker = spec.component_type == ComponentType.EPP
    return AdapterPlan(
        service=service,
        name=name,
        graph=graph.metadata.name,
        namespace=graph.metadata.namespace,
        replicas=1 if is_picker else observed.get(name, begun_with),
        is_new=name not in observed,
    )
