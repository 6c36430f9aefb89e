"""The PodCliqueScalingGroups of a PodCliqueSet: their PodCliques, replaced by whole replicas, and their status."""

from collections.abc import Mapping
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import is_true
from hooks.ground.k8s.grove_parts import LABEL_GROUP
from hooks.ground.k8s.types import Manifest, controller_of, is_deleting
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.conditions import WorkloadCondition, build_conditions
from hooks.tools.offline.simulator.store import Ref, Store, ref_of
from hooks.tools.offline.simulator.workloads.grove_gangs import ENDING
from hooks.tools.offline.simulator.workloads.grove_pods import BREACHED, LABEL_GROUP_REPLICA, hash_of, replaces_pods
from hooks.tools.offline.simulator.workloads.grove_set import PodCliqueSet, build, digest_of, ensure_pod_clique
from hooks.tools.offline.simulator.workloads.owned import owned_by, write_status


def reconcile_scaling_group(store: Store, client: Client, group: Manifest, now: str) -> None:
    """Take one step of a PodCliqueScalingGroup, by the template of its set."""
    grove = _set_of(store, client, group)
    if grove is not None and not is_deleting(group):
        reconcile_group(grove, group, now)


def ensure_group(grove: PodCliqueSet, group: Mapping[str, Any]) -> Manifest:
    """Create the group of a template unless it exists."""
    name = f"{grove.name}-0-{group['name']}"
    live = grove.find(kinds.POD_CLIQUE_SCALING_GROUP, name)
    if live is not None:
        return live
    spec = {key: group[key] for key in ("cliqueNames", "replicas", "minAvailable")}
    labels = grove.labels("pcs-podcliquescalinggroup", name)
    return grove.client.create(build(grove.owner, kinds.POD_CLIQUE_SCALING_GROUP, name, labels, spec=spec))


def reconcile_group(grove: PodCliqueSet, group: Manifest, now: str) -> None:
    """Keep one PodClique per clique and replica; replace old replicas as a whole, one at a time."""
    wanted = group["spec"]["replicas"]
    for member in _members(grove, group):
        if _replica_of(member) >= wanted:
            grove.client.delete(ref_of(member))
    replaces = replaces_pods(grove.owner)
    if replaces:
        _retire_one(grove, group)
    for replica in range(wanted):
        for clique in group["spec"]["cliqueNames"]:
            name = f"{group['metadata']['name']}-{replica}-{clique}"
            if not replaces or grove.find(kinds.POD_CLIQUE, name) is None:
                labels = {
                    **grove.labels("pcsg-podclique", name),
                    LABEL_GROUP: group["metadata"]["name"],
                    LABEL_GROUP_REPLICA: str(replica),
                }
                ensure_pod_clique(grove, group, name, template=grove.clique(clique), labels=labels)
    available = [replica for replica in range(wanted) if _has_enough(grove, group, replica, "readyReplicas")]
    scheduled = [replica for replica in range(wanted) if _has_enough(grove, group, replica, "scheduledReplicas")]
    status = {
        "observedGeneration": group["metadata"]["generation"],
        "replicas": wanted,
        "scheduledReplicas": len(scheduled),
        "availableReplicas": len(available),
        "updatedReplicas": sum(_is_current(grove, group, replica) for replica in available),
    }
    unbroken = sum(not _is_broken(grove, group, replica) for replica in range(wanted))
    breached = WorkloadCondition(BREACHED, unbroken < group["spec"]["minAvailable"])
    known = group.get("status", {}).get("conditions", ())
    kept = [ENDING] if breached.status and ENDING in known else []
    conditions = [*build_conditions(known, [breached], now), *kept]
    write_status(grove.client, group, {**status, "conditions": conditions})


def _retire_one(grove: PodCliqueSet, group: Manifest) -> None:
    replicas = range(group["spec"]["replicas"])
    old = [replica for replica in replicas if not _is_current(grove, group, replica)]
    if not old or any(
        replica not in old and not _has_enough(grove, group, replica, "readyReplicas") for replica in replicas
    ):
        return
    for member in _members(grove, group):
        if _replica_of(member) == old[0]:
            grove.client.delete(ref_of(member))


def _members(grove: PodCliqueSet, group: Manifest) -> list[Manifest]:
    return owned_by(grove.store, group, kinds.POD_CLIQUE)


def _replica_of(member: Manifest) -> int:
    return int(member["metadata"]["labels"][LABEL_GROUP_REPLICA])


def _is_current(grove: PodCliqueSet, group: Manifest, replica: int) -> bool:
    """Whether all PodCliques of a replica have the current template."""
    found = [member for member in _members(grove, group) if _replica_of(member) == replica]
    prefix = f"{group['metadata']['name']}-{replica}-"
    return all(
        hash_of(member) == digest_of(grove.clique(member["metadata"]["name"].removeprefix(prefix)))
        and member.get("status", {}).get("currentPodTemplateHash", hash_of(member)) == hash_of(member)
        for member in found
    )


def _has_enough(grove: PodCliqueSet, group: Manifest, replica: int, count: str) -> bool:
    """Whether each PodClique of a replica has its least, by a count of its status."""
    found = [member for member in _members(grove, group) if _replica_of(member) == replica]
    return len(found) == len(group["spec"]["cliqueNames"]) and all(
        member.get("status", {}).get(count, 0) >= member["spec"]["minAvailable"] for member in found
    )


def _is_broken(grove: PodCliqueSet, group: Manifest, replica: int) -> bool:
    """Whether a replica lacks a PodClique, or one of them has fewer pods than its least."""
    found = [member for member in _members(grove, group) if _replica_of(member) == replica]
    told = (member.get("status", {}).get("conditions", ()) for member in found)
    return len(found) < len(group["spec"]["cliqueNames"]) or any(is_true(conditions, BREACHED) for conditions in told)


def _set_of(store: Store, client: Client, group: Manifest) -> PodCliqueSet | None:
    owner = controller_of(group)
    if owner is None:
        return None
    found = store.get(
        Ref(kinds.POD_CLIQUE_SET.group, kinds.POD_CLIQUE_SET.kind, group["metadata"]["namespace"], owner["name"])
    )
    return None if found is None or is_deleting(found) else PodCliqueSet(store, client, found)
