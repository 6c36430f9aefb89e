"""Requests and limits: v1alpha1's `resources`, and those of a container.

v1alpha1 names GPUs apart from other resources, and all amounts are strings.
"""

import re
from collections.abc import Mapping

from hooks import contract
from hooks.conversion.json_values import is_text
from hooks.conversion.pairs import Frame, Pair, Slot, Slots, top
from hooks.k8s.types import Json

_RESOURCES = top("resources")
_MAIN: Slot = (Frame.MAIN, "resources")
_SIDES = ("limits", "requests")
_CLAIMS = "claims"
_PLAIN = ("cpu", "memory")
_FIELDS = frozenset({*_SIDES, _CLAIMS})
_ITEM_FIELDS = frozenset({*_PLAIN, "gpu", "gpuType", "custom"})
_GPU = re.compile(r"(^|[./])gpu([./]|$)|/mig-")
"""Names of other makers' GPUs and of parts of GPUs."""


def resources_pair() -> Pair:
    """`resources` and the main container's `resources`."""
    return Pair(alpha=(_RESOURCES, _MAIN), beta=(_MAIN,), to_beta=_to_beta, to_alpha=_to_alpha)


def resource_name(item: Json, key: str) -> str:
    """The name of the resource behind a field of v1alpha1's requests or limits."""
    if key != "gpu":
        return key
    kind = item.get("gpuType") if isinstance(item, dict) else None
    return kind if is_text(kind) else contract.GPU_RESOURCE


def _to_beta(slots: Slots) -> Slots:
    """`resources` laid over those of the main container, as the hooks render them."""
    written, base = slots.get(_RESOURCES), slots.get(_MAIN)
    if not isinstance(written, dict) or not written or not _is_readable(written):
        return {_MAIN: base} if _MAIN in slots else {}
    if not isinstance(base, dict):
        base = {}
    laid: dict[str, Json] = dict(base)
    for side in _SIDES:
        if side in written:
            below = base.get(side)
            laid[side] = {**(below if isinstance(below, dict) else {}), **_amounts(written[side])}
    if _CLAIMS in written:
        below = base.get(_CLAIMS)
        laid[_CLAIMS] = [*(below if isinstance(below, list) else []), *written[_CLAIMS]]
    return {_MAIN: laid}


def _to_alpha(slots: Slots) -> Slots:
    native = slots.get(_MAIN)
    if not isinstance(native, dict) or not native or not _is_native(native):
        return {_MAIN: native} if _MAIN in slots else {}
    sides = {side: _item(native[side]) for side in _SIDES if side in native}
    return {_RESOURCES: {**sides, **({_CLAIMS: native[_CLAIMS]} if _CLAIMS in native else {})}}


def _is_readable(resources: Mapping[str, Json]) -> bool:
    if not resources.keys() <= _FIELDS or not isinstance(resources.get(_CLAIMS, []), list):
        return False
    return all(_is_readable_item(resources[side]) for side in _SIDES if side in resources)


def _is_readable_item(item: Json) -> bool:
    if not isinstance(item, dict) or not item.keys() <= _ITEM_FIELDS:
        return False
    custom = item.get("custom", {})
    if not isinstance(custom, dict) or not all(isinstance(value, str) for value in custom.values()):
        return False
    return all(isinstance(value, str) for key, value in item.items() if key != "custom")


def _amounts(item: Mapping[str, Json]) -> dict[str, Json]:
    """The amounts by the name of the resource; those of `custom` win."""
    named = {resource_name(item, key): item[key] for key in (*_PLAIN, "gpu") if is_text(item.get(key))}
    return {**named, **item.get("custom", {})}


def _is_native(native: Mapping[str, Json]) -> bool:
    if not native.keys() <= _FIELDS or not isinstance(native.get(_CLAIMS, []), list):
        return False
    sides = [native[side] for side in _SIDES if side in native]
    return all(isinstance(side, dict) and all(map(_is_amount, side.values())) for side in sides)


def _is_amount(value: Json) -> bool:
    return isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool))


def _item(amounts: Mapping[str, Json]) -> dict[str, Json]:
    """Amounts in v1alpha1's fields; GPUs get their own field, because multi-node replicas count them only there."""
    gpu = _gpu_of(amounts)
    item: dict[str, Json] = {name: str(amounts[name]) for name in _PLAIN if name in amounts}
    if gpu:
        item["gpu"] = str(amounts[gpu])
        if gpu != contract.GPU_RESOURCE:
            item["gpuType"] = gpu
    custom = {name: str(value) for name, value in amounts.items() if name not in _PLAIN and name != gpu}
    return {**item, **({"custom": custom} if custom else {})}


def _gpu_of(amounts: Mapping[str, Json]) -> str:
    """The resource that counts as the GPU: NVIDIA's, otherwise the only one with such a name; empty for none."""
    if contract.GPU_RESOURCE in amounts:
        return contract.GPU_RESOURCE
    named = [name for name in amounts if _GPU.search(name)]
    return named[0] if len(named) == 1 else ""
