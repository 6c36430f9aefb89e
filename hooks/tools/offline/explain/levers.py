"""Fields that are not written and that change a leaf: taken from the schema by their names, and kept if they work."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hooks.component.rules.slips import KNOWN_VALUES
from hooks.ground import contract
from hooks.ground.k8s.types import Json, Manifest, ReadManifest
from hooks.ground.problems import FieldPath, Key
from hooks.language.api.structural import SchemaNode
from hooks.language.crds.definitions import read_root_schema
from hooks.language.crds.paths import name_path
from hooks.tools.offline.explain.build import Build
from hooks.tools.offline.explain.edits import MARK, Parts, alternatives, put
from hooks.tools.offline.explain.experiments import align, find_changes
from hooks.tools.offline.explain.leaf_sources import Lever
from hooks.tools.offline.explain.leaves import LeafPlace, RenderedObjects, find_value
from hooks.tools.offline.explain.services import places_of_services

ITEM, KEY = "[]", "{}"
_MOST_TRIED, _MOST_FOUND = 60, 3
_MERE_SAMPLES = frozenset({MARK, "7Gi", 7})
_FRAGMENTS = frozenset({"extraPodSpec", "podTemplate", "envs", "env", "livenessProbe", "readinessProbe", "status"})
"""Fields that take a part of a pod; what they have in common with a leaf is its name."""
_SAMPLES: Mapping[str, Sequence[Json]] = {
    "string": (MARK, "7Gi", "true", "false"),
    "boolean": (True, False),
    "integer": (2, 7),
}


@dataclass(frozen=True, slots=True)
class FieldTemplate:
    """A field of a schema: names, `[]` for an item of a list, `{}` for a key of a map."""

    parts: tuple[str, ...]
    schema: SchemaNode

    def common(self, leaf: Sequence[str | int]) -> int:
        """How many parts at the end it has in common with the path of a leaf."""
        count = 0
        for own, other in zip(reversed(self.parts), reversed(leaf), strict=False):
            is_name = type(other) is str
            if own != other if is_name else own not in {ITEM, KEY}:
                break
            count += 1
        return count


def find_levers(build: Build, base: RenderedObjects, place: LeafPlace, *, service: str) -> list[Lever]:
    """Fields with the leaf's own name that it follows, those with the longest common end first."""
    found: list[Lever] = []
    for template in _candidates(build.written, place)[:_MOST_TRIED]:
        field = _instantiate(template, place, build.written, service)
        if field is None or _exists(build.written, field.parts):
            continue
        lever = _try(build, base, place, field)
        if lever is not None:
            found.append(lever)
            if len(found) == _MOST_FOUND:
                break
    return found


def find_switches(
    build: Build, base: RenderedObjects, place: LeafPlace, *, service: str, values: Sequence[Json]
) -> Iterator[Lever]:
    """Other fields and annotations that are not written, and that change the leaf in some way.

    `values` are texts to try as annotations, beside true and false. Many are tried together, and apart if they change
    the leaf or are refused.
    """
    fields = (*_plain_fields(build.written, service), *_annotations(build.written, service, values))
    unwritten = [(parts, samples) for parts, samples in fields if not _exists(build.written, parts)]
    seen: set[Parts] = set()
    for turn in range(max((len(samples) for _, samples in unwritten), default=0)):
        tried = [(parts, samples[turn]) for parts, samples in unwritten if turn < len(samples) and parts not in seen]
        for parts, new, then in _search(build, base, place, tried):
            seen.add(parts)
            yield _describe(parts, new, then, build.written)


def _search(
    build: Build, base: RenderedObjects, place: LeafPlace, tried: Sequence[tuple[Parts, Json]]
) -> Iterator[tuple[Parts, Json, Json]]:
    """Each of these fields that changes the leaf, with its value and the leaf's; halved until only one is left."""
    if not tried:
        return
    written = build.written
    for parts, new in tried:
        written = put(written, parts, new)
    changed = build.with_written(written).make()
    if changed is not None and place.object in align(base, changed):
        change = next(find_changes(base, changed, [place]), None)
        if change is None:
            return
        if len(tried) == 1:
            yield *tried[0], change[1]
            return
    if len(tried) > 1:
        middle = len(tried) // 2
        yield from _search(build, base, place, tried[:middle])
        yield from _search(build, base, place, tried[middle:])


def _describe(parts: Parts, sample: Json, then: Json, written: ReadManifest) -> Lever:
    name = str(name_path(parts, read_root_schema(written)))
    values = KNOWN_VALUES.get(str(parts[-1]), ())
    if str(then) == str(sample):
        return Lever(name=name, follows=True, values=values)
    is_sample = sample in _MERE_SAMPLES or MARK in str(then)
    tried = None if is_sample else sample
    return Lever(name=name, follows=False, tried=tried, then=None if is_sample else then, values=values)


def _try(build: Build, base: RenderedObjects, place: LeafPlace, field: "_Field") -> Lever | None:
    """The lever at this field, if the leaf follows it: written alone, or with all that is beside it."""
    value = base.value(place)
    for new in (group[0] for group in alternatives(value, field.schema) if group):
        if _follows(build.with_written(field.write(build.written, new)), base, place, new):
            return Lever(name=field.name, follows=True)
        around = _around(base, place, field.common)
        if around is None:
            continue
        depth, whole = around
        written = field.write(build.written, put(whole, place.path.parts[-depth:], new), depth)
        if _follows(build.with_written(written), base, place, new):
            return Lever(name=field.name, follows=True, is_whole=True)
    return None


def _follows(build: Build, base: RenderedObjects, place: LeafPlace, new: Json) -> bool:
    """Whether the leaf has the new value, and all leaves beside it are still there."""
    changed = build.make()
    if changed is None:
        return False
    around = place.path.parts[:-1]
    beside = [one for one in base.leaves_of(place.object) if one.path.parts[:-1] == around]
    changes = dict(find_changes(base, changed, beside))
    return str(changes.pop(place, None)) == str(new) and None not in changes.values()


def _around(base: RenderedObjects, place: LeafPlace, common: int) -> tuple[int, Json] | None:
    """The rendered map around the leaf that the schema's field shares with it, and how far above the leaf it is."""
    names = place.path.parts
    depth = 0
    while depth + 1 < common and type(names[-depth - 2]) is str and type(names[-depth - 1]) is str:
        depth += 1
    found = find_value(base.objects[place.object], names[:-depth]) if depth else None
    return (depth, found) if isinstance(found, Mapping) else None


def _candidates(written: ReadManifest, place: LeafPlace) -> list[FieldTemplate]:
    templates = templates_of(str(written["apiVersion"]), str(written["kind"]))
    leaf = place.path.parts
    scored = [(template.common(leaf), template) for template in templates]
    fitting = [(count, one) for count, one in scored if count]
    return [one for _, one in sorted(fitting, key=lambda item: (-item[0], len(item[1].parts), item[1].parts))]


@lru_cache
def templates_of(api_version: str, kind: str) -> tuple[FieldTemplate, ...]:
    """All plain fields of a kind's spec."""
    schema = read_root_schema({"apiVersion": api_version, "kind": kind}) or {}
    return tuple(_walk(schema.get("properties", {}).get("spec", {}), ("spec",)))


def _walk(schema: SchemaNode, parts: tuple[str, ...]) -> Iterator[FieldTemplate]:
    for name, node in schema.get("properties", {}).items():
        yield from _walk(node, (*parts, name))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _walk(schema["additionalProperties"], (*parts, KEY))
    if isinstance(schema.get("items"), dict):
        yield from _walk(schema["items"], (*parts, ITEM))
    if not {"properties", "additionalProperties", "items"} & schema.keys():
        yield FieldTemplate(parts, schema)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of the object for one leaf; `parts` are keys and indices, `named` the items that must be added for it."""

    parts: Parts
    name: str
    schema: SchemaNode
    common: int
    named: tuple[tuple[Parts, str], ...]

    def write(self, written: Manifest, value: Json, above: int = 0) -> Manifest:
        """The object with a value in this field, or so many levels above it."""
        changed: Json = written
        for parts, name in self.named:
            changed = put(changed, parts, {"name": name})
        found: Manifest = put(changed, self.parts[: len(self.parts) - above], value)
        return found


def _instantiate(template: FieldTemplate, place: LeafPlace, written: ReadManifest, service: str) -> _Field | None:
    """The field for a leaf: of its service, and of the items and keys that the leaf's path names."""
    common = template.common(place.path.parts)
    own = places_of_services(written).get(service)
    prefix = template.parts[: len(template.parts) - common]
    parts: Parts = ()
    if template.parts[1] in {"services", "components"}:
        if own is None or len(prefix) < 3:
            return None
        parts, prefix = own, prefix[3:]
    if {ITEM, KEY} & set(prefix):
        return None
    parts = (*parts, *prefix)
    path = name_path(parts, read_root_schema(written))
    named: list[tuple[Parts, str]] = []
    for name, of_leaf in zip(template.parts[-common:], place.path.parts[-common:], strict=True):
        if name != ITEM:
            parts, path = (*parts, str(of_leaf)), FieldPath((*path.parts, of_leaf))
            continue
        items = find_at(written, parts)
        index = _index_of(items, of_leaf)
        is_new = isinstance(of_leaf, str) and index == len(items or ())
        parts = (*parts, index)
        path = FieldPath((*path.parts, Key(of_leaf) if is_new and isinstance(of_leaf, str) else index))
        named += [(parts, str(of_leaf))] if is_new else []
    return _Field(parts, str(path), template.schema, common, tuple(named))


def find_at(value: Json, parts: Parts) -> Json:
    """The value at these keys and indices; None if there is none."""
    for part in parts:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def _index_of(items: Json, part: str | int) -> int:
    """The index of an item by its name; one past the end for a new item."""
    listed = items if isinstance(items, list) else []
    if isinstance(part, int):
        return part
    named = (at for at, item in enumerate(listed) if isinstance(item, Mapping) and str(item.get("name")) == part)
    return next(named, len(listed))


def _exists(written: ReadManifest, parts: Parts) -> bool:
    return find_at(written, parts) is not None


def _plain_fields(written: ReadManifest, service: str) -> Iterator[tuple[Parts, Sequence[Json]]]:
    """The plain fields of the service and of the graph that take no part of a pod, with values to try."""
    own = places_of_services(written)
    for template in templates_of(str(written["apiVersion"]), str(written["kind"])):
        parts: Parts = template.parts
        if own and template.parts[1] in {"services", "components"}:
            if service not in own:
                continue
            parts = (*own[service], *template.parts[3:])
        if {ITEM, KEY} & set(parts) or _FRAGMENTS & set(parts):
            continue
        kind = str(template.schema.get("type"))
        yield parts, template.schema.get("enum") or _SAMPLES.get(kind, ("7Gi", 7))


def _annotations(written: ReadManifest, service: str, values: Sequence[Json]) -> Iterator[tuple[Parts, Sequence[Json]]]:
    """Annotations of the service, with the values that exist, and of the graph."""
    own = places_of_services(written).get(service)
    if own is not None and is_alpha(written):
        yield from (((*own, "annotations", name), known) for name, known in sorted(KNOWN_VALUES.items()))
    names = sorted(value for name, value in vars(contract).items() if name.startswith("ANNOTATION_"))
    for name in names:
        yield ("metadata", "annotations", name), KNOWN_VALUES.get(name) or ("true", "false", *values)


def is_alpha(written: ReadManifest) -> bool:
    """Whether services have annotations of their own; in v1beta1 those of the pod template are meant."""
    return str(written["apiVersion"]).endswith(f"/{contract.VERSION}")
