"""The objects of YAML documents: as v1alpha1, in a namespace, each with the problems of its header and of its text."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.k8s.yaml_reader import Mark, YamlDocument, YamlFault, YamlPath
from hooks.language.crds.definitions import read_root_schema
from hooks.language.crds.paths import name_path
from hooks.language.rules import reading as rules
from hooks.language.versions import convert
from hooks.language.versions.served import is_beside
from hooks.tools.offline.manifests.document import Document, Fault, Place
from hooks.tools.offline.manifests.object_header import find_header_problems, has_kind


def read_documents(
    file: str,
    parts: Iterable[YamlDocument],
    namespace: str,
    unreadable: list[Fault],
    *,
    elsewhere: Mapping[YamlPath, Place] | None = None,
) -> Iterator[Document]:
    """The objects of the parts; the problems of parts without a kind are added to `unreadable`.

    `elsewhere` are the places of fields that another file wrote.
    """
    for document in parts:
        is_list = _is_list(document.value)
        for part in _split_list(document) if is_list else (document,):
            found = _read_object(Document(file, part.value, part.marks, elsewhere=elsewhere or {}), part, namespace)
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


def _read_object(found: Document, part: YamlDocument, namespace: str) -> Document:
    """The object as v1alpha1 with a namespace, and its problems; one without a kind is not checked further."""
    header = (found.place_written(problem) for problem in find_header_problems(part.value))
    found = replace(found, faults=(*_place(found.file, part.faults, part.value), *header))
    if not has_kind(part.value):
        return found
    if is_beside(part.value):
        beta = _fill_namespace(part.value, namespace)
        return replace(found, object=convert(beta, contract.VERSION), beta=beta)
    return replace(found, object=_fill_namespace(part.value, namespace)) if found.is_ours else found


def _fill_namespace(value: Manifest, namespace: str) -> Manifest:
    """The object, in the given namespace unless it names one; null and "" name none."""
    metadata = value.get("metadata")
    if not namespace or not isinstance(metadata, dict) or metadata.get("namespace") not in (None, ""):
        return value
    return {**value, "metadata": {**metadata, "namespace": namespace}}
