"""Reads of a user who may not read everything: what is refused is noted, and not fatal."""

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeVar

from hooks.clients.api_server import Refused
from hooks.clients.cluster import Cluster
from hooks.k8s.types import GroupVersionKind, ReadManifest

_FORBIDDEN = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Reader:
    """The cluster, and what could not be read of it so far."""

    cluster: Cluster
    unread: dict[str, str] = field(default_factory=dict)

    def attempt(self, what: str, read: Callable[[], T], otherwise: T) -> T:
        """What was read, or `otherwise` with a note if the user may not read it.

        Raises:
            Refused: the API server fails otherwise, or does not answer.
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
