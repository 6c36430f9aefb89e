"""Reconciles Deployments and their ReplicaSets: pods of the old and the new template, and the status.

Source: Kubernetes, pkg/controller/deployment/rolling.go and sync.go; pkg/controller/replicaset.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hooks.ground.k8s.deadlines import seconds_since
from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.quantities import scale_amount
from hooks.ground.k8s.types import Manifest, is_deleting
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.conditions import WorkloadCondition, build_conditions
from hooks.tools.offline.simulator.resources import REPLICA_SET
from hooks.tools.offline.simulator.store import Ref, Store, ref_of
from hooks.tools.offline.simulator.workloads.owned import build_pod, owned_by, pods_of, write_status
from hooks.tools.offline.simulator.workloads.paused_deployments import plan_paused_sizes
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
    available: int


def reconcile_deployment(store: Store, client: Client, deployment: Manifest, now: str) -> None:
    """Take one step of a Deployment: ReplicaSets, their pods, its status; `now` is a timestamp."""
    if is_deleting(deployment):
        return
    moment = datetime.fromisoformat(now)
    is_paused = bool(deployment["spec"].get("paused"))
    found = _find_current_set(store, deployment)
    if not is_paused:
        found = found or _create_current_set(store, client, deployment)
    current = found and _with_patience(client, found, deployment)
    sets = _sets_of(store, deployment)
    if is_paused or current is None:
        sizes = plan_paused_sizes(deployment, sets)
    else:
        sizes = _plan_sizes(store, deployment, current, sets, now=moment)
    for replica_set, replicas in sizes:
        _scale(store, client, replica_set, replicas)
    for replica_set in _sets_of(store, deployment):
        _write_set_status(store, client, replica_set, moment)
    _write_status(client, deployment, _count(store, deployment, current, moment), now)


def _with_patience(client: Client, current: Manifest, deployment: Manifest) -> Manifest:
    """The current ReplicaSet, which has the Deployment's `minReadySeconds`; old ones keep theirs."""
    seconds = deployment["spec"].get("minReadySeconds", 0)
    if current["spec"].get("minReadySeconds", 0) == seconds:
        return current
    spec = {key: value for key, value in current["spec"].items() if key != "minReadySeconds"}
    return client.update({**current, "spec": {**spec, **({"minReadySeconds": seconds} if seconds else {})}})


def _plan_sizes(
    store: Store, deployment: Manifest, current: Manifest, sets: Sequence[Manifest], *, now: datetime
) -> list[tuple[Manifest, int]]:
    """The size of each ReplicaSet in this step; old ones come first, so they shrink before the current one grows."""
    spec = deployment["spec"]
    wanted: int = spec["replicas"]
    old = [item for item in sets if item["metadata"]["uid"] != current["metadata"]["uid"]]
    if spec["strategy"]["type"] == "Recreate":
        has_old = any(pods_of(store, item) for item in old)
        return [*((item, 0) for item in old), (current, 0 if has_old else wanted)]
    old_total = sum(item["spec"]["replicas"] for item in old)
    if not old_total:
        return [(current, wanted)]
    rolling = spec["strategy"]["rollingUpdate"]
    surge = scale_amount(rolling["maxSurge"], wanted, up=True)
    unavailable = scale_amount(rolling["maxUnavailable"], wanted, up=False)
    if surge == unavailable == 0:
        unavailable = 1
    new = min(wanted, max(current["spec"]["replicas"], wanted + surge - old_total))
    available = {item["metadata"]["uid"]: _count_available(store, item, now) for item in (*old, current)}
    return [*_shrink(old, current, available, least=wanted - unavailable), (current, new)]


def _shrink(
    old: Sequence[Manifest], current: Manifest, available: Mapping[str, int], *, least: int
) -> list[tuple[Manifest, int]]:
    """Take away old pods that are not available, then those that are; the oldest set shrinks first.

    So many pods stay as `least` says, not counting new ones that are not available.
    """
    by_age = sorted(old, key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["uid"]))
    sizes = {item["metadata"]["uid"]: item["spec"]["replicas"] for item in by_age}
    useless = sum(sizes.values()) + available[current["metadata"]["uid"]] - least
    if useless <= 0:
        return []
    for uid, size in sizes.items():
        taken = min(useless, max(0, size - available[uid]))
        sizes[uid], useless = size - taken, useless - taken
    surplus = sum(available.values()) - least
    for uid, size in sizes.items():
        taken = min(size, max(0, surplus))
        sizes[uid], surplus = size - taken, surplus - taken
    return [(item, sizes[item["metadata"]["uid"]]) for item in by_age]


def _count_available(store: Store, replica_set: Manifest, now: datetime) -> int:
    """The pods that have been ready for as long as the set says."""
    least = replica_set["spec"].get("minReadySeconds", 0)
    return sum(is_ready(pod) and _ready_seconds(pod, now) >= least for pod in pods_of(store, replica_set))


def _ready_seconds(pod: Manifest, now: datetime) -> float:
    ready = next(one for one in pod["status"]["conditions"] if one["type"] == "Ready")
    return seconds_since(ready.get("lastTransitionTime", ""), now)


def _find_current_set(store: Store, deployment: Manifest) -> Manifest | None:
    """The ReplicaSet of the current template."""
    own = {item["metadata"]["name"]: item for item in _sets_of(store, deployment)}
    names = (f"{deployment['metadata']['name']}-{digest}" for digest in _digests(deployment))
    return next((own[name] for name in names if name in own), None)


def _create_current_set(store: Store, client: Client, deployment: Manifest) -> Manifest:
    """The ReplicaSet of the current template, just created; if its name is taken, it gets another hash.

    The name is taken while ReplicaSets of a deleted Deployment of the same name are not collected yet.
    """
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


def _write_set_status(store: Store, client: Client, replica_set: Manifest, now: datetime) -> None:
    pods, available = pods_of(store, replica_set), _count_available(store, replica_set, now)
    ready = sum(is_ready(pod) for pod in pods)
    status = {"replicas": len(pods), "observedGeneration": replica_set["metadata"]["generation"]}
    if pods:
        status |= {"fullyLabeledReplicas": len(pods)}
    if ready:
        status |= {"readyReplicas": ready}
    if available:
        status |= {"availableReplicas": available}
    write_status(client, replica_set, status)


def _count(store: Store, deployment: Manifest, current: Manifest | None, now: datetime) -> Counts:
    digest, sets = current["metadata"]["labels"][TEMPLATE_HASH] if current else "", _sets_of(store, deployment)
    pods = [pod for item in sets for pod in pods_of(store, item)]
    updated = [pod for pod in pods if pod["metadata"]["labels"].get(TEMPLATE_HASH) == digest]
    return Counts(
        wanted=deployment["spec"]["replicas"],
        total=len(pods),
        updated=len(updated),
        ready=sum(is_ready(pod) for pod in pods),
        available=sum(_count_available(store, item, now) for item in sets),
    )


def _write_status(client: Client, deployment: Manifest, counts: Counts, now: str) -> None:
    old = deployment.get("status", {})
    numbers = {
        "replicas": counts.total,
        "updatedReplicas": counts.updated,
        "readyReplicas": counts.ready,
        "availableReplicas": counts.available,
        "unavailableReplicas": max(0, counts.wanted - counts.available),
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
    if counts.available >= least:
        yield WorkloadCondition("Available", True, "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        message = "Deployment does not have minimum availability."
        yield WorkloadCondition("Available", False, "MinimumReplicasUnavailable", message)
    name = deployment["metadata"]["name"]
    complete = counts.available == counts.updated == counts.total == counts.wanted
    if complete:
        yield WorkloadCondition(
            "Progressing", True, "NewReplicaSetAvailable", f'Deployment "{name}" has successfully progressed.'
        )
    else:
        yield WorkloadCondition("Progressing", True, "ReplicaSetUpdated", f'Deployment "{name}" is progressing.')
