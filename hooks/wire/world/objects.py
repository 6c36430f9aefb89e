"""A set of objects of a cluster, each with its owner: what hooks are asked about, and what a diff compares."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hooks.ground import contract
from hooks.ground.k8s.types import (
    GroupVersionKind,
    Manifest,
    ReadManifest,
    controller_of,
    gvk_of,
    labels_of,
    name_of,
    plural_of,
)
from hooks.wire.metacontroller import controllers
from hooks.wire.world.ownership import ClaimAction, decide_claim

if TYPE_CHECKING:  # it loads the settings, and a command that shows a graph needs none
    from hooks.wire.metacontroller.protocol import RelatedRule


@dataclass(frozen=True, slots=True, order=True)
class ObjectId:
    """Which object of a cluster; `namespace` is empty for an object without one, or of which none is known."""

    namespace: str
    kind: str
    name: str
    group: str = ""

    @classmethod
    def of(cls, manifest: ReadManifest, namespace: str = "") -> "ObjectId":
        """The object's identity, in the given namespace unless it names one; the version does not count."""
        where = str(manifest["metadata"].get("namespace") or namespace)
        kind = gvk_of(manifest)
        return cls(namespace=where, kind=kind.kind, name=name_of(manifest), group=kind.group)

    def is_a(self, kind: GroupVersionKind) -> bool:
        """Whether the object is of that kind, in any version."""
        return (self.kind, self.group) == (kind.kind, kind.group)

    def __str__(self) -> str:
        """`Deployment inference/main`."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """An object and the one that it belongs to; None for an object that the user writes."""

    manifest: Manifest
    owner: ObjectId | None = None


@dataclass(frozen=True, kw_only=True)
class World:
    """Objects of a cluster; it is never changed.

    `installed` are the keys of `OPTIONAL_KINDS` whose CRDs the cluster has. `unread` are sentences about what the user
    may not read, so that it may be missing here.
    """

    objects: Mapping[ObjectId, Owned] = field(default_factory=dict)
    installed: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()

    @classmethod
    def written(cls, manifests: Iterable[ReadManifest], installed: Iterable[str] = ()) -> "World":
        """Objects that a user writes, so that no other object owns them; of namesakes the last."""
        objects = {ObjectId.of(one): Owned(manifest=one) for one in _find_named(manifests)}
        return cls(objects=objects, installed=frozenset(installed))

    @classmethod
    def live(
        cls, manifests: Iterable[ReadManifest], installed: Iterable[str] = (), unread: Iterable[str] = ()
    ) -> "World":
        """Objects of a cluster, each belonging to its controller, or to the parent that will adopt it."""
        found = list(_find_named(manifests))
        by_uid = {str(uid): one for one in found if (uid := one["metadata"].get("uid"))}
        objects = {ObjectId.of(one): Owned(manifest=one, owner=_find_owner(one, by_uid)) for one in found}
        return cls(objects=objects, installed=frozenset(installed), unread=tuple(unread))

    @property
    def parents(self) -> frozenset[ObjectId]:
        """The objects that own others."""
        return frozenset(self.owned)

    @cached_property
    def owned(self) -> Mapping[ObjectId, Mapping[ObjectId, Manifest]]:
        """The objects by their owner."""
        found: dict[ObjectId, dict[ObjectId, Manifest]] = {}
        for key, one in self.objects.items():
            if one.owner is not None:
                found.setdefault(one.owner, {})[key] = one.manifest
        return found

    def find(self, key: ObjectId) -> Manifest | None:
        """The object, None if there is none."""
        found = self.objects.get(key)
        return None if found is None else found.manifest

    def of_kind(self, kind: GroupVersionKind, namespace: str = "") -> tuple[Manifest, ...]:
        """The objects of a kind, of one namespace or of all, sorted by namespace and name."""
        found = self._of_kind.get((kind.api_version, plural_of(kind)), ())
        chosen = (one for one in found if not namespace or one["metadata"].get("namespace") == namespace)
        return tuple(sorted(chosen, key=lambda one: (one["metadata"].get("namespace", ""), name_of(one))))

    def declared_by(self, parent: GroupVersionKind) -> tuple[GroupVersionKind, ...]:
        """The child kinds that the controller of a parent's kind declares in this cluster."""
        return controllers.declared_by(parent, self.installed)

    def children_of(self, parent: ReadManifest) -> tuple[Manifest, ...]:
        """The parent's objects of the kinds that its controller declares."""
        declared = self.declared_by(gvk_of(parent))
        return tuple(one for one in self.owned.get(ObjectId.of(parent), {}).values() if gvk_of(one) in declared)

    def related_to(self, rule: "RelatedRule") -> Iterator[ReadManifest]:
        """The objects that a rule selects, as the API server stores them: with the namespace, even if a file has none.

        Each of thousands of parents asks for a few objects by name: looking at all objects each time takes minutes.
        """
        kind = (rule.api_version, rule.resource)
        named = (one for name in dict.fromkeys(rule.names) for one in self._of_name.get((*kind, name), ()))
        for one in named if rule.names else self._of_kind.get(kind, ()):
            if _matches(rule, one):
                yield _place(one, one["metadata"].get("namespace") or rule.namespace)

    def below(self, roots: Iterable[ReadManifest]) -> "World":
        """The roots and all that belongs to them by way of child kinds, owners before what they own."""
        waiting: list[tuple[ObjectId, ObjectId | None]] = [(ObjectId.of(root), None) for root in reversed([*roots])]
        seen: dict[ObjectId, Owned] = {}
        while waiting:
            key, owner = waiting.pop()
            if key not in seen:
                manifest = self.objects[key].manifest
                seen[key] = Owned(manifest=manifest, owner=owner)
                waiting.extend((ObjectId.of(child), key) for child in reversed(self.children_of(manifest)))
        return replace(self, objects=seen)

    def with_children(self, parent: ReadManifest, children: Mapping[ObjectId, Manifest]) -> "World":
        """The world in which the parent has these children, and no others."""
        owner = ObjectId.of(parent)
        mine = self.owned.get(owner, {})
        others = {key: one for key, one in self.objects.items() if key not in mine}
        return replace(
            self, objects={**others, **{key: Owned(manifest=one, owner=owner) for key, one in children.items()}}
        )

    def without(self, keys: Container[ObjectId]) -> "World":
        """The world in which these objects are not."""
        return replace(self, objects={key: one for key, one in self.objects.items() if key not in keys})

    @cached_property
    def _of_kind(self) -> Mapping[tuple[str, str], Sequence[Manifest]]:
        """The objects by apiVersion and plural, as rules name a kind, in their order."""
        found: dict[tuple[str, str], list[Manifest]] = {}
        for one in self.objects.values():
            kind = gvk_of(one.manifest)
            found.setdefault((kind.api_version, plural_of(kind)), []).append(one.manifest)
        return found

    @cached_property
    def _of_name(self) -> Mapping[tuple[str, str, str], Sequence[Manifest]]:
        found: dict[tuple[str, str, str], list[Manifest]] = {}
        for kind, some in self._of_kind.items():
            for one in some:
                found.setdefault((*kind, name_of(one)), []).append(one)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A world as the hook of one parent sees it, with these children instead of those that the parent has there."""

    world: World
    children: Collection[ReadManifest] = ()

    def declared_by(self, parent: GroupVersionKind) -> tuple[GroupVersionKind, ...]:
        """As those of the world."""
        return self.world.declared_by(parent)

    def children_of(self, parent: ReadManifest) -> Collection[ReadManifest]:  # noqa: ARG002 - a reader's signature
        """The given children."""
        return self.children

    def related_to(self, rule: "RelatedRule") -> Iterator[ReadManifest]:
        """As those of the world."""
        return self.world.related_to(rule)


def _find_named(manifests: Iterable[ReadManifest]) -> Iterator[Manifest]:
    """The objects with a name: others cannot be asked for."""
    for one in manifests:
        name = one["metadata"].get("name")
        if isinstance(name, str) and name:
            yield one if isinstance(one, dict) else dict(one)


def _find_owner(one: ReadManifest, by_uid: Mapping[str, ReadManifest]) -> ObjectId | None:
    """The controller, if it is there too; of an orphan the parent whose label it has, because that will adopt it."""
    controller = controller_of(one)
    uid = labels_of(one).get(contract.LABEL_CONTROLLER_UID) if controller is None else controller.get("uid")
    owner = by_uid.get(str(uid))
    if owner is None or (controller is None and not _is_adopted(one, owner)):
        return None
    return ObjectId.of(owner)


def _is_adopted(orphan: ReadManifest, parent: ReadManifest) -> bool:
    """Whether Metacontroller takes an orphan with the parent's label for a child, and gives it the parent as owner."""
    is_declared = controllers.strategy_of(gvk_of(parent), gvk_of(orphan)) is not None
    return is_declared and decide_claim(parent, orphan, selected=True) is ClaimAction.ADOPT


def _place(manifest: Manifest, namespace: str) -> Manifest:
    if not namespace or manifest["metadata"].get("namespace") == namespace:
        return manifest
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}


def _matches(rule: "RelatedRule", manifest: ReadManifest) -> bool:
    metadata = manifest["metadata"]
    if rule.namespace and (metadata.get("namespace") or rule.namespace) != rule.namespace:
        return False
    labels = labels_of(manifest)
    return rule.without_label not in labels and all(labels.get(k) == value for k, value in rule.match_labels.items())
