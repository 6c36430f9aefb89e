"""Reads manifests: files, directories or standard input, with line and column of every field.

One unreadable file does not hide the others: objects and problems are returned together.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hooks.crds.definitions import read_root_schema
from hooks.crds.paths import name_path
from hooks.k8s.types import GroupVersionKind, Manifest
from hooks.k8s.yaml_reader import Mark, YamlDocument, YamlFault, YamlPath, read_yaml
from hooks.manifests.object_header import OUR_KINDS, find_header_problems, has_kind
from hooks.problems import HERE, METADATA, Problem
from hooks.rules import reading as rules

SUFFIXES = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem or warning, and its place in the input; line and column are 1-based."""

    file: str
    mark: Mark
    problem: Problem

    def __str__(self) -> str:
        """`file:line: field: message`, as compilers write it."""
        problem = self.problem
        is_named = problem.rule.names_field or not problem.path.parts
        field = "" if is_named else f"{problem.path}: "
        return f"{self.file}:{self.mark.line}: {field}{problem.text}"

    def __lt__(self, other: "Fault") -> bool:
        """By place, then by field."""
        return self._order < other._order

    @property
    def _order(self) -> tuple[str, int, str, str]:
        return (self.file, self.mark.line, str(self.problem.path), self.problem.text)


class ManifestFaults(Exception):
    """The input is refused; holds every problem found."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        """Sort the problems by place."""
        self.faults = tuple(sorted(faults))
        super().__init__("\n".join(str(fault) for fault in self.faults))


@dataclass(frozen=True, slots=True)
class Document:
    """One object of the input, the places of its fields, and the problems that its schema does not find."""

    file: str
    object: Manifest
    marks: dict[YamlPath, Mark] = field(repr=False)
    faults: tuple[Fault, ...] = ()

    @property
    def line(self) -> int:
        """Where the object begins."""
        return self.marks[()].line

    @property
    def kind(self) -> GroupVersionKind:
        """The object's kind."""
        return GroupVersionKind.of(self.object["apiVersion"], self.object["kind"])

    @property
    def is_ours(self) -> bool:
        """Whether the object is one of the five kinds; others pass through untouched."""
        return self.kind in OUR_KINDS

    def place(self, problem: Problem) -> Fault:
        """The problem at its field; for a missing field, at the nearest object around it."""
        parts = problem.path.parts
        known = next(parts[:end] for end in range(len(parts), -1, -1) if parts[:end] in self.marks)
        return Fault(self.file, self.marks[known], problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What the input holds: objects in order, also those with problems, and the problems of what is not an object."""

    documents: tuple[Document, ...]
    unreadable: tuple[Fault, ...] = ()


def load_manifests(paths: Iterable[str], namespace: str) -> Loaded:
    """Read all objects of the paths in order; objects of ours without a namespace get the given one.

    Problems are: a file that is empty or cannot be read as text or YAML; an object without apiVersion, kind or name,
    of a misspelt kind of ours, or with the name of an earlier object.
    """
    unreadable: list[Fault] = []
    documents: list[Document] = []
    for name, content in _read_files(paths, unreadable):
        before = len(documents), len(unreadable)
        documents.extend(_read_documents(name, content, namespace, unreadable))
        if before == (len(documents), len(unreadable)):
            unreadable.append(Fault(name, Mark(), rules.NO_OBJECT.at(HERE)))
    return Loaded(documents=tuple(_mark_duplicates(documents)), unreadable=tuple(unreadable))


def _read_files(paths: Iterable[str], faults: list[Fault]) -> Iterator[tuple[str, str]]:
    for path in _expand(paths, faults):
        name = "<stdin>" if path == "-" else path
        try:
            content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        except OSError as error:
            faults.append(Fault(name, Mark(), rules.UNREADABLE_FILE.at(HERE, why=str(error.strerror))))
            continue
        text, problem = _decode(content)
        if problem is not None:
            faults.append(Fault(name, Mark(), problem))
        else:
            yield name, text


def _expand(paths: Iterable[str], faults: list[Fault]) -> Iterator[str]:
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            yield path
            continue
        found = sorted(str(p) for p in Path(path).rglob("*") if p.suffix in SUFFIXES and p.is_file())
        if not found:
            faults.append(Fault(path, Mark(), rules.NO_FILES.at(HERE, suffixes=", ".join(sorted(SUFFIXES)))))
        yield from found


def _decode(content: bytes) -> tuple[str, Problem | None]:
    """The file's text, or its problem."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return "", rules.NOT_UTF8.at(HERE, offset=error.start)
    return text, rules.NUL_BYTES.at(HERE) if "\0" in text else None


def _read_documents(file: str, text: str, namespace: str, unreadable: list[Fault]) -> Iterator[Document]:
    try:
        for document in read_yaml(text):
            is_list = _is_list(document.value)
            for part in _split_list(document) if is_list else (document,):
                found = _read_object(file, part, namespace)
                if has_kind(part.value):
                    yield found
                else:
                    unreadable.extend(found.faults)
            if is_list:
                outside = (fault for fault in document.faults if not _is_in_item(fault.path))
                unreadable.extend(_place(file, outside, document.value))
    except SyntaxError as error:
        mark = Mark(error.lineno or 1, error.offset or 1)
        unreadable.append(Fault(file, mark, rules.NOT_YAML.at(HERE, why=error.msg)))


def _is_list(value: Any) -> bool:
    is_kind = isinstance(value, dict) and value.get("kind") == "List" and value.get("apiVersion") == "v1"
    return is_kind and isinstance(value.get("items"), list)


def _is_in_item(path: YamlPath) -> bool:
    return len(path) > 1 and path[0] == "items"


def _split_list(document: YamlDocument) -> Iterator[YamlDocument]:
    """The items of a list of objects, each with its own places and problems."""
    for index, item in enumerate(document.value["items"]):
        at = ("items", index)
        marks = {path[2:]: mark for path, mark in document.marks.items() if path[:2] == at}
        faults = tuple(replace(fault, path=fault.path[2:]) for fault in document.faults if fault.path[:2] == at)
        yield YamlDocument(item, {(): document.start, **marks}, faults)


def _place(file: str, faults: Iterable[YamlFault], value: Any) -> Iterator[Fault]:
    schema = read_root_schema(value) if isinstance(value, dict) else None
    for fault in faults:
        yield Fault(file, fault.mark, rules.YAML.at(name_path(fault.path, schema), why=fault.message))


def _read_object(file: str, part: YamlDocument, namespace: str) -> Document:
    """The object with a namespace, and its problems; an object without a kind is not checked further."""
    found = Document(file, part.value, part.marks)
    header = (found.place(problem) for problem in find_header_problems(part.value))
    faults = (*_place(file, part.faults, part.value), *header)
    is_ours = has_kind(part.value) and found.is_ours
    return replace(found, object=_fill_namespace(part.value, namespace) if is_ours else part.value, faults=faults)


def _fill_namespace(value: Manifest, namespace: str) -> Manifest:
    """The object, in the given namespace unless it names one; null and "" name none."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("namespace") not in (None, ""):
        return value
    return {**value, "metadata": {**metadata, "namespace": namespace}}


def _mark_duplicates(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents; one with the name of an earlier document gets a problem."""
    seen: dict[tuple[str, str, str], Document] = {}
    for document in documents:
        metadata = document.object.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if not isinstance(metadata, dict) or not isinstance(name, str):
            yield document
            continue
        first = seen.setdefault((document.kind.key, str(metadata.get("namespace") or ""), name), document)
        if first is document:
            yield document
            continue
        place = f"{first.file}:{first.line}"
        problem = rules.SECOND_OBJECT.at(METADATA / "name", kind=document.kind.kind, name=name, place=place)
        yield replace(document, faults=(*document.faults, document.place(problem)))
