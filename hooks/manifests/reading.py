"""Reads manifests: files, directories or standard input, with the line of every field.

What cannot be read hides nothing of the rest: objects and faults are given back together.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hooks.k8s.types import GroupVersionKind, Manifest
from hooks.k8s.yaml_reader import FieldPath, YamlDocument, YamlFault, read_yaml
from hooks.manifests.object_header import OUR_KINDS, find_header_faults, has_kind

SUFFIXES = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing wrong with the input: where, at which field, and what would be right.

    `names_field` says that the message itself names the field.
    """

    file: str
    line: int
    field: str
    message: str
    names_field: bool = False

    def __str__(self) -> str:
        """`file:line: field: message`, as compilers write it."""
        field = "" if self.names_field or not self.field else f"{self.field}: "
        return f"{self.file}:{self.line}: {field}{self.message}"


class ManifestFaults(Exception):
    """The input is refused; holds every fault found."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        """Sort the faults by place."""
        self.faults = tuple(sorted(faults))
        super().__init__("\n".join(str(fault) for fault in self.faults))


@dataclass(frozen=True, slots=True)
class Document:
    """One object of the input, where its fields stand, and what is wrong with it whatever its schema says."""

    file: str
    line: int
    object: Manifest
    lines: dict[FieldPath, int] = field(repr=False)
    faults: tuple[Fault, ...] = ()

    @property
    def kind(self) -> GroupVersionKind:
        """The object's kind."""
        return GroupVersionKind.of(self.object["apiVersion"], self.object["kind"])

    @property
    def is_ours(self) -> bool:
        """Whether the object is one of the five kinds; others pass through untouched."""
        return self.kind in OUR_KINDS

    def fault(self, path: FieldPath, message: str) -> Fault:
        """A fault at a field, or at the nearest field above it that was written."""
        known = next((path[:end] for end in range(len(path), 0, -1) if path[:end] in self.lines), None)
        return Fault(self.file, self.lines[known] if known else self.line, format_path(path), message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What the input holds: objects in order, faulty ones too, and the faults of what is no object at all."""

    documents: tuple[Document, ...]
    unreadable: tuple[Fault, ...] = ()


def format_path(path: FieldPath) -> str:
    """`spec.services[main].envs[0].name`: keys that are no identifiers stand in brackets."""
    text = ""
    for part in path:
        plain = isinstance(part, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", part)
        text += f".{part}" if plain else f"[{part}]"
    return text.lstrip(".")


def load_manifests(paths: Iterable[str], namespace: str) -> Loaded:
    """Read all objects of the paths in order; ours that name no namespace get the given one.

    Faults are: a file that cannot be read as text or YAML or holds nothing; an object without apiVersion, kind or name,
    of a kind that is nearly ours, or with the name of another.
    """
    unreadable: list[Fault] = []
    documents: list[Document] = []
    for name, content in _read_files(paths, unreadable):
        before = len(documents), len(unreadable)
        documents.extend(_read_documents(name, content, namespace, unreadable))
        if before == (len(documents), len(unreadable)):
            message = "holds no object; write a manifest with apiVersion, kind and metadata"
            unreadable.append(Fault(name, 1, "", message))
    return Loaded(documents=tuple(_mark_duplicates(documents)), unreadable=tuple(unreadable))


def _read_files(paths: Iterable[str], faults: list[Fault]) -> Iterator[tuple[str, str]]:
    for path in _expand(paths, faults):
        name = "<stdin>" if path == "-" else path
        try:
            content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        except OSError as error:
            faults.append(Fault(name, 1, "", f"cannot be read: {error.strerror}"))
            continue
        try:
            yield name, _decode(content)
        except ValueError as error:
            faults.append(Fault(name, 1, "", str(error)))


def _expand(paths: Iterable[str], faults: list[Fault]) -> Iterator[str]:
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            yield path
            continue
        found = sorted(str(p) for p in Path(path).rglob("*") if p.suffix in SUFFIXES and p.is_file())
        if not found:
            faults.append(Fault(path, 1, "", f"the directory holds no {', '.join(sorted(SUFFIXES))} file"))
        yield from found


def _decode(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not text: byte {error.start} is not UTF-8; write YAML or JSON in UTF-8") from error
    if "\0" in text:
        raise ValueError("is not text: it holds NUL bytes; write YAML or JSON in UTF-8")
    return text


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
                unreadable.extend(_place(file, (fault for fault in document.faults if not _is_in_item(fault.path))))
    except SyntaxError as error:
        unreadable.append(Fault(file, error.lineno or 1, "", f"is not valid YAML: {error.msg}"))


def _is_list(value: Any) -> bool:
    is_kind = isinstance(value, dict) and value.get("kind") == "List" and value.get("apiVersion") == "v1"
    return is_kind and isinstance(value.get("items"), list)


def _is_in_item(path: FieldPath) -> bool:
    return len(path) > 1 and path[0] == "items"


def _split_list(document: YamlDocument) -> Iterator[YamlDocument]:
    """The items of a list of objects, each with its own lines and faults."""
    for index, item in enumerate(document.value["items"]):
        at = ("items", index)
        lines = {path[2:]: line for path, line in document.lines.items() if path[:2] == at}
        faults = tuple(replace(fault, path=fault.path[2:]) for fault in document.faults if fault.path[:2] == at)
        yield YamlDocument(item, lines.get((), document.line), lines, faults)


def _place(file: str, faults: Iterable[YamlFault]) -> Iterator[Fault]:
    return (Fault(file, fault.line, format_path(fault.path), fault.message) for fault in faults)


def _read_object(file: str, part: YamlDocument, namespace: str) -> Document:
    """The object with a namespace and its faults; without a kind it is none that anybody could judge."""
    found = Document(file, part.line, part.value, part.lines)
    identity = (found.fault(path, text) for path, text in find_header_faults(part.value))
    faults = (*_place(file, part.faults), *identity)
    is_ours = has_kind(part.value) and found.is_ours
    return replace(found, object=_fill_namespace(part.value, namespace) if is_ours else part.value, faults=faults)


def _fill_namespace(value: Manifest, namespace: str) -> Manifest:
    """The object in the given namespace where it names none; null and "" are none."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("namespace") not in (None, ""):
        return value
    return {**value, "metadata": {**metadata, "namespace": namespace}}


def _mark_duplicates(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, one of a name that came before with a fault more."""
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
        message = f"a second {document.kind.kind} of the name {name}, the first is at {first.file}:{first.line}"
        yield replace(document, faults=(*document.faults, document.fault(("metadata", "name"), message)))
