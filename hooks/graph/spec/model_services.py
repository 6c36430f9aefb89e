"""Headless Services over the pods of a graph that serve a base model, one per model.

Source: Dynamo operator, internal/modelendpoint/headless_service.go. Its Service is shared by all graphs of a namespace;
ours selects one graph's pods, because two parents cannot own one object.
"""

from dataclasses import dataclass

from hooks.component.plan.exposure import build_model_service as build_service_of_model
from hooks.component.spec.subject import base_model_of
from hooks.graph.spec.ports import model_port
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.language.api.graph import GraphDeployment
from hooks.wire.policy import identity


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServicePlan:
    """The Service over one graph's endpoints of one base model; `port` is that of their system servers."""

    namespace: str
    graph: str
    model: str
    port: int | str


def plan_model_services(graph: GraphDeployment) -> tuple[ModelServicePlan, ...]:
    """One Service for each model that services refer to, sorted by model."""
    models = sorted({base_model_of(spec) for spec in graph.spec.services.values()} - {""})
    # Models with equal hashes share a Service, because they share the label that it selects.
    distinct = {identity.model_hash(model): model for model in reversed(models)}
    name, namespace = graph.metadata.name, graph.metadata.namespace
    return tuple(
        ModelServicePlan(namespace=namespace, graph=name, model=m, port=model_port(graph, m))
        for m in sorted(distinct.values())
    )


def build_model_service(plan: ModelServicePlan) -> Manifest:
    """Build the headless Service; it selects by the model and the graph."""
    selector = {contract.LABEL_GRAPH: plan.graph}
    return build_service_of_model(plan.graph, plan.namespace, plan.model, selector=selector, port=plan.port)
