"""Components of earlier worker generations, which a Go operator had not ended yet: what they keep until they end.

They give their replicas up as those of the current generation become available, and end once its workers are ready.
"""

from collections.abc import Collection, Iterator

from hooks.graph.plan.graph import GraphPlan
from hooks.graph.seen.observe import ObservedGraph
from hooks.ground import contract
from hooks.ground.k8s.types import (
    Manifest,
    ReadManifest,
    build_manifest,
    build_metadata,
    is_deleting,
    name_of,
    sort_manifests,
)
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.last_applied import read_last_applied
from hooks.wire.metacontroller.protocol import SyncRequest


def keep_ending(
    children: Children, plan: GraphPlan, request: SyncRequest, *, seen: ObservedGraph, unready: Collection[str]
) -> Children:
    """The children with the components that end, as they were last applied; the same object if there are none.

    `unready` are the services that are not ready. With none of those that have generations, all others end.
    """
    ending = seen.generations.ending
    if plan.grove is not None or not ending or not seen.generations.current.keys() & set(unready):
        return children
    return Children(sort_manifests([*children, *_shrink(plan, request, seen)]))


def _shrink(plan: GraphPlan, request: SyncRequest, seen: ObservedGraph) -> Iterator[Manifest]:
    """The components that end, with no more replicas than the current ones lack."""
    wanted = {one.service: one for one in plan.components}
    for service, names in sorted(seen.generations.ending.items()):
        current = seen.components.get(wanted[service].name)
        available = int(current.service.get("availableReplicas") or 0) if current else 0
        lacking = int(wanted[service].spec.get("replicas", 1)) - available
        for name in names:
            live = request.children.get(contract.COMPONENT, name, request.parent["metadata"]["namespace"])
            if live is None or is_deleting(live):
                continue
            applied = read_last_applied(live) or _name(live)
            replicas = max(0, min(int((live.get("spec") or {}).get("replicas", 1)), lacking))
            lacking -= replicas
            yield {**applied, "spec": {**(applied.get("spec") or {}), "replicas": replicas}}


def _name(live: ReadManifest) -> Manifest:
    """What keeps a component of which nothing was recorded."""
    return build_manifest(contract.COMPONENT, build_metadata(name_of(live), live["metadata"]["namespace"]))
