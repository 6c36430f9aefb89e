"""Reads a graph from a cluster with all that its picture shows: components, adapters and models. Writes nothing."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from hooks import contract
from hooks.cli.cluster_options import Connection, connect
from hooks.clients.api_server import Refused
from hooks.clients.cluster import Cluster
from hooks.crds import apply_defaults
from hooks.doctor.reader import Reader
from hooks.errors import InvalidSpec
from hooks.k8s.types import GroupVersionKind, plural_of
from hooks.metacontroller.controllers import OPTIONAL_KINDS, declared_kinds
from hooks.picture.models import read_models
from hooks.picture.parts import Picture
from hooks.picture.plan import Surroundings, draw_graph
from hooks.settings import Settings


def draw_live(graphs: Sequence[str], namespace: str, settings: Settings, connection: Connection) -> Sequence[Picture]:
    """Draw graphs of the cluster; if one is missing or cannot be read, ends the process with status 1."""
    pictures: list[Picture] = []
    try:
        with connect(connection) as cluster:
            where = namespace or cluster.namespace
            for name in graphs:
                found = draw_live_graph(cluster, name, where, settings)
                if found is None:
                    click.echo(f"there is no graph {name} in namespace {where}", err=True)
                    sys.exit(1)
                for sentence in found.unread:
                    click.echo(f"not shown: {sentence}", err=True)
                pictures.append(found.picture)
    except (Refused, InvalidSpec) as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    return pictures


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveGraph:
    """The picture of a graph in a cluster; `unread` are sentences about what the user may not read."""

    picture: Picture
    unread: tuple[str, ...]


def draw_live_graph(cluster: Cluster, name: str, namespace: str, settings: Settings) -> LiveGraph | None:
    """Read and draw a graph; None if there is none of this name.

    Raises:
        Refused: the API server does not answer, or does not show the graph.
        InvalidSpec: the graph cannot be rendered.
    """
    found = cluster.find(contract.GRAPH, name, namespace)
    if found is None:
        return None
    reader = Reader(cluster=cluster)
    selector = f"{contract.LABEL_GRAPH}={name}"
    children = [
        {"apiVersion": kind.api_version, "kind": kind.kind, **child}
        for kind in (contract.COMPONENT, contract.SCALING_ADAPTER)
        for child in reader.read_all(f"{kind.kind} objects", kind, namespace, labelSelector=selector)
    ]
    models = reader.read_all("DynamoModel objects", contract.MODEL, namespace)
    installed = [key for key, entry in OPTIONAL_KINDS.items() if _has(cluster, entry.kind)]
    around = Surroundings(
        settings=settings,
        declared=declared_kinds(installed),
        models=read_models(models),
        children=tuple(children),
        is_live=True,
    )
    parent = apply_defaults({"apiVersion": contract.GRAPH.api_version, "kind": contract.GRAPH.kind, **found})
    return LiveGraph(picture=draw_graph(parent, around), unread=tuple(reader.unread.values()))


def _has(cluster: Cluster, kind: GroupVersionKind) -> bool:
    """Whether the cluster serves the kind."""
    found = cluster.read(f"/apis/{kind.api_version}") or {}
    return any(one.get("name") == plural_of(kind) for one in found.get("resources") or ())
