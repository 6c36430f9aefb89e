"""What Metacontroller makes of an answer: which children it creates, changes, replaces, deletes and leaves alone.

Source: Metacontroller v4.17, pkg/controller/common/manage_children.go (dynamic apply).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from hooks.ground import contract
from hooks.ground.k8s.types import (
    GroupVersionKind,
    Manifest,
    ReadManifest,
    controller_of,
    gvk_of,
    is_deleting,
    labels_of,
)
from hooks.wire.metacontroller.controllers import Strategy, strategy_of
from hooks.wire.world.merge import MergeRefused, apply_update, is_up_to_date, with_last_applied
from hooks.wire.world.objects import ObjectId, World
from hooks.wire.world.ownership import controller_reference, with_owner

Strategies = Callable[[GroupVersionKind, GroupVersionKind], Strategy | None]
"""The strategy for a parent's kind and a child's; None for a child kind that the parent's controller has not."""


class Verb(StrEnum):
    """What is done to a child."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWrite:
    """One write, with the object as it is sent; a child that is deleted comes as it is."""

    verb: Verb
    object: Manifest


def apply(
    wanted: Iterable[Manifest], parent: ReadManifest, world: World, strategies: Strategies = strategy_of
) -> World:
    """The world after one sync in which the hook wanted these children.

    An object that is deleted is gone at once; one that was being deleted before stays. An orphan is adopted. A child
    whose name another owner's object has is not created. A parent that is being deleted keeps its children: the
    garbage collector deletes them.
    """
    if is_deleting(parent):
        return world
    kind, owned = gvk_of(parent), world.owned.get(ObjectId.of(parent), {})
    present = {key: _adopt(one, parent) for key, one in owned.items() if strategies(kind, gvk_of(one)) is not None}
    desired = {ObjectId.of(one): one for one in (_place(child, parent) for child in wanted)}
    after = dict(present)
    for key in (*(key for key in present if key not in desired), *desired):
        live, child = present.get(key), desired.get(key)
        try:
            write = plan_write(parent, live, child, strategies)
        except MergeRefused:
            continue  # Metacontroller says so at each sync, and goes on with the other children
        match write:
            case None:
                continue
            case PlannedWrite(verb=Verb.DELETE):
                del after[key]
            case PlannedWrite(verb=Verb.CREATE) if key in world.objects:
                continue
            case PlannedWrite():
                after[key] = write.object
    others = {key: one for key, one in owned.items() if key not in present}
    return world.with_children(parent, {**others, **after})


def plan_write(
    parent: ReadManifest, live: Manifest | None, wanted: Manifest | None, strategies: Strategies
) -> PlannedWrite | None:
    """What Metacontroller writes about one child; None for nothing.

    `wanted` has the namespace and the label that it is to have, and is None if the hook left the child out.

    Raises:
        MergeRefused: the types of a field differ, so that nothing is written.
    """
    if live is None:
        return None if wanted is None else PlannedWrite(verb=Verb.CREATE, object=create(wanted, parent))
    if wanted is None:
        return None if is_deleting(live) else PlannedWrite(verb=Verb.DELETE, object=live)
    if is_up_to_date(live, wanted) or is_deleting(live):
        return None
    match strategies(gvk_of(parent), gvk_of(wanted)):
        case Strategy.IN_PLACE:
            return PlannedWrite(verb=Verb.UPDATE, object=apply_update(live, wanted))
        case Strategy.RECREATE:
            return PlannedWrite(verb=Verb.DELETE, object=live)
        case Strategy.ON_DELETE | None:
            return None


def create(wanted: Manifest, parent: ReadManifest) -> Manifest:
    """The child as Metacontroller creates it: owned, and with a record of what was wanted."""
    return with_owner(with_last_applied(wanted, wanted), controller_reference(parent))


def _place(child: Manifest, parent: ReadManifest) -> Manifest:
    """The wanted child in the parent's namespace unless it names one, with the label by which its parent knows it.

    A parent that was never stored has no uid; its children get no label.
    """
    uid, namespace = parent["metadata"].get("uid"), parent["metadata"].get("namespace")
    labels: Mapping[str, Mapping[str, str]] = (
        {"labels": {contract.LABEL_CONTROLLER_UID: str(uid), **labels_of(child)}} if uid else {}
    )
    where = {"namespace": namespace} if namespace else {}
    return {**child, "metadata": {**where, **child["metadata"], **labels}}


def _adopt(child: Manifest, parent: ReadManifest) -> Manifest:
    if controller_of(child) is not None or not parent["metadata"].get("uid"):
        return child
    return with_owner(child, controller_reference(parent))
