"""JSON merge patches (RFC 7386) between two objects."""

from collections.abc import Mapping

from hooks.ground.k8s.types import Json


def find_merge_patch(old: Mapping[str, Json], new: Mapping[str, Json]) -> dict[str, Json]:
    """The JSON merge patch that turns one object into the other; empty if both are the same."""
    patch: dict[str, Json] = dict.fromkeys(key for key in old if key not in new)
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            if below := find_merge_patch(before, value):
                patch[key] = below
        elif before != value:
            patch[key] = value
    return patch
