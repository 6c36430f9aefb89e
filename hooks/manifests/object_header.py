"""What every object must be, whatever its kind: it has one, and a name, and what hooks read of others has its shape.

Knows too what is nearly one of our kinds, which would otherwise pass for somebody else's.
"""

from collections.abc import Iterator
from typing import Any

from hooks import contract
from hooks.crds.suggestions import suggest
from hooks.k8s.kinds import SECRET
from hooks.k8s.names import is_dns_label
from hooks.k8s.types import GroupVersionKind
from hooks.k8s.yaml_reader import FieldPath

OUR_KINDS = frozenset(
    {contract.GRAPH, contract.COMPONENT, contract.MODEL, contract.GRAPH_REQUEST, contract.SCALING_ADAPTER}
)

_SISTER_KINDS = frozenset({contract.WORKER_METADATA.kind, "DynamoCheckpoint"})
"""Kinds of Dynamo that are not ours to judge."""

_LIKENESS = 0.7
"""How like a kind is to one of ours that is meant to be it, from 0 to 1; DynamoWorkerMetadata comes to 0.55."""

_HEADER = ("apiVersion", "kind")
_TEXT_MAP = "should be an object whose values are text"
_TYPE_NAMES = {
    dict: "object",
    list: "list",
    str: "text",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def has_kind(value: Any) -> bool:
    """Whether it is an object that says what it is."""
    return isinstance(value, dict) and all(value.get(key) and isinstance(value[key], str) for key in _HEADER)


def find_header_faults(value: Any) -> Iterator[tuple[FieldPath, str]]:
    """Each fault's field, and a sentence that starts with a verb; in kinds of ours only what their schemas leave."""
    if not isinstance(value, dict):
        yield (), f"is a {_TYPE_NAMES[type(value)]}, should be an object with apiVersion, kind and metadata"
        return
    for key in _HEADER:
        if not isinstance(value.get(key), str) or not value[key]:
            yield (key,), "is missing; every Kubernetes object has it" if key not in value else "should be text"
    kind = GroupVersionKind.of(value["apiVersion"], value["kind"]) if has_kind(value) else None
    if kind is not None:
        yield from _find_kind_faults(kind)
    metadata = value.get("metadata")
    if metadata is None:
        yield ("metadata",), "is missing; write metadata.name"
    elif kind not in OUR_KINDS:
        yield from _find_metadata_faults(metadata)
    elif isinstance(metadata, dict) and metadata.get("name") is None:
        yield ("metadata", "name"), "is missing; write metadata.name, as the names of children follow from it"
    if kind == SECRET and not _is_text_map(value.get("data")):
        yield ("data",), _TEXT_MAP
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    if namespace and isinstance(namespace, str) and not is_dns_label(namespace):
        message = "at most 63 of a-z, 0-9 and '-', with a letter or digit at both ends"
        yield ("metadata", "namespace"), f"is {namespace!r}; write {message}"


def _find_kind_faults(kind: GroupVersionKind) -> Iterator[tuple[FieldPath, str]]:
    """What is nearly one of our kinds; other kinds of our group are foreign, as its owner has more programs."""
    names = {ours.kind for ours in OUR_KINDS}
    if kind.kind in names:
        if kind not in OUR_KINDS:
            yield ("apiVersion",), f"is {kind.api_version}; write {contract.GRAPH.api_version}"
    elif kind.group == contract.GROUP and kind.kind not in _SISTER_KINDS:
        guess = suggest(kind.kind, names, cutoff=_LIKENESS)
        if guess:
            yield ("kind",), f"{kind.kind} is no kind of {contract.GRAPH.api_version}; {guess}"


def _find_metadata_faults(metadata: Any) -> Iterator[tuple[FieldPath, str]]:
    """What no object can have; for kinds of ours their schemas say it."""
    if not isinstance(metadata, dict):
        yield ("metadata",), f"is a {_TYPE_NAMES[type(metadata)]}, should be an object; write metadata.name"
        return
    if not isinstance(metadata.get("name") or metadata.get("generateName"), str):
        yield ("metadata", "name"), "is missing or no text; every object needs a name"
    if not isinstance(metadata.get("namespace") or "", str):
        yield ("metadata", "namespace"), "should be text"
    for key in ("labels", "annotations"):
        if not _is_text_map(metadata.get(key)):
            yield ("metadata", key), _TEXT_MAP
    owners = metadata.get("ownerReferences") or []
    if not isinstance(owners, list) or not all(isinstance(owner, dict) for owner in owners):
        yield ("metadata", "ownerReferences"), "should be a list of objects"


def _is_text_map(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and all(isinstance(item, str) for item in value.values()))
