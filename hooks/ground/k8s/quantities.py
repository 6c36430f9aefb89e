"""Kubernetes quantities (`500m`, `2Gi`), in the canonical form that the API server stores.

We return only canonical quantities: one that the server rewrites would cause a write at every sync.

Source: Kubernetes, apimachinery pkg/api/resource/quantity.go: the suffixes and the canonical form.
"""

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.types import Json

_MOST_CHARACTERS = 64
"""Three times as many as the largest quantity has: a number is read in a time that grows with its square."""

_QUANTITY = re.compile(
    rf"(?=.{{1,{_MOST_CHARACTERS}}}\Z)(?P<number>[+-]?(\d+(\.\d*)?|\.\d+))(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{{1,3}})?",
)
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}

_SHOWN = 80

MOST = 2**63 - 1
"""The largest count that a field of format int64 can have."""


@lru_cache(maxsize=1024)
def parse_quantity(text: str) -> Fraction:
    """The exact value of a quantity.

    Raises:
        ValueError: the text is not a quantity; one line that says so.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        shown = one_line(repr(text), _SHOWN)
        raise ValueError(f"{shown} is not a quantity; write a number with an optional suffix, as in 500m, 2, 16Gi")
    return Fraction(Decimal(match["number"])) * _scale(match["suffix"] or "")


@lru_cache(maxsize=1024, typed=True)
def canonical_quantity(value: str | float) -> str:
    """The quantity as the API server prints it: `1000m` as `1`, `0.5` as `500m`, `2048Mi` as `2Gi`.

    Fractions of a nano are rounded up, as the server does.

    Raises:
        ValueError: the value is not a quantity.
    """
    text = str(value)
    amount = parse_quantity(text)
    match = _QUANTITY.fullmatch(text)
    suffix = (match["suffix"] or "") if match else ""
    if amount == 0:
        return "0"
    if suffix in _BINARY and amount.denominator == 1:
        return _write_binary(int(amount))
    style_exponent = suffix[:1] in {"e", "E"} and suffix != "E"
    return _write_decimal(amount, exponent=style_exponent)


def is_quantity(text: str) -> bool:
    """Whether the text is a quantity."""
    return _QUANTITY.fullmatch(text) is not None


def is_negative(value: Json) -> bool:
    """Whether the value is a quantity below zero."""
    try:
        return isinstance(value, str | int | float) and parse_quantity(str(value)) < 0
    except ValueError:
        return False


def _scale(suffix: str) -> Fraction:
    if suffix in _BINARY:
        return Fraction(2 ** _BINARY[suffix])
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    return Fraction(10) ** exponent


def _write_binary(amount: int) -> str:
    for suffix, bits in reversed(_BINARY.items()):
        if amount % 2**bits == 0:
            return f"{amount >> bits}{suffix}"
    return str(amount)


def _write_decimal(amount: Fraction, *, exponent: bool) -> str:
    nanos = -(-amount.numerator * 10**9 // amount.denominator)
    for suffix, power in reversed(_DECIMAL.items()):
        unit = 10 ** (power + 9)
        if nanos % unit == 0:
            number = nanos // unit
            return f"{number}e{power}" if exponent and power else f"{number}{suffix}"
    return f"{nanos}n"


def scale_amount(amount: Json, count: int, *, up: bool) -> int:
    """A number of pods, or a percentage of `count`, rounded `up` or down.

    Source: Kubernetes, apimachinery pkg/util/intstr, GetScaledValueFromIntOrPercent.
    """
    text = str(amount)
    if not text.endswith("%"):
        return int(text)
    percent = int(text[:-1]) * count
    return -(-percent // 100) if up else percent // 100
