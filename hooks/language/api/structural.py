"""Builds the structural schemas of the custom resource definitions from the models.

Knows no particular kind; `hooks.language.crds` assembles the definitions.

Source: Kubernetes, CustomResourceDefinition v1, "Specifying a structural schema".
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from inspect import cleandoc
from typing import Any, get_args, get_origin

from hooks.ground.k8s.types import Json
from hooks.language.api.annotations import SCALAR_TYPES, without_none
from hooks.language.api.base import ApiModel, ParentMetadata
from hooks.language.api.schema import Schema

SchemaNode = dict[str, Json]
"""One node of a structural schema: `type`, `properties`, …"""

OPEN = "x-kubernetes-preserve-unknown-fields"
"""The mark of an object that takes any field."""


def build_object_schema(model: type[ApiModel]) -> SchemaNode:
    """Build a model's schema; a field `metadata` is left to the caller.

    Raises:
        TypeError: a field has no `Schema`, or a type without a schema.
    """
    markers = {
        field.alias or name: (field.annotation, _marker_of(f"{model.__name__}.{name}", field.metadata))
        for name, field in model.model_fields.items()
        if field.annotation is not ParentMetadata
    }
    schema: SchemaNode = {"description": cleandoc(model.__doc__ or ""), "type": "object"}
    if markers:  # the API server drops an empty map
        schema["properties"] = {
            name: _build_field(annotation, marker) for name, (annotation, marker) in markers.items()
        }
    required = sorted(name for name, (_, marker) in markers.items() if marker.required)
    rules = [{"rule": rule.expression, "message": rule.message} for rule in model.rules]
    return (
        schema | ({"required": required} if required else {}) | ({"x-kubernetes-validations": rules} if rules else {})
    )


def schema_of(name: str, schema: SchemaNode) -> SchemaNode | None:
    """The schema of an object's field; None for one that the schema does not know."""
    found: SchemaNode | None = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
    return found


def build_kubernetes_schema(name: str) -> SchemaNode:
    """Build the schema of a Kubernetes type (`io.k8s.api.core.v1.Probe`), all references resolved.

    Raises:
        KeyError: the packaged definitions do not have the type.
    """
    schema: SchemaNode = _resolve(_load_definitions()[name])
    return schema


@cache
def _load_definitions() -> Mapping[str, Json]:
    text = files("hooks.language.api").joinpath("kubernetes_schemas.json").read_text(encoding="utf-8")
    definitions: Mapping[str, Json] = json.loads(text)["definitions"]
    return definitions


def _resolve(node: Json) -> Json:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            return build_kubernetes_schema(reference)
        return {key: _resolve(value) for key, value in node.items()}
    return [_resolve(item) for item in node] if isinstance(node, list) else node


def _marker_of(where: str, metadata: list[Any]) -> Schema:
    marker = next((item for item in metadata if isinstance(item, Schema)), None)
    if marker is None:
        raise TypeError(f"{where} says no Schema")
    return marker


def _build_field(annotation: Any, marker: Schema) -> SchemaNode:
    """Build one field from its type and its marker, which wins. A list's limits are not those of its items."""
    limits = {
        "default": marker.default,
        "enum": list(marker.enum) or None,
        "format": marker.format or None,
        "pattern": marker.pattern or None,
        "minimum": marker.minimum,
        "minLength": marker.min_length,
        "maxLength": marker.max_length,
        "maxItems": marker.max_items,
        "maxProperties": marker.max_properties,
    }
    if marker.map_key:
        limits |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [marker.map_key]}
    said = {key: value for key, value in limits.items() if value is not None}
    return _build_type(without_none(annotation), marker) | {"description": marker.description} | said


def _build_type(annotation: Any, marker: Schema) -> SchemaNode:
    origin = get_origin(annotation)
    if origin is tuple:
        limit = {} if marker.item_max_length is None else {"maxLength": marker.item_max_length}
        return {"type": "array", "items": _build_type(get_args(annotation)[0], marker) | limit}
    marked = _build_marked(marker)
    if marked is not None:
        return marked
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _build_type(get_args(annotation)[1], marker)}
    if annotation in SCALAR_TYPES:
        return {"type": SCALAR_TYPES[annotation]}
    if isinstance(annotation, type) and issubclass(annotation, ApiModel):
        return build_object_schema(annotation)
    raise TypeError(f"there is no schema for {annotation}")


def _build_marked(marker: Schema) -> SchemaNode | None:
    """Build the schema that the marker alone gives; None if the field's type gives it."""
    if marker.kubernetes:
        return _extend(build_kubernetes_schema(marker.kubernetes), marker)
    if marker.shape is not None:
        return build_object_schema(marker.shape)
    if marker.open_object:
        embedded = {"x-kubernetes-embedded-resource": True} if marker.embedded else {}
        return {"type": "object", OPEN: True, **embedded}
    return None


def _extend(schema: SchemaNode, marker: Schema) -> SchemaNode:
    """Drop the marker's optional fields from `required`, add its own fields, and limit its lists."""
    required = [name for name in schema.get("required", ()) if name not in marker.optional]
    added = {name: _build_field(None, also) for name, also in marker.also}
    changed = {key: value for key, value in schema.items() if key != "required"}
    limited = {name: schema["properties"][name] | {"maxItems": most} for name, most in marker.max_items_of}
    if added or limited:
        changed["properties"] = changed["properties"] | limited | added
    return changed | ({"required": required} if required else {})
