"""Writes hooks/language/api/kubernetes_schemas.json from the OpenAPI documents of a Kubernetes release.

    python -m tests.language.api.extract_kubernetes_schemas VERSION OPENAPI_FILE...

The files are what an API server of that release serves at `/openapi/v3/api/v1` and `/openapi/v3/apis/autoscaling/v2`;
the files in the sources of Kubernetes have no enumerations. Only what `ROOTS` reach is kept, without descriptions, in
the structural form that a CRD may carry. OpenAPI lacks limits and a few enumerations: `tests.language.api.pod_limits`
has them.

Source: Kubernetes, OpenAPI; controller-gen, pkg/crd/known_types.go and schema.go.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.language.api.pod_limits import ENUMERATIONS, LIMITS

TARGET = Path(__file__).parents[3] / "hooks" / "language" / "api" / "kubernetes_schemas.json"

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
CLAIM_TEMPLATE = "io.k8s.api.core.v1.PersistentVolumeClaimTemplate"

ROOTS = (
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior",
    "io.k8s.api.autoscaling.v2.MetricSpec",
    "io.k8s.api.core.v1.ConfigMapKeySelector",
    "io.k8s.api.core.v1.Container",
    "io.k8s.api.core.v1.EnvVar",
    "io.k8s.api.core.v1.PodSpec",
    "io.k8s.api.core.v1.Probe",
    "io.k8s.api.core.v1.ResourceClaim",
    "io.k8s.api.core.v1.ResourceRequirements",
    "io.k8s.api.core.v1.Toleration",
    OBJECT_META,
    QUANTITY,
)

_INT_OR_STRING_SCHEMA = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
KNOWN_TYPES: Mapping[str, Any] = {
    INT_OR_STRING: _INT_OR_STRING_SCHEMA,
    QUANTITY: {
        **_INT_OR_STRING_SCHEMA,
        "pattern": rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$",
    },
}
"""Types with JSON forms of their own: OpenAPI says `oneOf`, which a structural schema may not."""

LONGEST_ENUMERATION = 20
"""A longer one, as that of all signals, tells a reader nothing."""

KEPT_KEYS = frozenset(
    {"type", "format", "required", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"}
)


def extract_schemas(version: str, documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Extract all definitions that ROOTS reach; a `$ref` holds a definition's bare name.

    Returns:
        `{"kubernetes": version, "definitions": {name: schema}}`, sorted by name.
    """
    schemas = {name: schema for document in documents for name, schema in document["components"]["schemas"].items()}
    definitions: dict[str, Any] = {}
    pending = list(ROOTS)
    while pending:
        name = pending.pop()
        if name not in definitions:
            definitions[name] = KNOWN_TYPES.get(name) or build_definition(name, schemas[name])
            pending.extend(_find_references(definitions[name]))
    return {"kubernetes": version, "definitions": dict(sorted(definitions.items()))}


def build_definition(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Build the structural form of one definition.

    A claim template's metadata allows labels and annotations only; entries of `managedFields` stay open, since only
    servers write them.
    """
    properties = {key: _build_property(name, key, value, schema) for key, value in schema.get("properties", {}).items()}
    if name == CLAIM_TEMPLATE:
        strings = {"type": "object", "additionalProperties": {"type": "string"}}
        properties["metadata"] = {"type": "object", "properties": {"annotations": strings, "labels": strings}}
    if name == OBJECT_META:
        entry = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        properties["managedFields"] = {"type": "array", "items": entry}
    kept = _keep(schema)
    return {**kept, "properties": properties} if properties else kept


def _build_property(name: str, key: str, schema: Mapping[str, Any], parent: Mapping[str, Any]) -> dict[str, Any]:
    """Keep a default only where a server applies one: those of required fields and `{}` are Go's zero values."""
    built = {**_build_node(schema), **LIMITS.get((name, key), {})}
    built |= _enumerate(
        ENUMERATIONS.get((name, key)) or built.get("enum"), is_required=key in parent.get("required", ())
    )
    has_default = schema.get("default", {}) != {} and key not in parent.get("required", ())
    return {**built, "default": schema["default"]} if has_default else built


def _enumerate(values: Sequence[str] | None, *, is_required: bool) -> dict[str, Any]:
    """The values of a field; an empty text is the same as none, so an optional field may have it."""
    if values is None:
        return {}
    return {"enum": sorted({*values} if is_required else {"", *values})}


def _build_node(schema: Mapping[str, Any]) -> dict[str, Any]:
    references = [schema, *schema.get("allOf", ())]
    reference = next((node["$ref"] for node in references if "$ref" in node), None)
    if reference is not None:
        return {"$ref": reference.rpartition("/")[2]}
    parts = {key: _build_node(schema[key]) for key in ("items", "additionalProperties") if key in schema}
    return {**_keep(schema), **parts}


def _keep(schema: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in schema.items() if key in KEPT_KEYS}
    values = schema.get("enum", ())
    return {**kept, "enum": list(values)} if 0 < len(values) <= LONGEST_ENUMERATION else kept


def _find_references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from _find_references(value)


def write_schemas(schemas: Mapping[str, Any]) -> str:
    """Write one definition a line, so that a new Kubernetes version reads as a diff."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(schema, sort_keys=True, separators=(',', ':'))}"
        for name, schema in schemas["definitions"].items()
    )
    body = ",\n".join(lines)
    return f'{{"kubernetes": {json.dumps(schemas["kubernetes"])}, "definitions": {{\n{body}\n}}}}\n'


def main(arguments: Sequence[str]) -> int:
    """Run the command; 2 on wrong usage."""
    if len(arguments) < 2:
        sys.stderr.write(f"usage: {__spec__.name if __spec__ else __file__} VERSION OPENAPI_FILE...\n")
        return 2
    version, *paths = arguments
    documents = [json.loads(Path(path).read_text(encoding="utf-8")) for path in paths]
    TARGET.write_text(write_schemas(extract_schemas(version, documents)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
