"""Owner references: who controls an object, and what Metacontroller claims, adopts and releases.

Source: Metacontroller v4.17, pkg/third_party/kubernetes/controller_ref_manager.go.
"""

from enum import StrEnum
from typing import Any

from hooks.ground.k8s.types import Manifest, ReadManifest, controller_of, is_deleting

OwnerReference = dict[str, Any]


class ClaimAction(StrEnum):
    """What to do with an object that might be a child."""

    KEEP = "keep"
    ADOPT = "adopt"
    RELEASE = "release"
    IGNORE = "ignore"


def decide_claim(parent: ReadManifest, obj: ReadManifest, *, selected: bool) -> ClaimAction:
    """Decide whether an object is, becomes or stops being a child; `selected`: its labels match the selector."""
    owner = controller_of(obj)
    deleting = is_deleting(parent)
    if owner is not None:
        if owner["uid"] != parent["metadata"]["uid"]:
            return ClaimAction.IGNORE
        if selected:
            return ClaimAction.KEEP
        return ClaimAction.IGNORE if deleting else ClaimAction.RELEASE
    if deleting or not selected or is_deleting(obj):
        return ClaimAction.IGNORE
    return ClaimAction.ADOPT


def owners_of(obj: ReadManifest) -> list[OwnerReference]:
    """All owner references."""
    owners: list[OwnerReference] = obj["metadata"].get("ownerReferences") or []
    return owners


def controller_reference(parent: ReadManifest) -> OwnerReference:
    """The reference that makes `parent` the controller of an object."""
    return {
        "apiVersion": parent["apiVersion"],
        "kind": parent["kind"],
        "name": parent["metadata"]["name"],
        "uid": parent["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def with_owner(obj: Manifest, owner: OwnerReference) -> Manifest:
    """The object with one more owner; unchanged if it has an owner of that uid."""
    owners = owners_of(obj)
    if any(known["uid"] == owner["uid"] for known in owners):
        return obj
    return _with_owners(obj, [*owners, owner])


def without_owner(obj: Manifest, *uids: str) -> Manifest:
    """The object without owners of those uids."""
    return _with_owners(obj, [owner for owner in owners_of(obj) if owner["uid"] not in uids])


def _with_owners(obj: Manifest, owners: list[OwnerReference]) -> Manifest:
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": owners}}
