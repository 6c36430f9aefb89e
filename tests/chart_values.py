"""The table of a chart's values, made from `values.yaml`: the comment directly above a value explains it."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

WHOLE = frozenset({"resources", "nodeSelector", "namespaceSelector", "objectSelector"})
"""Values that users replace as a whole, so that the table has one row for each."""

_KEY = re.compile(r"( *)([A-Za-z][A-Za-z0-9_-]*):")
_COMMENT = re.compile(r" *# ?(.*)")
_TABLE = re.compile(r"(<!-- values -->\n).*?(<!-- /values -->)", re.DOTALL)


def leaves(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with a row of its own: its path and its default."""
    for key, value in values.items():
        if key in WHOLE or not isinstance(value, dict) or not value:
            yield f"{path}{key}", value
        else:
            yield from leaves(value, f"{path}{key}.")


def read_meanings(text: str) -> dict[str, str]:
    """Path of each key to the comment directly above it, in one line; "" where there is none."""
    meanings: dict[str, str] = {}
    path: list[str] = []
    comment: list[str] = []
    for line in text.splitlines():
        if found := _COMMENT.fullmatch(line):
            comment.append(found[1])
            continue
        if found := _KEY.match(line):
            path = [*path[: len(found[1]) // 2], found[2]]
            meanings[".".join(path)] = " ".join(comment)
        comment = []
    return meanings


def show(value: Any) -> str:
    """A default as the table shows it."""
    if isinstance(value, str) and value:
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def values_table(chart: Path) -> str:
    """The rows of all values, in the order of the file."""
    text = (chart / "values.yaml").read_text()
    meanings = read_meanings(text)
    rows = [f"| `{path}` | `{show(value)}` | {meanings[path]} |" for path, value in leaves(yaml.safe_load(text))]
    return "\n".join(["| value | default | meaning |", "|---|---|---|", *rows])


def write_readme(chart: Path) -> str:
    """The chart's README as it should be."""
    return _TABLE.sub(lambda m: f"{m[1]}{values_table(chart)}\n{m[2]}", (chart / "README.md").read_text())
