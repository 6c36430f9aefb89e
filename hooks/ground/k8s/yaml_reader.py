"""Reads YAML as kubectl does, with line and column of every field. All YAML of the project is read here.

A key given twice is a fault, and so is a tag that Kubernetes does not know.

Each value is made from the parser's events as they come, and bounds (yaml_bounds.py) are checked before: a parser that
composes a document first ends the process when it is nested deeply. Aliases are bounded by the values that they stand
for, since a few lines with aliases can stand for more values than fit into memory.

Source: sigs.k8s.io/yaml, which reads YAML 1.1 without dates and base 60.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, NamedTuple

import yaml

from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.yaml_bounds import (
    FILE,
    MAX_DEPTH,
    MAX_DIRECTIVES,
    MAX_FAULTS,
    MAX_KEY,
    MAX_SCALAR,
    BoundExceeded,
    Bounds,
)
from hooks.ground.k8s.yaml_scalars import READERS, read_plain
from hooks.ground.problems import FieldPath

YamlPath = tuple[str | int, ...]
"""Keys and 0-based indices, from the root of a document."""


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


def read_yaml(text: str, bounds: Bounds = FILE) -> Iterator[YamlDocument]:
    """Read all documents that are not empty.

    Raises:
        BoundExceeded: the text exceeds a bound.
        SyntaxError: the text is not YAML. `lineno` and `offset` are set for both.
    """
    return _read(text, bounds, with_places=True)


def parse_yaml(text: str, bounds: Bounds = FILE) -> list[Any]:
    """The values of all documents that are not empty.

    Raises:
        SyntaxError: the text is not YAML, has a fault or exceeds a bound; `lineno` and `offset` are set.
    """
    values = []
    for document in _read(text, bounds, with_places=False):
        for fault in document.faults:
            where = one_line(str(FieldPath(fault.path)), _SHOWN)
            raise _refusal(SyntaxError, f"{where} {fault.message}".strip(), fault.mark)
        values.append(document.value)
    return values


def _read(text: str, bounds: Bounds, *, with_places: bool) -> Iterator[YamlDocument]:
    try:
        if text.count("%TAG") > MAX_DIRECTIVES:
            raise _refusal(
                BoundExceeded, f"it has %TAG more than {MAX_DIRECTIVES} times; Kubernetes needs none", Mark()
            )
        yield from _Reader(text, bounds, with_places=with_places).read()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = _place(mark) if mark else Mark()
        if error.problem == _PARSER_IS_TOO_DEEP:
            raise _refusal(BoundExceeded, _TOO_DEEP, place) from error
        raise _refusal(SyntaxError, _TAB if _is_tab(text, place) else str(error.problem), place) from error
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        place = Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise _refusal(SyntaxError, f"character {error.character!r} is not allowed", place) from error
    except RecursionError as error:
        raise _refusal(BoundExceeded, "it is nested too deeply, or an alias contains itself", Mark()) from error


_PARSER_IS_TOO_DEEP = "exceeded maximum nesting depth"
"""What libyaml 0.2.6 and later say of lists and objects that stand 1000 deep; they read so far ahead."""

_TOO_DEEP = f"it is nested more than {MAX_DEPTH} deep, or an alias contains itself"
_TAB = "a tab stands where only blanks may indent"
_SHOWN = 80
"""The most characters of a name in a message."""


def _is_tab(text: str, place: Mark) -> bool:
    """Whether a line is indented by a tab at this place."""
    line = next(islice(text.split("\n"), place.line - 1, None), "")
    return not line[: place.column - 1].strip() and line[place.column - 1 : place.column] == "\t"


def _refusal(kind: type[SyntaxError], message: str, mark: Mark) -> SyntaxError:
    error = kind(message)
    error.lineno, error.offset = mark
    return error


def _place(mark: Any) -> Mark:
    return Mark(mark.line + 1, mark.column + 1)


_PREFIX = "tag:yaml.org,2002:"
_MERGE = "<<"


class _Reader:
    """Makes documents of a text's events; `_events` are those of the parser, or those that an alias stands for.

    `_log` has the events of a document since its first anchor, and `_anchors` say where in it each anchor stands.
    """

    def __init__(self, text: str, bounds: Bounds, *, with_places: bool) -> None:
        self._parsed: Iterator[Any] = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self._events = self._parsed
        self._bounds = bounds
        self._with_places = with_places
        self._values = self._aliased = self._fault_count = 0

    def read(self) -> Iterator[YamlDocument]:
        starts = (event for event in self._parsed if isinstance(event, yaml.DocumentStartEvent))
        for number, start in enumerate(starts, 1):
            if number > self._bounds.documents:
                raise self._exceeded(start, f"it has more than {self._bounds.documents} documents; split it")
            self._log: list[Any] | None = None
            self._anchors: dict[str, int] = {}
            self._faults: list[YamlFault] = []
            root = self._next()
            self._marks: dict[YamlPath, Mark] = {(): _place(root.start_mark)}
            value = self._read(root, ())
            self._next()  # the document's end: what the parser has against it counts before the document does
            if value is not None or self._faults:
                yield YamlDocument(value, self._marks, tuple(self._faults))

    def _next(self) -> Any:
        event = next(self._events)
        if self._log is not None and self._events is self._parsed:
            self._log.append(event)
        return event

    def _read(self, event: Any, path: YamlPath) -> Any:
        self._count(event)
        if isinstance(event, yaml.AliasEvent):
            return self._read_alias(event, path)
        if event.anchor is not None:
            self._note_anchor(event)
        if isinstance(event, yaml.ScalarEvent):
            return self._read_scalar(event, path)
        if len(path) >= MAX_DEPTH:
            raise self._exceeded(event, _TOO_DEEP)
        return self._read_mapping(path) if isinstance(event, yaml.MappingStartEvent) else self._read_sequence(path)

    def _count(self, event: Any) -> None:
        if self._events is self._parsed:
            self._values += 1
            if self._values > self._bounds.values:
                raise self._exceeded(event, f"it has more than {self._bounds.values} values; split it")
        else:
            self._aliased += 1
            if self._aliased > self._bounds.aliased:
                message = f"its aliases stand for more than {self._bounds.aliased} values; use fewer aliases"
                raise self._exceeded(event, message)

    def _read_alias(self, event: Any, path: YamlPath) -> Any:
        """The value at the alias's anchor, read once more with the paths that it has here."""
        outer, self._events = self._events, self._replay(event)
        value = self._read(next(self._events), path)
        self._events = outer
        return value

    def _replay(self, event: Any) -> Iterator[Any]:
        """The events from an anchor on; of an anchor that contains the alias, the last one is the alias."""
        if self._log is None or event.anchor not in self._anchors:
            message = f"the alias *{one_line(event.anchor, _SHOWN)} has no anchor before it"
            raise _refusal(SyntaxError, message, _place(event.start_mark))
        return map(self._log.__getitem__, count(self._anchors[event.anchor]))

    def _note_anchor(self, event: Any) -> None:
        if self._events is not self._parsed:
            return
        if event.anchor in self._anchors:
            message = f"the anchor &{one_line(event.anchor, _SHOWN)} is given twice"
            raise _refusal(SyntaxError, message, _place(event.start_mark))
        if self._log is None:
            self._log = [event]
        self._anchors[event.anchor] = len(self._log) - 1

    def _read_sequence(self, path: YamlPath) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            place = (*path, len(items))
            self._mark(place, event)
            items.append(self._read(event, place))
        return items

    def _read_mapping(self, path: YamlPath) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if _is_merge(event):
                merged = {**self._read_merge(path), **merged}
                continue
            key = self._read_key(event, path)
            place = (*path, key)
            if key in own:
                self._refuse(event, place, "is given twice")
            self._mark(place, event)
            own[key] = self._read(self._next(), place)
        return {**merged, **own} if merged else own

    def _read_merge(self, path: YamlPath) -> dict[str, Any]:
        """The entries of a merge key's objects, of which the first wins; they have the places of their own keys."""
        event, outer, self._marks = self._next(), self._marks, {}
        value = self._read(event, (*path, _MERGE))
        found, self._marks = self._marks, outer
        sources = value if isinstance(value, list) else [value]
        merged: dict[str, Any] = {}
        for source in reversed(sources):
            if isinstance(source, dict):
                merged.update(source)
            else:
                self._refuse(event, path, f"the merge key {_MERGE} needs an object")
        within = len(path) + (2 if isinstance(value, list) else 1)
        for place, mark in found.items():
            if len(place) > within:
                outer.setdefault((*path, *place[within:]), mark)
        return merged

    def _read_key(self, event: Any, path: YamlPath) -> str:
        first = next(self._replay(event)) if isinstance(event, yaml.AliasEvent) else event
        if isinstance(first, yaml.ScalarEvent):
            if first is event and event.anchor is not None:
                self._note_anchor(event)
            if len(first.value) > MAX_KEY:
                raise self._exceeded(event, f"it has a key of more than {MAX_KEY} characters; shorten it")
            return str(first.value)
        self._refuse(event, path, "has a key that is not text")
        if first is event:
            self._read(event, (*path, ""))
        return ""

    def _read_scalar(self, event: Any, path: YamlPath) -> Any:
        text = event.value
        if len(text) > MAX_SCALAR:
            raise self._exceeded(event, f"it has a text of more than {MAX_SCALAR} characters; shorten it")
        if event.tag is None:
            return read_plain(text) if event.implicit[0] else text
        tag = event.tag.removeprefix(_PREFIX)
        if tag in READERS:
            return READERS[tag](text)
        self._refuse(event, path, f"has the YAML tag {one_line(tag, _SHOWN)}, which Kubernetes does not know")
        return None

    def _mark(self, path: YamlPath, event: Any) -> None:
        if self._with_places:
            self._marks[path] = _place(event.start_mark)

    def _refuse(self, event: Any, path: YamlPath, message: str) -> None:
        self._fault_count += 1
        if self._fault_count > MAX_FAULTS:
            why = f"it has more than {MAX_FAULTS} faults, such as keys given twice; mend those before this line"
            raise self._exceeded(event, why)
        self._faults.append(YamlFault(_place(event.start_mark), path, message))

    def _exceeded(self, event: Any, message: str) -> SyntaxError:
        return _refusal(BoundExceeded, message, _place(event.start_mark))


def _is_merge(event: Any) -> bool:
    if not isinstance(event, yaml.ScalarEvent) or event.value != _MERGE:
        return False
    return event.implicit[0] if event.tag is None else event.tag == f"{_PREFIX}merge"
