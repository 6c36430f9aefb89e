"""What the API server takes in a field of a version: a value without what it would refuse.

Fields of both versions are compared by their schemas, so a field that is stricter in one of them is found by itself.
Nulls stay: the API server reads them as absent.

Source: Kubernetes, apiextensions-apiserver, pkg/apiserver/validation and pkg/apiserver/schema/listtype.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import is_
from typing import Final

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel
from hooks.language.api.structural import OPEN, SchemaNode, build_object_schema, schema_of
from hooks.language.conversion.pairs import Frame, Slot
from hooks.language.conversion.sides import Side

REFUSED: Final = object()
"""In place of a value of which nothing is left."""

Accept = Callable[[Json], Json]

ITEMS = "[]"
"""In a path: each item of a list, or each value of a map."""

_INT_OR_STRING = "x-kubernetes-int-or-string"
_KEYS = "x-kubernetes-list-map-keys"
_LIST_LIMITS = frozenset({_KEYS, "x-kubernetes-list-type", "maxItems"})
_RANGES = {"int32": 2**31, "int64": 2**63}


@dataclass(frozen=True, slots=True)
class FrameSchemas:
    """Where the schemas of a table's frames stand in a kind's model on each side: names from the root on."""

    models: Mapping[Side, type[ApiModel]]
    paths: Mapping[Side, Mapping[Frame, tuple[str, ...]]]

    def fields_of(self, side: Side, frame: Frame) -> Mapping[str, SchemaNode]:
        """The fields of a frame that may be left out; {} for a frame that the side does not have."""
        node: SchemaNode | None = _build_root(self.models[side])
        path = self.paths[side].get(frame)
        for name in path if path is not None else ():
            node = node and (node.get("items") if name == ITEMS and "items" in node else schema_of(name, node))
        if path is None or node is None:
            return {}
        required = _required(node)
        return {name: part for name, part in node.get("properties", {}).items() if name not in required}

    def find(self, side: Side, slot: Slot) -> SchemaNode | None:
        """The schema of a slot; None if the side does not have it, or requires it."""
        return self.fields_of(side, slot[0]).get(slot[1])

    def find_stricter(self, frame: Frame) -> frozenset[Slot]:
        """The slots of a frame that both sides have, and that do not take the same values."""
        hub, spoke = (self.fields_of(side, frame) for side in (Side.HUB, Side.SPOKE))
        return frozenset((frame, name) for name in hub.keys() & spoke.keys() if not is_alike(hub[name], spoke[name]))


@cache
def _build_root(model: type[ApiModel]) -> SchemaNode:
    """Build the schema of an object, without its metadata."""
    return build_object_schema(model)


def is_alike(one: SchemaNode | None, other: SchemaNode | None) -> bool:
    """Whether two schemas take the same values."""
    return one == other or (one is not None and other is not None and _essence(one) == _essence(other))


def takes_all(schema: SchemaNode | None, other: SchemaNode | None) -> bool:
    """Whether a schema takes every value that the other one takes; False if that is not plain to see."""
    if schema is None or other is None:
        return schema is other
    looser = {key: value for key, value in other.items() if key not in _LIST_LIMITS or key in schema}
    return is_alike(schema, looser)


def _essence(schema: SchemaNode) -> SchemaNode:
    """The schema without descriptions, and with defaults only as far as they stand for what is missing."""
    kept = {key: value for key, value in schema.items() if key not in {"description", "default"}}
    if "properties" in schema:
        kept["properties"] = {name: _essence(part) for name, part in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            kept[key] = _essence(schema[key])
    required = _required(schema)
    return {key: value for key, value in kept.items() if key != "required"} | (
        {"required": required} if required else {}
    )


def _required(schema: SchemaNode) -> list[str]:
    """The fields that an object must have; a default stands for a missing one."""
    known = schema.get("properties", {})
    return sorted(name for name in schema.get("required", ()) if "default" not in known.get(name, {}))


def accept(value: Json, schema: SchemaNode) -> Json:
    """The value without what the API server refuses; the same object if it takes all, `REFUSED` if nothing is left.

    Of items of a list with the same keys, the last one stays.
    """
    return accepting(schema)(value)


def accepting(schema: SchemaNode) -> Accept:
    """The function that does this for a schema: one for many values."""
    if schema.get(_INT_OR_STRING):
        is_text = _text_check(schema)
        return _checked(lambda value: is_text(value) if isinstance(value, str) else _is_whole_number(value))
    kind = schema.get("type")
    if kind in {"object", "array"}:
        return _object_reader(schema) if kind == "object" else _list_reader(schema)
    if kind in {"integer", "number"}:
        return _checked(_number_check(schema, is_whole=kind == "integer"))
    return _checked(_text_check(schema) if kind == "string" else lambda value: isinstance(value, bool))


def _checked(check: Callable[[Json], bool]) -> Accept:
    return lambda value: value if value is None or check(value) else REFUSED


def _object_reader(schema: SchemaNode) -> Accept:
    fields = {name: accepting(part) for name, part in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties")
    other = accepting(others) if isinstance(others, dict) else None
    is_open, required = bool(schema.get(OPEN)), _required(schema)

    def read(value: Json) -> Json:
        if not isinstance(value, dict):
            return value if value is None else REFUSED
        kept, is_whole = {}, True
        for name, item in value.items():
            reader = fields.get(name, other)
            left = reader(item) if reader is not None else item if is_open else REFUSED
            is_whole = is_whole and left is item
            if left is not REFUSED:
                kept[name] = left
        if required and any(kept.get(name) is None for name in required):
            return REFUSED
        return value if is_whole else kept or REFUSED

    return read


def _list_reader(schema: SchemaNode) -> Accept:
    items = schema.get("items", {})
    reader, most = accepting(items), schema.get("maxItems")
    known = items.get("properties", {})
    keys = [(key, known.get(key, {}).get("default")) for key in schema.get(_KEYS, ())]

    def read(value: Json) -> Json:
        if not isinstance(value, list):
            return value if value is None else REFUSED
        kept = [left for item in value if (left := reader(item)) is not REFUSED and left is not None]
        if keys:
            last = {tuple(str(item.get(key, default)) for key, default in keys): at for at, item in enumerate(kept)}
            kept = kept if len(last) == len(kept) else [kept[at] for at in sorted(last.values())]
        kept = kept[:most]
        is_whole = len(kept) == len(value) and all(map(is_, kept, value))
        return value if is_whole else kept or REFUSED

    return read


def _text_check(schema: SchemaNode) -> Callable[[Json], bool]:
    words, least, most = schema.get("enum"), schema.get("minLength", 0), schema.get("maxLength")
    pattern = _compile(schema["pattern"]) if "pattern" in schema else None
    if words is None and not least and most is None and pattern is None:
        return lambda value: isinstance(value, str)

    def check(value: Json) -> bool:
        if not isinstance(value, str) or (words is not None and value not in words):
            return False
        fits = least <= len(value) and (most is None or len(value) <= most)
        return fits and (pattern is None or pattern.search(value) is not None)

    return check


def _compile(pattern: str) -> re.Pattern[str]:
    """The pattern with Go's meaning of `$`: the end of the text, and not also before a last line break."""
    return re.compile(f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern)


def _number_check(schema: SchemaNode, *, is_whole: bool) -> Callable[[Json], bool]:
    least, most, limit = schema.get("minimum"), schema.get("maximum"), _RANGES.get(schema.get("format", ""))

    def check(value: Json) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float) or (is_whole and value != int(value)):
            return False
        fits = (least is None or least <= value) and (most is None or value <= most)
        return fits and (limit is None or -limit <= value < limit)

    return check


def _is_whole_number(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
