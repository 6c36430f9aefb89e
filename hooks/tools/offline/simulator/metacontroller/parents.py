"""What composite and decorator syncs share: the parent's finalizer, the choice of the hook, the desired objects.

Source: Metacontroller v4.17, pkg/controller/common/finalizer/finalizer.go.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hooks.ground.k8s.types import Manifest, is_deleting, object_key
from hooks.tools.offline.simulator.metacontroller.controller_spec import ControllerSpec
from hooks.tools.offline.simulator.metacontroller.informer import ObjectReader, ObjectWriter
from hooks.tools.offline.simulator.metacontroller.related import ObjectMap, Related
from hooks.tools.offline.simulator.metacontroller.webhook import Stage, Webhook
from hooks.tools.offline.simulator.store import FOREGROUND, ORPHAN, ApiError, Ref, ref_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncTools:
    """The parts that a sync uses; `requeue` enqueues a parent after so many seconds."""

    spec: ControllerSpec
    store: ObjectReader
    client: ObjectWriter
    webhook: Webhook
    related: Related
    requeue: Callable[[Ref, float], None]


def sync_finalizer(tools: SyncTools, parent: Manifest) -> Manifest:
    """Add the finalizer if a finalize hook is declared, else remove it."""
    wanted = tools.webhook.has("finalize")
    if has_finalizer(tools, parent) == wanted:
        return parent
    if not wanted:
        return remove_finalizer(tools, parent)
    if is_deleting(parent):
        return parent
    return tools.client.update(_with_finalizers(parent, [*_finalizers(parent), tools.spec.finalizer]))


def remove_finalizer(tools: SyncTools, parent: Manifest) -> Manifest:
    """Remove the finalizer if the parent has it; this may delete the parent."""
    live = tools.client.get(ref_of(parent))
    if live is None or not has_finalizer(tools, live):
        return live or parent
    return tools.client.update(without_finalizer(tools, live))


def without_finalizer(tools: SyncTools, parent: Manifest) -> Manifest:
    """The parent without the controller's finalizer; nothing is written."""
    return _with_finalizers(parent, [name for name in _finalizers(parent) if name != tools.spec.finalizer])


def has_finalizer(tools: SyncTools, parent: Manifest) -> bool:
    """Whether the controller's finalizer is on the parent."""
    return tools.spec.finalizer in _finalizers(parent)


def manages_children(tools: SyncTools, parent: Manifest) -> bool:
    """Whether children are written: not while the garbage collector deletes them, nor once the finalizer is removed."""
    if not is_deleting(parent):
        return True
    if {FOREGROUND, ORPHAN} & set(_finalizers(parent)):
        return False
    return tools.webhook.has("finalize") and has_finalizer(tools, parent)


def stage_for(tools: SyncTools, parent: Manifest) -> Stage:
    """Which hook is called: finalize if it is declared and the parent is deleted or no longer selected."""
    finalizes = is_deleting(parent) or not tools.spec.rule_for(parent).selects(parent)
    return "finalize" if finalizes and tools.webhook.has("finalize") else "sync"


def desired_map(parent: Manifest, objects: Iterable[Manifest]) -> ObjectMap:
    """The returned objects by kind and key, by default in the parent's namespace; of duplicates the last."""
    desired: ObjectMap = {}
    for obj in objects:
        metadata: dict[str, Any] = obj.get("metadata") or {}
        if not metadata.get("namespace") and parent["metadata"].get("namespace"):
            metadata = {**metadata, "namespace": parent["metadata"]["namespace"]}
        placed = {**obj, "metadata": {"name": "", **metadata}}
        key = f"{obj['kind']}.{obj.get('apiVersion', '')}"
        desired.setdefault(key, {})[object_key(placed)] = placed
    return desired


def ignore_refusals(call: Callable[[], object], *codes: int) -> None:
    """Carry out a write; ignore a refusal with one of these HTTP codes."""
    try:
        call()
    except ApiError as refused:
        if refused.code not in codes:
            raise


def _finalizers(parent: Manifest) -> list[str]:
    found: list[str] = parent["metadata"].get("finalizers", [])
    return found


def _with_finalizers(parent: Manifest, finalizers: list[str]) -> Manifest:
    return {**parent, "metadata": {**parent["metadata"], "finalizers": finalizers}}
