"""Objects as a cluster holds them after something happened to them; the simulated controllers and kubelet do it.

Each builder takes an empty cluster, puts one object into it, and returns that object first, then all below it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, ReadManifest, gvk_of, name_of
from hooks.tools.offline.simulation.progress import measure_progress
from hooks.tools.offline.simulation.trees import ObjectTree, is_ready
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.store import Ref, ref_of
from hooks.tools.offline.simulator.workloads.pods import PodFault
from hooks.tools.offline.testing.pool import flatten, is_stored, put_in_place, with_history
from hooks.tools.offline.testing.syncing import place, place_parent
from hooks.wire.metacontroller.controllers import OUR_KINDS

READY_SECONDS = 300.0
"""How long a simulated cluster may take until an object is ready."""
BROKEN_SECONDS = 120.0
"""For how long a broken object has been broken; the hooks take crashes that are long ago for a start."""
SCALED_SECONDS = 60.0
"""For how long an object runs before it is scaled, and after that."""


def build_ready(cluster: SimulatedCluster, obj: ReadManifest, beside: Iterable[Any]) -> list[Manifest]:
    """See `Dynamo.as_ready`."""
    root = _begin(cluster, obj, beside)
    if gvk_of(obj) in OUR_KINDS:
        cluster.run_until(lambda: is_ready(cluster.reader.get(root) or {"metadata": {}}), READY_SECONDS)
        cluster.settle()
        _check_ready(cluster, root)
    else:
        cluster.run_for(READY_SECONDS)
    return _collect(cluster, root, obj)


def build_broken(
    cluster: SimulatedCluster, obj: ReadManifest, faults: Mapping[str, PodFault], beside: Iterable[Any]
) -> list[Manifest]:
    """See `Dynamo.as_broken`."""
    for glob, fault in faults.items():
        cluster.break_pods(glob, fault)
    root = _begin(cluster, obj, beside)
    cluster.run_for(BROKEN_SECONDS)
    return _collect(cluster, root, obj)


def build_scaled(cluster: SimulatedCluster, obj: ReadManifest, replicas: int, part: str) -> list[Manifest]:
    """See `Dynamo.as_scaled_by_hand`."""
    root = _begin(cluster, obj, ())
    cluster.run_for(SCALED_SECONDS)
    kind, name = _find_scaled(cluster, obj, part)
    cluster.patch(kind, name, {"spec": {"replicas": replicas}}, root.namespace)
    cluster.run_for(SCALED_SECONDS)
    return _collect(cluster, root, obj)


def _begin(cluster: SimulatedCluster, obj: ReadManifest, beside: Iterable[Any]) -> Ref:
    """Put the object into the cluster without its owners, which are not there."""
    for other in flatten(beside):
        place(cluster, put_in_place(other, cluster.catalogue))
    alone = _without_owners(put_in_place(obj, cluster.catalogue))
    if gvk_of(obj) in OUR_KINDS:
        return ref_of(place_parent(cluster, alone if "status" in alone else with_history(alone), None))
    return ref_of(place(cluster, with_history(alone)))


def _without_owners(obj: Manifest) -> Manifest:
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "ownerReferences"}}


def _check_ready(cluster: SimulatedCluster, root: Ref) -> None:
    tree = ObjectTree(cluster.everything())
    found = next(obj for obj in tree.by_uid.values() if ref_of(obj) == root)
    progress = measure_progress(tree, found, cluster.events)
    if not progress.ready:
        raise AssertionError(f"{root} does not become ready: {'; '.join(progress.reasons)}")


def _find_scaled(cluster: SimulatedCluster, obj: ReadManifest, part: str) -> tuple[GroupVersionKind, str]:
    """The object whose replicas are changed: the object itself; of a PodCliqueSet, one of its parts."""
    if gvk_of(obj) != kinds.POD_CLIQUE_SET:
        return gvk_of(obj), name_of(obj)
    parts = {
        name_of(found).removeprefix(f"{name_of(obj)}-0-"): gvk_of(found)
        for kind in (kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP)
        for found in cluster.list_kind(kind)
    }
    if part not in parts:
        raise LookupError(f"PodCliqueSet {name_of(obj)} has no part {part!r}; it has {', '.join(sorted(parts))}")
    return parts[part], f"{name_of(obj)}-0-{part}"


def _collect(cluster: SimulatedCluster, root: Ref, given: ReadManifest) -> list[Manifest]:
    """The object with the owners that it had, then what it controls, then EndpointSlices and claims of its pods."""
    tree = ObjectTree(cluster.everything())
    found = next(obj for obj in tree.by_uid.values() if ref_of(obj) == root)
    owners = given["metadata"].get("ownerReferences")
    metadata = {**found["metadata"], **({"ownerReferences": owners} if owners else {})}
    if not is_stored(given) and gvk_of(given) not in OUR_KINDS:
        metadata.pop("uid")
    return [{**found, "metadata": metadata}, *tree.descendants(found)]
