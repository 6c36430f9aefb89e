"""Suggestions for a field that does not exist."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from hooks.ground.problems import FieldPath
from hooks.language.api.structural import SchemaNode
from hooks.language.rules.values import suggest

_NESTED_LEVELS = 2
_ALMOST = 0.85
_OTHER_VERSION: Mapping[str, tuple[str, ...]] = {
    "components": ("services",),
    "services": ("components",),
    "envs": ("podTemplate",),
    "type": ("componentType",),
    "componentType": ("type",),
    "subComponentType": ("type",),
    "podTemplate": ("extraPodSpec",),
    **dict.fromkeys(("extraPodSpec", "extraPodMetadata", "resources", "envFromSecret"), ("podTemplate",)),
    **dict.fromkeys(("livenessProbe", "readinessProbe", "volumeMounts"), ("podTemplate",)),
    "sharedMemory": ("sharedMemorySize",),
    "sharedMemorySize": ("sharedMemory",),
    "clusterTopologyName": ("topologyProfile",),
    "topologyProfile": ("clusterTopologyName",),
    "componentName": ("serviceName",),
    "serviceName": ("componentName", "name"),
}
"""By field of v1alpha1 or v1beta1: the fields of the other version that say the same, or contain it."""
_OF_2025 = {"pvc": "volumeMounts"}
"""By field of a service in the first releases: what replaced it there, together with the claims of the graph."""
_GPU_DOMAIN = "nvidia.com"
_NOT_MEANT = frozenset(
    {"autoscaling", "checkpoint", "experimental", "failover", "frontendSidecar", "gpuMemoryService", "providerOverride"}
)
"""Fields that are ignored, refused or rare: a user who puts one of their fields elsewhere means another field."""


def suggest_field(name: str, schema: SchemaNode, above: Iterable[tuple[FieldPath, SchemaNode]]) -> str:
    """`did you mean …?`, `this version has … instead` or `it belongs in …`; empty if no field is similar.

    The first found of: the field for a resource of Kubernetes, a field of almost the same name here, the one that says
    the same here in the other version, one of the same name further in, one of the same name further out, one of a
    similar name here. `above` are the objects around this one with their paths, the nearest first.
    """
    fields = schema.get("properties", {})
    if name in _OF_2025 and _OF_2025[name] in fields:
        return f"use pvcs and {_OF_2025[name]}"
    return (
        _suggest_unqualified(name, fields)
        or suggest(name, fields, cutoff=_ALMOST)
        or _suggest_of_other_version(name, fields)
        or _suggest_nested(name, schema)
        or _suggest_above(name, above)
        or suggest(name, fields)
    )


def _suggest_unqualified(name: str, fields: Collection[str]) -> str:
    """For a resource as Kubernetes names it, `nvidia.com/gpu`: the field for it, or the field for all others."""
    domain, slash, last = name.rpartition("/")
    if not slash or "gpu" not in fields:
        return ""
    if last in fields:
        gpu_type = f" and gpuType: {name}" if domain != _GPU_DOMAIN else ""
        return f"write {last}{gpu_type}"
    return "write it in custom" if "custom" in fields else ""


def _suggest_of_other_version(name: str, fields: Collection[str]) -> str:
    found = next((field for field in _OTHER_VERSION.get(name, ()) if field in fields), None)
    return f"this version has {found} instead" if found else ""


def _suggest_nested(name: str, schema: SchemaNode) -> str:
    """All objects one level in that have the field, or one that is further in."""
    found = sorted(_find_nested(name, schema, ()), key=lambda path: (len(path), path))
    near = [path for path in found if len(path) == 1] or found[:1]
    return f"it belongs in {' or '.join('.'.join(path) for path in near)}" if near else ""


def _suggest_above(name: str, above: Iterable[tuple[FieldPath, SchemaNode]]) -> str:
    found = next((path for path, schema in above if name in schema.get("properties", {})), None)
    return f"it belongs in {found}" if found else ""


def _find_nested(name: str, schema: SchemaNode, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, part in schema.get("properties", {}).items():
        if key in _NOT_MEANT:
            continue
        if name in part.get("properties", {}):
            yield (*above, key)
        if len(above) + 1 < _NESTED_LEVELS:
            yield from _find_nested(name, part, (*above, key))
