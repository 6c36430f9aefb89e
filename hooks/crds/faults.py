"""Everything that the API server would refuse in a manifest of ours, in sentences for a person.

Knows the schemas and the rules that the models hold. The rules of admission, of which the API server evaluates most in
CEL, are the packages' own (`hooks.admission.rules`).

Source: Kubernetes, apiextensions-apiserver: strict field validation, schema validation, list types, CEL.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from jsonschema_rs import Draft202012Validator, ValidationError, ValidationErrorKind

from hooks import contract
from hooks.api.checkpoint import ServiceCheckpoint
from hooks.api.graph import PersistentVolumeClaimRequest
from hooks.api.structural import SchemaNode
from hooks.crds.definitions import CUSTOM_RESOURCES, OPEN, read_root_schema
from hooks.crds.sentences import Path, describe_error, explain_unknown, suggest
from hooks.crds.stored import apply_defaults, schema_of
from hooks.k8s.types import Json, ReadManifest

_LIMITS = {"int32": 2**31, "int64": 2**63}
_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_LABEL_VALUE = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong: the field (keys and 0-based indices from the root), and a sentence that starts with a verb."""

    path: Path
    message: str


def find_faults(manifest: ReadManifest, *, with_status: bool = False) -> list[Fault]:
    """Find all faults of a manifest, in the order of its fields; [] for kinds of other API groups.

    Without `with_status`, only unknown fields of `status` are faults: the API server drops the rest of what a user
    writes there. With it, status is judged as when a controller writes it.
    """
    schema = read_root_schema(manifest)
    if schema is None:
        return _find_kind_faults(manifest)
    readable = apply_defaults(manifest)
    unknown: set[Fault] = set()
    wrong = set(_find_value_faults(readable, schema, ()))
    for error in _validator_of(str(manifest["kind"])).iter_errors(readable):
        is_unknown = isinstance(error.kind, ValidationErrorKind.AdditionalProperties)
        (unknown if is_unknown else wrong).update(_read_error(error, schema))
    judged = unknown | {fault for fault in wrong if with_status or fault.path[:1] != ("status",)}
    return sorted(judged, key=lambda fault: (_position(fault.path, manifest), str(fault.path), fault.message))


def _find_kind_faults(manifest: ReadManifest) -> list[Fault]:
    """Judge an object of our API group whose kind or version is not ours."""
    group, _, version = str(manifest.get("apiVersion", "")).partition("/")
    if group != contract.GROUP:
        return []
    if version != contract.VERSION:
        return [Fault(("apiVersion",), f"is {group}/{version}, should be {contract.GRAPH.api_version}")]
    kinds = [resource.kind for resource in CUSTOM_RESOURCES]
    kind = str(manifest.get("kind", ""))
    hint = suggest(kind, kinds) or f"should be one of {', '.join(kinds)}"
    return [Fault(("kind",), f"{kind or 'nothing'} is no kind of {contract.GRAPH.api_version}; {hint}")]


@cache
def _validator_of(kind: str) -> Draft202012Validator:
    schema = read_root_schema({"apiVersion": contract.GRAPH.api_version, "kind": kind}) or {}
    parts = schema["properties"]
    metadata = parts["metadata"]
    label = {"type": "string", "pattern": _LABEL_VALUE, "maxLength": 63}
    named = metadata["properties"] | {
        "name": {"type": "string", "pattern": _SUBDOMAIN, "maxLength": 253},
        "labels": {"type": "object", "additionalProperties": label},
    }
    whole = schema | {"properties": parts | {"metadata": metadata | {"properties": named}}}
    return Draft202012Validator(_close(whole), validate_formats=True, ignore_unknown_formats=True)


def _close(schema: SchemaNode) -> SchemaNode:
    """Turn a structural schema into one that says what the API server does: no other fields, integers that fit."""
    closed = {key: value for key, value in schema.items() if not key.startswith("x-") and key != "description"}
    if "properties" in schema:
        closed["properties"] = {name: _close(part) for name, part in schema["properties"].items()}
        closed["additionalProperties"] = bool(schema.get(OPEN))
    elif "additionalProperties" in schema:
        closed["additionalProperties"] = _close(schema["additionalProperties"])
    elif schema.get("type") == "object":
        closed["additionalProperties"] = bool(schema.get(OPEN))
    if "items" in schema:
        closed["items"] = _close(schema["items"])
    limit = _LIMITS.get(schema.get("format", ""))
    return {"minimum": -limit, "maximum": limit - 1, **closed} if limit else closed


def _read_error(error: ValidationError, root: SchemaNode) -> Iterator[Fault]:
    path = tuple(error.instance_path)
    match error.kind:
        case ValidationErrorKind.Required():
            yield Fault((*path, error.kind.property), "is missing")
        case ValidationErrorKind.AdditionalProperties():
            schema = _schema_at(path, root)
            above = [(path[:depth], _schema_at(path[:depth], root)) for depth in range(len(path) - 1, 0, -1)]
            for name in error.kind.unexpected:
                yield Fault((*path, name), explain_unknown(name, schema, above))
        case ValidationErrorKind.Enum() if not isinstance(error.instance, str):
            return  # its type is a fault already
        case _:
            yield Fault(path, describe_error(error))


def _schema_at(path: Path, root: SchemaNode) -> SchemaNode:
    schema = root
    for part in path:
        schema = (schema["items"] if isinstance(part, int) else schema_of(part, schema)) or {}
    return schema


def _find_value_faults(value: Json, schema: SchemaNode, path: Path) -> Iterator[Fault]:
    """What depends on more than one field: entries of one key, and rules."""
    if isinstance(value, Mapping):
        for rule in schema.get("x-kubernetes-validations", ()):
            if not _RULES[rule["rule"]](value):
                yield Fault(path, rule["message"])
        for name, item in value.items():
            part = schema_of(name, schema)
            if part is not None:
                yield from _find_value_faults(item, part, (*path, name))
    elif isinstance(value, list) and "items" in schema:
        yield from _find_repeated(value, schema, path)
        for index, item in enumerate(value):
            yield from _find_value_faults(item, schema["items"], (*path, index))


def _find_repeated(items: list[Json], schema: SchemaNode, path: Path) -> Iterator[Fault]:
    """Entries of a map list that have the keys of an earlier one."""
    keys = schema.get("x-kubernetes-list-map-keys", ())
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        if not keys or not isinstance(item, Mapping):
            continue
        identity = ", ".join(f"{key} {item.get(key)}" for key in keys)
        first = seen.setdefault(identity, index)
        if first != index:
            yield Fault((*path, index), f"repeats {identity} of entry {first}; every entry needs its own")


def _position(path: Path, manifest: Json) -> tuple[int, ...]:
    """Where a field stands in the manifest; a missing one stands before its siblings."""
    position = []
    value = manifest
    for part in path:
        if isinstance(part, int):
            position.append(part)
            value = value[part] if isinstance(value, list) and part < len(value) else None
        else:
            keys = list(value) if isinstance(value, Mapping) else []
            position.append(keys.index(part) if part in keys else -1)
            value = value[part] if part in keys else None
    return tuple(position)


def _is_claim_complete(claim: Mapping[str, Json]) -> bool:
    return claim.get("create") is not True or {"size", "storageClass", "volumeAccessMode"} <= claim.keys()


def _is_checkpoint_named(checkpoint: Mapping[str, Json]) -> bool:
    identity = checkpoint.get("identity")
    is_identified = isinstance(identity, Mapping) and {"model", "backendFramework"} <= identity.keys()
    return checkpoint.get("enabled") is not True or bool(checkpoint.get("checkpointRef")) or is_identified


_RULES: Mapping[str, Callable[[Mapping[str, Json]], bool]] = {
    PersistentVolumeClaimRequest.rules[0].expression: _is_claim_complete,
    ServiceCheckpoint.rules[0].expression: _is_checkpoint_named,
}
"""What each rule's expression says; there is no CEL in Python, and the cluster tests hold both to the same answers."""
