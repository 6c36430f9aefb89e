"""Faults of a schema in words: what is wrong and what would be right."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches

from jsonschema_rs import ValidationError, ValidationErrorKind

from hooks.api.structural import SchemaNode
from hooks.k8s.types import Json

Path = tuple[str | int, ...]

_TYPE_WORDS = {
    "array": "a list",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_SCALAR_WORDS = {bool: "the boolean", int: "the integer", float: "the number", str: "the string"}
_SHOWN_CHARACTERS = 60
_NESTED_LEVELS = 2
_ALMOST = 0.85
_NOT_USED = frozenset({"autoscaling", "checkpoint"})
"""Fields that the API has and that nothing comes of."""


def describe_error(error: ValidationError) -> str:
    """Say what is wrong with one value."""
    kind, value = error.kind, error.instance
    match kind:
        case ValidationErrorKind.Type():
            return f"is {_name(value)}, should be {_one_of_types(kind.types)}{_hint(value, kind.types)}"
        case ValidationErrorKind.AnyOf():
            return f"is {_name(value)}, should be an integer or a string{_hint(value, ['string'])}"
        case ValidationErrorKind.Enum():
            options = [str(option) for option in kind.options]
            guess = suggest(str(value), options)
            return f"is {_show(value)}, should be one of {', '.join(options)}{f'; {guess}' if guess else ''}"
        case ValidationErrorKind.Pattern():
            return f"is {_show(value)}, should be {_pattern_words(kind.pattern)}"
        case ValidationErrorKind.Format():
            return f"is {_show(value)}, should be a {kind.format}, for example 2026-01-31T09:30:00Z"
        case _:
            return _describe_limit(error)


def _describe_limit(error: ValidationError) -> str:
    kind = error.kind
    value: Json = error.instance
    match kind:
        case ValidationErrorKind.Minimum():
            return f"is {_show(value)}, should be at least {kind.limit}"
        case ValidationErrorKind.Maximum():
            return f"is {_show(value)}, should be at most {kind.limit}"
        case ValidationErrorKind.MinLength():
            return "is empty" if value == "" else f"has {len(value)} characters, should have at least {kind.limit}"
        case ValidationErrorKind.MaxLength():
            return f"has {len(value)} characters, should have at most {kind.limit}"
        case ValidationErrorKind.MaxItems() | ValidationErrorKind.MaxProperties():
            return f"has {len(value)} entries, should have at most {kind.limit}"
        case _:
            return error.message


def explain_unknown(name: str, schema: SchemaNode, above: Iterable[tuple[Path, SchemaNode]]) -> str:
    """Say that there is no such field, and which one may be meant.

    That is one written almost so here, one of the name further in or further out, or else one a little like it here.
    `above` are the objects around this one with their paths, the nearest first.
    """
    fields = schema.get("properties", {})
    guess = (
        suggest(name, fields, cutoff=_ALMOST)
        or _suggest_nested(name, schema)
        or _suggest_above(name, above)
        or suggest(name, fields)
    )
    return f"is no field here{f'; {guess}' if guess else ''}"


def suggest(word: str, choices: Collection[str], *, cutoff: float = 0.6) -> str:
    """`did you mean …?`, or nothing when no choice is like the word; case does not count."""
    by_lower = {choice.lower(): choice for choice in choices}
    found = get_close_matches(word.lower(), by_lower, n=1, cutoff=cutoff)
    return f"did you mean {by_lower[found[0]]}?" if found else ""


def _suggest_nested(name: str, schema: SchemaNode) -> str:
    """All objects one level in that have the field, or one that is further in."""
    found = sorted(_find_nested(name, schema, ()), key=lambda path: (len(path), path))
    near = [path for path in found if len(path) == 1] or found[:1]
    return f"it belongs into {' or '.join('.'.join(path) for path in near)}" if near else ""


def _suggest_above(name: str, above: Iterable[tuple[Path, SchemaNode]]) -> str:
    found = next((path for path, schema in above if name in schema.get("properties", {})), None)
    return f"it belongs into {'.'.join(map(str, found))}" if found else ""


def _find_nested(name: str, schema: SchemaNode, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, part in schema.get("properties", {}).items():
        if key in _NOT_USED:
            continue
        if name in part.get("properties", {}):
            yield (*above, key)
        if len(above) + 1 < _NESTED_LEVELS:
            yield from _find_nested(name, part, (*above, key))


def _name(value: Json) -> str:
    """`the integer 1`, `the string "a"`, `a list`."""
    if value is None:
        return "null"
    if isinstance(value, Mapping | list):
        return "an object" if isinstance(value, Mapping) else "a list"
    return f"{_SCALAR_WORDS[type(value)]} {_show(value)}"


def _show(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"


def _one_of_types(types: list[str]) -> str:
    return " or ".join(_TYPE_WORDS[name] for name in types)


def _hint(value: Json, types: list[str]) -> str:
    """How the same value would be written right; empty when it cannot be guessed."""
    if "string" in types and isinstance(value, bool | int | float):
        return f": write {json.dumps(json.dumps(value))}"
    if not isinstance(value, str):
        return ""
    if "integer" in types and value.removeprefix("-").isdecimal():
        return f": write {int(value)}"
    if "boolean" in types and value.lower() in {"true", "false"}:
        return f": write {value.lower()}"
    return ""


def _pattern_words(pattern: str) -> str:
    if "KMGTPE" in pattern:
        return "a quantity, for example 500m, 2 or 16Gi"
    if pattern.startswith("^[a-z0-9]"):
        return "a name of lower-case letters, digits, - and ., starting and ending with a letter or digit"
    if pattern.startswith("^(("):
        return "a label value of letters, digits, -, _ and ., starting and ending with a letter or digit"
    return f"like {pattern}"
