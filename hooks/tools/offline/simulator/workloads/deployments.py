"""Reconciles Deployments and their ReplicaSets: pods of the old and the new template, and the status.

Source: Kubernetes, pkg/controller/deployment/rolling.go and sync.go; pkg/controller/replicaset.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.quantities import scale_amount
from hooks.ground.k8s.types import Manifest, is_deleting
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.conditions import WorkloadCondition, build_conditions
from hooks.tools.offline.simulator.resources import REPLICA_SET
from hooks.tools.offline.simulator.store import Ref, Store, ref_of
from hooks.tools.offline.simulator.workloads.owned import build_pod, owned_by, pods_of, write_status
from hooks.tools.offline.simulator.workloads.pods import is_ready
from hooks.wire.world.ownership import controller_reference

TEMPLATE_HASH = "pod-template-hash"
_COLLISIONS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Pods of one Deployment; `updated` ones have the current template."""

    wanted: int
    total: int
    updated: int
    ready: int
    updated_ready: int


def reconcile_deployment(store: Store, client: Client, deployment: Manifest, now: str) -> None:
    """Take one step of a Deployment: ReplicaSets, their pods, its status; `now` is a timestamp."""
    if is_deleting(deployment):
        return
    current = _ensure_current_set(store, client, deployment)
    sets = _sets_of(store, deployment)
    for replica_set, replicas in _plan_sizes(store, deployment, current, sets):
        _scale(store, client, replica_set, replicas)
    for replica_set in _sets_of(store, deployment):
        _write_set_status(store, client, replica_set)
    _write_status(client, deployment, _count(store, deployment, current), now)


def _plan_sizes(
    store: Store, deployment: Manifest, current: Manifest, sets: Sequence[Manifest]
) -> list[tuple[Manifest, int]]:
    """The size of each ReplicaSet in this step; old ones come first, so they shrink before the current one grows."""
    spec = deployment["spec"]
    wanted: int = spec["replicas"]
    old = [item for item in sets if item["metadata"]["uid"] != current["metadata"]["uid"]]
    old_total = sum(len(pods_of(store, item)) for item in old)
    if spec["strategy"]["type"] == "Recreate":
        return [*((item, 0) for item in old), (current, 0 if old_total else wanted)]
    rolling = spec["strategy"]["rollingUpdate"]
    surge = scale_amount(rolling["maxSurge"], wanted, up=True)
    unavailable = scale_amount(rolling["maxUnavailable"], wanted, up=False)
    if surge == unavailable == 0:
        unavailable = 1
    have = len(pods_of(store, current))
    new = min(wanted, max(have, wanted + surge - old_total)) if old_total else wanted
    ready_new = sum(is_ready(pod) for pod in pods_of(store, current)[:new])
    keep = max(0, wanted - unavailable - ready_new)
    return [*_shrink(store, old, keep), (current, new)]


def _shrink(store: Store, old: Sequence[Manifest], keep_ready: int) -> list[tuple[Manifest, int]]:
    """Keep as many ready old pods as are still needed, and no unready ones."""
    sizes = []
    for item in sorted(old, key=lambda found: -int(found["metadata"]["resourceVersion"])):
        ready = sum(is_ready(pod) for pod in pods_of(store, item))
        kept = min(ready, keep_ready)
        keep_ready -= kept
        sizes.append((item, kept))
    return sizes


def _ensure_current_set(store: Store, client: Client, deployment: Manifest) -> Manifest:
    """The ReplicaSet of the current template, created if needed; if its name is taken, it gets another hash.

    The name is taken while ReplicaSets of a deleted Deployment of the same name are not collected yet.
    """
    own = {item["metadata"]["name"]: item for item in _sets_of(store, deployment)}
    for digest in _digests(deployment):
        name = f"{deployment['metadata']['name']}-{digest}"
        if name in own:
            return own[name]
    namespace, kind = deployment["metadata"]["namespace"], REPLICA_SET
    for digest in _digests(deployment):
        name = f"{deployment['metadata']['name']}-{digest}"
        if store.get(Ref(kind.group, kind.kind, namespace, name)) is None:
            return client.create(_build_set(deployment, name, digest))
    raise AssertionError(f"{name}: more than {_COLLISIONS} ReplicaSets of deleted Deployments")


def _digests(deployment: Manifest) -> list[str]:
    """Hashes for the name of the current template's ReplicaSet, in order of preference."""
    text = canonical_json(deployment["spec"]["template"])
    return [short_hash(f"{text}{number or ''}", 10) for number in range(_COLLISIONS)]


def _build_set(deployment: Manifest, name: str, digest: str) -> Manifest:
    template = deployment["spec"]["template"]
    labels = {**template["metadata"]["labels"], TEMPLATE_HASH: digest}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": deployment["metadata"]["namespace"],
            "labels": labels,
            "ownerReferences": [controller_reference(deployment)],
        },
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {**deployment["spec"]["selector"]["matchLabels"], TEMPLATE_HASH: digest}},
            "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
        },
    }


def _sets_of(store: Store, deployment: Manifest) -> list[Manifest]:
    return owned_by(store, deployment, REPLICA_SET)


def _scale(store: Store, client: Client, replica_set: Manifest, replicas: int) -> None:
    """Set a ReplicaSet's size, then create or delete pods; unready ones are deleted first."""
    live = client.get(ref_of(replica_set))
    if live is None:
        return
    if live["spec"]["replicas"] != replicas:
        live = client.update({**live, "spec": {**live["spec"], "replicas": replicas}})
    pods = pods_of(store, live)
    for pod in pods[replicas:]:
        client.delete(ref_of(pod))
    for _ in range(replicas - len(pods)):
        client.create(build_pod(store, live, live["spec"]["template"]))


def _write_set_status(store: Store, client: Client, replica_set: Manifest) -> None:
    pods = pods_of(store, replica_set)
    ready = sum(is_ready(pod) for pod in pods)
    status = {"replicas": len(pods), "observedGeneration": replica_set["metadata"]["generation"]}
    if pods:
        status |= {"fullyLabeledReplicas": len(pods)}
    if ready:
        status |= {"readyReplicas": ready, "availableReplicas": ready}
    write_status(client, replica_set, status)


def _count(store: Store, deployment: Manifest, current: Manifest) -> Counts:
    digest = current["metadata"]["labels"][TEMPLATE_HASH]
    pods = [pod for item in _sets_of(store, deployment) for pod in pods_of(store, item)]
    updated = [pod for pod in pods if pod["metadata"]["labels"].get(TEMPLATE_HASH) == digest]
    return Counts(
        wanted=deployment["spec"]["replicas"],
        total=len(pods),
        updated=len(updated),
        ready=sum(is_ready(pod) for pod in pods),
        updated_ready=sum(is_ready(pod) for pod in updated),
    )


def _write_status(client: Client, deployment: Manifest, counts: Counts, now: str) -> None:
    old = deployment.get("status", {})
    numbers = {
        "replicas": counts.total,
        "updatedReplicas": counts.updated,
        "readyReplicas": counts.ready,
        "availableReplicas": counts.ready,
        "unavailableReplicas": max(0, counts.wanted - counts.ready),
    }
    status = {
        "observedGeneration": deployment["metadata"]["generation"],
        **{key: number for key, number in numbers.items() if number},
        "conditions": build_conditions(old.get("conditions", ()), _conditions(deployment, counts), now),
    }
    write_status(client, deployment, status)


def _conditions(deployment: Manifest, counts: Counts) -> Iterable[WorkloadCondition]:
    spec: Mapping[str, Any] = deployment["spec"]
    rolling = spec["strategy"].get("rollingUpdate", {"maxUnavailable": 0})
    least = counts.wanted - scale_amount(rolling["maxUnavailable"], counts.wanted, up=False)
    if counts.ready >= least:
        yield WorkloadCondition("Available", True, "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        message = "Deployment does not have minimum availability."
        yield WorkloadCondition("Available", False, "MinimumReplicasUnavailable", message)
    name = deployment["metadata"]["name"]
    complete = counts.updated_ready == counts.updated == counts.total == counts.wanted
    if complete:
        yield WorkloadCondition(
            "Progressing", True, "NewReplicaSetAvailable", f'Deployment "{name}" has successfully progressed.'
        )
    else:
        yield WorkloadCondition("Progressing", True, "ReplicaSetUpdated", f'Deployment "{name}" is progressing.')
