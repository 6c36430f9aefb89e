"""What each controller declares: the kind of its parents, its child kinds, how Metacontroller updates these.

`declared` has the same as `metacontroller/*.yaml`, which are installed with the package: reading YAML takes long.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind
from hooks.wire.metacontroller.declared import ALWAYS, IF_INSTALLED, OPTIONAL, RELATED


class Strategy(StrEnum):
    """How Metacontroller changes an existing child that is not as wanted."""

    IN_PLACE = "InPlace"
    ON_DELETE = "OnDelete"
    RECREATE = "Recreate"


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
RECORDS = frozenset({kinds.CONTROLLER_REVISION})
"""Child kinds whose objects only record what was: nothing runs by them, and commands on manifests leave them out."""
OPTIONAL_CHILD_KINDS = tuple(OPTIONAL.values())
STRATEGIES = {
    parent: {kind: Strategy(name) for kind, name in {**children, **IF_INSTALLED.get(parent, {})}.items()}
    for parent, children in ALWAYS.items()
}
NEVER_UPDATED: Mapping[GroupVersionKind, frozenset[GroupVersionKind]] = {
    parent: frozenset(kind for kind, strategy in children.items() if strategy is Strategy.ON_DELETE)
    for parent, children in STRATEGIES.items()
}
"""By kind of parent: child kinds of which Metacontroller changes no existing object."""


def strategy_of(parent: GroupVersionKind, kind: GroupVersionKind) -> Strategy | None:
    """How the controller of a parent's kind updates its children of a kind; None if it declares no such children."""
    return STRATEGIES.get(parent, {}).get(kind)


def declared_by(parent: GroupVersionKind, installed: Iterable[str] = ()) -> tuple[GroupVersionKind, ...]:
    """The child kinds that a kind's controller declares, without records; `installed` are keys of `OPTIONAL_KINDS`."""
    return _declared_by(parent, frozenset(installed))


def _declared_by(parent: GroupVersionKind, installed: frozenset[str]) -> tuple[GroupVersionKind, ...]:
    there = {OPTIONAL.get(name) for name in installed}
    always = (kind for kind in ALWAYS.get(parent, ()) if kind not in RECORDS)
    return (*always, *(kind for kind in IF_INSTALLED.get(parent, ()) if kind in there))


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
"""Every kind that a child can have, but for records."""
