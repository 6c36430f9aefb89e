"""Reconciles LeaderWorkerSets: the pods of each group, and the status.

There are no StatefulSets between a set and its pods: the set owns the leaders, a leader owns its workers.

Source: LeaderWorkerSet v0.10, pkg/controllers/leaderworkerset_controller.go and pod_controller.go.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.quantities import scale_amount
from hooks.ground.k8s.types import Json, Manifest, is_deleting
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.conditions import WorkloadCondition, build_conditions
from hooks.tools.offline.simulator.store import Ref, Store, ref_of
from hooks.tools.offline.simulator.workloads.owned import write_status
from hooks.tools.offline.simulator.workloads.pods import is_ready
from hooks.wire.world.ownership import controller_reference

PREFIX = "leaderworkerset.sigs.k8s.io"
NAME = f"{PREFIX}/name"
GROUP_INDEX = f"{PREFIX}/group-index"
WORKER_INDEX = f"{PREFIX}/worker-index"
GROUP_KEY = f"{PREFIX}/group-key"
REVISION = f"{PREFIX}/template-revision-hash"

_SIZE = f"{PREFIX}/size"
_REVISION_LENGTH = 10
_MAX_STATEFUL_SET = 63 - 1 - _REVISION_LENGTH
"""A StatefulSet's pods have its name and a hash as a label value; with a longer name it creates none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """The parts that one step of a set uses; `revision` is the hash of its current template."""

    store: Store
    client: Client
    found: Manifest
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """One group; `leader` is None while there is none."""

    index: int
    leader: Manifest | None
    workers: tuple[Manifest, ...]
    size: int
    revision: str

    @property
    def is_current(self) -> bool:
        """Whether it has the current template."""
        return self.leader is not None and self.leader["metadata"]["labels"].get(REVISION) == self.revision

    @property
    def is_ready(self) -> bool:
        """Whether all its pods exist and are ready."""
        pods = [*self.workers, *([self.leader] if self.leader else [])]
        return len(pods) == self.size and all(is_ready(pod) for pod in pods)


def reconcile_leader_worker_set(store: Store, client: Client, found: Manifest, now: str) -> None:
    """Take one step of a set: its Service, the pods of its groups, its status; `now` is a timestamp."""
    if is_deleting(found):
        return
    step = _Step(store=store, client=client, found=found, revision=_hash_revision(found))
    _ensure_service(client, found)
    wanted: int = found["spec"]["replicas"]
    groups = _groups_of(step)
    for group in groups[wanted:]:
        _drop(client, group)
    _replace_old(step, groups[:wanted])
    for index in range(wanted):
        _complete_group(step, index)
    _write_status(step, now)


def set_named_by(store: Store, pod: Manifest) -> list[Ref]:
    """The set that a pod's label names, if it exists; it may be a newer one of the same name."""
    name = (pod["metadata"].get("labels") or {}).get(NAME)
    kind = kinds.LEADER_WORKER_SET
    ref = Ref(kind.group, kind.kind, pod["metadata"]["namespace"], name or "")
    return [ref] if store.get(ref) is not None else []


def _ensure_service(client: Client, found: Manifest) -> None:
    """Create the headless Service unless one of that name exists, whoever owns it."""
    name, namespace = found["metadata"]["name"], found["metadata"]["namespace"]
    if client.get(Ref("", "Service", namespace, name)) is not None:
        return
    client.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": namespace, "ownerReferences": [controller_reference(found)]},
            "spec": {"clusterIP": "None", "selector": {NAME: name}, "publishNotReadyAddresses": True},
        }
    )


def _hash_revision(found: Manifest) -> str:
    spec = found["spec"]
    parts = {"template": spec["leaderWorkerTemplate"], "network": spec.get("networkConfig")}
    return short_hash(canonical_json(parts), _REVISION_LENGTH)


def _pods_of(store: Store, found: Manifest) -> list[Manifest]:
    pods = store.list_labelled(kinds.POD, found["metadata"]["namespace"], {NAME: found["metadata"]["name"]})
    return [pod for pod in pods if not is_deleting(pod)]


def _groups_of(step: _Step) -> list[_Group]:
    """All groups that are wanted or have pods, by index."""
    spec = step.found["spec"]
    pods: dict[int, list[Manifest]] = {index: [] for index in range(spec["replicas"])}
    for pod in _pods_of(step.store, step.found):
        pods.setdefault(int(pod["metadata"]["labels"][GROUP_INDEX]), []).append(pod)
    size: int = spec["leaderWorkerTemplate"]["size"]
    return [_read_group(index, pods[index], size, step.revision) for index in sorted(pods)]


def _read_group(index: int, pods: Sequence[Manifest], size: int, revision: str) -> _Group:
    """The group; a leader of an older template has workers for the size that this template had."""
    leaders = [pod for pod in pods if _rank(pod) == 0]
    workers = tuple(pod for pod in pods if _rank(pod) > 0)
    leader = next(iter(leaders), None)
    size = int(leader["metadata"]["annotations"][_SIZE]) if leader else size
    return _Group(index=index, leader=leader, workers=workers, size=size, revision=revision)


def _rank(pod: Manifest) -> int:
    return int(pod["metadata"]["labels"][WORKER_INDEX])


def _replace_old(step: _Step, groups: Sequence[_Group]) -> None:
    """Delete groups of an older template, highest index first, as many as maxUnavailable and partition allow."""
    rolling = step.found["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]
    allowed = _absolute(rolling["maxUnavailable"], len(groups))
    for group in reversed(groups[max(_find_partition(groups, allowed), rolling.get("partition", 0)) :]):
        if not group.is_current:
            _drop(step.client, group)


def _find_partition(groups: Sequence[_Group], allowed: int) -> int:
    """The index from which on groups get the current template; `allowed` may be out of service at once.

    Groups below that are not ready count as out of service. But those next to the partition are replaced if they are
    not ready: they have nothing to lose, and a set whose groups are all broken would never get a new template.

    Source: LeaderWorkerSet v0.10, pkg/controllers/leaderworkerset_controller.go, rollingUpdatePartition.
    """
    finished = takewhile(lambda group: group.is_current and group.is_ready, reversed(groups))
    lowest = max(0, len(groups) - sum(1 for _ in finished) - allowed)
    partition = lowest + sum(not group.is_ready for group in groups[:lowest])
    for index in range(min(partition, len(groups) - 1), lowest - 1, -1):
        if groups[index].is_ready and not groups[index].is_current:
            break
        partition = index
    return partition


def _absolute(value: Json, of: int) -> int:
    """A number or percentage of groups, at least one."""
    return max(1, scale_amount(value, of, up=False))


def _drop(client: Client, group: _Group) -> None:
    """Delete a group's leader; the garbage collector deletes its workers."""
    if group.leader is not None:
        client.delete(ref_of(group.leader))


def _complete_group(step: _Step, index: int) -> None:
    """Create the missing pods of a group; a new leader waits until the workers of the old one are deleted."""
    found = step.found
    group = next(group for group in _groups_of(step) if group.index == index)
    name = found["metadata"]["name"]
    if group.leader is None:
        if not group.workers and len(name) <= _MAX_STATEFUL_SET:
            step.client.create(_build_pod(step, index, 0, controller_reference(found)))
        return
    waits = found["spec"]["startupPolicy"] == "LeaderReady" and not is_ready(group.leader)
    if waits or not group.is_current or len(f"{name}-{index}") > _MAX_STATEFUL_SET:
        return
    present = {_rank(worker) for worker in group.workers}
    for rank in range(1, group.size):
        if rank not in present:
            step.client.create(_build_pod(step, index, rank, controller_reference(group.leader)))


def _build_pod(step: _Step, index: int, rank: int, owner: Json) -> Manifest:
    found = step.found
    group, metadata = found["spec"]["leaderWorkerTemplate"], found["metadata"]
    leader_template = group.get("leaderTemplate") or group["workerTemplate"]
    template = group["workerTemplate"] if rank else leader_template
    leader = f"{metadata['name']}-{index}"
    labels = {
        **(template.get("metadata", {}).get("labels") or {}),
        NAME: metadata["name"],
        GROUP_INDEX: str(index),
        WORKER_INDEX: str(rank),
        GROUP_KEY: short_hash(f"{metadata['namespace']}/{leader}", 40),
        REVISION: step.revision,
    }
    annotations = {
        **(template.get("metadata", {}).get("annotations") or {}),
        _SIZE: str(group["size"]),
        **({f"{PREFIX}/leader-name": leader} if rank else {}),
    }
    name = f"{leader}-{rank}" if rank else leader
    own = {"name": name, "namespace": metadata["namespace"], "labels": labels, "annotations": annotations}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**own, "ownerReferences": [owner]},
        "spec": {**template["spec"], "hostname": name, "subdomain": metadata["name"]},
    }


def _write_status(step: _Step, now: str) -> None:
    found, client = step.found, step.client
    groups = _groups_of(step)
    numbers = {
        "replicas": sum(group.leader is not None for group in groups),
        "readyReplicas": sum(group.is_ready for group in groups),
        "updatedReplicas": sum(group.is_current for group in groups),
    }
    live = client.get(ref_of(found))
    if live is None:
        return
    generation = live["metadata"]["generation"]
    old = live.get("status", {})
    conditions = build_conditions(
        old.get("conditions", ()), _conditions(found, groups, old.get("conditions", ())), now, update_time=False
    )
    status = {
        "observedGeneration": generation,
        "hpaPodSelector": f"{NAME}={found['metadata']['name']},{WORKER_INDEX}=0",
        **{key: number for key, number in numbers.items() if number},
        "conditions": [{**condition, "observedGeneration": generation} for condition in conditions],
    }
    write_status(client, live, status)


def _conditions(
    found: Manifest, groups: Sequence[_Group], old: Iterable[Mapping[str, Any]]
) -> Iterator[WorkloadCondition]:
    """The conditions; one that becomes False keeps its texts, one that was never True is absent."""
    wanted: int = found["spec"]["replicas"]
    known = {condition["type"] for condition in old}
    is_available = sum(group.is_ready and group.is_current for group in groups) >= wanted
    is_updating = any(group.leader is not None and not group.is_current for group in groups) or (
        not is_available and _was_updating(old)
    )
    texts = (
        ("Available", is_available, "AllGroupsReady", "All replicas are ready"),
        ("Progressing", not is_available, "GroupsProgressing", "Replicas are progressing"),
        ("UpdateInProgress", is_updating, "GroupsUpdating", "Rolling Upgrade is in progress"),
    )
    for kind, status, reason, message in texts:
        if status or kind in known:
            yield WorkloadCondition(kind, status, reason, message)


def _was_updating(old: Iterable[Mapping[str, Any]]) -> bool:
    return any(found["type"] == "UpdateInProgress" and found["status"] == "True" for found in old)
