"""Everything that the API server would refuse in an object of ours, as problems.

Knows the schemas and the rules in the models. The rules of admission are in the packages
(`hooks.server.admission.rules`); the API server evaluates most of them in CEL.

Source: Kubernetes, apiextensions-apiserver: strict field validation, schema validation, list types, CEL.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from jsonschema_rs import Draft202012Validator, ValidationError, ValidationErrorKind

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Json, ReadManifest
from hooks.ground.problems import HERE, FieldPath, Problem
from hooks.language.api.checkpoint import ServiceCheckpoint
from hooks.language.api.graph import PersistentVolumeClaimRequest
from hooks.language.api.structural import SchemaNode, schema_of
from hooks.language.crds.definitions import read_root_schema, suggest_kind
from hooks.language.crds.json_schema import build_closed_schema
from hooks.language.crds.paths import add_name, name_path
from hooks.language.crds.schema_problems import describe_error, describe_unknown
from hooks.language.crds.stored import apply_defaults
from hooks.language.rules import graph as graph_rules
from hooks.language.rules import schema as rules
from hooks.language.versions.served import find_version_problem

_STATUS = HERE / "status"


def find_faults(manifest: ReadManifest, *, with_status: bool = False) -> list[Problem]:
    """Find all problems of an object with its schema, in the order of its fields; [] for kinds of other API groups.

    Without `with_status`, only unknown fields of `status` are problems, because the API server drops the other fields
    of a status that a user writes. With it, status is checked as when a controller writes it.
    """
    schema = read_root_schema(manifest)
    if schema is None:
        return _find_kind_faults(manifest)
    readable = apply_defaults(manifest)
    found = set(_find_value_faults(readable, schema, HERE))
    for error in _validator_of(str(manifest["apiVersion"]), str(manifest["kind"])).iter_errors(readable):
        found |= set(_read_error(error, schema))
    judged = [p for p in found if with_status or p.rule is rules.UNKNOWN_FIELD or not p.path.is_within(_STATUS)]
    return sorted(judged, key=lambda problem: (_position(problem.path, manifest), problem.text))


def _find_kind_faults(manifest: ReadManifest) -> list[Problem]:
    """Check an object of our API group whose kind or version is unknown."""
    kind, version = str(manifest.get("kind", "")), str(manifest.get("apiVersion", ""))
    if GroupVersionKind.of(version, kind).group != contract.GROUP:
        return []
    if problem := find_version_problem(GroupVersionKind.of(version, kind)):
        return [problem]
    ours = contract.GRAPH.api_version
    return [rules.KIND.at(HERE / "kind", kind=kind or "nothing", version=ours, hint=suggest_kind(kind))]


@cache
def _validator_of(api_version: str, kind: str) -> Draft202012Validator:
    schema = build_closed_schema(api_version, kind)
    return Draft202012Validator(schema, validate_formats=True, ignore_unknown_formats=True)


def _read_error(error: ValidationError, root: SchemaNode) -> Iterator[Problem]:
    parts = tuple(error.instance_path)
    match error.kind:
        case ValidationErrorKind.Required():
            yield rules.REQUIRED.at(name_path((*parts, error.kind.property), root))
        case ValidationErrorKind.AdditionalProperties():
            schema = _schema_at(parts, root)
            depths = range(len(parts) - 1, 0, -1)
            above = [(name_path(parts[:depth], root), _schema_at(parts[:depth], root)) for depth in depths]
            for name in error.kind.unexpected:
                yield describe_unknown(name_path((*parts, name), root), schema, above)
        case ValidationErrorKind.Enum() if not isinstance(error.instance, str):
            return  # its type is a problem already
        case _:
            yield describe_error(error, name_path(parts, root))


def _schema_at(parts: tuple[str | int, ...], root: SchemaNode) -> SchemaNode:
    schema = root
    for part in parts:
        schema = (schema.get("items") if isinstance(part, int) else schema_of(part, schema)) or {}
    return schema


def _find_value_faults(value: Json, schema: SchemaNode, path: FieldPath) -> Iterator[Problem]:
    """Problems that depend on several fields: entries with the same key, and rules."""
    if isinstance(value, Mapping):
        for rule in schema.get("x-kubernetes-validations", ()):
            yield from _RULES[rule["rule"]](value, path)
        for name, item in value.items():
            part = schema_of(name, schema) if isinstance(item, dict | list) else None
            if part is not None:
                yield from _find_value_faults(item, part, add_name(path, name, schema))
    elif isinstance(value, list) and "items" in schema:
        yield from _find_repeated(value, schema, path)
        for index, item in enumerate(value):
            yield from _find_value_faults(item, schema["items"], path / index)


def _find_repeated(items: list[Json], schema: SchemaNode, path: FieldPath) -> Iterator[Problem]:
    """Entries of a list of type map that have the keys of an earlier entry."""
    keys = schema.get("x-kubernetes-list-map-keys", ())
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        if not keys or not isinstance(item, Mapping):
            continue
        identity = ", ".join(f"{key} {item.get(key)}" for key in keys)
        first = seen.setdefault(identity, index)
        if first != index:
            yield rules.REPEATED.at(path / index, keys=identity, first=first)


def _find_missing_of_claim(claim: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    if claim.get("create") is True:
        yield from (rule.at(path / name) for name, rule in graph_rules.CREATED_CLAIM.items() if name not in claim)


def _find_referring_job(checkpoint: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    if "job" in checkpoint and checkpoint.get("checkpointRef"):
        yield rules.CHECKPOINT_JOB.at(path)


_RULES: Mapping[str, Callable[[Mapping[str, Json], FieldPath], Iterator[Problem]]] = {
    PersistentVolumeClaimRequest.rules[0].expression: _find_missing_of_claim,
    ServiceCheckpoint.rules[0].expression: _find_referring_job,
}
"""Each rule's expression as a Python function; the cluster tests check that both give the same answers."""


def _position(path: FieldPath, manifest: Json) -> tuple[int, ...]:
    """The place of a field in the manifest, for sorting; a missing one comes before its siblings."""
    position = []
    value = manifest
    for part in path.parts:
        if isinstance(part, int):
            position.append(part)
            value = value[part] if isinstance(value, list) and part < len(value) else None
        else:
            keys = list(value) if isinstance(value, Mapping) else []
            position.append(keys.index(part) if part in keys else -1)
            value = value[part] if part in keys else None
    return tuple(position)
