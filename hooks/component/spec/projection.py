"""What clients of Dynamo 1.x read of a component in its status, above all the planner: model, names, GPUs.

All of it follows from the spec alone, so it is in the first status that has an entry for the workload.
"""

import re
from collections.abc import Mapping

from hooks.component.spec.gpu_shape import resolve_gpu_shape
from hooks.component.spec.runtime_names import find_runtime_component, find_served_model
from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.api.component_spec import ComponentSpec

PROJECTED = (
    *("runtimeNamespace", "runtimeComponentName", "servedModelName"),
    *("gpusPerEngine", "gpusPerReplica", "gpuPowerLimitWatts"),
)
"""The fields of a workload's entry in the status that follow from the spec."""

_WATTS = re.compile(r"[1-9][0-9]{0,8}")
_WITHOUT_ENGINE = frozenset({ComponentType.FRONTEND, ComponentType.PLANNER, ComponentType.EPP})


def project(spec: ComponentSpec, runtime_namespace: str) -> dict[str, Json]:
    """The fields `PROJECTED` that are known; `runtime_namespace` is the component's Dynamo namespace.

    Workers register in the one of their generation.
    """
    shape = resolve_gpu_shape(spec)
    gpus = {"gpusPerEngine": shape.per_engine, "gpusPerReplica": shape.per_replica} if shape else {}
    return {
        "runtimeNamespace": with_suffix(runtime_namespace, _find_suffix(spec)),
        **_names(spec),
        **gpus,
        **_power_limit(spec),
    }


def with_suffix(dynamo_namespace: str, suffix: str) -> str:
    """The Dynamo namespace in which workers of a generation register; its own without a generation."""
    return f"{dynamo_namespace}-{suffix}" if suffix else dynamo_namespace


def _find_suffix(spec: ComponentSpec) -> str:
    """The generation that a worker's variable says; empty for none, and for a value that the spec does not show."""
    if not ComponentType.of(spec.component_type).is_worker:
        return ""
    entries = (*(spec.main_container.get("env") or ()), *spec.envs)
    values = [entry.get("value") for entry in entries if entry.get("name") == contract.WORKER_SUFFIX]
    return str(values[-1] or "") if values else ""


def _power_limit(spec: ComponentSpec) -> dict[str, int]:
    """The limit that the pods' annotation gives the node's power agent; {} if it is no positive number.

    Source: Dynamo planner 1.6.1, dynamo/planner/monitoring/dgd_services.py.
    """
    if ComponentType.of(spec.component_type) in _WITHOUT_ENGINE or spec.extra_pod_metadata is None:
        return {}
    text = spec.extra_pod_metadata.annotations.get(contract.ANNOTATION_GPU_POWER_LIMIT, "")
    return {"gpuPowerLimitWatts": int(text)} if is_power_limit(text) else {}


def is_power_limit(text: str) -> bool:
    """Whether the annotation's value is a positive number of watts."""
    return _WATTS.fullmatch(text) is not None


def keep_projected(before: Mapping[str, Json]) -> dict[str, Json]:
    """The same fields of an entry as it was last written, for a workload that stays as it is."""
    return {field: before[field] for field in PROJECTED if field in before}


def _names(spec: ComponentSpec) -> dict[str, str]:
    if ComponentType.of(spec.component_type) in _WITHOUT_ENGINE:
        return {}
    found = {"runtimeComponentName": find_runtime_component(spec), "servedModelName": find_served_model(spec)}
    return {field: name for field, name in found.items() if name}
