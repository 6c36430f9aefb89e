"""Texts of other programs as messages of ours: one line, of a length that a status or an Event can show.

And what a value is, in the words of who wrote it as JSON or YAML.
"""

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
    """The text without line breaks and other control characters, at most `limit` characters long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def describe_type(value: Any) -> str:
    """What the value is as JSON: `null`, `a string`, `an array`, …"""
    return _JSON_TYPES.get(type(value), "no JSON value")
