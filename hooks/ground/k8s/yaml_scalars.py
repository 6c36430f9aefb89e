"""Values of YAML's scalars as kubectl reads them.

Dates stay text, `yes` and `on` are booleans, there is no base 60, `1e3` is a number. An integer of more than 64 bits is
a float, and a float out of range is text.

Source: sigs.k8s.io/yaml, which reads YAML 1.1 without dates and base 60.
"""

import re
from collections.abc import Callable, Mapping
from math import isinf
from typing import Any

_NULLS = frozenset({"~", "null", "Null", "NULL", ""})
_TRUE = frozenset({"true", "yes", "on"})
_BOOLEANS = re.compile(r"(?:true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)\Z")
_INTEGERS = re.compile(r"(?:[-+]?0b[01_]+|[-+]?0o?[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+)\Z")
_FLOATS = re.compile(r"(?:[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\Z")
_FIRST_OF_NUMBERS = "-+.0123456789"
_FIRST_OF_WORDS = "~nNyYtTfFoO"


def read_plain(text: str) -> Any:
    """The value of a scalar without quotes and without a tag."""
    first = text[:1]
    if first and first in _FIRST_OF_NUMBERS:
        if _INTEGERS.match(text):
            return _read_number(text)
        return _read_float(text) if _FLOATS.match(text) else text
    if first in _FIRST_OF_WORDS:  # so is the empty text
        if text in _NULLS:
            return None
        return _is_true(text) if _BOOLEANS.match(text) else text
    return text


def _is_true(text: str) -> bool:
    """The value of a boolean."""
    return text.lower() in _TRUE


def _read_number(text: str) -> int | float | str:
    """An integer if it has at most 64 bits, otherwise a float; a number out of a float's range stays text."""
    try:
        number = _read_integer(text)
    except ValueError:  # `0x_`, or more digits than Python converts
        return _read_float(text)
    return number if -(2**63) <= number < 2**64 else _read_float(text)


def _read_float(text: str) -> float | str:
    """A float; text that is none, or out of range, stays text."""
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        return text
    return text if isinf(number) else number


def _read_integer(text: str) -> int:
    digits = text.replace("_", "").lower()
    sign, digits = (-1, digits[1:]) if digits.startswith("-") else (1, digits.lstrip("+"))
    for prefix, base in (("0x", 16), ("0b", 2), ("0o", 8)):
        if digits.startswith(prefix):
            return sign * int(digits[2:], base)
    return sign * int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)


READERS: Mapping[str, Callable[[str], Any]] = {
    "null": lambda _: None,
    "bool": _is_true,
    "int": _read_number,
    "float": _read_float,
    "str": str,
    "!": str,
}
"""By tag: what makes a value of a text."""
