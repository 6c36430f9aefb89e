"""Changes of a JSON value, or of its text, that are drawn by a source of choices."""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Protocol

Path = tuple[str | int, ...]

SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 2**64, 1e308, -0.0, 0.5),
    *("", " ", "x", "-", "..", "../../etc", "a/b", "a.b", "A", "0odd", "1", "-1", "1e9", "0x10", "1Gi", "NaN", "true"),
    *("hf://a/b", "s3://", "file:///x", "{", "}", "a: b", "- x", "&a *a", "%s", "{0}", "$(X)", "$(A)$(A)", "`id`"),
    *("vllm", "sglang", "worker", "frontend", "Sequential", "nvidia.com/v1beta1", "\u0000", "\u202e", "é" * 40, "😀"),
    *("x" * 300, "y" * 70_000, "2026-03-01T12:00:00Z", "9999-99-99T99:99:99Z", "0001-01-01T00:00:00Z"),
)
_DEPTHS = (5, 60, 400)
_KEYS = ("", "name", "spec", "status", "metadata", "kind", "__proto__", "a" * 300, "nvidia.com/x", "\n")


class Choices(Protocol):
    """Where the choices of a mutation come from."""

    def below(self, number: int) -> int:
        """A number from 0 up to, not including, `number`, which is at least 1."""


class RandomChoices:
    """Choices of a seeded generator."""

    def __init__(self, seed: str) -> None:
        """Take the seed."""
        self._random = Random(seed)

    def below(self, number: int) -> int:
        """As `Choices`."""
        return self._random.randrange(number)


def list_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of each value inside, the whole first."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from list_paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from list_paths(item, (*path, index))


def look_up(value: Any, path: Path) -> Any:
    """The value at a path."""
    for part in path:
        value = value[part]
    return value


def change(value: Any, path: Path, make: Callable[[Any], Any]) -> Any:
    """The value with another one at the path; what `make` raises KeyError for is removed."""
    if not path:
        return make(value)
    first, rest = path[0], path[1:]
    try:
        inner = change(value[first], rest, make)
    except KeyError:
        if rest:
            raise
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if key != first}
        return [item for index, item in enumerate(value) if index != first]
    if isinstance(value, dict):
        return {**value, first: inner}
    return [inner if index == first else item for index, item in enumerate(value)]


def put(value: Any, path: Path, new: Any) -> Any:
    """The value with a new one at the path."""
    return change(value, path, lambda _: new)


def mutate(value: Any, paths: list[Path], choices: Choices) -> tuple[Any, Path]:
    """The value with one change, and where that is; `paths` are those of the value."""
    path = paths[choices.below(len(paths))]
    kind = choices.below(8)
    if kind == 0 and path:
        return change(value, path, remove), path
    if kind == 1:
        other = look_up(value, paths[choices.below(len(paths))])
        return put(value, path, other), path
    if kind == 2:
        depth, is_list = _DEPTHS[choices.below(len(_DEPTHS))], choices.below(2)
        return change(value, path, lambda old: _nest(old, depth, is_list=bool(is_list))), path
    if kind == 3:
        key, new = _KEYS[choices.below(len(_KEYS))], SCALARS[choices.below(len(SCALARS))]
        return change(value, path, lambda old: {**old, key: new} if isinstance(old, dict) else [old, new]), path
    if kind == 4:
        times = (2, 50)[choices.below(2)]
        return change(value, path, lambda old: old * times if isinstance(old, list) and len(old) < 50 else [old]), path
    scalar = SCALARS[choices.below(len(SCALARS))]
    return put(value, path, scalar), path


def mutate_text(text: bytes, choices: Choices) -> bytes:
    """The text with one change that need not leave it JSON or YAML."""
    at = choices.below(len(text) + 1)
    match choices.below(5):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + bytes([choices.below(256)]) + text[at + 1 :]
        case 2:
            return text[:at] + (b"\xff\xfe", b"\x00", b"\t", b"[" * 3000, b"{", b"- ")[choices.below(6)] + text[at:]
        case 3:
            end = min(len(text), at + 1 + choices.below(200))
            return text[:at] + text[at:end] * 2 + text[end:]
    return text[:at] + text[at + 1 + choices.below(200) :]


def write(value: Any) -> bytes:
    """The value as JSON; one that is nested deeper than any writer bears becomes a text that is nested deeper still."""
    try:
        return json.dumps(value).encode()
    except RecursionError:
        return b'{"a":' * 5000


def remove(_: Any) -> Any:
    """The change that removes a value.

    Raises:
        KeyError: always; `change` knows by it what to do.
    """
    raise KeyError


def _nest(value: Any, depth: int, *, is_list: bool) -> Any:
    for _ in range(depth):
        value = [value] if is_list else {"a": value}
    return value
