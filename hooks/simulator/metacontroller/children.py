"""Applies desired children: deletions first, then creations and updates by the kind's strategy.

Source: Metacontroller v4.17, pkg/controller/common/manage_children.go (dynamic apply).
"""

from collections.abc import Callable
from functools import partial

from hooks.k8s.types import GroupVersionKind, Manifest
from hooks.simulator.metacontroller.merge import MergeRefused, apply_update, is_up_to_date, with_last_applied
from hooks.simulator.metacontroller.parents import SyncTools, ignore_refusals
from hooks.simulator.metacontroller.related import ObjectMap
from hooks.simulator.metacontroller.webhook import SyncFailed
from hooks.simulator.ownership import controller_reference, with_owner
from hooks.simulator.store import ApiError, ref_of


def manage_children(tools: SyncTools, parent: Manifest, observed: ObjectMap, desired: ObjectMap) -> None:
    """Make the observed children equal to the desired ones; a refused write does not stop the others.

    Raises:
        SyncFailed: at least one write was refused; the message lists all refusals.
    """
    work: list[Callable[[], None]] = []
    for key in sorted(observed, key=_kind_order):
        for name, child in sorted(observed[key].items()):
            if name not in desired.get(key, {}) and "deletionTimestamp" not in child["metadata"]:
                work.append(partial(_delete, tools, child))
    for key in sorted(desired, key=_kind_order):
        for name, child in sorted(desired[key].items()):
            work.append(partial(_apply, tools, parent, observed.get(key, {}).get(name), child))
    refusals = [text for text in map(_refusal_of, work) if text]
    if refusals:
        metadata = parent["metadata"]
        where = f"{parent['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
        text = refusals[0] if len(refusals) == 1 else f"[{', '.join(refusals)}]"
        raise SyncFailed(f"can't reconcile children for {where}: {text}")


def _kind_order(key: str) -> tuple[str, str, str]:
    """Group, version, kind: core kinds come first."""
    kind, _, api_version = key.partition(".")
    gvk = GroupVersionKind.of(api_version, kind)
    return gvk.group, gvk.version, gvk.kind


def _refusal_of(work: Callable[[], None]) -> str:
    try:
        work()
    except (ApiError, MergeRefused, SyncFailed) as refused:
        return str(refused)
    return ""


def _delete(tools: SyncTools, child: Manifest) -> None:
    uid = child["metadata"]["uid"]
    ignore_refusals(lambda: tools.client.delete(ref_of(child), "Background", uid), 404)


def _apply(tools: SyncTools, parent: Manifest, observed: Manifest | None, desired: Manifest) -> None:
    if observed is None:
        owned = with_owner(with_last_applied(desired, desired), controller_reference(parent))
        if not desired.get("apiVersion"):
            raise SyncFailed(f'can\'t find kind "{desired["kind"]}" in apiVersion ""')
        ignore_refusals(lambda: tools.client.create(owned), 409)
        return
    if is_up_to_date(observed, desired) or "deletionTimestamp" in observed["metadata"]:
        return
    wanted = apply_update(observed, desired)
    match tools.spec.methods[GroupVersionKind.of(desired["apiVersion"], desired["kind"])]:
        case "InPlace":
            ignore_refusals(lambda: tools.client.update(wanted), 404, 409)
        case "Recreate":
            _delete(tools, observed)
        case _:
            return
