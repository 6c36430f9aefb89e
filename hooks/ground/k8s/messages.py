"""Parts of messages: other programs' texts as one short line, URLs without passwords, and the names of JSON types."""

import re
from collections.abc import Sequence
from typing import Any

_USER_OF_URL = re.compile(r"://[^/@\s\"'\\]+@")
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


def list_names(names: Sequence[str], most: int = 10) -> str:
    """`a, b and 3 more`: the names, at most so many of them."""
    more = len(names) - most
    return f"{', '.join(names[:most])}{f' and {more} more' if more > 0 else ''}"


def without_user(text: str) -> str:
    """The same text with URLs that name neither user nor password."""
    return _USER_OF_URL.sub("://", text)


def describe_type(value: Any) -> str:
    """The JSON type of the value with its article: `null`, `a string`, `an array`, …"""
    return _JSON_TYPES.get(type(value), "not a JSON value")
