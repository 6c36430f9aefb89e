"""JSON Schemas of our kinds, for editors and for programs that check files.

A schema holds what the API server checks by the schema of the definition, without rules in CEL; defaults and
descriptions stay in it. Its keywords mean the same from draft 7 of JSON Schema on.

Source: JSON Schema draft 7; the layout of files is that of kubeconform's `-schema-location`.
"""

import json
from collections.abc import Mapping

from hooks.ground import contract
from hooks.language.api.resources import CustomResource
from hooks.language.api.structural import OPEN, SchemaNode
from hooks.language.crds.definitions import all_resources, read_root_schema

DIALECT = "http://json-schema.org/draft-07/schema#"
ALL = "all.json"
"""The file whose schema judges documents of every kind, and lets kinds of other projects pass."""

_LIMITS = {"int32": 2**31, "int64": 2**63}
_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_LABEL_VALUE = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"


def build_file(resource: CustomResource) -> SchemaNode:
    """Build the schema of a file with one object of that kind and version."""
    closed = build_closed_schema(resource.api_version, resource.kind)
    required = {"apiVersion", "kind", "metadata", *closed.get("required", ())}
    readable = _allow_nulls(closed | {"required": sorted(required)})
    properties = readable["properties"]
    header = _header(resource).items()
    said = {name: {"description": properties[name]["description"], **constant} for name, constant in header}
    return {
        "$schema": DIALECT,
        "title": f"{resource.kind} {resource.api_version}",
        **readable,
        "properties": properties | said,
    }


def build_files() -> Mapping[str, SchemaNode]:
    """Build all files by their paths: one for each kind and version, and `ALL`."""
    files = {_path_of(resource): build_file(resource) for resource in all_resources()}
    return files | {ALL: _build_choice()}


def format_schema(schema: SchemaNode) -> str:
    """The schema as JSON, with a line break at its end."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def build_closed_schema(api_version: str, kind: str) -> SchemaNode:
    """Build the schema of one of our kinds, with what the API server checks beside it.

    That is: no unknown fields, integers in the range of their format, and the forms of names and labels.

    Raises:
        KeyError: the kind is not ours, or has no such version.
    """
    schema = read_root_schema({"apiVersion": api_version, "kind": kind})
    if schema is None:
        raise KeyError(f"{api_version} {kind}")
    parts = schema["properties"]
    metadata = parts["metadata"]
    label = {"type": "string", "pattern": _LABEL_VALUE, "maxLength": 63}
    named = metadata["properties"] | {
        "name": {"type": "string", "pattern": _SUBDOMAIN, "maxLength": 253},
        "labels": {"type": "object", "additionalProperties": label},
    }
    return _close(schema | {"properties": parts | {"metadata": metadata | {"properties": named}}})


def _path_of(resource: CustomResource) -> str:
    return f"{contract.GROUP}/{resource.kind.lower()}_{resource.version}.json"


def _build_choice() -> SchemaNode:
    """Build the schema that leaves each object to the file of its kind and version."""
    return {
        "$schema": DIALECT,
        "title": f"All kinds of {contract.GROUP}",
        "allOf": [{"if": _match(resource), "then": {"$ref": _path_of(resource)}} for resource in all_resources()],
    }


def _match(resource: CustomResource) -> SchemaNode:
    header = _header(resource)
    return {"properties": header, "required": list(header)}


def _header(resource: CustomResource) -> SchemaNode:
    return {"apiVersion": {"const": resource.api_version}, "kind": {"const": resource.kind}}


def _close(schema: SchemaNode) -> SchemaNode:
    closed = {key: value for key, value in schema.items() if not key.startswith("x-")}
    if "properties" in schema:
        closed["properties"] = {name: _close(part) for name, part in schema["properties"].items()}
        closed["additionalProperties"] = bool(schema.get(OPEN))
    elif "additionalProperties" in schema:
        closed["additionalProperties"] = _close(schema["additionalProperties"])
    elif schema.get("type") == "object":
        closed |= {"properties": {}, "additionalProperties": bool(schema.get(OPEN))}
    if "items" in schema:
        closed["items"] = _close(schema["items"])
    limit = _LIMITS.get(schema.get("format", ""))
    return {"minimum": -limit, "maximum": limit - 1, **closed} if limit else closed


def _allow_nulls(schema: SchemaNode) -> SchemaNode:
    """Let the optional fields of objects be null, which the API server reads as absent."""
    read = dict(schema)
    required = schema.get("required", ())
    if "properties" in schema:
        parts = {name: _allow_nulls(part) for name, part in schema["properties"].items()}
        read["properties"] = {name: part if name in required else _or_null(part) for name, part in parts.items()}
    if isinstance(schema.get("additionalProperties"), dict):
        read["additionalProperties"] = _or_null(_allow_nulls(schema["additionalProperties"]))
    if "items" in schema:
        read["items"] = _allow_nulls(schema["items"])
    return read


def _or_null(schema: SchemaNode) -> SchemaNode:
    nullable = dict(schema)
    if "type" in schema:
        nullable["type"] = [schema["type"], "null"]
    if "enum" in schema:
        nullable["enum"] = [*schema["enum"], None]
    if "anyOf" in schema:
        nullable["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    return nullable
