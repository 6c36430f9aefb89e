"""Metacontroller's caches: the store without the changes that are not delivered yet.

Changes of one kind arrive in order, those of different kinds in any order.

Source: client-go tools/cache, shared informers.
"""

from collections import deque
from collections.abc import Collection, Mapping
from typing import Protocol

from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulator.index import Index
from hooks.tools.offline.simulator.resources import Catalogue
from hooks.tools.offline.simulator.store import Propagation, Ref, Store, StoreChange


class ObjectReader(Protocol):
    """Reads objects, from the store or from an informer's cache."""

    catalogue: Catalogue

    def get(self, ref: Ref) -> Manifest | None:
        """The object, None if it does not exist."""

    def list_kind(self, kind: GroupVersionKind, namespace: str = "") -> list[Manifest]:
        """All objects of a kind, in one namespace or (empty) in all, sorted by namespace and name."""

    def list_controlled(self, kind: GroupVersionKind, namespace: str, uid: str) -> list[Manifest]:
        """The objects of a kind that an object controls, or (empty uid) that none controls, sorted likewise."""

    def list_labelled(self, kind: GroupVersionKind, namespace: str, labels: Mapping[str, str]) -> list[Manifest]:
        """The objects of a kind with all of these labels, at least one; sorted likewise."""


class ObjectWriter(Protocol):
    """One actor's writes, and reads past its caches; refusals are ApiError."""

    def get(self, ref: Ref) -> Manifest | None:
        """The object as it is now, None if it does not exist."""

    def create(self, obj: Manifest) -> Manifest:
        """Create an object and give it as stored."""

    def update(self, obj: Manifest) -> Manifest:
        """Replace an object and give it as stored."""

    def update_status(self, obj: Manifest) -> Manifest:
        """Replace an object's status and give the object as stored."""

    def delete(self, ref: Ref, propagation: Propagation = "Background", uid: str = "") -> None:
        """Delete an object, only if it has that uid."""


class Informer:
    """A view of the store without undelivered changes of the `late` kinds; other kinds are always up to date."""

    def __init__(self, store: Store, late: Collection[GroupVersionKind]) -> None:
        self.catalogue = store.catalogue
        self._store = store
        self._late = frozenset((kind.group, kind.kind) for kind in late)
        self._delayed: frozenset[tuple[str, str]] = frozenset()
        self._known: dict[Ref, Manifest] = {}
        self._index = Index()
        self._pending: dict[tuple[str, str], deque[StoreChange]] = {}
        self._read_all()

    def get(self, ref: Ref) -> Manifest | None:
        """The object as last delivered, None if there is none."""
        return self._known.get(ref) if (ref.group, ref.kind) in self._late else self._store.get(ref)

    def list_kind(self, kind: GroupVersionKind, namespace: str = "") -> list[Manifest]:
        """All delivered objects of a kind, in one namespace or (empty) in all, sorted by namespace and name."""
        return self._source(kind).list_kind(kind, namespace)

    def list_controlled(self, kind: GroupVersionKind, namespace: str, uid: str) -> list[Manifest]:
        """The delivered objects of a kind that an object controls, or (empty uid) that none controls."""
        return self._source(kind).list_controlled(kind, namespace, uid)

    def list_labelled(self, kind: GroupVersionKind, namespace: str, labels: Mapping[str, str]) -> list[Manifest]:
        """All delivered objects of a kind with these labels, in one namespace or (empty) in all."""
        return self._source(kind).list_labelled(kind, namespace, labels)

    def _source(self, kind: GroupVersionKind) -> Store | Index:
        return self._index if (kind.group, kind.kind) in self._late else self._store

    def is_late(self, change: StoreChange) -> bool:
        """Whether a change is visible only after `deliver`."""
        return (change.ref.group, change.ref.kind) in self._late

    def send(self, change: StoreChange) -> None:
        """Queue a change for delivery."""
        self._pending[change.ref.group, change.ref.kind].append(change)

    def delay(self, kinds: Collection[GroupVersionKind]) -> None:
        """Hold back changes of these late kinds only, from now on; `list_again` delivers them too."""
        self._delayed = frozenset((kind.group, kind.kind) for kind in kinds)

    def pending_kinds(self) -> list[tuple[str, str]]:
        """Groups and kinds with changes that can be delivered, sorted."""
        return sorted(key for key, changes in self._pending.items() if changes and key not in self._delayed)

    def deliver(self, key: tuple[str, str]) -> StoreChange:
        """Deliver the oldest change of a group and kind."""
        change = self._pending[key].popleft()
        if change.new is None:
            self._known.pop(change.ref, None)
            self._index.drop(change.ref)
        else:
            self._known[change.ref] = change.new
            self._index.put(change.ref, change.new)
        return change

    def list_again(self) -> list[StoreChange]:
        """Deliver everything at once, as after a broken watch: one change for each object that differs."""
        before = self._known
        self._read_all()
        after = self._known
        return [
            StoreChange(ref, before.get(ref), after.get(ref))
            for ref in sorted(before.keys() | after.keys())
            if before.get(ref) is not after.get(ref)
        ]

    def _read_all(self) -> None:
        self._pending = {key: deque() for key in self._late}
        self._known, self._index = {}, Index()
        for ref, obj in self._store.items():
            if (ref.group, ref.kind) in self._late:
                self._known[ref] = obj
                self._index.put(ref, obj)
