"""Canonical JSON and short hashes of it."""

import hashlib
import json

from hooks.k8s.types import Json


def canonical_json(value: Json) -> str:
    """Compact JSON with sorted keys, so that equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def short_hash(text: str, length: int = 8) -> str:
    """The first `length` hex digits of the text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]
