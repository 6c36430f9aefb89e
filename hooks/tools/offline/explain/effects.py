"""What a field of the manifest does: the leaves that are copied from it, made from it, or decided by it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hooks.component.rules.slips import KNOWN_VALUES
from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.language.crds.definitions import read_root_schema
from hooks.language.crds.paths import name_path
from hooks.tools.offline.explain.edits import Parts, put
from hooks.tools.offline.explain.experiments import find_changes, measure
from hooks.tools.offline.explain.explaining import BuiltDocument
from hooks.tools.offline.explain.inputs import list_inputs
from hooks.tools.offline.explain.leaf_sources import Influence, Mode, Source, SourceKind
from hooks.tools.offline.explain.leaves import LeafPlace
from hooks.tools.offline.explain.levers import find_at
from hooks.tools.offline.explain.lookup import split_field, without_names
from hooks.tools.offline.explain.samples import make_sample, schema_below
from hooks.tools.offline.explain.services import places_of_services


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A leaf that follows from a field, its value, and what would change it."""

    place: LeafPlace
    value: Json
    influence: Influence


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldEffects:
    """A field of the manifest with all that it does.

    `source` is None for a field that is not written; then `tried` is the value with which the effects were found, and
    the effects are what that would change. `values` are those that exist, where only some do.
    """

    name: str
    description: str
    source: Source | None
    effects: tuple[Effect, ...]
    values: tuple[str, ...] = ()
    tried: Json = None
    was_refused: bool = False
    """Whether no value could be tried, because each that was tried needs more beside it."""
    fields: tuple[str, ...] = ()
    """The names of the fields below, if it has some."""


def names_manifest(field: str, written: ReadManifest) -> bool:
    """Whether a field is one of the manifest and not of a rendered object: by its beginning."""
    parts = split_field(field)
    return parts[:1] == ("metadata",) or (
        parts[:1] == ("spec",) and len(parts) > 1 and parts[1] in (read_spec(written).get("properties") or {})
    )


def read_spec(written: ReadManifest) -> Mapping[str, Json]:
    """The schema of the spec of that kind and version; empty for other kinds."""
    return schema_below(read_root_schema(written), ("spec",)) or {}


def find_effects(case: BuiltDocument, asked: str) -> FieldEffects | None:
    """What the field does; None if the schema has no such field."""
    written = case.build.written
    parts = resolve_parts(written, split_field(asked))
    schema = schema_below(read_root_schema(written), parts)
    if schema is None:
        return None
    name = str(name_path(parts, read_root_schema(written)))
    description = str(schema.get("description") or "")
    inputs = [one for one in list_inputs(case.build, case.document) if one.source.parts[: len(parts)] == parts]
    found = FieldEffects(name=name, description=description, source=None, effects=(), values=_values_of(parts, schema))
    found = replace(found, fields=tuple(schema.get("properties") or ()))
    if find_at(written, parts) is None or not inputs:
        return _try_unwritten(case, parts, found)
    places = _list_told(case.made.all_leaves())
    effects = tuple(
        Effect(place=place, value=case.made.value(place), influence=influence)
        for place, influences in measure(case.made, inputs, places).items()
        for influence in influences[:1]
    )
    return replace(found, source=inputs[0].source, effects=effects)


def resolve_parts(written: ReadManifest, asked: Sequence[str]) -> Parts:
    """Keys and indices of a path: an item of a list is meant by its index or its name."""
    parts: Parts = ()
    if len(asked) > 2 and asked[0] == "spec" and asked[2] in places_of_services(written):
        parts, asked = places_of_services(written)[asked[2]], asked[3:]
    for text in asked:
        here = find_at(written, parts)
        if isinstance(here, list):
            named = (at for at, item in enumerate(here) if isinstance(item, Mapping) and item.get("name") == text)
            parts = (*parts, int(text) if text.isdigit() else next(named, len(here)))
        else:
            parts = (*parts, text)
    return parts


def _list_told(places: Iterable[LeafPlace]) -> list[LeafPlace]:
    """The leaves that matter to a person: not those of components, which are again in their children, nor digests."""
    return without_names(
        [
            one
            for one in places
            if one.kind != contract.COMPONENT.kind and str(one.path.parts[-1]) != contract.ANNOTATION_RENDERING
        ]
    )


def _values_of(parts: Parts, schema: Mapping[str, Json]) -> tuple[str, ...]:
    if parts[-1] == "componentType":
        return tuple(kind.value for kind in ComponentType if kind is not ComponentType.OTHER)
    known = schema.get("enum") or KNOWN_VALUES.get(str(parts[-1]), ())
    return tuple(str(one) for one in known if one)


def _try_unwritten(case: BuiltDocument, parts: Parts, found: FieldEffects) -> FieldEffects:
    """What the field would change, with the value that changes most."""
    schema = schema_below(read_root_schema(case.build.written), parts) or {}
    values = found.values or (make_sample(schema), *((False,) if schema.get("type") == "boolean" else ()))
    tried: list[tuple[Json, tuple[Effect, ...]]] = []
    for value in values:
        changed = case.build.with_written(put(case.build.written, parts, value)).make()
        if changed is not None:
            changes = find_changes(case.made, changed, _list_told(case.made.all_leaves()))
            effects = (
                *_list_changes(case, parts, value, changes),
                *_list_fresh(case, parts, value, changed.all_leaves()),
            )
            tried.append((value, effects))
    if not tried:
        return replace(found, was_refused=True)
    value, effects = max(tried, key=lambda item: len(item[1]))
    return replace(found, effects=effects, tried=value) if effects else found


def _list_changes(
    case: BuiltDocument, parts: Parts, value: Json, changes: Iterator[tuple[LeafPlace, Json]]
) -> Iterator[Effect]:
    for place, then in changes:
        yield Effect(place=place, value=case.made.value(place), influence=_would(parts, value, then))


def _list_fresh(case: BuiltDocument, parts: Parts, value: Json, after: Mapping[LeafPlace, Json]) -> Iterator[Effect]:
    """The leaves that are only there with the field, of objects that are there without it."""
    told = set(_list_told(after))
    for place, then in after.items():
        if place in told and place.object in case.made.objects and case.made.value(place) is None:
            yield Effect(place=place, value=None, influence=_would(parts, value, then))


def _would(parts: Parts, value: Json, then: Json) -> Influence:
    source = Source(kind=SourceKind.FIELD, name="", parts=parts)
    return Influence(source=source, mode=Mode.DECIDES, tried=value, then=then)
