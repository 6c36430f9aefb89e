"""One sync of a parent and of the parents below it, in a cluster that holds what a test gives."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, ReadManifest, controller_of, gvk_of, name_of
from hooks.ground.problems import join_texts
from hooks.language.crds import find_faults
from hooks.tools.offline.simulation.applied_documents import admit_custom
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.store import ApiError, Ref, ref_of
from hooks.tools.offline.testing.answer import Answer
from hooks.tools.offline.testing.hook import RecordingHook
from hooks.tools.offline.testing.pool import adopt, complete, drop_below, flatten, is_stored, keep_last, put_in_place
from hooks.wire.metacontroller.controllers import OUR_KINDS

Start = Callable[[], tuple[SimulatedCluster, RecordingHook]]
"""Starts an empty cluster with all controllers, and a record of their calls."""


def sync_tree(start: Start, parent: ReadManifest, children: Iterable[Any], related: Iterable[Any]) -> Answer:
    """The answer about a parent; see `Dynamo.sync`."""
    cluster, hook = start()
    catalogue = cluster.catalogue
    root = put_in_place(parent, catalogue)
    given = [put_in_place(obj, catalogue) for obj in flatten(children)]
    beside = [put_in_place(obj, catalogue) for obj in flatten(related)]
    objects = keep_last([*beside, *given])
    new = {ref_of(obj) for obj in given if not is_stored(obj) and controller_of(obj) is None} - {ref_of(root)}
    homeless = [obj for obj in objects if ref_of(obj) in new]
    settled = [obj for obj in objects if ref_of(obj) not in new]
    first = _sync_once(cluster, hook, root, settled)
    if not homeless:
        return first
    owners = [_find_home(first, obj) for obj in homeless]
    adopted = [adopt(obj, home) for obj, home in zip(homeless, owners, strict=True)]
    present = {ref_of(obj) for obj in settled}
    between = [parent for parent in _between(first, owners, root) if ref_of(parent) not in present]
    return _sync_once(*start(), root, [*settled, *between, *adopted])


def place(cluster: SimulatedCluster, obj: Manifest) -> Manifest:
    """Put an object into a cluster: a stored one as it is, another one as the API server stores it.

    Raises:
        ApiError: the API server would refuse it.
    """
    namespace = obj["metadata"].get("namespace")
    if namespace:
        cluster.create_namespace(namespace)
    if is_stored(obj):
        return cluster.restore(complete(obj, cluster.clock.timestamp))
    created = cluster.create(obj)
    return cluster.restore({**created, "status": obj["status"]}) if "status" in obj else created


def place_parent(cluster: SimulatedCluster, parent: Manifest, stored: Manifest | None) -> Manifest:
    """Put one of the five kinds into a cluster; if it is stored already, as an edit of what is stored.

    Raises:
        ApiError: the API server would refuse it.
    """
    if faults := find_faults(parent):
        raise ApiError(422, "Invalid", f"{parent['kind']} {name_of(parent)}: {join_texts(faults)}")
    if stored is None or is_stored(parent) or "status" in parent:
        return place(cluster, admit_custom(parent))
    metadata = place(cluster, stored)["metadata"]
    return cluster.replace({**parent, "metadata": {**metadata, **parent["metadata"]}})


def _sync_once(cluster: SimulatedCluster, hook: RecordingHook, root: Manifest, objects: Sequence[Manifest]) -> Answer:
    given_namespaces = {ref_of(obj) for obj in objects if gvk_of(obj) == kinds.NAMESPACE}
    for obj in objects:
        if ref_of(obj) != ref_of(root):
            place(cluster, obj)
    place_parent(cluster, root, next((obj for obj in objects if ref_of(obj) == ref_of(root)), None))
    before = {obj["metadata"]["uid"] for obj in cluster.everything()}
    answer = _ask(cluster, hook, ref_of(root))
    left = cluster.everything()
    gone = before - {obj["metadata"]["uid"] for obj in left}
    shown = [obj for obj in left if gvk_of(obj) != kinds.NAMESPACE or ref_of(obj) in given_namespaces]
    return replace(answer, objects=tuple(drop_below(shown, gone)))


def _ask(cluster: SimulatedCluster, hook: RecordingHook, parent: Ref) -> Answer:
    """Sync a parent, then those of its children that have hooks."""
    cluster.sync_now(_read(cluster, parent))
    call = hook.last()
    if call is None:
        raise LookupError(f"no controller answers for {parent}: {_WHY_NOT_ASKED}")
    children = tuple(call.answer.get("children") or call.answer.get("attachments") or ())
    stored = cluster.reader.get(parent)
    refs = [_ref_of_child(child, parent) for child in children if gvk_of(child) in OUR_KINDS]
    return Answer(
        hook=call.path,
        parent=None if stored is None else cluster.get(gvk_of(stored), parent.name, parent.namespace),
        children=children,
        status=call.answer.get("status") or {},
        resync_after_seconds=float(call.answer.get("resyncAfterSeconds", 0)),
        finalized=bool(call.answer.get("finalized", False)),
        effects=call.effects,
        below=tuple(_ask(cluster, hook, ref) for ref in refs if cluster.reader.get(ref) is not None),
    )


_WHY_NOT_ASKED = "its labels name another installation, or it is not one of the five Dynamo kinds"


def _read(cluster: SimulatedCluster, ref: Ref) -> Manifest:
    found = cluster.reader.get(ref)
    if found is None:
        raise LookupError(f"{ref} does not exist")
    return found


def _ref_of_child(child: Manifest, parent: Ref) -> Ref:
    metadata = {"namespace": parent.namespace, **child["metadata"]}
    return ref_of({**child, "metadata": metadata})


def _find_home(answer: Answer, orphan: Manifest) -> Manifest:
    """The parent that wants an object of this kind and name."""
    answers = [answer, *answer.every_answer()]
    for one in answers:
        if one.parent is not None and any(_is_same(child, orphan, one.parent) for child in one.children):
            return one.parent
    wanted = sorted({f"{child['kind']} {name_of(child)}" for child in answer.every_child()})
    known = ", ".join(wanted) or "no children"
    raise LookupError(
        f"no parent wants the child {orphan['kind']} {name_of(orphan)}; wanted are {known}. "
        "Give an object that is no child as `related`, and a child that is no longer wanted with its ownerReferences"
    )


def _is_same(child: Manifest, other: Manifest, parent: Manifest) -> bool:
    return _ref_of_child(child, ref_of(parent)) == ref_of(other)


def _between(answer: Answer, owners: Sequence[Manifest], root: Manifest) -> Iterator[Manifest]:
    """The parents of adopted children that are themselves children, with those above them; they exist too."""
    wanted = {ref_of(home) for home in owners} - {ref_of(root)}
    for one in answer.every_answer():
        if one.parent is not None and ({ref_of(one.parent)} | _refs_below(one)) & wanted:
            yield one.parent


def _refs_below(answer: Answer) -> set[Ref]:
    return {ref_of(one.parent) for one in answer.every_answer() if one.parent is not None}
