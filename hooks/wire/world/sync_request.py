"""The request by which Metacontroller asks a hook about a parent: with its children and its related objects."""

from collections.abc import Iterable
from typing import Protocol

from hooks.ground.k8s.types import GroupVersionKind, ReadManifest, gvk_of, object_key
from hooks.wire.metacontroller.protocol import Objects, RelatedRule, SyncRequest


class WorldReader(Protocol):
    """Shows the objects around a parent. A `World` is one."""

    def declared_by(self, parent: GroupVersionKind) -> Iterable[GroupVersionKind]:
        """The child kinds that the controller of a parent's kind declares."""

    def children_of(self, parent: ReadManifest) -> Iterable[ReadManifest]:
        """The children that Metacontroller would send."""

    def related_to(self, rule: RelatedRule) -> Iterable[ReadManifest]:
        """The objects that a rule of the customize hook selects."""


def build_request(parent: ReadManifest, reader: WorldReader, related: Iterable[RelatedRule] = ()) -> SyncRequest:
    """The sync call about a parent with the related objects of these rules; each declared kind has a key."""
    children: dict[str, dict[str, ReadManifest]] = {kind.key: {} for kind in reader.declared_by(gvk_of(parent))}
    _add(children, reader.children_of(parent))
    found: dict[str, dict[str, ReadManifest]] = {}
    for rule in related:
        _add(found, reader.related_to(rule))
    return SyncRequest(parent=parent, children=Objects(children), related=Objects(found))


def _add(by_kind: dict[str, dict[str, ReadManifest]], objects: Iterable[ReadManifest]) -> None:
    for one in objects:
        by_kind.setdefault(gvk_of(one).key, {})[object_key(one)] = one
