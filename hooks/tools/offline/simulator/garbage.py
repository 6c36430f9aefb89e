"""The garbage collector: dependents of deleted owners, foreground and orphan deletion.

Source: Kubernetes, pkg/controller/garbagecollector/garbagecollector.go; API reference, owner references.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hooks.ground.k8s.types import GroupVersionKind, Manifest, is_deleting
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.store import FOREGROUND, ORPHAN, Propagation, Ref, Store, StoreChange, ref_of
from hooks.wire.world.ownership import OwnerReference, owners_of, without_owner


@dataclass(frozen=True, slots=True, kw_only=True)
class _Graph:
    """All objects by uid, and the dependents of each uid."""

    objects: Mapping[str, Manifest]
    dependents: Mapping[str, tuple[Manifest, ...]]


def needs_collecting(change: StoreChange, store: Store) -> bool:
    """Whether a change can give the garbage collector work: owners that live do not."""
    if change.new is None or is_deleting(change.new):
        return True
    if change.old is not None and owners_of(change.old) == owners_of(change.new):
        return False
    return not all(_lives(owner, change.new, store) for owner in owners_of(change.new))


def _lives(reference: OwnerReference, obj: Manifest, store: Store) -> bool:
    """Whether an owner is there and is not being deleted."""
    group = GroupVersionKind.of(reference["apiVersion"], reference["kind"]).group
    namespace = obj["metadata"].get("namespace", "")
    owner = store.get(Ref(group, reference["kind"], namespace, reference["name"]))
    return owner is not None and owner["metadata"]["uid"] == reference["uid"] and not is_deleting(owner)


def collect_garbage(store: Store, client: Client) -> None:
    """Check all objects once; writes cause further changes, so call it again until there are none."""
    graph = _build_graph(store.everything())
    for uid in list(graph.objects):
        obj = store.get(ref_of(graph.objects[uid]))
        if obj is not None and obj["metadata"]["uid"] == uid:
            _reconcile(graph, client, obj)


def _build_graph(objects: Iterable[Manifest]) -> _Graph:
    by_uid: dict[str, Manifest] = {}
    dependents: dict[str, list[Manifest]] = {}
    for obj in objects:
        by_uid[obj["metadata"]["uid"]] = obj
        for owner in owners_of(obj):
            dependents.setdefault(owner["uid"], []).append(obj)
    return _Graph(objects=by_uid, dependents={uid: tuple(found) for uid, found in dependents.items()})


def _reconcile(graph: _Graph, client: Client, obj: Manifest) -> None:
    metadata = obj["metadata"]
    if "deletionTimestamp" in metadata:
        finalizers = metadata.get("finalizers", [])
        if ORPHAN in finalizers:
            _orphan_dependents(graph, client, obj)
        elif FOREGROUND in finalizers:
            _finish_foreground(graph, client, obj)
    elif owners_of(obj):
        _check_owners(graph, client, obj)


def _check_owners(graph: _Graph, client: Client, obj: Manifest) -> None:
    """Delete an object whose owners are all deleted or wait for it; else remove references to such owners."""
    dangling: list[str] = []
    waiting: list[str] = []
    for reference in owners_of(obj):
        owner = _owner(graph, obj, reference)
        if owner is None:
            dangling.append(reference["uid"])
        elif _waits_for_dependents(owner):
            waiting.append(reference["uid"])
    if len(dangling) + len(waiting) < len(owners_of(obj)):
        if dangling or waiting:
            client.update(without_owner(obj, *dangling, *waiting))
        return
    uid = obj["metadata"]["uid"]
    foreground = waiting and graph.dependents.get(uid)
    propagation: Propagation = "Foreground" if foreground else "Background"
    client.delete(ref_of(obj), propagation, uid)


def _owner(graph: _Graph, obj: Manifest, reference: OwnerReference) -> Manifest | None:
    """The owner of a reference; an owner in another namespace does not count."""
    owner = graph.objects.get(reference["uid"])
    if owner is None or (owner["kind"], owner["metadata"]["name"]) != (reference["kind"], reference["name"]):
        return None
    return owner if owner["metadata"].get("namespace") in {None, obj["metadata"].get("namespace")} else None


def _waits_for_dependents(owner: Manifest) -> bool:
    return is_deleting(owner) and FOREGROUND in owner["metadata"].get("finalizers", [])


def _finish_foreground(graph: _Graph, client: Client, obj: Manifest) -> None:
    uid = obj["metadata"]["uid"]
    blocking = [
        dependent
        for dependent in graph.dependents.get(uid, ())
        for reference in owners_of(dependent)
        if reference["uid"] == uid and reference.get("blockOwnerDeletion")
    ]
    if not blocking:
        _remove_finalizer(client, obj, FOREGROUND)


def _orphan_dependents(graph: _Graph, client: Client, obj: Manifest) -> None:
    uid = obj["metadata"]["uid"]
    for dependent in graph.dependents.get(uid, ()):
        client.update(without_owner(dependent, uid))
    _remove_finalizer(client, obj, ORPHAN)


def _remove_finalizer(client: Client, obj: Manifest, finalizer: str) -> None:
    kept = [name for name in obj["metadata"]["finalizers"] if name != finalizer]
    client.update({**obj, "metadata": {**obj["metadata"], "finalizers": kept}})
