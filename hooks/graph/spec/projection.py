"""What clients of Dynamo 1.x read of a graph's services in its status, from the graph's own spec.

The status of a component is not asked for it, because that may still be about an earlier spec of the graph.
"""

from collections.abc import Mapping

from hooks.component.spec.projection import project
from hooks.graph.spec.components import GraphServicePlan, read_configured
from hooks.graph.spec.service_metadata import namespace_of
from hooks.ground.k8s.types import Json
from hooks.language.api.component_spec import ComponentSpec, PodMetadata
from hooks.language.api.graph import GraphDeployment


def project_services(graph: GraphDeployment, specs: Mapping[str, ComponentSpec]) -> dict[str, Mapping[str, Json]]:
    """By service the same fields that its component, or its PodCliques, would have in a status of their own."""
    return {service: project(spec, namespace_of(graph, spec)) for service, spec in specs.items()}


def read_planned(graph: GraphDeployment, component: GraphServicePlan) -> ComponentSpec:
    """The service's spec with what its component gets of the graph: variables, and the metadata of its pods."""
    metadata = component.spec.get("extraPodMetadata")
    return read_configured(graph, component.service)[0].model_copy(
        update={
            "envs": tuple(component.spec.get("envs") or ()),
            "extra_pod_metadata": None if metadata is None else PodMetadata.model_validate(metadata),
        }
    )
