"""What clients of Dynamo 1.x read of a graph's services in its status, from the graph's own spec.

The status of a component is not asked for it, because that may still be about an earlier spec of the graph.
"""

from collections.abc import Iterable, Mapping

from hooks.component.spec.projection import project
from hooks.graph.spec.components import GraphServicePlan, read_configured
from hooks.graph.spec.service_metadata import namespace_of
from hooks.ground.k8s.types import Json
from hooks.language.api.component_spec import PodMetadata
from hooks.language.api.graph import GraphDeployment


def project_services(graph: GraphDeployment, components: Iterable[GraphServicePlan]) -> dict[str, Mapping[str, Json]]:
    """By service the same fields that its component, or its PodCliques, would have in a status of their own."""
    return {component.service: _project(graph, component) for component in components}


def _project(graph: GraphDeployment, component: GraphServicePlan) -> dict[str, Json]:
    spec, _ = read_configured(graph, component.service)
    metadata = component.spec.get("extraPodMetadata")
    whole = spec.model_copy(
        update={
            "envs": tuple(component.spec.get("envs") or ()),
            "extra_pod_metadata": None if metadata is None else PodMetadata.model_validate(metadata),
        }
    )
    return project(whole, namespace_of(graph, spec))
