"""What a case about Grove may ask of a cluster that has it, be its operator simulated or real.

Each clique of a set is known by its name, which no other clique of the case has. Pods come up by themselves, but those
of cliques that are held. Nothing but Grove acts: no hooks, no Metacontroller.
"""

from collections.abc import Callable
from typing import Protocol

from hooks.ground.k8s.types import GroupVersionKind
from tests.contract.backend import Manifest


class GroveBackend(Protocol):
    """One case's view of a cluster: its namespace is empty. After the case all that it made is removed."""

    @property
    def namespace(self) -> str:
        """The case's namespace."""

    def apply(self, pod_clique_set: Manifest) -> None:
        """Create the PodCliqueSet, or give it this spec; raises ApiRefused."""

    def get(self, kind: GroupVersionKind, name: str) -> Manifest | None:
        """Give the object as stored, None when there is none."""

    def list_kind(self, kind: GroupVersionKind) -> list[Manifest]:
        """Give all objects of a kind in the case's namespace, sorted by name."""

    def scale(self, kind: GroupVersionKind, name: str, replicas: int) -> None:
        """Write the number of replicas, as a user or an autoscaler does."""

    def delete(self, kind: GroupVersionKind, name: str) -> None:
        """Delete the object."""

    def hold(self, clique: str) -> None:
        """Keep pods of the clique that come from now on from running."""

    def release(self, clique: str) -> None:
        """Let held pods run."""

    def refuse_pods(self, clique: str) -> None:
        """Let the API server refuse new pods of the clique, for a quota."""

    def accept_pods(self, clique: str) -> None:
        """Let the API server take them again."""

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Go on until the condition holds; AssertionError naming `what` if it never does."""

    def stays(self, condition: Callable[[], bool], what: str) -> None:
        """Go on for longer than Grove takes to look again; AssertionError naming `what` if the condition ends."""
