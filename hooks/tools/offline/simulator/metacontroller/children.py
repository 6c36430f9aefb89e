"""Writes desired children: deletions first, then creations and updates. `hooks.wire.world.applying` decides which.

Source: Metacontroller v4.17, pkg/controller/common/manage_children.go (dynamic apply).
"""

from collections.abc import Callable
from functools import partial

from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulator.metacontroller.parents import SyncTools, ignore_refusals
from hooks.tools.offline.simulator.metacontroller.related import ObjectMap
from hooks.tools.offline.simulator.metacontroller.webhook import SyncFailed
from hooks.tools.offline.simulator.store import ApiError, ref_of
from hooks.wire.world.applying import PlannedWrite, Verb, plan_write
from hooks.wire.world.merge import MergeRefused


def manage_children(tools: SyncTools, parent: Manifest, observed: ObjectMap, desired: ObjectMap) -> None:
    """Make the observed children equal to the desired ones; a refused write does not stop the others.

    Raises:
        SyncFailed: at least one write was refused; the message lists all refusals.
    """
    work: list[Callable[[], None]] = []
    for key in sorted(observed, key=_kind_order):
        for name, child in sorted(observed[key].items()):
            if name not in desired.get(key, {}):
                work.append(partial(_manage, tools, parent, child, None))
    for key in sorted(desired, key=_kind_order):
        for name, child in sorted(desired[key].items()):
            work.append(partial(_manage, tools, parent, observed.get(key, {}).get(name), child))
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


def _manage(tools: SyncTools, parent: Manifest, observed: Manifest | None, desired: Manifest | None) -> None:
    if desired is not None and not desired.get("apiVersion"):
        raise SyncFailed(f'can\'t find kind "{desired["kind"]}" in apiVersion ""')
    match plan_write(parent, observed, desired, lambda _parent, child: tools.spec.methods[child]):
        case PlannedWrite(verb=Verb.CREATE, object=new):
            ignore_refusals(lambda: tools.client.create(new), 409)
        case PlannedWrite(verb=Verb.UPDATE, object=changed):
            ignore_refusals(lambda: tools.client.update(changed), 404, 409)
        case PlannedWrite(verb=Verb.DELETE, object=gone):
            ignore_refusals(lambda: tools.client.delete(ref_of(gone), "Background", gone["metadata"]["uid"]), 404)
