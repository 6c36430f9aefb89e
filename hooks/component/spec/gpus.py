"""The number of GPUs of each pod of a component.

Source: Dynamo operator, internal/dynamo/backend_vllm.go, getContainerGPUs, and backend_trtllm.go, getGPUsPerNode.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.quantities import parse_quantity
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, FieldPath, Key
from hooks.language.api.component_spec import Resources
from hooks.language.rules import pod as rules

Side = Literal["limits", "requests"]
_SIDES: tuple[Side, Side] = ("limits", "requests")


def count_gpus(resources: Resources | None, container: Mapping[str, Json], *, first: Side = "limits") -> int:
    """The number of GPUs of a pod; 0 if it requests none.

    The amount on the side `first` counts; if there is none, the amount on the other side. On each side the spec's
    amount of its `gpuType` counts before that of the main container's `resources`, which upstream does not read.

    Raises:
        InvalidSpec: the amount that counts is not a whole number.
    """
    for side in (first, *(side for side in _SIDES if side != first)):
        for path, amount in _amounts(resources, container.get("resources") or {}, side):
            return _whole(path, amount)
    return 0


def _amounts(resources: Resources | None, base: Mapping[str, Json], side: Side) -> Iterator[tuple[FieldPath, str]]:
    """Amounts of GPUs on one side, each as path and quantity; the first one counts."""
    item, path = getattr(resources, side) if resources else None, SPEC / "resources" / side
    resource = (item.gpu_type if item else "") or contract.GPU_RESOURCE
    if item and item.gpu:
        yield path / "gpu", item.gpu
    if item and item.custom.get(resource):
        yield path / "custom" / Key(resource), item.custom[resource]
    amount = (base.get(side) or {}).get(resource)
    if amount is not None:
        yield SPEC / "extraPodSpec.mainContainer.resources" / side / Key(resource), str(amount)


def _whole(path: FieldPath, amount: str) -> int:
    try:
        count = parse_quantity(amount)
    except ValueError as error:
        raise InvalidSpec(rules.QUANTITY.at(path, why=str(error))) from error
    if count < 0:
        raise InvalidSpec(rules.NEGATIVE.at(path, amount=amount))
    if count.denominator != 1:
        raise InvalidSpec(rules.WHOLE.at(path, amount=amount))
    return int(count)
