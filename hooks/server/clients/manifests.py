"""Reads what an API server answers: objects, lists and tables, whose fields have the types that they should have.

All that is read from an API server passes here. Whatever else is in an answer, a page of a proxy, null, lists in lists,
becomes one sentence; it is never half believed.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hooks.ground.k8s import kinds
from hooks.ground.k8s.messages import describe_type
from hooks.ground.k8s.types import GroupVersionKind, ReadManifest
from hooks.server.clients.object_types import Metadata, StoredRevision, WholeObject
from hooks.server.exchange.documents import Unreadable

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io, application/json"
"""The form of a list in which each object is a row of what `kubectl get` shows, with its metadata."""


_LONGEST_NAME = 253


def check_manifest(found: object, kind: GroupVersionKind | None = None) -> ReadManifest:
    """An object with a name, whose metadata can be read; with a kind, one of that kind that can be read as a whole.

    Source: Kubernetes API conventions, "Metadata".

    Raises:
        Unreadable: it is something else.
    """
    what = kind.kind if kind else "manifest"
    if not isinstance(found, dict):
        raise Unreadable(f"{describe_type(found)} in place of a {what}")
    metadata = found.get("metadata")
    if not isinstance(metadata, dict):
        raise Unreadable(f"a {what} whose metadata is {describe_type(metadata)}")
    name = metadata.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
        raise Unreadable(f"a {what} without a name that an object can have")
    if kind is not None:
        _expect_kind(found, kind)
    try:
        whole = StoredRevision if kind == kinds.CONTROLLER_REVISION else WholeObject
        msgspec.convert(*((metadata, Metadata) if kind is None else (found, whole)))
    except (msgspec.ValidationError, RecursionError) as error:
        raise Unreadable(f"a {what} of another shape: {error}") from error
    return found


def read_items(answer: Mapping[str, Any], kind: GroupVersionKind | None = None) -> list[ReadManifest]:
    """The objects of a list, each as `check_manifest` has it.

    Raises:
        Unreadable: it is no list, or one of them is something else.
    """
    return [check_manifest(item, kind) for item in _read_list(answer, "items")]


def read_continue(answer: Mapping[str, Any]) -> str:
    """What asks for the next page of a list; empty if there is none.

    Raises:
        Unreadable: the list's metadata is something else.
    """
    metadata = answer.get("metadata")
    if not isinstance(metadata, dict | None):
        raise Unreadable(f"a list whose metadata is {describe_type(metadata)}")
    found = (metadata or {}).get("continue")
    if not isinstance(found, str | None):
        raise Unreadable(f"a list whose next page is {describe_type(found)}")
    return found or ""


def is_table(answer: Mapping[str, Any]) -> bool:
    """Whether the API server answered a table; one that knows none for a kind answers the list itself."""
    return answer.get("kind") == "Table"


def read_rows(answer: Mapping[str, Any], columns: Sequence[str]) -> Iterator[tuple[ReadManifest, tuple[str, ...]]]:
    """The object of each row of a table, with its metadata alone, and the texts in these columns.

    Source: Kubernetes API reference, meta.k8s.io/v1 Table.

    Raises:
        Unreadable: it is no such table.
    """
    defined = _read_list(answer, "columnDefinitions")
    names = [one.get("name") if isinstance(one, dict) else None for one in defined]
    if missing := [name for name in columns if name not in names]:
        raise Unreadable(f"a table without the column {missing[0]}")
    places = [names.index(name) for name in columns]
    for row in _read_list(answer, "rows"):
        if not isinstance(row, dict):
            raise Unreadable(f"{describe_type(row)} in place of a row")
        cells = row.get("cells")
        if not isinstance(cells, list) or len(cells) != len(names):
            raise Unreadable("a row with other cells than the table has columns")
        texts = tuple(cells[place] for place in places)
        if not all(isinstance(text, str) for text in texts):
            raise Unreadable("a row with a cell that is no text")
        yield check_manifest(row.get("object")), texts


def _expect_kind(found: Mapping[str, Any], kind: GroupVersionKind) -> None:
    """Check the kind, which objects in a list may leave out."""
    for key, wanted in (("kind", kind.kind), ("apiVersion", kind.api_version)):
        if key in found and found[key] != wanted:
            raise Unreadable(f"an object of another kind than {kind.kind}")


def _read_list(answer: Mapping[str, Any], key: str) -> list[Any]:
    """A list of the answer; a list that is empty may be null."""
    found = answer.get(key)
    if key not in answer or not isinstance(found, list | None):
        raise Unreadable(f"{describe_type(found)} in place of {key}")
    return found or []
