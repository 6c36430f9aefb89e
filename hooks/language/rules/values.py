"""How a problem names a JSON value, a type, and the right way to write the same value."""

import json
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

from hooks.ground.k8s.messages import without_user
from hooks.ground.k8s.types import Json

_TYPE_WORDS = {
    "array": "an array",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
_SCALAR_WORDS = {bool: "the boolean", int: "the integer", float: "the number", str: "the string"}
_SHOWN_CHARACTERS = 60
_MOST_DIGITS = 20
"""As many as an integer of 64 bits has, with its sign."""


def name_value(value: Json) -> str:
    """`the integer 1`, `the string "a"`, `an array`."""
    if value is None:
        return "null"
    if isinstance(value, Mapping | list):
        return "an object" if isinstance(value, Mapping) else "an array"
    return f"{_SCALAR_WORDS[type(value)]} {show_value(value)}"


def name_type(value: Json) -> str:
    """`an integer`, `an object`, `null`: the value's type alone."""
    return _TYPE_WORDS[_TYPES[type(value)]] if type(value) in _TYPES else name_value(value)


def show_value(value: Json) -> str:
    """The value as JSON, shortened if it is long, and without a password of a URL."""
    text = without_user(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"


def name_types(types: Iterable[str]) -> str:
    """`an integer or a string`, by the types' names in a schema."""
    return " or ".join(_TYPE_WORDS[name] for name in sorted(types))


def suggest_value(value: Json, types: Iterable[str]) -> str:
    """`: write "1"`, the same value in one of the types; empty if there is none."""
    wanted = frozenset(types)
    if "string" in wanted and isinstance(value, bool | int | float):
        whole = int(value) if isinstance(value, float) and value.is_integer() else value  # 2e9 is no quantity's text
        return f": write {json.dumps(json.dumps(whole))}"
    if not isinstance(value, str):
        return ""
    if "integer" in wanted and len(value) <= _MOST_DIGITS and value.removeprefix("-").isdecimal():
        return f": write {int(value)}"
    if "boolean" in wanted and value.lower() in {"true", "false"}:
        return f": write {value.lower()}"
    return ""


def suggest(word: str, choices: Collection[str], *, cutoff: float = 0.6) -> str:
    """`did you mean …?`; empty if no choice is similar to the word. Case does not matter."""
    by_lower = {choice.lower(): choice for choice in choices}
    found = get_close_matches(word.lower(), by_lower, n=1, cutoff=cutoff)
    return f"did you mean {by_lower[found[0]]}?" if found else ""
