"""One sync of a CompositeController's parent, in Metacontroller's order.

Source: Metacontroller v4.17, pkg/controller/composite/controller.go, syncParentObject.
"""

from collections.abc import Mapping
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Manifest, is_deleting, object_key
from hooks.tools.offline.simulator.metacontroller.children import manage_children
from hooks.tools.offline.simulator.metacontroller.controller_spec import ControllerSpec
from hooks.tools.offline.simulator.metacontroller.informer import ObjectReader
from hooks.tools.offline.simulator.metacontroller.parents import (
    SyncTools,
    desired_map,
    ignore_refusals,
    manages_children,
    remove_finalizer,
    stage_for,
    sync_finalizer,
)
from hooks.tools.offline.simulator.metacontroller.related import ObjectMap
from hooks.tools.offline.simulator.metacontroller.webhook import SyncFailed
from hooks.tools.offline.simulator.store import ApiError, ref_of
from hooks.wire.world.equality import are_equal
from hooks.wire.world.ownership import ClaimAction, controller_reference, decide_claim, with_owner, without_owner
from hooks.wire.world.selectors import matches


def sync_composite(tools: SyncTools, parent: Manifest) -> None:
    """Finalizer, claim, related, hook, finalizer again, labels, children, status.

    Raises:
        SyncFailed, ApiError: the sync failed, or some of its writes were refused.
        TooManyRequests: the hook answered 429; nothing was done.
    """
    if not tools.spec.handles(parent):
        return
    parent = sync_finalizer(tools, parent)
    if not tools.spec.handles(parent):
        return
    observed = claim_children(tools, parent)
    related = tools.related.objects(parent)
    stage = stage_for(tools, parent)
    request = {"parent": parent, "children": observed, "related": related, "finalizing": stage == "finalize"}
    answer = tools.webhook.call(stage, request)
    desired = desired_map(parent, answer.get("children", []))
    if answer.get("resyncAfterSeconds", 0) > 0:
        tools.requeue(ref_of(parent), answer["resyncAfterSeconds"])
    if answer.get("finalized"):
        parent = remove_finalizer(tools, parent)
    desired = _labelled(tools.spec, parent, desired)
    refused: SyncFailed | None = None
    if manages_children(tools, parent):
        try:
            manage_children(tools, parent, observed, desired)
        except SyncFailed as failed:
            refused = failed
    _write_status(tools, parent, answer.get("status", {}))
    if refused is not None:
        raise refused


def child_selector(spec: ControllerSpec, parent: Manifest) -> Mapping[str, Any]:
    """The selector that children must match.

    Raises:
        SyncFailed: without generateSelector, the parent's own `spec.selector` is empty.
    """
    if spec.generate_selector:
        return {"matchLabels": {contract.LABEL_CONTROLLER_UID: parent["metadata"]["uid"]}}
    selector: Mapping[str, Any] = parent.get("spec", {}).get("selector") or {}
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        raise SyncFailed(".spec.selector must have either matchLabels, matchExpressions, or both")
    return selector


def claim_children(tools: SyncTools, parent: Manifest) -> ObjectMap:
    """The children, with a key for every declared kind; adopts matching orphans, releases what no longer matches."""
    selector = child_selector(tools.spec, parent)
    namespace = parent["metadata"].get("namespace", "")
    claimed: ObjectMap = {}
    for kind in tools.spec.methods:
        group = claimed.setdefault(kind.key, {})
        for obj in _candidates(tools.store, kind, parent, namespace):
            owned = _claim(tools, parent, obj, selector)
            if owned is not None:
                group[object_key(owned)] = owned
    return claimed


def _candidates(store: ObjectReader, kind: GroupVersionKind, parent: Manifest, namespace: str) -> list[Manifest]:
    """The objects that a parent controls, and those that nothing controls: others are never claimed."""
    own = store.list_controlled(kind, namespace, parent["metadata"]["uid"])
    return sorted([*own, *store.list_controlled(kind, namespace, "")], key=object_key)


def _claim(tools: SyncTools, parent: Manifest, obj: Manifest, selector: Mapping[str, Any]) -> Manifest | None:
    selected = matches(selector, obj["metadata"].get("labels") or {})
    match decide_claim(parent, obj, selected=selected):
        case ClaimAction.KEEP:
            return obj
        case ClaimAction.ADOPT:
            return _adopt(tools, parent, obj)
        case ClaimAction.RELEASE:
            ignore_refusals(lambda: tools.client.update(without_owner(obj, parent["metadata"]["uid"])), 404)
            return None
        case ClaimAction.IGNORE:
            return None


def _adopt(tools: SyncTools, parent: Manifest, obj: Manifest) -> Manifest | None:
    """The adopted object; None if it or the parent does not exist any more.

    The parent is read again, because Metacontroller may not have heard yet that it is being deleted.

    Raises:
        SyncFailed: the parent is being deleted, or another object has its name now.
    """
    live, metadata = tools.client.get(ref_of(parent)), parent["metadata"]
    if live is None:
        return None
    said = f"can't adopt {obj['kind']} {obj['metadata']['name']}: {metadata.get('namespace', '')}/{metadata['name']}"
    if live["metadata"]["uid"] != metadata["uid"]:
        raise SyncFailed(f"{said} is another object now")
    if is_deleting(live):
        raise SyncFailed(f"{said} has just been deleted")
    try:
        return tools.client.update(with_owner(obj, controller_reference(parent)))
    except ApiError as refused:
        if refused.code != 404:
            raise
        return None


def _labelled(spec: ControllerSpec, parent: Manifest, desired: ObjectMap) -> ObjectMap:
    """The desired children with the generated label, all of them matching the selector."""
    selector = child_selector(spec, parent)
    labelled: ObjectMap = {}
    for key, group in desired.items():
        for name, child in group.items():
            labels = child["metadata"].get("labels") or {}
            where = f"{child['kind']} {name}"
            if not all(isinstance(value, str) for value in labels.values()):
                raise SyncFailed(f"invalid labels on desired child {where}: values must be strings")
            if spec.generate_selector:
                labels = {contract.LABEL_CONTROLLER_UID: parent["metadata"]["uid"], **labels}
            if not matches(selector, labels):
                raise SyncFailed(f"labels on desired child {where} don't match parent selector")
            metadata = {**child["metadata"], "labels": labels} if labels else child["metadata"]
            labelled.setdefault(key, {})[name] = {**child, "metadata": metadata}
    return labelled


def _write_status(tools: SyncTools, parent: Manifest, status: Mapping[str, Any]) -> None:
    live = tools.client.get(ref_of(parent))
    if live is None or live["metadata"]["uid"] != parent["metadata"]["uid"]:
        return
    wanted = {**status, "observedGeneration": parent["metadata"]["generation"]}
    if not are_equal(live.get("status", {}), wanted):
        ignore_refusals(lambda: tools.client.update_status({**live, "status": wanted}), 404, 409)
