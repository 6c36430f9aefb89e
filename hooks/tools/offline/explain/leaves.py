"""The leaves of rendered objects: plain values and empty maps and lists, each at a place that other builds share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hooks.ground.k8s import kinds
from hooks.ground.k8s.differences import name_part
from hooks.ground.k8s.private_fields import SECRET_FIELDS
from hooks.ground.k8s.types import Json, ReadManifest, gvk_of, name_of
from hooks.ground.problems import HERE, FieldPath, Key

_NAMING_KEYS = ("name", "mountPath", "containerPort", "port", "path", "key")
"""An item of a list is named by the first of these keys that every item has, each with another value."""
USERS_KEYS = frozenset(
    {"labels", "annotations", "matchLabels", "nodeSelector", "data", "limits", "requests", "services"}
)
"""Maps whose keys are not names of fields."""


@dataclass(frozen=True, slots=True)
class LeafPlace:
    """A field of a rendered object."""

    kind: str
    name: str
    path: FieldPath

    @property
    def object(self) -> "ObjectKey":
        """The object that has the field."""
        return self.kind, self.name

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}: {self.path}"


ObjectKey = tuple[str, str]
"""Kind and name."""
Objects = Mapping[ObjectKey, ReadManifest]
Leaves = Mapping[LeafPlace, Json]


@dataclass(frozen=True, slots=True)
class RenderedObjects:
    """What a build made: the objects in order, and their leaves, which are listed when they are needed."""

    objects: Objects
    _lists: dict[ObjectKey, dict[LeafPlace, Json]] = field(default_factory=dict, compare=False, repr=False)

    def leaves_of(self, key: ObjectKey) -> Leaves:
        """The leaves of one object; none if it was not made."""
        if key not in self._lists:
            found = leaves_of(self.objects[key]) if key in self.objects else ()
            self._lists[key] = {LeafPlace(*key, path): value for path, value in found}
        return self._lists[key]

    def all_leaves(self) -> dict[LeafPlace, Json]:
        """The leaves of all objects."""
        return {place: value for key in self.objects for place, value in self.leaves_of(key).items()}

    def value(self, place: LeafPlace) -> Json:
        """The value of a leaf; None if there is none."""
        return self.leaves_of(place.object).get(place)


NOTHING = RenderedObjects({})
"""What a refused build made."""


def leaves_of(manifest: ReadManifest) -> Iterator[tuple[FieldPath, Json]]:
    """The leaves of one object, without apiVersion and kind."""
    for key in manifest:
        if key not in {"apiVersion", "kind"}:
            yield from walk(manifest[key], HERE / key)


def by_key(manifests: Iterable[ReadManifest]) -> dict[ObjectKey, ReadManifest]:
    """The objects by kind and name."""
    return {(gvk_of(one).kind, name_of(one)): one for one in manifests}


def is_variable(place: LeafPlace) -> bool:
    """Whether the leaf is the value of a variable."""
    parts = place.path.parts
    return parts[-1] == "value" and any(part in {"env", "envs"} for part in parts)


def is_secret(place: LeafPlace) -> bool:
    """Whether the leaf is of a Secret's data, which is never shown."""
    return place.kind == kinds.SECRET.kind and place.path.parts[0] in SECRET_FIELDS


def walk(value: Json, path: FieldPath) -> Iterator[tuple[FieldPath, Json]]:
    """Each leaf below a value; an item of a list has its name in its path, or its index if items have no names."""
    if isinstance(value, Mapping) and value:
        for key in value:
            yield from walk(value[key], path / name_part(path, key, USERS_KEYS))
    elif isinstance(value, list | tuple) and value:
        naming = naming_key(value)
        for index, item in enumerate(value):
            yield from walk(item, path / (index if naming is None else Key(item[naming])))
    else:
        yield path, value


def naming_key(items: Sequence[Json]) -> str | None:
    """The key that names the items of a list; None if they have no names."""
    if not all(isinstance(item, Mapping) for item in items):
        return None
    for key in _NAMING_KEYS:
        if all(key in item for item in items) and len({str(item[key]) for item in items}) == len(items):
            return key
    return None


def find_value(value: Json, parts: Sequence[str | int]) -> Json:
    """The value at a path below another value; None if there is none."""
    for part in parts:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list | tuple):
            value = _find_item(value, part)
        else:
            return None
    return value


def _find_item(items: Sequence[Json], part: str | int) -> Json:
    if isinstance(part, int):
        return items[part] if part < len(items) else None
    naming = naming_key(items)
    return None if naming is None else next((item for item in items if str(item[naming]) == part), None)
