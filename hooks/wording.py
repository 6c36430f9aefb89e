"""What of a parent its children follow from, as one text.

Most syncs come because a child changed, not the parent: what was read from a wording and found valid is remembered by
it, which changes no answer, as the same wording always reads the same.
"""

import orjson

from hooks.k8s.types import Manifest, ReadManifest

REMEMBERED = 256
"""Wordings that a process remembers for each hook; a few megabytes."""

_METADATA = ("name", "namespace", "uid", "generation", "labels", "annotations", "ownerReferences", "deletionTimestamp")


def wording_of(parent: ReadManifest) -> bytes:
    """The parent's spec and the metadata that hooks read; no status, no book-keeping of the API server."""
    metadata = parent["metadata"]
    known = {key: metadata[key] for key in _METADATA if key in metadata}
    return orjson.dumps({"metadata": known, "spec": parent.get("spec") or {}})


def parent_of(wording: bytes) -> Manifest:
    """The parent that the wording was taken from, without kind and status."""
    parent: Manifest = orjson.loads(wording)
    return parent
