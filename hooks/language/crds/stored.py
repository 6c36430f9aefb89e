"""A manifest as the API server keeps it: nulls and unknown fields dropped, defaults filled in.

Source: Kubernetes, apiextensions-apiserver, pkg/apiserver/schema/{pruning,defaulting}.
"""

from collections.abc import Mapping

from hooks.ground.k8s.types import Json, Manifest, ReadManifest
from hooks.language.api.structural import OPEN, SchemaNode, schema_of
from hooks.language.crds.definitions import read_root_schema


def apply_defaults(manifest: ReadManifest) -> Manifest:
    """Drop nulls, then fill in every default of an object of ours; unknown fields and other kinds stay."""
    schema = read_root_schema(manifest)
    defaulted: Manifest = _fill(manifest, schema) if schema else dict(manifest)
    return defaulted


def prune(manifest: ReadManifest) -> Manifest:
    """Drop nulls and every field that the schema of an object of ours does not know; other kinds stay."""
    schema = read_root_schema(manifest)
    pruned: Manifest = _prune(_drop_nulls(manifest, schema), schema) if schema else dict(manifest)
    return pruned


def _drop_nulls(value: Json, schema: SchemaNode | None) -> Json:
    """Drop null fields that the schema knows: none is nullable, so defaults replace them; a null in a list stays."""
    if schema is None or isinstance(value, str | int):  # most values are no containers
        return value
    if isinstance(value, Mapping):
        known = {name: schema_of(name, schema) for name in value}
        return {n: _drop_nulls(v, known[n]) for n, v in value.items() if v is not None or known[n] is None}
    if isinstance(value, list):
        return [_drop_nulls(item, schema.get("items")) for item in value]
    return value


def _fill(value: Json, schema: SchemaNode | None) -> Json:
    """Drop nulls as `_drop_nulls` does, and fill in defaults, in one walk."""
    if schema is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        filled = {}
        for name, item in value.items():
            part = properties.get(name, others)
            if item is not None or part is None:
                filled[name] = _fill(item, part)
        for name, part in properties.items():
            if "default" in part and name not in filled:
                filled[name] = _fill(part["default"], part)
        return filled
    if isinstance(value, list):
        return [_fill(item, schema.get("items")) for item in value]
    return value


def _prune(value: Json, schema: SchemaNode) -> Json:
    if isinstance(value, Mapping):
        return {n: v if s is None else _prune(v, s) for n, v, s in _kept_fields(value, schema)}
    if isinstance(value, list) and "items" in schema:
        return [_prune(item, schema["items"]) for item in value]
    return value


def _kept_fields(value: Mapping[str, Json], schema: SchemaNode) -> list[tuple[str, Json, SchemaNode | None]]:
    """The fields that stay, each with its schema; a schema is None if everything below stays too."""
    is_open = schema.get(OPEN, False)
    fields = [(name, item, schema_of(name, schema)) for name, item in value.items()]
    return [field for field in fields if field[2] is not None or is_open]
