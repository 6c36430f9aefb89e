"""The state of a simulation at one moment, and whether anything more is expected of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.tools.offline.simulation.progress import ObjectProgress, measure_progress
from hooks.tools.offline.simulation.trees import ObjectTree
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.store import Ref, ref_of
from hooks.tools.offline.simulator.workloads.pods import is_ready as is_pod_ready

_ENDED = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state at one moment; `seconds` of the cluster's time have passed."""

    seconds: float
    progress: tuple[ObjectProgress, ...]
    roots: tuple[Manifest, ...]
    tree: ObjectTree

    @property
    def ready(self) -> bool:
        """Whether every Dynamo object is ready."""
        return all(found.ready for found in self.progress)

    @property
    def is_stuck(self) -> bool:
        """Whether pods wait for missing objects, or never start well, and all others are ready or have ended."""
        pods = [obj for obj in self.tree.by_uid.values() if gvk_of(obj) == kinds.POD]
        never = self.tree.missing.keys() | self.tree.troubles.keys()
        waiting = [pod for pod in pods if pod["metadata"]["uid"] in never]
        return bool(waiting) and all(
            pod in waiting or is_pod_ready(pod) or pod.get("status", {}).get("phase") in _ENDED for pod in pods
        )

    @property
    def over(self) -> bool:
        """Whether every Dynamo object is ready or never will be."""
        return all(found.ready or found.ended for found in self.progress)


def take_snapshot(cluster: SimulatedCluster, roots: Iterable[Ref]) -> Snapshot:
    """Take a snapshot of the cluster."""
    everything = cluster.everything()
    waiting = ((obj, cluster.kubelet.missing(obj)) for obj in everything if gvk_of(obj) == kinds.POD)
    missing = {pod["metadata"]["uid"]: found for pod, found in waiting if found is not None and not is_pod_ready(pod)}
    troubles = {
        pod["metadata"]["uid"]: trouble
        for pod in everything
        if gvk_of(pod) == kinds.POD and not is_pod_ready(pod) and (trouble := cluster.kubelet.trouble(pod)) is not None
    }
    tree = ObjectTree(everything, missing, troubles)
    found = {ref_of(obj): obj for obj in tree.by_uid.values()}
    present = tuple(found[ref] for ref in roots if ref in found)
    return Snapshot(
        seconds=cluster.clock.seconds,
        progress=tuple(measure_progress(tree, root, cluster.events) for root in present),
        roots=present,
        tree=tree,
    )
