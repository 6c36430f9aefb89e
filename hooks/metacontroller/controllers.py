"""What each controller declares: the kind of its parents, its child kinds, how Metacontroller updates these.

`declared` has the same as `metacontroller/*.yaml`, which are installed with the package: reading YAML takes long.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from hooks.k8s import kinds
from hooks.k8s.types import GroupVersionKind
from hooks.metacontroller.declared import ALWAYS, IF_INSTALLED, OPTIONAL, RELATED

ON_DELETE = "OnDelete"


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionalKind:
    """A child kind; `related` are the kinds of the same API whose objects its operator creates and the hooks read."""

    kind: GroupVersionKind
    related: tuple[GroupVersionKind, ...] = ()


OUR_KINDS = tuple(ALWAYS)
"""The kinds of parents."""
OPTIONAL_KINDS: Mapping[str, OptionalKind] = {
    name: OptionalKind(kind=kind, related=RELATED.get(name, ())) for name, kind in OPTIONAL.items()
}
"""Child kinds that controllers declare only in clusters with their CRDs; the names are those of `--with`."""
OPTIONAL_CHILD_KINDS = tuple(OPTIONAL.values())
_STRATEGIES = {parent: {**children, **IF_INSTALLED.get(parent, {})} for parent, children in ALWAYS.items()}
NEVER_UPDATED: Mapping[GroupVersionKind, frozenset[GroupVersionKind]] = {
    parent: frozenset(kind for kind, strategy in children.items() if strategy == ON_DELETE)
    for parent, children in _STRATEGIES.items()
}
"""By kind of parent: child kinds of which Metacontroller changes no existing object."""


def strategy_of(parent: GroupVersionKind, kind: GroupVersionKind) -> str:
    """How Metacontroller updates children of a kind; it updates none if the controller does not say."""
    return _STRATEGIES.get(parent, {}).get(kind, ON_DELETE)


def declared_by(parent: GroupVersionKind, installed: Iterable[str] = ()) -> tuple[GroupVersionKind, ...]:
    """The child kinds that a kind's controller declares; `installed` are keys of `OPTIONAL_KINDS`."""
    there = {OPTIONAL.get(name) for name in installed}
    return (*ALWAYS.get(parent, ()), *(kind for kind in IF_INSTALLED.get(parent, ()) if kind in there))


def declared_kinds(installed: Iterable[str] = ()) -> tuple[GroupVersionKind, ...]:
    """The child kinds of all controllers, each once; `installed` are keys of `OPTIONAL_KINDS`."""
    names = tuple(installed)
    return tuple(dict.fromkeys(kind for parent in OUR_KINDS for kind in declared_by(parent, names)))


def expected_keys(parent: GroupVersionKind) -> tuple[str, ...]:
    """The keys that a request has in every cluster, those of the declared child kinds, sorted."""
    return tuple(sorted(kind.key for kind in declared_by(parent)))


def can_use_leader_worker_sets(declared: Container[GroupVersionKind]) -> bool:
    """Whether replicas over several nodes can run as LeaderWorkerSets: only together with Volcano's gang scheduling.

    Source: Dynamo operator, cmd/main.go, which enables LWS only where both APIs are found.
    """
    return kinds.LEADER_WORKER_SET in declared and kinds.POD_GROUP in declared


CHILD_KINDS = declared_kinds(OPTIONAL)
"""Every kind that a child can have."""
