"""Merges parts of an object over the object, as server-side apply does: by the schema.

Source: Kubernetes, structured-merge-diff.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hooks.ground.k8s.types import Json
from hooks.language.api.structural import SchemaNode

_ALTERNATIVES = (
    frozenset({"value", "valueFrom"}),
    frozenset({"configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"}),
    frozenset({"exec", "grpc", "httpGet", "tcpSocket"}),
)
"""Fields of variables, of their sources, and of probes, of which an object has one; no schema says it."""


def merge_by_schema(base: Json, given: Json, schema: SchemaNode) -> Any:
    """`given` over `base`: objects by field, lists with keys by item, all else as a whole.

    A given source of a variable or volume, or a given handler of a probe, replaces another kind of it.
    """
    is_whole = schema.get("x-kubernetes-map-type") == "atomic"
    if isinstance(base, Mapping) and isinstance(given, Mapping) and not is_whole:
        others = _find_alternatives(schema)
        chosen = {key for key in others if given.get(key) is not None}
        merged = {key: value for key, value in base.items() if not chosen or key in chosen or key not in others}
        for key, value in given.items():
            merged[key] = merge_by_schema(base[key], value, field_schema(schema, key)) if key in base else value
        return merged
    keys = schema.get("x-kubernetes-list-map-keys")
    if isinstance(base, Sequence) and isinstance(given, Sequence) and keys and not isinstance(given, str):
        return _merge_items(list(base), list(given), keys, schema.get("items") or {})
    return given


def _find_alternatives(schema: SchemaNode) -> frozenset[str]:
    """The fields of which an object has one; those of a volume are all but its name."""
    known = _map(schema.get("properties")).keys()
    if "emptyDir" in known:
        return frozenset(known - {"name"})
    return next((found for found in _ALTERNATIVES if len(found & known) > 1), frozenset())


def field_schema(schema: SchemaNode, key: str) -> SchemaNode:
    """The schema of a field, or of a map's value; {} if it has none."""
    found = _map(schema.get("properties")).get(key, schema.get("additionalProperties"))
    return found if isinstance(found, dict) else {}


def _merge_items(base: list[Json], given: list[Json], keys: Sequence[str], schema: SchemaNode) -> list[Json]:
    """The items by their keys; new ones are appended."""
    merged = list(base)
    places = {_key_of(one, keys, schema): at for at, one in enumerate(base)}
    for one in given:
        at = places.get(_key_of(one, keys, schema))
        if at is None:
            merged.append(one)
        else:
            merged[at] = merge_by_schema(merged[at], one, schema)
    return merged


def _key_of(item: Json, keys: Sequence[str], schema: SchemaNode) -> tuple[str, ...]:
    found = _map(item)
    return tuple(str(found.get(key, field_schema(schema, key).get("default"))) for key in keys)


def _map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
