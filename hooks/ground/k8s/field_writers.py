"""Who wrote a field of a live object, by its `metadata.managedFields`.

Source: Kubernetes, "Server-Side Apply", managedFields; sigs.k8s.io/structured-merge-diff, fieldpath/serialize-pe.go.
"""

from collections.abc import Iterator, Mapping

import orjson

from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath


def find_writer(managed_fields: Json, path: FieldPath) -> str:
    """`kube-controller-manager (subresource scale)`: who wrote the field last; empty if none is recorded.

    If a writer changes a value, the record of the one before ends. An API server writes only records that can be read;
    another one is no record.
    """
    found = _find_records(managed_fields, path)
    if not found:
        return ""
    last = max(found, key=lambda entry: str(entry.get("time") or ""))
    below = f" (subresource {last['subresource']})" if last.get("subresource") else ""
    return f"{last.get('manager') or 'a writer without a name'}{below}"


def find_managers(managed_fields: Json, path: FieldPath) -> frozenset[str]:
    """The names of all that wrote the field, or something below it, and whose record has not ended."""
    return frozenset(str(entry.get("manager") or "") for entry in _find_records(managed_fields, path))


def _find_records(managed_fields: Json, path: FieldPath) -> list[Mapping[str, Json]]:
    entries = managed_fields if isinstance(managed_fields, list) else []
    return [entry for entry in entries if isinstance(entry, Mapping) and _has(entry.get("fieldsV1"), path.parts)]


def _has(fields: Json, parts: tuple[str | int, ...]) -> bool:
    """Whether the fields have one at this path; a list or map that is recorded as a whole has all of its parts."""
    if not parts:
        return True
    if not isinstance(fields, Mapping):
        return False
    below = [*_step(fields, parts[0])]
    return any(_has(one, parts[1:]) if one else True for one in below)


def _step(fields: Mapping[str, Json], part: str | int) -> Iterator[Json]:
    """The records of a part: a field or a key of a map, or an item of a list by one of its keys or by its index."""
    for name, below in fields.items():
        kind, _, value = name.partition(":")
        if (kind == "k" and str(part) in _keys(value)) or (kind in {"f", "i"} and value == str(part)):
            yield below


def _keys(text: str) -> list[str]:
    """The values of an item's keys: `80`, `TCP`."""
    try:
        keys = orjson.loads(text)
    except orjson.JSONDecodeError:
        return []
    return [str(value) for value in keys.values()] if isinstance(keys, Mapping) else []
