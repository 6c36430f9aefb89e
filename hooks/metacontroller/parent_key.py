"""The cache key of a parent: the JSON of all fields from which hooks derive children.

A changed child, not a changed parent, causes most syncs. So hooks cache the result of reading and validating a parent.
A cached function takes only the key and reads the parent from it, so the same key always gives the same result.
"""

import orjson

from hooks.k8s.types import Manifest, ReadManifest

CACHED_PARENTS = 256
"""Parents that a process caches for each hook; a few megabytes."""

_METADATA = ("name", "namespace", "uid", "generation", "labels", "annotations", "ownerReferences", "deletionTimestamp")


def make_parent_key(parent: ReadManifest) -> bytes:
    """The parent's spec and the metadata that hooks read, as JSON; without status and the API server's own metadata."""
    metadata = parent["metadata"]
    known = {key: metadata[key] for key in _METADATA if key in metadata}
    return orjson.dumps({"metadata": known, "spec": parent.get("spec") or {}})


def read_parent_key(key: bytes) -> Manifest:
    """The parent of a key, without kind and status."""
    parent: Manifest = orjson.loads(key)
    return parent
