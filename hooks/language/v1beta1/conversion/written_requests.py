"""Where a field of a v1alpha1 request stands in the v1beta1 request that the user wrote."""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.v1beta1.conversion.shapes import find_main

Parts = tuple[str | int, ...]
Fields = Mapping[str, Json]

_POD: Parts = ("overrides", "profilingJob", "template", "spec")
_PROFILING, _CONFIG = ("profilingConfig",), ("profilingConfig", "config")
_CACHE = (*_CONFIG, "deployment", "modelCache")
_RESOURCES = (*_PROFILING, "resources")

_MOVED: tuple[tuple[Parts, Parts], ...] = (
    (("useMocker",), ("features", "mocker", "enabled")),
    ((*_PROFILING, "profilerImage"), ("image",)),
    ((*_PROFILING, "tolerations"), (*_POD, "tolerations")),
    ((*_PROFILING, "nodeSelector"), (*_POD, "nodeSelector")),
    ((*_CONFIG, "sla", "isl"), ("workload", "isl")),
    ((*_CONFIG, "sla", "osl"), ("workload", "osl")),
    ((*_CONFIG, "sla"), ("sla",)),
    ((*_CACHE, "modelPathInPvc"), ("modelCache", "pvcModelPath")),
    (_CACHE, ("modelCache",)),
    ((*_CONFIG, "planner"), ("features", "planner")),
)
"""Where fields are, and all that is below them; the first that fits counts."""
_ONLY_ALPHA = frozenset({"profilingConfig", "enableGpuDiscovery", "deploymentOverrides"})


def written_in_request(parts: Parts, spec: Fields) -> Parts | None:
    """The path within the spec; None for a field that v1beta1 has in the conversion's annotation alone."""
    if parts[:2] == _RESOURCES:
        return _resources(parts[2:], spec)
    for hub, spoke in _MOVED:
        if parts[: len(hub)] == hub:
            return (*spoke, *parts[len(hub) :])
    return None if parts[0] in _ONLY_ALPHA else parts


def _resources(rest: Parts, spec: Fields) -> Parts:
    """The resources of the container `profiler`; the list of containers if there is none."""
    found: Json = spec
    for key in (*_POD, "containers"):
        found = found.get(str(key)) if isinstance(found, dict) else None
    at = find_main(found, contract.PROFILER_CONTAINER)
    return (*_POD, "containers") if at is None else (*_POD, "containers", at, "resources", *rest)
