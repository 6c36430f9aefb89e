"""Reads YAML as kubectl does, with line and column of every field.

Dates stay text, `yes` and `on` are booleans, there is no base 60, `1e3` is a number, a key given twice is a fault.
An integer of more than 64 bits is a float, and a float out of range is text.
Aliases are expanded up to a limit: a few lines with aliases can expand to more values than fit into memory.

Source: sigs.k8s.io/yaml, which reads YAML 1.1 without dates and base 60.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from math import isinf
from typing import Any, NamedTuple

import yaml

YamlPath = tuple[str | int, ...]
"""Keys and 0-based indices, from the root of a document."""

MAX_VALUES = 500_000
"""The most values of one document; an alias counts with all its values, each time. Stored objects have far fewer."""

MAX_DEPTH = 100
"""How deep values may be nested: far more than any object means, and less than readers of JSON bear."""


class Mark(NamedTuple):
    """A place in a text, both 1-based."""

    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class YamlFault:
    """One fault in a document: its place, its field, and a sentence without the subject."""

    mark: Mark
    path: YamlPath
    message: str

    @property
    def line(self) -> int:
        """The line, 1-based."""
        return self.mark.line


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One document: its value, the places of all keys and list entries, and its faults."""

    value: Any
    marks: dict[YamlPath, Mark] = field(repr=False)
    faults: tuple[YamlFault, ...] = ()

    @property
    def start(self) -> Mark:
        """The place at which the document begins."""
        return self.marks[()]


def read_yaml(text: str) -> Iterator[YamlDocument]:
    """Read all documents that are not empty.

    Raises:
        SyntaxError: the text is not YAML; `lineno` and `offset` are set.
    """
    try:
        for root in yaml.compose_all(text, Loader=ManifestLoader):
            if root is None or (isinstance(root, yaml.ScalarNode) and root.tag == _PREFIX + "null"):
                continue
            reader = _NodeReader()
            value = reader.read(root, ())
            yield YamlDocument(value, reader.marks, tuple(reader.faults))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = _place(mark) if mark else Mark()
        raise _syntax_error(_TAB if _is_tab(text, place) else str(error.problem), place) from error
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        place = Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise _syntax_error(f"character {error.character!r} is not allowed", place) from error
    except RecursionError as error:
        raise _syntax_error("it is nested too deeply, or an alias contains itself", Mark()) from error


_TAB = "a tab stands where only blanks may indent"


def _is_tab(text: str, place: Mark) -> bool:
    """Whether a line is indented by a tab at this place."""
    line = next(islice(text.split("\n"), place.line - 1, None), "")
    return not line[: place.column - 1].strip() and line[place.column - 1 : place.column] == "\t"


def _syntax_error(message: str, mark: Mark) -> SyntaxError:
    error = SyntaxError(message)
    error.lineno, error.offset = mark
    return error


def _place(mark: yaml.Mark) -> Mark:
    return Mark(mark.line + 1, mark.column + 1)


class ManifestLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Resolves plain scalars as kubectl does: no dates, no base 60, `1e3` is a number."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - as PyYAML declares it


_BOOLEANS = re.compile(r"(?:true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)\Z")
_INTEGERS = re.compile(r"(?:[-+]?0b[01_]+|[-+]?0o?[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+)\Z")
_FLOATS = re.compile(r"(?:[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\Z")
_PREFIX = "tag:yaml.org,2002:"
for _tag, _pattern, _first in (
    ("bool", _BOOLEANS, "yYnNtTfFoO"),
    ("int", _INTEGERS, "-+0123456789"),
    ("float", _FLOATS, "-+.0123456789"),
    ("merge", re.compile(r"(?:<<)\Z"), "<"),
    ("null", re.compile(r"(?:~|null|Null|NULL|)\Z"), "~nN\0"),
):
    ManifestLoader.add_implicit_resolver(
        _PREFIX + _tag, _pattern, list(_first) if _first[-1] != "\0" else ["~", "n", "N", ""]
    )


class _NodeReader:
    """Converts one document's nodes to values, and records the place of every path and the faults."""

    def __init__(self) -> None:
        self.marks: dict[YamlPath, Mark] = {}
        self.faults: list[YamlFault] = []
        self._count = 0

    def read(self, node: yaml.Node, path: YamlPath) -> Any:
        self._count += 1
        if self._count > MAX_VALUES:
            raise _syntax_error(f"its aliases expand to more than {MAX_VALUES} values", _place(node.start_mark))
        if len(path) > MAX_DEPTH:
            raise _syntax_error(
                f"it is nested more than {MAX_DEPTH} deep, or an alias contains itself", _place(node.start_mark)
            )
        self.marks.setdefault(path, _place(node.start_mark))
        if isinstance(node, yaml.MappingNode):
            return self._read_mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._read_scalar(node, path)

    def _read_mapping(self, node: yaml.MappingNode, path: YamlPath) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _PREFIX + "merge":
                merged = {**self._read_merge(value_node, path), **merged}
                continue
            key = self._read_key(key_node, path)
            if key in own:
                self._refuse(key_node, (*path, key), "is given twice")
            self.marks[*path, key] = _place(key_node.start_mark)
            own[key] = self.read(value_node, (*path, key))
        return {**merged, **own}

    def _read_merge(self, node: yaml.Node, path: YamlPath) -> dict[str, Any]:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for source in reversed(sources):
            if not isinstance(source, yaml.MappingNode):
                self._refuse(source, path, "the merge key << needs an object")
                continue
            merged.update(self._read_mapping(source, path))
        return merged

    def _read_key(self, node: yaml.Node, path: YamlPath) -> str:
        if isinstance(node, yaml.ScalarNode):
            return str(node.value)
        self._refuse(node, path, "has a key that is not text")
        return ""

    def _read_scalar(self, node: yaml.Node, path: YamlPath) -> Any:
        text = str(node.value)
        match node.tag.removeprefix(_PREFIX):
            case "null":
                return None
            case "bool":
                return text.lower() in {"true", "yes", "on"}
            case "int":
                return _read_number(text)
            case "float":
                return _read_float(text)
            case "str" | "!":
                return text
            case tag:
                self._refuse(node, path, f"has the YAML tag {tag}, which Kubernetes does not know")
                return None

    def _refuse(self, node: yaml.Node, path: YamlPath, message: str) -> None:
        self.faults.append(YamlFault(_place(node.start_mark), path, message))


def _read_number(text: str) -> int | float | str:
    """An integer if it has at most 64 bits, otherwise a float; a number out of a float's range stays text."""
    try:
        number = _read_integer(text)
    except ValueError:  # `0x_`, or more digits than Python converts
        return _read_float(text)
    return number if -(2**63) <= number < 2**64 else _read_float(text)


def _read_float(text: str) -> float | str:
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
