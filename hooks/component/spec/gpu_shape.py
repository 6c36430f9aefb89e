"""GPUs of one replica of a component: those of its engine, and those of all its containers.

Source: Dynamo operator, internal/dynamo/gpu_shape.go; Kubernetes, pkg/api/v1/resource/helpers.go, PodRequests.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.component.spec.gpus import count_gpus
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.quantities import MOST, parse_quantity
from hooks.ground.k8s.types import Json
from hooks.language.api.component_spec import ComponentSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuShape:
    """GPUs of one replica, over all its nodes: of its main containers (the engine), and of all containers.

    Neither is larger than the status can hold (`MOST`).
    """

    per_engine: int
    per_replica: int


def resolve_gpu_shape(spec: ComponentSpec) -> GpuShape | None:
    """The GPUs of one replica; None if they are not known.

    They are not known if the main container asks for devices by claims alone (DRA), because the spec does not say what
    a claim contains, and if an amount cannot be read, which the rules of the spec report.
    """
    names = frozenset({contract.GPU_RESOURCE, *_gpu_types(spec)})
    try:
        engine = count_gpus(spec.resources, spec.main_container)
        pod = _count_pod(spec.extra_pod_spec, engine, names)
    except (InvalidSpec, ValueError):
        return None
    if engine == 0 and _has_claims(spec):
        return None
    per_engine, per_replica = (min(count * spec.node_count, MOST) for count in (engine, pod))
    return GpuShape(per_engine=per_engine, per_replica=per_replica)


def _gpu_types(spec: ComponentSpec) -> Iterator[str]:
    sides = (spec.resources.limits, spec.resources.requests) if spec.resources else ()
    return (side.gpu_type for side in sides if side and side.gpu_type)


def _has_claims(spec: ComponentSpec) -> bool:
    of_container = (spec.main_container.get("resources") or {}).get("claims")
    return bool(of_container or (spec.resources and spec.resources.claims))


def _count_pod(pod: Mapping[str, Json], main: int, names: frozenset[str]) -> int:
    """The GPUs that the scheduler counts for a pod whose main container has `main` of them.

    Sidecars (init containers that always restart) run beside all others. The other init containers run one by one
    before the containers, so the greatest one counts, with the sidecars that started before it.
    """
    sidecars = peak = 0
    for container in pod.get("initContainers") or ():
        count = _count(container, names)
        if container.get("restartPolicy") == "Always":
            sidecars += count
        else:
            peak = max(peak, sidecars + count)
    running = sum(_count(container, names) for container in pod.get("containers") or ())
    return max(main + running + sidecars, peak)


def _count(container: Mapping[str, Json], names: frozenset[str]) -> int:
    """The GPUs of a container: its limits of these resources, otherwise its requests.

    Raises:
        ValueError: an amount is not a quantity.
    """
    resources = container.get("resources") or {}
    limits, requests = (resources.get(side) or {} for side in ("limits", "requests"))
    amounts = {**requests, **limits}
    return sum(int(parse_quantity(str(amounts[name]))) for name in names if amounts.get(name) is not None)
