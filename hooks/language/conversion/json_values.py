"""Equality of JSON values, and reading of values that may have any type."""

from collections.abc import Mapping
from typing import TypeGuard

from hooks.ground.k8s.types import Json

_ABSENT = object()
"""Equal to no JSON value."""


def same(one: Json, other: Json) -> bool:
    """Whether two JSON values are equal; unlike `==`, true, 1 and 1.0 differ."""
    if one is other:
        return True
    if isinstance(one, dict):
        return isinstance(other, dict) and len(one) == len(other) and _same_fields(one, other)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def _same_fields(one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    for key, value in one.items():
        found = other.get(key, _ABSENT)
        if found is not value and not same(value, found):
            return False
    return True


def is_text(value: Json) -> TypeGuard[str]:
    """Whether the value is a string that is not empty."""
    return isinstance(value, str) and bool(value)


def name_of_item(item: Json) -> str | None:
    """The name of an item of a list, None without one."""
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def names_of(items: Json) -> frozenset[str | None]:
    """The names of a list's items."""
    return frozenset(map(name_of_item, items)) if isinstance(items, list) else frozenset()
