"""Canonical JSON, short hashes of it, and the hash in names that other programs make too."""

import hashlib
import json

from hooks.ground.k8s.types import Json


def canonical_json(value: Json) -> str:
    """Compact JSON with sorted keys, so that equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def short_hash(text: str, length: int = 8) -> str:
    """The first `length` hex digits of the text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def fnv_hash(text: str) -> int:
    """The 32 bits of the text's FNV-1a hash.

    Source: Go, hash/fnv, New32a.
    """
    found = 2166136261
    for byte in text.encode():
        found = ((found ^ byte) * 16777619) % 2**32
    return found
