"""How many GPUs each pod of a component has.

Source: Dynamo operator, internal/dynamo/backend_vllm.go, getContainerGPUs, and backend_trtllm.go, getGPUsPerNode.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from hooks import contract
from hooks.api.component_spec import Resources
from hooks.errors import InvalidSpec
from hooks.k8s.quantities import parse_quantity
from hooks.k8s.types import Json

Side = Literal["limits", "requests"]
_SIDES: tuple[Side, Side] = ("limits", "requests")


def count_gpus(resources: Resources | None, container: Mapping[str, Json], *, first: Side = "limits") -> int:
    """Count the GPUs of a pod; 0 where none are asked for.

    The side that is named first counts, then the other. On each side the spec's own amount does, under its `gpuType`,
    and where it has none that of the main container's `resources`, which upstream does not look at.

    Raises:
        InvalidSpec: the amount that counts is no whole number.
    """
    for side in (first, *(side for side in _SIDES if side != first)):
        for path, amount in _amounts(resources, container.get("resources") or {}, side):
            return _whole(path, amount)
    return 0


def _amounts(resources: Resources | None, base: Mapping[str, Json], side: Side) -> Iterator[tuple[str, str]]:
    """Amounts of GPUs on one side, as field and quantity, the one that counts first."""
    item = getattr(resources, side) if resources else None
    resource = (item.gpu_type if item else "") or contract.GPU_RESOURCE
    if item and item.gpu:
        yield f"spec.resources.{side}.gpu", item.gpu
    if item and item.custom.get(resource):
        yield f"spec.resources.{side}.custom.{resource}", item.custom[resource]
    amount = (base.get(side) or {}).get(resource)
    if amount is not None:
        yield f"spec.extraPodSpec.mainContainer.resources.{side}.{resource}", str(amount)


def _whole(path: str, amount: str) -> int:
    try:
        count = parse_quantity(amount)
    except ValueError as error:
        raise InvalidSpec(f"{path}: {error}") from error
    if count < 0 or count.denominator != 1:
        raise InvalidSpec(f"{path} is {amount!r}, must be a whole number of GPUs: multinode counts ranks by it")
    return int(count)
