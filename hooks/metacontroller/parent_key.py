"""The cache key of a parent: the bytes that its children follow from.

Most syncs come because a child changed, not the parent. What was read from a parent and found valid is cached by this
key; that changes no answer, as the same bytes always read the same.
"""

import orjson

from hooks.k8s.types import Manifest, ReadManifest

CACHED_PARENTS = 256
"""Parents that a process keeps for each hook; a few megabytes."""

_METADATA = ("name", "namespace", "uid", "generation", "labels", "annotations", "ownerReferences", "deletionTimestamp")


def make_parent_key(parent: ReadManifest) -> bytes:
    """The parent's spec and the metadata that hooks read, as JSON; no status, nothing that only the API server uses."""
    metadata = parent["metadata"]
    known = {key: metadata[key] for key in _METADATA if key in metadata}
    return orjson.dumps({"metadata": known, "spec": parent.get("spec") or {}})


def read_parent_key(key: bytes) -> Manifest:
    """The parent that the key was made from, without kind and status."""
    parent: Manifest = orjson.loads(key)
    return parent
