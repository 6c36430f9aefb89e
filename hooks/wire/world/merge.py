"""Metacontroller's dynamic apply: the three-way merge of observed, last applied and desired.

Source: Metacontroller v4.17, pkg/dynamic/apply/apply.go and pkg/controller/common/manage_children.go.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

from hooks.ground import contract
from hooks.ground.k8s.differences import MERGE_KEYS, merge_key
from hooks.ground.k8s.hashing import canonical_json
from hooks.ground.k8s.types import Json, Manifest, with_annotation
from hooks.wire.world.equality import are_equal

LAST_APPLIED = contract.ANNOTATION_LAST_APPLIED

_POSSIBLE_KEYS = frozenset(MERGE_KEYS)
_SYSTEM_METADATA = (
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
)


class MergeRefused(Exception):
    """The observed value is an object or list, the desired one is not."""


def apply_update(observed: Manifest, desired: Manifest) -> Manifest:
    """The object that Metacontroller would PUT: desired merged into observed, with a new annotation.

    Status and the server's metadata stay as observed.

    Raises:
        MergeRefused: the types differ.
    """
    desired = _without_last_applied(desired)
    merged: Manifest = merge(observed, last_applied(observed), desired)
    metadata = {key: value for key, value in merged["metadata"].items() if key not in _SYSTEM_METADATA}
    kept = {key: observed["metadata"][key] for key in _SYSTEM_METADATA if key in observed["metadata"]}
    rest = {key: value for key, value in merged.items() if key != "status"}
    status = {"status": observed["status"]} if "status" in observed else {}
    return with_last_applied({**rest, **status, "metadata": {**metadata, **kept}}, desired)


def is_up_to_date(observed: Manifest, desired: Manifest) -> bool:
    """Whether Metacontroller would write nothing, as `apply_update` gives the observed object.

    Raises:
        MergeRefused: the types differ.
    """
    return _is_up_to_date(orjson.dumps(observed), orjson.dumps(desired))


@lru_cache(maxsize=1024)
def _is_up_to_date(observed: bytes, desired: bytes) -> bool:
    """The same of JSON: most syncs ask again what an earlier one asked, and merging is their costliest part."""
    live: Manifest = orjson.loads(observed)
    return are_equal(apply_update(live, orjson.loads(desired)), live)


def last_applied(obj: Manifest) -> Manifest | None:
    """The desired object as it was last applied, None if the annotation is missing."""
    text = (obj["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    applied: Manifest | None = orjson.loads(text) if text else None
    return applied


def with_last_applied(obj: Manifest, desired: Manifest) -> Manifest:
    """The object with the annotation that holds the desired one."""
    return with_annotation(obj, LAST_APPLIED, canonical_json(desired))


def is_stable(desired: Json) -> bool:
    """Whether applying the value once more changes nothing: no list has two items that the merge takes for the same."""
    if isinstance(desired, dict):
        return all(map(is_stable, [value for value in desired.values() if isinstance(value, dict | list)]))
    if not desired or not all(isinstance(item, dict) for item in desired):
        return True  # a list without names is replaced as a whole
    shared = _POSSIBLE_KEYS.intersection(*desired)
    are_distinct = all(len({_name(item[key]) for item in desired}) == len(desired) for key in shared)
    return are_distinct and all(map(is_stable, desired))


def merge(observed: Json, last: Json, desired: Json, path: str = "") -> Json:
    """Merge desired into observed, and remove what was last applied and is no longer desired.

    Raises:
        MergeRefused: the types differ; the message names the path.
    """
    if isinstance(observed, dict):
        return _merge_objects(observed, _as_dict(last, path), _as_dict(desired, path), path)
    if isinstance(observed, list):
        return _merge_lists(observed, _as_list(last, path), _as_list(desired, path), path)
    return desired


def _merge_objects(observed: Json, last: Json, desired: Json, path: str) -> dict[str, Json]:
    merged = {key: value for key, value in observed.items() if key in desired or key not in last}
    for key, value in desired.items():
        live = observed.get(key)
        is_leaf = not isinstance(live, dict | list)  # most fields are; calls for them would take most of the time
        merged[key] = value if is_leaf else merge(live, last.get(key), value, f"{path}[{key}]")
    return merged


def _merge_lists(observed: list[Json], last: list[Json], desired: list[Json], path: str) -> list[Json]:
    key = merge_key(observed, last, desired)
    if key is None:
        return desired
    merged = _merge_objects(_by_key(observed, key), _by_key(last, key), _by_key(desired, key), path)
    kept = [_name(item[key]) for item in observed if _name(item[key]) in merged]
    new = [name for name in _by_key(desired, key) if name not in kept]
    return [merged[name] for name in [*kept, *new]]


def _by_key(items: Sequence[Mapping[str, Any]], key: str) -> dict[str, Json]:
    return {_name(item[key]): item for item in items}


def _name(value: Json) -> str:
    return value if isinstance(value, str) else str(value)


def _as_dict(value: Json, path: str) -> dict[str, Json]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MergeRefused(f"can't merge desired changes: {path}: expecting an object, got {value!r}")
    return value


def _as_list(value: Json, path: str) -> list[Json]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise MergeRefused(f"can't merge desired changes: {path}: expecting a list, got {value!r}")
    return value


def _without_last_applied(desired: Manifest) -> Manifest:
    annotations = desired["metadata"].get("annotations")
    if not annotations or LAST_APPLIED not in annotations:
        return desired
    kept = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    return {**desired, "metadata": {**desired["metadata"], "annotations": kept}}
