"""Reads of a user who may not read everything, and a graph of a cluster as a `World`. It writes nothing.

What is refused is noted, and not fatal.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeVar

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Manifest, ReadManifest, name_of
from hooks.server.clients.api_server import Refused, is_served
from hooks.tools.operating.cluster import Cluster
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS
from hooks.wire.world.objects import World

_FORBIDDEN = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class LiveReader:
    """The cluster, and what could not be read of it so far: what it is, with the API server's sentence."""

    cluster: Cluster
    unread: dict[str, str] = field(default_factory=dict)

    def attempt(self, what: str, read: Callable[[], T], otherwise: T) -> T:
        """What was read, or `otherwise` with a note if the user may not read it.

        Raises:
            Refused: the API server does not answer, or fails for another reason.
        """
        try:
            return read()
        except Refused as refused:
            if refused.status not in _FORBIDDEN:
                raise
            self.unread[what] = str(refused)
            return otherwise

    def read_all(
        self, what: str, kind: GroupVersionKind, namespace: str = "", **query: str
    ) -> tuple[ReadManifest, ...]:
        """All objects of a kind; () with a note if the user may not read them."""
        return self.attempt(what, lambda: tuple(self.cluster.read_all(kind, namespace, **query)), ())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about what could not be read."""
        return tuple(f"you may not read {what}: {why}" for what, why in self.unread.items())


def find_installed(cluster: Cluster) -> frozenset[str]:
    """The keys of `OPTIONAL_KINDS` that the cluster serves.

    Raises:
        Refused: the API server does not answer.
    """
    return frozenset(name for name, entry in OPTIONAL_KINDS.items() if is_served(cluster.read, entry.kind))


def read_graph(
    cluster: Cluster, graph: ReadManifest, *, labelled: Iterable[GroupVersionKind], whole: Iterable[GroupVersionKind]
) -> World:
    """The graph with the objects of its namespace: of some kinds those with its label, of others all.

    Raises:
        Refused: the API server does not answer.
    """
    reader, namespace = LiveReader(cluster=cluster), str(graph["metadata"]["namespace"])
    selector = f"{contract.LABEL_GRAPH}={name_of(graph)}"
    found = [
        *(one for kind in labelled for one in reader.read_all(title_of(kind), kind, namespace, labelSelector=selector)),
        *(one for kind in whole for one in reader.read_all(title_of(kind), kind, namespace)),
    ]
    return World.live([graph, *found], unread=reader.unread.values())


def find_graph(cluster: Cluster, name: str, namespace: str) -> Manifest | None:
    """The graph of that name as v1alpha1, None if there is none.

    Raises:
        Refused: the API server does not answer, or does not show it.
    """
    found = cluster.find(contract.GRAPH, name, namespace)
    return None if found is None else {**found, **header_of(contract.GRAPH)}


def title_of(kind: GroupVersionKind) -> str:
    """What the objects of a kind are called where they cannot be read."""
    return f"{kind.kind} objects"


def header_of(kind: GroupVersionKind) -> Manifest:
    """The fields that name the kind, which the API server leaves out in some answers."""
    return {"apiVersion": kind.api_version, "kind": kind.kind}
