"""Reads manifests: files, directories or standard input, with line and column of every field.

One unreadable file does not hide the others: objects and problems are returned together.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hooks.api.conversion import Version, convert
from hooks.crds.definitions import read_root_schema
from hooks.crds.paths import name_path
from hooks.crds.served_versions import is_beta
from hooks.k8s.types import Manifest
from hooks.k8s.yaml_bounds import BoundExceeded
from hooks.k8s.yaml_reader import Mark, YamlDocument, YamlFault, YamlPath, read_yaml
from hooks.offline.manifests.directories import (
    SUFFIXES,
    find_build_files,
    is_blank,
    is_kustomization,
    is_template,
    list_files,
    means_dynamo,
    mentions_dynamo,
)
from hooks.offline.manifests.document import Document, Fault, sort_faults
from hooks.offline.manifests.files import read_file
from hooks.offline.manifests.object_header import find_header_problems, has_kind
from hooks.problems import HERE, METADATA, Problem
from hooks.rules import reading as rules
from hooks.rules import schema as schema_rules


class ManifestFaults(Exception):
    """The input is refused; holds every problem found."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        """Sort the problems by place."""
        self.faults = tuple(sort_faults(faults))
        super().__init__("\n".join(str(fault) for fault in self.faults))


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What the input holds: objects in order, also those with problems, and the problems of what is not an object.

    `skipped` is the number of files of directories that hold no manifest. `unchecked` is the number of objects of other
    kinds in directories that are no complete objects, and so are left out.
    """

    documents: tuple[Document, ...]
    unreadable: tuple[Fault, ...] = ()
    skipped: int = 0
    unchecked: int = 0

    @property
    def namesakes(self) -> list[Fault]:
        """The warnings about objects of ours that have the name of one in another file."""
        return [found.namesake for found in self.documents if found.namesake is not None]


def load_manifests(paths: Iterable[str], namespace: str, rename: Callable[[str], str] = str) -> Loaded:
    """Read all objects of the paths in order; objects of ours without a namespace get the given one, unless it is "".

    `rename` gives the name under which problems name a file, by its path.

    Problems are: a named file that is empty or cannot be read as text or YAML; an object without apiVersion, kind or
    name, of a misspelt kind of ours, or with the name of an earlier object of its file. In a directory, files and
    objects that are not about Dynamo have no problems.
    """
    parts = [_read_file(file, namespace) for file in _expand(paths, rename)]
    documents = [document for part in parts for document in part.documents]
    return Loaded(
        documents=tuple(_mark_duplicates(documents)),
        unreadable=tuple(fault for part in parts for fault in part.unreadable),
        skipped=sum(part.skipped for part in parts),
        unchecked=sum(part.unchecked for part in parts),
    )


@dataclass(frozen=True, slots=True)
class _File:
    """A file to read; `is_named` says that the user named it, and not only its directory."""

    path: str
    name: str
    is_named: bool = True
    is_build_file: bool = False
    obstacle: str = ""
    """Why it is not opened, as a sentence."""

    def refuse(self, problem: Problem) -> Loaded:
        return Loaded(documents=(), unreadable=(Fault(self.name, Mark(), problem),))


_SKIPPED = Loaded(documents=(), skipped=1)


def _expand(paths: Iterable[str], rename: Callable[[str], str]) -> Iterator[_File]:
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            yield _File(path, "<stdin>" if path == "-" else rename(path))
            continue
        found = list_files(Path(path))
        build_files = find_build_files(found.files)
        for one in found.files:
            yield _File(str(one), rename(str(one)), is_named=False, is_build_file=one.resolve() in build_files)
        yield from (_File(str(one), rename(str(one)), is_named=False, obstacle=why) for one, why in found.obstacles)
        if not found:
            yield _File(path, rename(path))


def _read_file(file: _File, namespace: str) -> Loaded:
    if file.obstacle:
        return file.refuse(rules.UNREADABLE_FILE.at(HERE, why=file.obstacle))
    if file.is_build_file:
        return _SKIPPED
    if file.path != "-" and Path(file.path).is_dir():
        return file.refuse(rules.NO_FILES.at(HERE, suffixes=", ".join(sorted(SUFFIXES))))
    try:
        content = sys.stdin.buffer.read() if file.path == "-" else read_file(Path(file.path))
    except OSError as error:
        return file.refuse(rules.UNREADABLE_FILE.at(HERE, why=str(error.strerror)))
    text, problem = _decode(content)
    if problem is not None:
        is_ours = file.is_named or mentions_dynamo(content.decode("latin-1"))
        return file.refuse(problem) if is_ours else _SKIPPED
    return _read_text(file, text, namespace)


def _read_text(file: _File, text: str, namespace: str) -> Loaded:
    if not file.is_named and (is_blank(text) or "kind" not in text or is_template(text)):
        return Loaded(documents=(), skipped=int(not is_blank(text)))
    parts, broken = _parse(file, text)
    if broken and not file.is_named and not mentions_dynamo(text):
        return _SKIPPED
    objects = [part for part in parts if not is_kustomization(part.value)]
    if parts and not objects and not broken:
        return _SKIPPED
    if file.is_named and not objects and not broken:
        return file.refuse(rules.NO_OBJECT.at(HERE))
    loaded = _read_named(file, objects, namespace) if file.is_named else _read_found(file, objects, namespace)
    return replace(loaded, unreadable=(*loaded.unreadable, *broken))


def _parse(file: _File, text: str) -> tuple[list[YamlDocument], list[Fault]]:
    """The documents of a text and what is wrong with it.

    A text that is not YAML has the documents before the error. One that exceeds a bound has none.
    """
    parts: list[YamlDocument] = []
    try:
        parts.extend(read_yaml(text))
    except BoundExceeded as error:
        mark = Mark(error.lineno or 1, error.offset or 1)
        return [], [Fault(file.name, mark, rules.YAML_BOUND.at(HERE, why=error.msg))]
    except SyntaxError as error:
        mark = Mark(error.lineno or 1, error.offset or 1)
        return parts, [Fault(file.name, mark, rules.NOT_YAML.at(HERE, why=error.msg))]
    return parts, []


def _read_named(file: _File, objects: Sequence[YamlDocument], namespace: str) -> Loaded:
    """A file that the user named: all its objects, with all problems."""
    unreadable: list[Fault] = []
    documents = tuple(_read_documents(file.name, objects, namespace, unreadable))
    return Loaded(documents=documents, unreadable=tuple(unreadable))


def _read_found(file: _File, parts: Sequence[YamlDocument], namespace: str) -> Loaded:
    """A file of a directory: its objects, and the problems of those of Dynamo; without any document it is nothing."""
    if not any(has_kind(part.value) or means_dynamo(part.value) for part in parts):
        return Loaded(documents=(), skipped=int(bool(parts)))
    unreadable: list[Fault] = []
    found = list(_read_documents(file.name, parts, namespace, unreadable))
    documents = [document for document in found if not document.faults or _is_dynamo(document)]
    return Loaded(
        documents=tuple(documents),
        unreadable=tuple(unreadable) if any(means_dynamo(part.value) for part in parts) else (),
        unchecked=len(found) - len(documents),
    )


def _is_dynamo(document: Document) -> bool:
    names_kind = any(fault.problem.rule is schema_rules.KIND for fault in document.faults)
    return document.is_ours or means_dynamo(document.object) or names_kind


def _decode(content: bytes) -> tuple[str, Problem | None]:
    """The file's text, or its problem."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return "", rules.NOT_UTF8.at(HERE, offset=error.start)
    return text, rules.NUL_BYTES.at(HERE) if "\0" in text else None


def _read_documents(
    file: str, parts: Iterable[YamlDocument], namespace: str, unreadable: list[Fault]
) -> Iterator[Document]:
    for document in parts:
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


def _is_list(value: Any) -> bool:
    is_kind = isinstance(value, dict) and value.get("kind") == "List" and value.get("apiVersion") == "v1"
    return is_kind and isinstance(value.get("items"), list)


def _is_in_item(path: YamlPath) -> bool:
    return len(path) > 1 and path[0] == "items"


def _split_list(document: YamlDocument) -> Iterator[YamlDocument]:
    """The items of a list of objects, each with its own places and problems."""
    items = document.value["items"]
    marks: list[dict[YamlPath, Mark]] = [{(): document.start} for _ in items]
    faults: list[list[YamlFault]] = [[] for _ in items]
    for path, mark in document.marks.items():
        if (index := _item_of(path, len(items))) is not None:
            marks[index][path[2:]] = mark
    for fault in document.faults:
        if (index := _item_of(fault.path, len(items))) is not None:
            faults[index].append(replace(fault, path=fault.path[2:]))
    for item, its_marks, its_faults in zip(items, marks, faults, strict=True):
        yield YamlDocument(item, its_marks, tuple(its_faults))


def _item_of(path: YamlPath, count: int) -> int | None:
    """The index of the item that a path is in; items that were overwritten, since the key is given twice, have none."""
    match path:
        case ("items", int(index), *_) if index < count:
            return index
    return None


def _place(file: str, faults: Iterable[YamlFault], value: Any) -> Iterator[Fault]:
    for fault in faults:
        schema = read_root_schema(value) if isinstance(value, dict) else None
        yield Fault(file, fault.mark, rules.YAML.at(name_path(fault.path, schema), why=fault.message))


def _read_object(file: str, part: YamlDocument, namespace: str) -> Document:
    """The object as v1alpha1 with a namespace, and its problems; one without a kind is not checked further."""
    found = Document(file, part.value, part.marks)
    header = (found.place_written(problem) for problem in find_header_problems(part.value))
    found = replace(found, faults=(*_place(file, part.faults, part.value), *header))
    if not has_kind(part.value):
        return found
    if is_beta(part.value):
        beta = _fill_namespace(part.value, namespace)
        return replace(found, object=convert(beta, Version.ALPHA), beta=beta)
    return replace(found, object=_fill_namespace(part.value, namespace)) if found.is_ours else found


def _fill_namespace(value: Manifest, namespace: str) -> Manifest:
    """The object, in the given namespace unless it names one; null and "" name none."""
    metadata = value.get("metadata")
    if not namespace or not isinstance(metadata, dict) or metadata.get("namespace") not in (None, ""):
        return value
    return {**value, "metadata": {**metadata, "namespace": namespace}}


def _mark_duplicates(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents; one with the name of an earlier one gets a problem, of one in another file a warning."""
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
        rule = rules.SECOND_OBJECT if document.file == first.file else rules.SAME_NAME
        place = f"{first.file}:{first.line}"
        fault = document.place(rule.at(METADATA / "name", kind=document.kind.kind, name=name, place=place))
        if rule is rules.SECOND_OBJECT:
            yield replace(document, faults=(*document.faults, fault))
        else:
            yield replace(document, namesake=fault if document.is_ours else None)
