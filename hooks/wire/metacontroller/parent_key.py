"""The cache key of a parent: the JSON of all fields from which hooks derive children.

A changed child, not a changed parent, causes most syncs. So hooks cache the result of reading and validating a parent.
A cached function takes only the key and reads the parent from it, so the same key always gives the same result.
"""

from typing import Any

import orjson

from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.nesting import nests_lists
from hooks.ground.k8s.types import Manifest, ReadManifest
from hooks.ground.problems import HERE
from hooks.language.rules import reading

_METADATA = ("name", "namespace", "uid", "generation", "labels", "annotations", "ownerReferences", "deletionTimestamp")


_ROOM = 24
"""Levels of a child above a value that it takes from its parent. JSON can be written up to a depth of 254 levels."""


def make_parent_key(parent: ReadManifest) -> bytes:
    """The parent's spec and the metadata that hooks read, as JSON; without status and the API server's own metadata.

    Raises:
        InvalidSpec: it is nested so deeply that its children could not be written as JSON.
    """
    metadata = parent["metadata"]
    known = {key: metadata[key] for key in _METADATA if key in metadata}
    try:
        return _write(known, parent.get("spec") or {})
    except orjson.JSONEncodeError as error:
        raise InvalidSpec(reading.DEPTH.at(HERE)) from error


def _write(metadata: dict[str, Any], spec: Any) -> bytes:
    if nests_lists(spec):
        raise InvalidSpec(reading.DEPTH.at(HERE))
    document: Any = {"metadata": metadata, "spec": spec}
    for _ in range(_ROOM):
        document = [document]
    return orjson.dumps(document)[_ROOM:-_ROOM]


def read_parent_key(key: bytes) -> Manifest:
    """The parent of a key, without kind and status."""
    parent: Manifest = orjson.loads(key)
    return parent
