"""Reads a graph from a cluster with all that its picture shows: components, adapters and models. Writes nothing."""

from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.settings import Settings
from hooks.language.crds import apply_defaults
from hooks.tools.offline.picture.models import read_models
from hooks.tools.offline.picture.parts import Picture
from hooks.tools.offline.picture.plan import Surroundings, draw_graph
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.live_reader import find_graph, find_installed, read_graph


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnGraph:
    """The picture of a graph in a cluster; `unread` are sentences about what the user may not read."""

    picture: Picture
    unread: tuple[str, ...]


def draw_live_graph(cluster: Cluster, name: str, namespace: str, settings: Settings) -> DrawnGraph | None:
    """Read and draw a graph; None if there is none of this name.

    Raises:
        Refused: the API server does not answer, or does not show the graph.
        InvalidSpec: the graph cannot be rendered.
    """
    graph = find_graph(cluster, name, namespace)
    if graph is None:
        return None
    found = read_graph(cluster, graph, labelled=(contract.COMPONENT, contract.SCALING_ADAPTER), whole=(contract.MODEL,))
    around = Surroundings(
        settings=settings,
        installed=find_installed(cluster),
        models=read_models(found.of_kind(contract.MODEL)),
        children=(*found.of_kind(contract.COMPONENT), *found.of_kind(contract.SCALING_ADAPTER)),
        is_live=True,
    )
    return DrawnGraph(picture=draw_graph(apply_defaults(graph), around), unread=found.unread)
