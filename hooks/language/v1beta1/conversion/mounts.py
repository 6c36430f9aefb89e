"""Mounts of the main container: v1alpha1's mounts of claims, mounts of volumes, and the cache of compiled kernels.

In v1beta1, a mount of a volume that the pod does not define is one of the claim with this name.
"""

from collections.abc import Mapping
from typing import TypeGuard

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.conversion.json_values import is_text, names_of, same
from hooks.language.conversion.pairs import Pair, Slot, Slots, top
from hooks.language.v1beta1.conversion.frames import Frame

_CLAIM_MOUNTS, _CACHE = top("volumeMounts"), top("compilationCache")
_MOUNTS: Slot = (Frame.MAIN, "volumeMounts")
_VOLUMES: Slot = (Frame.POD, "volumes")
_IS_CACHE = "useAsCompilationCache"
_MOUNT_FIELDS = frozenset({"name", "mountPath"})
_CLAIM_MOUNT_FIELDS = frozenset({"name", "mountPoint", _IS_CACHE})


def mounts_pair() -> Pair:
    """`volumeMounts` with the main container's, and `compilationCache` with the main container's."""
    return Pair(
        hub=(_CLAIM_MOUNTS, _MOUNTS),
        spoke=(_MOUNTS, _CACHE),
        to_spoke=_to_beta,
        to_hub=_to_alpha,
        reads=(_VOLUMES,),
    )


def find_cache(mounts: Json) -> int | None:
    """The index of v1alpha1's mount that becomes `compilationCache`: the first one with this flag."""
    if not isinstance(mounts, list):
        return None
    flagged = (i for i, one in enumerate(mounts) if isinstance(one, dict) and one.get(_IS_CACHE) is True)
    return next(flagged, None)


def _to_beta(slots: Slots) -> Slots:
    """The main container's mounts, then those of claims; the first one for compiled kernels is a field of its own."""
    claims, mounts = slots.get(_CLAIM_MOUNTS), slots.get(_MOUNTS)
    made: dict[Slot, Json] = {_MOUNTS: mounts} if _MOUNTS in slots else {}
    if not isinstance(claims, list) or not (mounts is None or isinstance(mounts, list)):
        return made
    if not all(map(_is_claim_mount, claims)):
        return made
    at = find_cache(claims)
    shown = (one for i, one in enumerate(claims) if i != at and "mountPoint" in one)
    native = [{"name": one["name"], "mountPath": one["mountPoint"]} for one in shown]
    if at is not None:
        path = {"mountPath": claims[at]["mountPoint"]} if "mountPoint" in claims[at] else {}
        made[_CACHE] = {"pvcName": claims[at]["name"], **path}
    if native:
        made[_MOUNTS] = [*(mounts or ()), *native]
    return made


def _to_alpha(slots: Slots) -> Slots:
    """Mounts of volumes that the pod does not define are those of claims."""
    mounts, cache = slots.get(_MOUNTS), slots.get(_CACHE)
    claims = [_cache_mount(cache)] if _is_cache(cache) else []
    if not isinstance(mounts, list):
        kept: dict[Slot, Json] = {_MOUNTS: mounts} if _MOUNTS in slots else {}
    else:
        defined = names_of(slots.get(_VOLUMES))
        shown = [one for one in mounts if not _is_mount_of_cache(one, cache)] if claims else mounts
        native: list[Json] = []
        for mount in shown:
            if _is_of_claim(mount, defined):
                claims.append({"name": mount["name"], "mountPoint": mount["mountPath"]})
            else:
                native.append(mount)
        kept = {_MOUNTS: native} if native or not mounts else {}
    return {**kept, _CLAIM_MOUNTS: claims} if claims else kept


def _is_claim_mount(mount: Json) -> bool:
    """Whether a mount of v1alpha1 has what it needs, and nothing else."""
    if not isinstance(mount, dict) or not mount.keys() <= _CLAIM_MOUNT_FIELDS:
        return False
    path, is_cache = mount.get("mountPoint"), mount.get(_IS_CACHE, False)
    return is_text(mount.get("name")) and (is_text(path) or ("mountPoint" not in mount and is_cache is True))


def _is_cache(cache: Json) -> TypeGuard[Mapping[str, Json]]:
    if not isinstance(cache, dict) or not cache.keys() <= {"pvcName", "mountPath"}:
        return False
    return is_text(cache.get("pvcName")) and is_text(cache.get("mountPath", "-"))


def _cache_mount(cache: Mapping[str, Json]) -> dict[str, Json]:
    path = {"mountPoint": cache["mountPath"]} if "mountPath" in cache else {}
    return {"name": cache["pvcName"], **path, _IS_CACHE: True}


def _is_mount_of_cache(mount: Json, cache: Json) -> bool:
    return same(mount, {"name": cache["pvcName"], "mountPath": cache.get("mountPath")})


def _is_of_claim(mount: Json, defined: frozenset[str | None]) -> bool:
    """Whether a mount says no more than the name of a claim, and a path."""
    if not isinstance(mount, dict) or mount.keys() != _MOUNT_FIELDS:
        return False
    name = mount["name"]
    if not is_text(name) or not is_text(mount["mountPath"]):
        return False
    return name not in defined and name != contract.SHARED_MEMORY_VOLUME
