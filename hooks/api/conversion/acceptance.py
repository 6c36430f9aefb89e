"""What the API server takes in a field of a version: a value without what it would refuse.

Fields of both versions are compared by their schemas, so a field that is stricter in one of them is found by itself.
Nulls stay: the API server reads them as absent.

Source: Kubernetes, apiextensions-apiserver, pkg/apiserver/validation and pkg/apiserver/schema/listtype.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import is_
from typing import Final

from hooks import contract
from hooks.api import component, graph, graph_request, scaling_adapter
from hooks.api.base import ApiModel
from hooks.api.conversion.pairs import Frame, Slot
from hooks.api.conversion.versions import Version
from hooks.api.structural import OPEN, SchemaNode, build_object_schema, schema_of
from hooks.api.v1beta1 import component as beta_component
from hooks.api.v1beta1 import graph as beta_graph
from hooks.api.v1beta1 import graph_request as beta_graph_request
from hooks.api.v1beta1 import scaling_adapter as beta_scaling_adapter
from hooks.k8s.types import Json

REFUSED: Final = object()
"""In place of a value of which nothing is left."""

MODELS: Mapping[Version, Mapping[str, type[ApiModel]]] = {
    Version.ALPHA: {
        contract.GRAPH.kind: graph.GraphDeployment,
        contract.COMPONENT.kind: component.ComponentDeployment,
        contract.SCALING_ADAPTER.kind: scaling_adapter.GraphScalingAdapter,
        contract.GRAPH_REQUEST.kind: graph_request.GraphRequest,
    },
    Version.BETA: {
        contract.GRAPH.kind: beta_graph.GraphDeployment,
        contract.COMPONENT.kind: beta_component.ComponentDeployment,
        contract.SCALING_ADAPTER.kind: beta_scaling_adapter.GraphScalingAdapter,
        contract.GRAPH_REQUEST.kind: beta_graph_request.GraphRequest,
    },
}

ITEMS = "[]"
"""In a path: each item of a list, or each value of a map."""

_INT_OR_STRING = "x-kubernetes-int-or-string"
_KEYS = "x-kubernetes-list-map-keys"
_RANGES = {"int32": 2**31, "int64": 2**63}


@dataclass(frozen=True, slots=True)
class FrameSchemas:
    """Where the schemas of a table's frames stand in each version of a kind: names from the root on."""

    kind: str
    paths: Mapping[Version, Mapping[Frame, tuple[str, ...]]]

    def fields_of(self, version: Version, frame: Frame) -> Mapping[str, SchemaNode]:
        """The fields of a frame that may be left out; {} for a frame that the version does not have."""
        node: SchemaNode | None = _build_root(version, self.kind)
        path = self.paths[version].get(frame)
        for name in path if path is not None else ():
            node = node and (node.get("items") if name == ITEMS and "items" in node else schema_of(name, node))
        if path is None or node is None:
            return {}
        required = _required(node)
        return {name: part for name, part in node.get("properties", {}).items() if name not in required}

    def find(self, version: Version, slot: Slot) -> SchemaNode | None:
        """The schema of a slot; None if the version does not have it, or requires it."""
        return self.fields_of(version, slot[0]).get(slot[1])

    def find_stricter(self, frame: Frame) -> frozenset[Slot]:
        """The slots of a frame that both versions have, and that do not take the same values."""
        alpha, beta = (self.fields_of(version, frame) for version in (Version.ALPHA, Version.BETA))
        return frozenset((frame, name) for name in alpha.keys() & beta.keys() if not is_alike(alpha[name], beta[name]))


@cache
def _build_root(version: Version, kind: str) -> SchemaNode:
    """Build the schema of an object, without its metadata."""
    return build_object_schema(MODELS[version][kind])


def is_alike(one: SchemaNode | None, other: SchemaNode | None) -> bool:
    """Whether two schemas take the same values."""
    return one == other or (one is not None and other is not None and _essence(one) == _essence(other))


def _essence(schema: SchemaNode) -> SchemaNode:
    """The schema without descriptions, and with defaults only as far as they stand for what is missing."""
    kept = {key: value for key, value in schema.items() if key not in {"description", "default"}}
    if "properties" in schema:
        kept["properties"] = {name: _essence(part) for name, part in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            kept[key] = _essence(schema[key])
    required = _required(schema)
    return {key: value for key, value in kept.items() if key != "required"} | (
        {"required": required} if required else {}
    )


def _required(schema: SchemaNode) -> list[str]:
    """The fields that an object must have; a default stands for a missing one."""
    known = schema.get("properties", {})
    return sorted(name for name in schema.get("required", ()) if "default" not in known.get(name, {}))


def accept(value: Json, schema: SchemaNode) -> Json:
    """The value without what the API server refuses; the same object if it takes all, `REFUSED` if nothing is left.

    Of items of a list with the same keys, the last one stays.
    """
    if value is None:
        return value
    if schema.get(_INT_OR_STRING):
        fits = isinstance(value, int) and not isinstance(value, bool)
        return value if fits or (isinstance(value, str) and _is_text(value, schema)) else REFUSED
    kind = schema.get("type")
    if kind == "object":
        return _accept_object(value, schema) if isinstance(value, dict) else REFUSED
    if kind == "array":
        return _accept_list(value, schema) if isinstance(value, list) else REFUSED
    check = _SCALARS.get(str(kind))
    return value if check is None or check(value, schema) else REFUSED


def _accept_object(value: Mapping[str, Json], schema: SchemaNode) -> Json:
    kept = {}
    for name, item in value.items():
        part = schema_of(name, schema)
        if part is None:
            if schema.get(OPEN):
                kept[name] = item
        elif (left := accept(item, part)) is not REFUSED:
            kept[name] = left
    if any(kept.get(name) is None for name in _required(schema)):
        return REFUSED
    is_whole = len(kept) == len(value) and all(kept[name] is value[name] for name in value)
    return value if is_whole else kept or REFUSED


def _accept_list(value: list[Json], schema: SchemaNode) -> Json:
    items, keys = schema.get("items", {}), schema.get(_KEYS, ())
    kept = [left for item in value if (left := accept(item, items)) is not REFUSED and left is not None]
    if keys:
        known = items.get("properties", {})
        said = [tuple(str(item.get(key, known.get(key, {}).get("default"))) for key in keys) for item in kept]
        kept = [kept[at] for at in sorted({identity: at for at, identity in enumerate(said)}.values())]
    kept = kept[: schema.get("maxItems", len(kept))]
    is_whole = len(kept) == len(value) and all(map(is_, kept, value))
    return value if is_whole else kept or REFUSED


def _is_text(value: Json, schema: SchemaNode) -> bool:
    if not isinstance(value, str) or ("enum" in schema and value not in schema["enum"]):
        return False
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        return False
    return "pattern" not in schema or _compile(schema["pattern"]).search(value) is not None


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """The pattern with Go's meaning of `$`: the end of the text, and not also before a last line break."""
    return re.compile(f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern)


def _is_number(value: Json, schema: SchemaNode) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))


def _is_integer(value: Json, schema: SchemaNode) -> bool:
    limit = _RANGES.get(schema.get("format", ""))
    return _is_number(value, schema) and value == int(value) and (limit is None or -limit <= value < limit)


_SCALARS: Mapping[str, Callable[[Json, SchemaNode], bool]] = {
    "string": _is_text,
    "number": _is_number,
    "integer": _is_integer,
    "boolean": lambda value, _schema: isinstance(value, bool),
}
