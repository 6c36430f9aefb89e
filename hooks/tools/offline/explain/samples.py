"""A value that a schema accepts, for a field that is not written."""

from collections.abc import Mapping, Sequence

from hooks.ground.k8s.types import Json
from hooks.language.api.structural import SchemaNode
from hooks.tools.offline.explain.edits import MARK

_OF_TYPE: Mapping[str, Json] = {"integer": 7, "number": 7, "boolean": True}
_DEEPEST = 6


def make_sample(schema: SchemaNode, depth: int = 0) -> Json:
    """A value of the schema's type, with all that is required in it, or else its first plain field."""
    if schema.get("enum"):
        return next((value for value in schema["enum"] if value), schema["enum"][0])
    if schema.get("x-kubernetes-int-or-string"):
        return 7
    match schema.get("type"):
        case "object" if depth < _DEEPEST:
            return _make_map(schema, depth)
        case "array":
            return [make_sample(schema.get("items") or {}, depth + 1)]
        case str(kind) if kind in _OF_TYPE:
            return _OF_TYPE[kind]
    return MARK


def _make_map(schema: SchemaNode, depth: int) -> dict[str, Json]:
    fields: Mapping[str, SchemaNode] = schema.get("properties") or {}
    if not fields and isinstance(schema.get("additionalProperties"), dict):
        return {MARK: make_sample(schema["additionalProperties"], depth + 1)}
    needed: Sequence[str] = (
        schema.get("required") or [name for name, one in fields.items() if one.get("type") in {*_OF_TYPE, "string"}][:1]
    )
    return {name: make_sample(fields[name], depth + 1) for name in needed if name in fields}


def schema_below(schema: SchemaNode | None, parts: Sequence[str | int]) -> SchemaNode | None:
    """The schema at a path: names, keys of maps and indices; None if there is none."""
    for part in parts:
        if schema is None:
            return None
        fields: Mapping[str, SchemaNode] = schema.get("properties") or {}
        if part in fields:
            schema = fields[str(part)]
        elif isinstance(schema.get("additionalProperties"), dict):
            schema = schema["additionalProperties"]
        else:
            found = schema.get("items")
            schema = found if isinstance(found, dict) else None
    return schema
