"""What Metacontroller knows of the cluster: the store as it was before the changes that are still on their way.

Changes of one kind arrive in their order, those of different kinds in any.

Source: client-go tools/cache, shared informers.
"""

from collections import deque
from collections.abc import Collection
from typing import Protocol

from hooks.k8s.types import GroupVersionKind, Manifest
from hooks.simulator.resources import Catalogue
from hooks.simulator.store import Change, Ref, Store


class Reader(Protocol):
    """Objects to be looked up, those of the store or those that an informer knows."""

    catalogue: Catalogue

    def get(self, ref: Ref) -> Manifest | None:
        """The object, None when there is none."""

    def list_kind(self, kind: GroupVersionKind, namespace: str = "") -> list[Manifest]:
        """All objects of a kind, in one namespace or (empty) in all, sorted by namespace and name."""


class Informer:
    """A view of the store that is behind by the changes not yet delivered; other kinds than `late` are never behind."""

    def __init__(self, store: Store, late: Collection[GroupVersionKind]) -> None:
        self.catalogue = store.catalogue
        self._store = store
        self._late = frozenset((kind.group, kind.kind) for kind in late)
        self._known: dict[tuple[str, str], dict[Ref, Manifest]] = {}
        self._coming: dict[tuple[str, str], deque[Change]] = {}
        self._read_all()

    def get(self, ref: Ref) -> Manifest | None:
        """The object as it is known, None when none is."""
        key = (ref.group, ref.kind)
        return self._known[key].get(ref) if key in self._late else self._store.get(ref)

    def list_kind(self, kind: GroupVersionKind, namespace: str = "") -> list[Manifest]:
        """All known objects of a kind, in one namespace or (empty) in all, sorted by namespace and name."""
        key = (kind.group, kind.kind)
        if key not in self._late:
            return self._store.list_kind(kind, namespace)
        known = self._known[key]
        return [known[ref] for ref in sorted(known) if namespace in {"", ref.namespace}]

    def is_late(self, change: Change) -> bool:
        """Whether a change has to be delivered before it is known."""
        return (change.ref.group, change.ref.kind) in self._late

    def send(self, change: Change) -> None:
        """Put a change on its way."""
        self._coming[change.ref.group, change.ref.kind].append(change)

    def coming(self) -> list[tuple[str, str]]:
        """Group and kind of which changes are on their way, sorted."""
        return sorted(key for key, changes in self._coming.items() if changes)

    def deliver(self, key: tuple[str, str]) -> Change:
        """Learn of the oldest change of a group and kind."""
        change = self._coming[key].popleft()
        if change.new is None:
            self._known[key].pop(change.ref, None)
        else:
            self._known[key][change.ref] = change.new
        return change

    def list_again(self) -> list[Change]:
        """Learn of everything at once, as after a broken watch: one change for each object that is another now."""
        before = {ref: obj for known in self._known.values() for ref, obj in known.items()}
        self._read_all()
        after = {ref: obj for known in self._known.values() for ref, obj in known.items()}
        return [
            Change(ref, before.get(ref), after.get(ref))
            for ref in sorted(before.keys() | after.keys())
            if before.get(ref) is not after.get(ref)
        ]

    def _read_all(self) -> None:
        self._coming = {key: deque() for key in self._late}
        self._known = {key: {} for key in self._late}
        for ref, obj in self._store.items():
            if (ref.group, ref.kind) in self._late:
                self._known[ref.group, ref.kind][ref] = obj
