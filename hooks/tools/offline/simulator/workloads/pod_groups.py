"""Reconciles Volcano PodGroups: writes the scheduler's phase into the object; there is no status subresource.

Source: Volcano v1.15, pkg/scheduler/framework/job_updater.go.
"""

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.store import Ref, Store
from hooks.wire.world.equality import are_equal

GROUP_NAME = "scheduling.k8s.io/group-name"


def reconcile_pod_group(store: Store, client: Client, group: Manifest, _now: str) -> None:
    """Write the phase of a group, and how many of its pods run."""
    metadata = group["metadata"]
    pods = [
        pod
        for pod in store.list_kind(kinds.POD, metadata["namespace"])
        if (pod["metadata"].get("annotations") or {}).get(GROUP_NAME) == metadata["name"]
    ]
    running = sum(pod.get("status", {}).get("phase") == "Running" for pod in pods)
    least = group["spec"].get("minMember", 1)
    phase = "Running" if running >= least else "Inqueue" if pods else "Pending"
    status = {"phase": phase, **({"running": running} if running else {})}
    if not are_equal(group.get("status", {}), status):
        client.update({**group, "status": status})


def group_of(pod: Manifest) -> Ref | None:
    """The reference of a pod's group; None for a pod without one."""
    name = (pod["metadata"].get("annotations") or {}).get(GROUP_NAME)
    gvk = kinds.POD_GROUP
    return Ref(gvk.group, gvk.kind, pod["metadata"]["namespace"], name) if name else None
