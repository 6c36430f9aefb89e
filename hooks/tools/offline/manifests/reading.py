"""Reads manifests: files, directories or standard input, with line and column of every field.

One unreadable file does not hide the others: objects and problems are returned together.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hooks.ground.k8s.yaml_reader import YamlDocument
from hooks.ground.problems import HERE, METADATA, Problem
from hooks.language.rules import reading as rules
from hooks.tools.offline.manifests.built.reading import read_built
from hooks.tools.offline.manifests.directories import (
    SUFFIXES,
    has_expression,
    is_blank,
    is_kustomization,
    is_template,
    mentions_dynamo,
    names_group,
)
from hooks.tools.offline.manifests.document import WHOLE, Document, Fault
from hooks.tools.offline.manifests.files import read_file
from hooks.tools.offline.manifests.inputs import EVERYTHING, InputFile, Selection, expand
from hooks.tools.offline.manifests.loaded import LeftOut, Loaded, ManifestFaults, find_unknown, parse_text, read_found
from hooks.tools.offline.manifests.objects import read_documents
from hooks.tools.offline.manifests.operator_releases import as_begun_with

__all__ = ["Loaded", "ManifestFaults", "load_manifests"]


def load_manifests(paths: Iterable[str], namespace: str, selection: Selection = EVERYTHING) -> Loaded:
    """Read all objects of the paths in order; objects of ours without a namespace get the given one, unless it is "".

    A directory with a Kustomization or a chart of Helm is built by its own tool.

    Problems are: a named file that is empty or cannot be read as text or YAML; an object without apiVersion, kind or
    name, of a misspelt kind of ours, or with the name of an earlier object of its file. In a directory, files and
    objects that are not about Dynamo have no problems.
    """
    parts = [_read_file(file, namespace, selection) for file in expand(paths, selection)]
    documents = as_begun_with((document for part in parts for document in part.documents), selection.origin)
    return Loaded(
        documents=tuple(_mark_duplicates(documents)),
        unreadable=tuple(fault for part in parts for fault in part.unreadable),
        skipped=sum(part.skipped for part in parts),
        unchecked=sum(part.unchecked for part in parts),
        left_out=tuple(one for part in parts for one in part.left_out),
    )


def _read_file(file: InputFile, namespace: str, selection: Selection) -> Loaded:
    if problem := _find_obstacle(file):
        return _refuse(file, problem)
    if file.tool is not None:
        return read_built(file, namespace, selection)
    try:
        content = sys.stdin.buffer.read() if file.path == "-" else read_file(Path(file.path))
    except OSError as error:
        return _refuse(file, rules.UNREADABLE_FILE.at(HERE, why=str(error.strerror)))
    text, problem = _decode(content)
    if problem is not None:
        is_ours = file.is_named or mentions_dynamo(content.decode("latin-1"))
        return _refuse(file, problem) if is_ours else Loaded(documents=(), skipped=1)
    return _read_text(file, text, namespace)


def _find_obstacle(file: InputFile) -> Problem | None:
    """Why nothing can be read."""
    if file.is_unmatched:
        return rules.NO_MATCH.at(HERE)
    if file.obstacle:
        return rules.UNREADABLE_FILE.at(HERE, why=file.obstacle)
    if file.path != "-" and file.tool is None and Path(file.path).is_dir():
        return rules.NO_FILES.at(HERE, suffixes=", ".join(sorted(SUFFIXES)))
    return None


def _refuse(file: InputFile, problem: Problem) -> Loaded:
    return Loaded(documents=(), unreadable=(Fault(file.name, WHOLE, problem),))


def _skip(file: InputFile, text: str, why: str) -> Loaded:
    """A file of a directory that is not judged; it is named if it may have to do with Dynamo."""
    left_out = (LeftOut(file.name, why),) if names_group(text) else ()
    return Loaded(documents=(), skipped=1, left_out=left_out)


def _read_text(file: InputFile, text: str, namespace: str) -> Loaded:
    why = "" if file.is_named else _find_other_use(file, text)
    if why:
        return _skip(file, text, why)
    parts, broken = parse_text(file.name, text)
    objects = [part for part in parts if not is_kustomization(part.value)]
    if not file.is_named and is_blank(text):
        return Loaded(documents=())
    if broken and not file.is_named and not mentions_dynamo(text):
        return _skip(file, text, f"it {broken[0].problem.text}")
    if not objects and not broken:
        return Loaded(documents=(), skipped=1) if parts else _refuse(file, rules.NO_OBJECT.at(HERE))
    loaded = _read_named(file, objects, namespace) if file.is_named else read_found(file.name, objects, namespace)
    if loaded.skipped:
        return _skip(file, text, _NO_KIND)
    return _say_template(text, replace(loaded, unreadable=(*loaded.unreadable, *broken)))


def _say_template(text: str, loaded: Loaded) -> Loaded:
    """What was read; of a template only that it is one."""
    if not has_expression(text):
        return loaded
    from hooks.tools.offline.manifests.templates import find_template  # noqa: PLC0415 - loads all rules, few files need them

    template = find_template(text, loaded)
    return loaded if template is None else Loaded(documents=(), unreadable=(template,))


_NO_KIND = "it holds no object with a kind"


def _find_other_use(file: InputFile, text: str) -> str:
    """What a file of a directory is if it holds no objects, as a sentence; empty if it may hold some, or nothing."""
    if is_blank(text):
        return ""
    if file.input_of:
        return file.input_of
    if is_template(text):
        return f"it {rules.TEMPLATE.text}"
    return "" if "kind" in text else _NO_KIND


def _read_named(file: InputFile, objects: Sequence[YamlDocument], namespace: str) -> Loaded:
    """A file that the user named: all its objects, with all problems."""
    unreadable: list[Fault] = []
    documents = tuple(read_documents(file.name, objects, namespace, unreadable))
    return Loaded(documents=documents, unreadable=tuple(unreadable), left_out=find_unknown(documents))


def _decode(content: bytes) -> tuple[str, Problem | None]:
    """The file's text, or its problem."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return "", rules.NOT_UTF8.at(HERE, offset=error.start)
    return text, rules.NUL_BYTES.at(HERE) if "\0" in text else None


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
        place = first.where
        fault = document.place(rule.at(METADATA / "name", kind=document.kind.kind, name=name, place=place))
        if rule is rules.SECOND_OBJECT:
            yield replace(document, faults=(*document.faults, fault))
        else:
            yield replace(document, namesake=fault if document.is_ours else None)
