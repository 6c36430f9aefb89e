"""Assertions about objects that show a difference as YAML, line by line."""

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

from hooks.ground.k8s.yaml_reader import parse_yaml
from hooks.tools.offline.manifests.writing import format_value


def assert_same(found: Any, wanted: Any) -> None:
    """Assert that two values are equal; `wanted` may be YAML text.

    Raises:
        AssertionError: they differ; the message has the difference as YAML.
    """
    expected = _read(wanted)
    if found != expected:
        raise AssertionError(_describe(found, expected))


def assert_has(found: Any, wanted: Any) -> None:
    """Assert that a value has everything in `wanted`, which may be YAML text; maps may have more keys than wanted.

    Lists must have the same length; items that are maps may have more keys too.

    Raises:
        AssertionError: something is missing or differs; the message has the difference as YAML, without what was not
            asked for.
    """
    expected = _read(wanted)
    asked = _part_of(found, expected)
    if asked != expected:
        raise AssertionError(_describe(asked, expected))


def _read(wanted: Any) -> Any:
    """The value; text of several lines, or with a colon, is YAML."""
    if not isinstance(wanted, str) or ("\n" not in wanted and ": " not in wanted):
        return wanted
    return next(iter(parse_yaml(wanted)), None)


def _part_of(found: Any, wanted: Any) -> Any:
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        return {key: _part_of(found[key], part) for key, part in wanted.items() if key in found}
    if _is_list(found) and _is_list(wanted) and len(found) == len(wanted):
        return [_part_of(item, part) for item, part in zip(found, wanted, strict=True)]
    return found


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _describe(found: Any, wanted: Any) -> str:
    before, after = (format_value(value).splitlines() for value in (wanted, found))
    lines = unified_diff(before, after, "wanted", "found", lineterm="", n=3)
    return "\n".join(["the values differ (- wanted, + found)", *lines])
