"""One sync of a DecoratorController's parent: labels, annotations and status of the parent, and its attachments.

Source: Metacontroller v4.17, pkg/controller/decorator/controller.go, syncParentObject.
"""

from collections.abc import Mapping
from typing import Any

from hooks.ground.k8s.types import Manifest, object_key, with_annotation
from hooks.tools.offline.simulator.metacontroller.children import manage_children
from hooks.tools.offline.simulator.metacontroller.parents import (
    SyncTools,
    desired_map,
    has_finalizer,
    manages_children,
    stage_for,
    sync_finalizer,
    without_finalizer,
)
from hooks.tools.offline.simulator.metacontroller.related import ObjectMap
from hooks.tools.offline.simulator.store import ApiError, ref_of
from hooks.wire.world.equality import are_equal

DECORATOR = "metacontroller.k8s.io/decorator-controller"


def sync_decorator(tools: SyncTools, parent: Manifest) -> None:
    """Finalizer, attachments, related, hook, the parent's own fields, attachments again.

    Raises:
        SyncFailed, ApiError: the sync failed, or some of its writes were refused.
        TooManyRequests: the hook answered 429; nothing was done.
    """
    if not tools.spec.handles(parent):
        return
    parent = sync_finalizer(tools, parent)
    if not tools.spec.handles(parent):
        return
    observed = _attachments(tools, parent)
    related = tools.related.objects(parent)
    stage = stage_for(tools, parent)
    request = {"object": parent, "attachments": observed, "related": related, "finalizing": stage == "finalize"}
    answer = tools.webhook.call(stage, request)
    if answer.get("resyncAfterSeconds", 0) > 0:
        tools.requeue(ref_of(parent), answer["resyncAfterSeconds"])
    try:
        _decorate(tools, parent, answer)
    except ApiError as refused:
        if refused.code not in {404, 409}:
            raise
        return
    desired = desired_map(parent, answer.get("attachments", []))
    marked = {
        key: {name: with_annotation(child, DECORATOR, tools.spec.name) for name, child in group.items()}
        for key, group in desired.items()
    }
    if manages_children(tools, parent):
        manage_children(tools, parent, observed, marked)


def _attachments(tools: SyncTools, parent: Manifest) -> ObjectMap:
    namespace = parent["metadata"].get("namespace", "")
    return {
        kind.key: {
            object_key(obj): obj
            for obj in tools.store.list_controlled(kind, namespace, parent["metadata"]["uid"])
            if (obj["metadata"].get("annotations") or {}).get(DECORATOR) == tools.spec.name
        }
        for kind in tools.spec.methods
    }


def _decorate(tools: SyncTools, parent: Manifest, answer: Mapping[str, Any]) -> None:
    """Write the answer's labels, annotations and status to the parent; an answer without status keeps the old one."""
    metadata = parent["metadata"]
    labels = _overlaid(metadata.get("labels") or {}, answer.get("labels", {}))
    annotations = _overlaid(metadata.get("annotations") or {}, answer.get("annotations", {}))
    status = answer.get("status", parent.get("status", {}))
    status_changed = not are_equal(status, parent.get("status", {}))
    finalizes = bool(answer.get("finalized")) and has_finalizer(tools, parent)
    before = (metadata.get("labels") or {}, metadata.get("annotations") or {})
    if not (status_changed or finalizes or (labels, annotations) != before):
        return
    wanted = {**parent, "status": status, "metadata": {**metadata, "labels": labels, "annotations": annotations}}
    if status_changed and tools.spec.rule_for(parent).resource.status:
        written = tools.client.update_status({**parent, "status": status})
        version = written["metadata"]["resourceVersion"]
        wanted = {**wanted, "metadata": {**wanted["metadata"], "resourceVersion": version}}
    tools.client.update(without_finalizer(tools, wanted) if finalizes else wanted)


def _overlaid(old: Mapping[str, str], change: Mapping[str, str | None]) -> dict[str, str]:
    """The map with the changed entries; null removes an entry."""
    kept = {key: value for key, value in old.items() if key not in change}
    return {**kept, **{key: value for key, value in change.items() if value is not None}}
