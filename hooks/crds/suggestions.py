"""Suggestions for a field that does not exist."""

from collections.abc import Iterable, Iterator

from hooks.api.structural import SchemaNode
from hooks.problems import FieldPath
from hooks.rules.values import suggest

_NESTED_LEVELS = 2
_ALMOST = 0.85
_NOT_USED = frozenset({"autoscaling", "checkpoint"})
"""Fields that the API has and no hook uses."""


def suggest_field(name: str, schema: SchemaNode, above: Iterable[tuple[FieldPath, SchemaNode]]) -> str:
    """`did you mean …?` or `it belongs in …`; empty if no field is similar.

    The first found of: a field of almost the same name here, one of the same name further in, one of the same name
    further out, one of a similar name here. `above` are the objects around this one with their paths, the nearest
    first.
    """
    fields = schema.get("properties", {})
    return (
        suggest(name, fields, cutoff=_ALMOST)
        or _suggest_nested(name, schema)
        or _suggest_above(name, above)
        or suggest(name, fields)
    )


def _suggest_nested(name: str, schema: SchemaNode) -> str:
    """All objects one level in that have the field, or one that is further in."""
    found = sorted(_find_nested(name, schema, ()), key=lambda path: (len(path), path))
    near = [path for path in found if len(path) == 1] or found[:1]
    return f"it belongs in {' or '.join('.'.join(path) for path in near)}" if near else ""


def _suggest_above(name: str, above: Iterable[tuple[FieldPath, SchemaNode]]) -> str:
    found = next((path for path, schema in above if name in schema.get("properties", {})), None)
    return f"it belongs in {found}" if found else ""


def _find_nested(name: str, schema: SchemaNode, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, part in schema.get("properties", {}).items():
        if key in _NOT_USED:
            continue
        if name in part.get("properties", {}):
            yield (*above, key)
        if len(above) + 1 < _NESTED_LEVELS:
            yield from _find_nested(name, part, (*above, key))
