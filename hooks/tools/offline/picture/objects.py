"""Which pictures a set of objects leads to: one for each graph, and one for components that find each other."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hooks.component.spec.subject import base_model_of, namespace_of
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.types import Manifest, ReadManifest, gvk_of
from hooks.language.api.base import parse_parent
from hooks.language.api.component import ComponentDeployment
from hooks.language.api.graph import GraphDeployment
from hooks.language.api.model import Model
from hooks.tools.offline.picture.models import read_models
from hooks.tools.offline.picture.parts import Picture
from hooks.tools.offline.picture.plan import Surroundings, draw_components, draw_graph
from hooks.tools.offline.rendering import Rendered
from hooks.wire.policy.identity import model_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The pictures, in the order of the objects; `remarks` are sentences about objects that are in none."""

    pictures: tuple[Picture, ...]
    remarks: tuple[str, ...]


def draw_rendered(rendered: Sequence[Rendered], around: Surroundings, *, spare: frozenset[str] = frozenset()) -> Drawn:
    """Draw all graphs and components of documents that were rendered without problems, and graphs of requests.

    `spare` are further optional kinds, which count as declared for graphs that cannot be planned without them.

    Raises:
        InvalidSpec: one of them cannot be planned.
    """
    graphs = list(_find_graphs(rendered))
    components = [one.source for one in rendered if gvk_of(one.source) == contract.COMPONENT]
    models = read_models(one.source for one in rendered if gvk_of(one.source) == contract.MODEL)
    within = replace(around, models=models)
    pictures = (
        *(_draw_graph(graph, within, spare) for graph in graphs),
        *(draw_components(group, within) for group in _group(components)),
    )
    return Drawn(pictures=pictures, remarks=(*_find_requests(rendered), *_find_unserved(models, graphs, components)))


def _draw_graph(graph: Manifest, around: Surroundings, spare: frozenset[str]) -> Picture:
    try:
        return draw_graph(graph, around)
    except InvalidSpec:
        if not spare:
            raise
    return draw_graph(graph, replace(around, installed=around.installed | spare))


def _find_unserved(
    models: Iterable[Model], graphs: Iterable[ReadManifest], components: Iterable[ReadManifest]
) -> Iterator[str]:
    """Models that are in no picture, because no service names their base."""
    served = {
        (graph["metadata"]["namespace"], model_hash(base_model_of(service)))
        for graph in graphs
        for service in parse_parent(GraphDeployment, graph).spec.services.values()
    } | {
        (one["metadata"]["namespace"], model_hash(base_model_of(parse_parent(ComponentDeployment, one).spec)))
        for one in components
    }
    for model in models:
        base, metadata = model.spec.base_model_name, model.metadata
        if (metadata.namespace, model_hash(base)) not in served:
            yield f"DynamoModel {metadata.name} is not shown: no service of these files names {base} in modelRef"


def _find_graphs(rendered: Iterable[Rendered]) -> Iterator[Manifest]:
    """The graphs among the documents, and those that requests lead to."""
    for one in rendered:
        if gvk_of(one.source) == contract.GRAPH:
            yield dict(one.source)
            continue
        for child in one.children:
            if gvk_of(child) == contract.GRAPH:
                metadata = {"namespace": one.source["metadata"]["namespace"], **child["metadata"]}
                yield {**child, "metadata": metadata}


def _find_requests(rendered: Iterable[Rendered]) -> Iterator[str]:
    """Requests whose graph is not known yet."""
    for one in rendered:
        is_request = gvk_of(one.source) == contract.GRAPH_REQUEST
        if is_request and all(gvk_of(child) != contract.GRAPH for child in one.children):
            name = one.source["metadata"]["name"]
            yield f"{contract.GRAPH_REQUEST.kind} {name} has no graph yet: its profiler decides what the graph is"


def _group(components: Iterable[ReadManifest]) -> list[tuple[Manifest, ...]]:
    """The components by namespace and Dynamo namespace, in which they find each other."""
    groups: dict[tuple[str, str], tuple[Manifest, ...]] = {}
    for manifest in components:
        component = parse_parent(ComponentDeployment, manifest)
        key = (component.metadata.namespace, namespace_of(component))
        groups[key] = (*groups.get(key, ()), dict(manifest))
    return list(groups.values())
