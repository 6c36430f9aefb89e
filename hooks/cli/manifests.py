"""Reads manifests: files, directories or standard input, with the line of every field, and all faults at once."""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hooks import contract
from hooks.k8s.types import GroupVersionKind, Manifest
from hooks.k8s.yaml_reader import FieldPath, YamlDocument, read_yaml

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
OUR_KINDS = frozenset(
    {contract.GRAPH, contract.COMPONENT, contract.MODEL, contract.GRAPH_REQUEST, contract.SCALING_ADAPTER}
)


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
    """One object of the input, and where its fields stand."""

    file: str
    line: int
    object: Manifest
    lines: dict[FieldPath, int] = field(repr=False)

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


def format_path(path: FieldPath) -> str:
    """`spec.services[main].envs[0].name`: keys that are no identifiers stand in brackets."""
    text = ""
    for part in path:
        plain = isinstance(part, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", part)
        text += f".{part}" if plain else f"[{part}]"
    return text.lstrip(".")


def load_manifests(paths: Iterable[str], namespace: str) -> list[Document]:
    """Read all objects of the paths in order; ours that name no namespace get the given one.

    Raises:
        ManifestFaults: a file cannot be read as text or YAML, holds nothing, an object lacks apiVersion, kind or name,
            or two objects have one name.
    """
    faults: list[Fault] = []
    documents: list[Document] = []
    for name, content in _read_files(paths, faults):
        found = list(_read_documents(name, content, namespace, faults))
        if not found and not any(fault.file == name for fault in faults):
            faults.append(Fault(name, 1, "", "holds no object; write a manifest with apiVersion, kind and metadata"))
        documents.extend(found)
    faults.extend(_find_duplicates(documents))
    if faults:
        raise ManifestFaults(faults)
    return documents


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


def _read_documents(file: str, text: str, namespace: str, faults: list[Fault]) -> Iterator[Document]:
    try:
        for document in read_yaml(text):
            if document.faults:
                faults.extend(Fault(file, f.line, format_path(f.path), f.message) for f in document.faults)
            else:
                yield from _read_document(_Place(file, namespace, faults), document)
    except SyntaxError as error:
        faults.append(Fault(file, error.lineno or 1, "", f"is not valid YAML: {error.msg}"))


@dataclass(frozen=True, slots=True)
class _Place:
    file: str
    namespace: str
    faults: list[Fault]


def _read_document(place: _Place, document: YamlDocument) -> Iterator[Document]:
    value, lines = document.value, document.lines
    is_list = isinstance(value, dict) and value.get("kind") == "List" and value.get("apiVersion") == "v1"
    if not is_list or not isinstance(value.get("items"), list):
        yield from _read_object(place, value, document.line, lines)
        return
    for index, item in enumerate(value["items"]):
        inside = {path[2:]: at for path, at in lines.items() if path[:2] == ("items", index)}
        yield from _read_object(place, item, inside.get((), document.line), inside)


def _read_object(place: _Place, value: Any, line: int, lines: dict[FieldPath, int]) -> Iterator[Document]:
    problems = list(_find_identity_faults(value))
    if problems:
        place.faults.extend(
            Fault(place.file, lines.get(path[:1], line), format_path(path), text) for path, text in problems
        )
        return
    document = Document(place.file, line, value, lines)
    if document.is_ours and "namespace" not in value["metadata"]:
        metadata = {**value["metadata"], "namespace": place.namespace}
        document = Document(place.file, line, {**value, "metadata": metadata}, lines)
    yield document


def _find_identity_faults(value: Any) -> Iterator[tuple[FieldPath, str]]:
    if not isinstance(value, dict):
        yield (), f"is a {_TYPE_NAMES[type(value)]}, should be an object with apiVersion, kind and metadata"
        return
    for key in ("apiVersion", "kind"):
        if not isinstance(value.get(key), str) or not value[key]:
            yield (key,), "is missing; every Kubernetes object has it" if key not in value else "should be text"
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        yield ("metadata",), "is missing; write metadata.name"
    elif not isinstance(metadata.get("name", metadata.get("generateName")), str):
        yield ("metadata", "name"), "is missing or no text; every object needs a name"


def _find_duplicates(documents: Iterable[Document]) -> Iterator[Fault]:
    seen: dict[tuple[str, str, str], Document] = {}
    for document in documents:
        metadata = document.object["metadata"]
        if "name" not in metadata:
            continue
        identity = (document.kind.key, str(metadata.get("namespace", "")), metadata["name"])
        first = seen.setdefault(identity, document)
        if first is not document:
            where = f"{first.file}:{first.line}"
            message = f"a second {document.kind.kind} of the name {metadata['name']}, the first is at {where}"
            yield document.fault(("metadata", "name"), message)


_TYPE_NAMES = {
    dict: "object",
    list: "list",
    str: "text",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
