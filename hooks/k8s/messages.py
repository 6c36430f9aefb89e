"""Parts of messages: other programs' texts as one short line, and the names of JSON types."""

from typing import Any

_JSON_TYPES = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def one_line(text: str, limit: int) -> str:
    """The text on one line, without control characters, at most `limit` characters long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def describe_type(value: Any) -> str:
    """The JSON type of the value with its article: `null`, `a string`, `an array`, …"""
    return _JSON_TYPES.get(type(value), "not a JSON value")
