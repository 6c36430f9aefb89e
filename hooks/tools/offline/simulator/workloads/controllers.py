"""Which function reconciles which kind, and which objects a change affects.

To add a workload kind, add an entry to `RECONCILERS`: a function that takes one step for one object; it is called after
every change of the object, of its pods, and of the objects that it owns. Defaults and refusals of the kind's webhooks
are an entry in `WEBHOOKS`.
"""

from collections.abc import Callable, Mapping

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.store import Ref, Store, StoreChange, ref_of
from hooks.tools.offline.simulator.workloads.deployments import reconcile_deployment
from hooks.tools.offline.simulator.workloads.endpoints import reconcile_service
from hooks.tools.offline.simulator.workloads.grove import reconcile_pod_clique_set
from hooks.tools.offline.simulator.workloads.grove_groups import reconcile_scaling_group
from hooks.tools.offline.simulator.workloads.grove_pods import reconcile_pod_clique
from hooks.tools.offline.simulator.workloads.grove_webhook import admit_pod_clique_set
from hooks.tools.offline.simulator.workloads.jobs import reconcile_job
from hooks.tools.offline.simulator.workloads.leader_worker_set_webhook import admit_leader_worker_set
from hooks.tools.offline.simulator.workloads.leader_worker_sets import reconcile_leader_worker_set, set_named_by
from hooks.tools.offline.simulator.workloads.owned import owners_above
from hooks.tools.offline.simulator.workloads.pod_groups import group_of, reconcile_pod_group

Reconcile = Callable[[Store, Client, Manifest, str], None]
"""(store, client, object, current timestamp)."""

Webhook = Callable[[Manifest, Manifest | None], Manifest]
"""(new object, old object or None) to the stored object; raises ApiError."""


def _reconcile_service(store: Store, client: Client, service: Manifest, _now: str) -> None:
    reconcile_service(store, client, service)


RECONCILERS: Mapping[GroupVersionKind, Reconcile] = {
    kinds.DEPLOYMENT: reconcile_deployment,
    kinds.JOB: reconcile_job,
    kinds.LEADER_WORKER_SET: reconcile_leader_worker_set,
    kinds.POD_CLIQUE: reconcile_pod_clique,
    kinds.POD_CLIQUE_SCALING_GROUP: reconcile_scaling_group,
    kinds.POD_CLIQUE_SET: reconcile_pod_clique_set,
    kinds.POD_GROUP: reconcile_pod_group,
    kinds.SERVICE: _reconcile_service,
}

WEBHOOKS: Mapping[GroupVersionKind, Webhook] = {
    kinds.LEADER_WORKER_SET: admit_leader_worker_set,
    kinds.POD_CLIQUE_SET: admit_pod_clique_set,
}


def find_affected(store: Store, change: StoreChange) -> list[Ref]:
    """The objects with a reconciler that a change affects.

    These are the object itself and its owners; for a pod also the Services that select it, its PodGroup and the
    LeaderWorkerSet that its label names.
    """
    found = [change.ref] if change.new is not None and _has_reconciler(change.current) else []
    found += [ref_of(owner) for owner in owners_above(store, change.current) if _has_reconciler(owner)]
    if change.ref.kind == kinds.POD.kind:
        found += _find_selecting(store, change)
        group = group_of(change.current)
        found += [group] if group else []
        found += set_named_by(store, change.current)
    return found


def _find_selecting(store: Store, change: StoreChange) -> list[Ref]:
    """The Services that select a pod, before or after its change."""
    labels = (pod["metadata"].get("labels") or {} for pod in (change.old, change.new) if pod is not None)
    return sorted({ref_of(one) for found in labels for one in store.list_services(change.ref.namespace, found)})


def reconcile(store: Store, client: Client, ref: Ref, now: str) -> None:
    """Take one step for one object, if it still exists."""
    obj = store.get(ref)
    if obj is not None:
        RECONCILERS[GroupVersionKind.of(obj["apiVersion"], obj["kind"])](store, client, obj, now)


def _has_reconciler(obj: Manifest) -> bool:
    return GroupVersionKind.of(obj["apiVersion"], obj["kind"]) in RECONCILERS
