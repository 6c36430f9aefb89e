"""Whether a child has the wanted spec: the live spec, and the spec as it was last applied."""

from collections.abc import Mapping
from functools import lru_cache

import orjson

from hooks import contract
from hooks.k8s.types import Json, ReadManifest, annotations_of
from hooks.metacontroller.parent_key import CACHED_PARENTS


def read_applied_spec(child: ReadManifest) -> Mapping[str, Json] | None:
    """The spec as it was last applied; None if that is not recorded, as under server-side apply."""
    spec: Mapping[str, Json] | None = _read_applied(child).get("spec")
    return spec


def read_applied_annotations(child: ReadManifest) -> Mapping[str, str]:
    """Our annotations of a child as they were last applied, without changes that others made since."""
    annotations: Mapping[str, str] = (_read_applied(child).get("metadata") or {}).get("annotations") or {}
    return annotations


def _read_applied(child: ReadManifest) -> Mapping[str, Json]:
    text = annotations_of(child).get(contract.ANNOTATION_LAST_APPLIED)
    return _read_text(text) if text else {}


@lru_cache(maxsize=4 * CACHED_PARENTS)
def _read_text(text: str) -> Mapping[str, Json]:
    applied: Mapping[str, Json] = orjson.loads(text)
    return applied


def is_applied(wanted: Json, *, live: Json, applied: Json) -> bool:
    """Whether a child has the wanted spec; `applied` is what was last applied, None if not recorded."""
    return _carries(live, wanted) if applied is None else bool(applied == wanted)


def _carries(seen: Json, wanted: Json) -> bool:
    """Whether everything wanted is in the live object; the server may have added more."""
    if isinstance(wanted, dict):
        if not isinstance(seen, dict) or not wanted.keys() <= seen.keys():
            return False
        return all(_carries(seen[key], item) for key, item in wanted.items())
    if isinstance(wanted, list):
        return isinstance(seen, list) and len(seen) == len(wanted) and all(map(_carries, seen, wanted))
    return bool(seen == wanted)
