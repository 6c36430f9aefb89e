"""Requests and limits: v1alpha1's `resources`, and those of a container.

v1alpha1 names GPUs apart from other resources, and all amounts are strings.
"""

import re
from collections.abc import Callable, Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.conversion.json_values import is_text
from hooks.language.conversion.pairs import Pair, Slot, Slots, top
from hooks.language.v1beta1.conversion.frames import Frame

_RESOURCES = top("resources")
_MAIN: Slot = (Frame.MAIN, "resources")
_SIDES = ("limits", "requests")
_CLAIMS, _CUSTOM = "claims", "custom"
_PLAIN = ("cpu", "memory")
_NUMBERS = (*_PLAIN, "gpu")
_TEXTS = frozenset({*_NUMBERS, "gpuType"})
_GPU = re.compile(r"(^|[./])gpu([./]|$)|/mig-")
"""Names of other makers' GPUs and of parts of GPUs."""


def resources_pair() -> Pair:
    """`resources` and the main container's `resources`."""
    return Pair(hub=(_RESOURCES, _MAIN), spoke=(_MAIN,), to_spoke=_to_beta, to_hub=_to_alpha)


def resource_name(item: Json, key: str) -> str:
    """The name of the resource behind a field of v1alpha1's requests or limits."""
    if key != "gpu":
        return key
    kind = item.get("gpuType") if isinstance(item, dict) else None
    return kind if is_text(kind) else contract.GPU_RESOURCE


def _to_beta(slots: Slots) -> Slots:
    """`resources` laid over those of the main container, as the hooks render them."""
    written: Json = slots.get(_RESOURCES)
    base: Json = slots.get(_MAIN)
    sides = _read_sides(written, _amounts)
    if sides is None:
        return {_MAIN: base} if _MAIN in slots else {}
    if not isinstance(base, dict):
        base = {}
    laid: dict[str, Json] = dict(base)
    for side, amounts in sides.items():
        below = base.get(side)
        laid[side] = {**below, **amounts} if isinstance(below, dict) else amounts
    if _CLAIMS in written:
        below = base.get(_CLAIMS)
        laid[_CLAIMS] = [*(below if isinstance(below, list) else []), *written[_CLAIMS]]
    return {_MAIN: laid}


def _to_alpha(slots: Slots) -> Slots:
    native: Json = slots.get(_MAIN)
    sides = _read_sides(native, _item)
    if sides is None:
        return {_MAIN: native} if _MAIN in slots else {}
    return {_RESOURCES: {**sides, **({_CLAIMS: native[_CLAIMS]} if _CLAIMS in native else {})}}


def _read_sides(
    resources: Json, read: Callable[[Mapping[str, Json]], dict[str, Json] | None]
) -> dict[str, dict[str, Json]] | None:
    """Limits and requests as `read` gives them; None if there is a value that the other version cannot say."""
    if not isinstance(resources, dict) or not resources:
        return None
    sides: dict[str, dict[str, Json]] = {}
    for key, value in resources.items():
        if key == _CLAIMS and isinstance(value, list):
            continue
        amounts = read(value) if key in _SIDES and isinstance(value, dict) else None
        if amounts is None:
            return None
        sides[key] = amounts
    return sides


def _amounts(item: Mapping[str, Json]) -> dict[str, Json] | None:
    """The amounts by the name of the resource; those of `custom` win. None if a value is no string."""
    for key, value in item.items():
        if not (isinstance(value, str) if key in _TEXTS else key == _CUSTOM and _are_texts(value)):
            return None
    named = {resource_name(item, key): item[key] for key in _NUMBERS if item.get(key)}
    return {**named, **item.get(_CUSTOM, {})}


def _are_texts(values: Json) -> bool:
    return isinstance(values, dict) and all(isinstance(value, str) for value in values.values())


def _item(amounts: Mapping[str, Json]) -> dict[str, Json] | None:
    """Amounts in v1alpha1's fields; GPUs get their own field, because multi-node replicas count them only there.

    None if a value is no amount.
    """
    gpu = _gpu_of(amounts)
    item: dict[str, Json] = {}
    custom: dict[str, Json] = {}
    for name, value in amounts.items():
        if not _is_amount(value):
            return None
        if name == gpu:
            item["gpu"] = str(value)
            if gpu != contract.GPU_RESOURCE:
                item["gpuType"] = gpu
        else:
            (item if name in _PLAIN else custom)[name] = str(value)
    return {**item, _CUSTOM: custom} if custom else item


def _is_amount(value: Json) -> bool:
    return isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool))


def _gpu_of(amounts: Mapping[str, Json]) -> str:
    """The resource that counts as the GPU: NVIDIA's, otherwise the only one with such a name; empty for none."""
    if contract.GPU_RESOURCE in amounts:
        return contract.GPU_RESOURCE
    named = [name for name in amounts if name not in _PLAIN and _GPU.search(name)]
    return named[0] if len(named) == 1 else ""
