"""All objects that some manifests lead to, each with its owner: an estate. Two estates are what a diff compares."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hooks.k8s.types import GroupVersionKind, Manifest, ReadManifest, gvk_of, name_of
from hooks.problems import Problem


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Estate:
    """The objects, owners before what they own.

    `recreated` are objects that are deleted and created anew on the way here. `problems` are those of objects whose
    spec cannot be rendered, so that their children stay. `held` are sentences about workloads that wait.
    """

    objects: Mapping[ObjectId, Owned] = field(default_factory=dict)
    recreated: frozenset[ObjectId] = frozenset()
    problems: Mapping[ObjectId, tuple[Problem, ...]] = field(default_factory=dict)
    held: tuple[str, ...] = ()

    @property
    def parents(self) -> frozenset[ObjectId]:
        """The objects that own others."""
        return frozenset(one.owner for one in self.objects.values() if one.owner is not None)

    def find(self, key: ObjectId) -> Manifest | None:
        """The object, None if there is none."""
        found = self.objects.get(key)
        return None if found is None else found.manifest


def index_owned(estate: Estate) -> dict[ObjectId, dict[ObjectId, Manifest]]:
    """The objects by their owner."""
    found: dict[ObjectId, dict[ObjectId, Manifest]] = {}
    for key, one in estate.objects.items():
        if one.owner is not None:
            found.setdefault(one.owner, {})[key] = one.manifest
    return found


def join_estates(estates: Iterable[Estate]) -> Estate:
    """All of them as one."""
    parts = list(estates)
    return Estate(
        objects={key: one for part in parts for key, one in part.objects.items()},
        recreated=frozenset(key for part in parts for key in part.recreated),
        problems={key: found for part in parts for key, found in part.problems.items()},
        held=tuple(dict.fromkeys(sentence for part in parts for sentence in part.held)),
    )
