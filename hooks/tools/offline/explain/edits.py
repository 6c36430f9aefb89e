"""Changes of one value in a JSON document, and what to try instead of a value. Nothing given is changed."""

import re
from collections.abc import Iterator, Mapping, Sequence

from hooks.ground.k8s.types import Json
from hooks.language.api.structural import SchemaNode

MARK = "q7zx"
"""What is added to a text, so that it is found again in what a build makes of it; no manifest of a user has it."""

_NUMBER = re.compile(r"\d+")
_RELEASE = re.compile(r"\d+\.\d+(\.\d+)?")
_EARLY, _LATE = "0.1.0", "99.0.0"

Parts = tuple[str | int, ...]


def put(value: Json, parts: Sequence[str | int], new: Json) -> Json:
    """The document with another value at a path; missing maps are added, and an index one past a list adds an item."""
    if not parts:
        return new
    first, rest = parts[0], parts[1:]
    if isinstance(first, int):
        items = list(value or ())
        if first == len(items):
            return [*items, put(None, rest, new)]
        return [put(item, rest, new) if index == first else item for index, item in enumerate(items)]
    fields: Mapping[str, Json] = value or {}
    return {**fields, first: put(fields.get(first), rest, new)}


def drop(value: Json, parts: Sequence[str | int]) -> Json:
    """The document without the field or item at a path."""
    first, rest = parts[0], parts[1:]
    if isinstance(first, int):
        if not rest:
            return [item for index, item in enumerate(value) if index != first]
        return [drop(item, rest) if index == first else item for index, item in enumerate(value)]
    if not rest:
        return {key: item for key, item in value.items() if key != first}
    return {key: drop(item, rest) if key == first else item for key, item in value.items()}


def walk_parts(value: Json, parts: Parts = ()) -> Iterator[tuple[Parts, Json]]:
    """Each leaf of a document, with keys and 0-based indices as a YAML reader counts them."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from walk_parts(item, (*parts, key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from walk_parts(item, (*parts, index))
    else:
        yield parts, value


def alternatives(value: Json, schema: SchemaNode | None = None) -> list[list[Json]]:
    """Other values, in groups: of each group, the first that a build accepts is worth a try."""
    if isinstance(value, bool):
        return [[not value]]
    if isinstance(value, int | float):
        return [[value + 1, value - 1, value * 2, value // 2]]
    if not isinstance(value, str):
        return []
    allowed = (schema or {}).get("enum")
    if allowed:
        return [[other] for other in allowed if other != value]
    if value in {"true", "false"}:
        return [["false" if value == "true" else "true"], [value + MARK]]
    marked = [value + MARK, MARK + value, value[: -len(MARK)] + MARK]
    bumped = [_bump(value, step) for step in (1, 7)]
    releases = [[_RELEASE.sub(release, value, count=1)] for release in (_EARLY, _LATE) if _RELEASE.search(value)]
    return [[*marked, *(bumped if _NUMBER.search(value) else ())], *releases]


def _bump(value: str, step: int) -> str:
    """The text with a larger first number."""
    return _NUMBER.sub(lambda found: str(int(found[0]) + step), value, count=1)


def unmark(value: str) -> str:
    """The text as it was before the mark was added."""
    return value.replace(MARK, "")
