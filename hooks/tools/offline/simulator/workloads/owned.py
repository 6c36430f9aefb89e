"""What the controllers of workloads share: the objects that an owner controls, a new pod of it, and its status."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.hashing import short_hash
from hooks.ground.k8s.types import GroupVersionKind, Manifest, is_deleting
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.metacontroller.informer import ObjectReader
from hooks.tools.offline.simulator.store import Ref
from hooks.tools.offline.simulator.workloads.pods import is_ready
from hooks.wire.world.equality import are_equal
from hooks.wire.world.ownership import controller_reference, owners_of


def owned_by(store: ObjectReader, owner: Manifest, kind: GroupVersionKind) -> list[Manifest]:
    """The objects of a kind that an owner controls."""
    metadata = owner["metadata"]
    return store.list_controlled(kind, metadata["namespace"], metadata["uid"])


def owners_above(store: ObjectReader, obj: Manifest) -> Iterator[Manifest]:
    """The first owner of the object that there is, the first owner of that, and so on."""
    owner = _first_owner(store, obj)
    while owner is not None:
        yield owner
        owner = _first_owner(store, owner)


def _first_owner(store: ObjectReader, obj: Manifest) -> Manifest | None:
    namespace = obj["metadata"].get("namespace", "")
    for owner in owners_of(obj):
        group = GroupVersionKind.of(owner["apiVersion"], owner["kind"]).group
        found = store.get(Ref(group, owner["kind"], namespace, owner["name"]))
        if found is not None and found["metadata"]["uid"] == owner["uid"]:
            return found
    return None


def pods_of(store: ObjectReader, owner: Manifest) -> list[Manifest]:
    """An owner's pods that are not being deleted, ready ones first, then the oldest."""
    living = (pod for pod in owned_by(store, owner, kinds.POD) if not is_deleting(pod))
    return sorted(living, key=lambda pod: (not is_ready(pod), pod["metadata"]["uid"]))


def build_pod(
    store: ObjectReader, owner: Manifest, template: Mapping[str, Any], *, longest: int | None = None
) -> Manifest:
    """A pod of a template, under a free name that begins with the owner's, of which `longest` characters are taken."""
    metadata, uid, namespace = owner["metadata"], owner["metadata"]["uid"], owner["metadata"]["namespace"]
    candidates = (f"{metadata['name'][:longest]}-{short_hash(f'{uid}/{serial}', 5)}" for serial in count())
    own = {
        "name": next(name for name in candidates if store.get(Ref("", "Pod", namespace, name)) is None),
        "namespace": namespace,
        "ownerReferences": [controller_reference(owner)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], **own}, "spec": template["spec"]}


def write_status(client: Client, obj: Manifest, status: Mapping[str, Any]) -> None:
    """Write a status if it differs."""
    if not are_equal(obj.get("status", {}), dict(status)):
        client.update_status({**obj, "status": dict(status)})
