"""Finds values of the wrong type, outside an enumeration or beyond a limit in a user's Kubernetes fragments.

The schemas are those of the CRD. The API server checks them too; `render` and the hooks must not rely on that, because
an older CRD may have accepted the object.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from hooks.component.rules.pod_fields import PodFields
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, FieldPath, Key, Problem
from hooks.language.api.schema import ENV_VAR, POD_SPEC, PROBE, RESOURCE_CLAIM
from hooks.language.api.structural import SchemaNode, build_kubernetes_schema
from hooks.language.rules import pod as pod_rules
from hooks.language.rules import pod_values as rules
from hooks.language.rules.values import name_types, suggest

CONTAINER = "io.k8s.api.core.v1.Container"

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "array": (list, tuple),
    "boolean": bool,
    "integer": (int, float),
    "number": (int, float),
    "object": dict,
    "string": str,
}


def find_schema_problems(fields: PodFields) -> Iterator[Problem]:
    """Problems of all fragments of a spec, each value by itself; values of any type are allowed."""
    pod = {key: value for key, value in fields.extra_pod_spec.items() if key != "mainContainer"}
    yield from _walk(pod, _schema_of(POD_SPEC), SPEC / "extraPodSpec")
    yield from _walk(fields.main_container, _schema_of(CONTAINER), SPEC / "extraPodSpec.mainContainer")
    for path, values, kind in (
        (SPEC / "envs", fields.envs, ENV_VAR),
        (SPEC / "resources.claims", fields.resources.claims if fields.resources else (), RESOURCE_CLAIM),
    ):
        for index, value in enumerate(values):
            yield from _walk(value, _schema_of(kind), path / index)
    for field, probe in (("livenessProbe", fields.liveness_probe), ("readinessProbe", fields.readiness_probe)):
        yield from _walk(probe, _schema_of(PROBE), SPEC / field)


def find_wrong_types(value: Json, kind: str, path: FieldPath) -> Iterator[Problem]:
    """The values of the wrong type in one fragment of that kind."""
    return (problem for problem in _walk(value, _schema_of(kind), path) if problem.rule is pod_rules.FIELD_TYPE)


@cache
def _schema_of(kind: str) -> SchemaNode:
    return build_kubernetes_schema(kind)


def _walk(value: Json, schema: SchemaNode, path: FieldPath) -> Iterator[Problem]:
    if value is None:
        return
    if "x-kubernetes-int-or-string" in schema:
        if isinstance(value, bool | dict | list):
            yield pod_rules.FIELD_TYPE.at(path, wanted=name_types(("integer", "string")))
        return
    kind = schema.get("type", "")
    if kind and not _has_type(value, kind):
        yield pod_rules.FIELD_TYPE.at(path, wanted=name_types((kind,)))
        return
    find = _FINDERS.get(kind)
    if find is not None:
        yield from find(value, schema, path)


def _has_type(value: Json, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _in_object(value: Json, schema: SchemaNode, path: FieldPath) -> Iterator[Problem]:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name, part in value.items():
        if name in properties:
            yield from _walk(part, properties[name], path / name)
        elif others:
            yield from _walk(part, others, path / Key(name))


def _in_array(value: Json, schema: SchemaNode, path: FieldPath) -> Iterator[Problem]:
    most = schema.get("maxItems")
    if most is not None and len(value) > most:
        yield rules.ENTRIES.at(path, count=len(value), most=most)
    for index, item in enumerate(value):
        yield from _walk(item, schema["items"], path / index)


def _of_integer(value: Json, schema: SchemaNode, path: FieldPath) -> Iterator[Problem]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None and not least <= value <= most:
        yield rules.RANGE.at(path, found=str(value), least=least, most=most)
    elif least is not None and value < least:
        yield rules.LEAST.at(path, found=str(value), least=least)


def _of_string(value: Json, schema: SchemaNode, path: FieldPath) -> Iterator[Problem]:
    choices = schema.get("enum", ())
    if choices and value not in choices:
        named = [choice for choice in choices if choice]
        guess = suggest(value, named)
        hint = f"; {guess}" if guess else ""
        yield rules.CHOICE.at(path, found=repr(value), choices=", ".join(named), hint=hint)


_FINDERS: Mapping[str, Callable[[Json, SchemaNode, FieldPath], Iterator[Problem]]] = {
    "array": _in_array,
    "integer": _of_integer,
    "object": _in_object,
    "string": _of_string,
}
