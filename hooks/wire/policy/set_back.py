"""Fields that the hooks never set, and that another writer must not: Metacontroller leaves such a field alone.

So it is wanted for as long as the live object has it otherwise. The sync after that leaves it out again, also where a
child stays as it was last applied.
"""

from hooks.ground.k8s import kinds
from hooks.ground.k8s.service_routes import find_rerouted, without_routes
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.children import ChildPlace, Children
from hooks.wire.metacontroller.protocol import SyncRequest


def set_back_services(children: Children, request: SyncRequest) -> Children:
    """The children, with Services that say again where they send their clients; the same object if all do."""
    found = [_set_back(child, place, request) for child, place in zip(children, children.places, strict=True)]
    return children if all(new is old for new, old in zip(found, children, strict=True)) else Children(found)


def _set_back(child: Manifest, place: ChildPlace, request: SyncRequest) -> Manifest:
    if place.kind != kinds.SERVICE:
        return child
    live = request.children.get(place.kind, place.name, place.namespace or request.parent["metadata"]["namespace"])
    own = without_routes(child["spec"])
    rerouted = find_rerouted(own, (live or {}).get("spec") or {})
    return {**child, "spec": {**own, **rerouted}} if rerouted or own is not child["spec"] else child
