"""The optional child kinds: a controller declares them only in clusters with their CRDs. Users choose them by name.

Helm and `dynamo-hooks controllers` read the same kinds from `metacontroller/optional.yaml`; a test compares the two.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass

from hooks.k8s import kinds
from hooks.k8s.types import GroupVersionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionalKind:
    """A child kind; `related` are the kinds of the same API whose objects its operator creates and the hooks read."""

    kind: GroupVersionKind
    related: tuple[GroupVersionKind, ...] = ()


OPTIONAL_KINDS: Mapping[str, OptionalKind] = {
    "grove": OptionalKind(kind=kinds.POD_CLIQUE_SET, related=(kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP)),
    "lws": OptionalKind(kind=kinds.LEADER_WORKER_SET),
    "volcano": OptionalKind(kind=kinds.POD_GROUP),
    "istio": OptionalKind(kind=kinds.VIRTUAL_SERVICE),
    "inference-pool": OptionalKind(kind=kinds.INFERENCE_POOL),
}
"""The names are those of `--with`."""

OPTIONAL_CHILD_KINDS = tuple(entry.kind for entry in OPTIONAL_KINDS.values())


def can_use_leader_worker_sets(declared: Container[GroupVersionKind]) -> bool:
    """Whether replicas over several nodes can run as LeaderWorkerSets: only together with Volcano's gang scheduling.

    Source: Dynamo operator, cmd/main.go, which enables LWS only where both APIs are found.
    """
    return kinds.LEADER_WORKER_SET in declared and kinds.POD_GROUP in declared
