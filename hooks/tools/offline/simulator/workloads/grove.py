"""Grove's operator: the PodCliques and PodCliqueScalingGroups of a PodCliqueSet, and their statuses.

A new object gets its replicas from the template; later only its scale subresource changes them. What is not simulated:
the Role, RoleBinding and PodGangs of a set, claims for devices, and topologies.

Source: Grove v0.1.0-alpha.12, operator/internal/controller.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove_parts import LABEL_TEMPLATE_HASH
from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.types import GroupVersionKind, Manifest, controller_of, is_deleting
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.conditions import WorkloadCondition, build_conditions
from hooks.tools.offline.simulator.store import Ref, Store, ref_of
from hooks.tools.offline.simulator.workloads.grove_gangs import (
    ENDING,
    end_gang,
    is_breached,
    open_gates,
    parts_of,
    termination_of,
)
from hooks.tools.offline.simulator.workloads.grove_pods import BREACHED, hash_of, replaces_pods
from hooks.tools.offline.simulator.workloads.owned import owned_by, write_status
from hooks.wire.world.equality import are_equal
from hooks.wire.world.ownership import controller_reference

FINALIZER = "grove.io/podcliqueset.grove.io"
_PARTS = (kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP)


@dataclass(frozen=True, slots=True)
class _PodCliqueSet:
    """A PodCliqueSet, with the store and client to reconcile it."""

    store: Store
    client: Client
    owner: Manifest

    @property
    def name(self) -> str:
        name: str = self.owner["metadata"]["name"]
        return name

    @property
    def namespace(self) -> str:
        namespace: str = self.owner["metadata"]["namespace"]
        return namespace

    @property
    def template(self) -> Mapping[str, Any]:
        template: Mapping[str, Any] = self.owner["spec"]["template"]
        return template

    @property
    def groups(self) -> Sequence[Mapping[str, Any]]:
        groups: Sequence[Mapping[str, Any]] = self.template.get("podCliqueScalingGroups", ())
        return groups

    def clique(self, name: str) -> Mapping[str, Any]:
        return next(clique for clique in self.template["cliques"] if clique["name"] == name)

    def find(self, kind: GroupVersionKind, name: str) -> Manifest | None:
        return self.client.get(Ref(kind.group, kind.kind, self.namespace, name))

    def labels(self, component: str, name: str) -> dict[str, str]:
        return {
            "app.kubernetes.io/managed-by": "grove-operator",
            "app.kubernetes.io/part-of": self.name,
            "app.kubernetes.io/name": name,
            "app.kubernetes.io/component": component,
            "grove.io/podcliqueset-replica-index": "0",
        }


def reconcile_pod_clique_set(store: Store, client: Client, owner: Manifest, now: str) -> None:
    """Take one step of a PodCliqueSet: its PodCliques and groups, what their pods need, its status."""
    grove = _PodCliqueSet(store, client, owner)
    if is_deleting(owner):
        _finish(grove)
        return
    if FINALIZER not in owner["metadata"].get("finalizers", ()):
        finalizers = [*owner["metadata"].get("finalizers", ()), FINALIZER]
        client.update({**owner, "metadata": {**owner["metadata"], "finalizers": finalizers}})
        return
    end = termination_of(owner, parts_of(store, owner))
    if end is not None and end <= datetime.fromisoformat(now):
        end_gang(store, client, owner)
    _ensure_pod_requirements(grove)
    grouped = {name for group in grove.groups for name in group["cliqueNames"]}
    for clique in grove.template["cliques"]:
        if clique["name"] not in grouped:
            target = f"{grove.name}-0-{clique['name']}"
            _ensure_pod_clique(grove, owner, target, template=clique, labels=grove.labels("pcs-podclique", target))
    for group in grove.groups:
        _reconcile_group(grove, _ensure_group(grove, group), now)
    open_gates(store, client, owner)
    _write_set_status(grove, now)


def reconcile_scaling_group(store: Store, client: Client, group: Manifest, now: str) -> None:
    """Take one step of a PodCliqueScalingGroup, by the template of its set."""
    grove = _set_of(store, client, group)
    if grove is not None and not is_deleting(group):
        _reconcile_group(grove, group, now)


def _finish(grove: _PodCliqueSet) -> None:
    """Delete all parts, then remove the set's finalizer."""
    left = [part for kind in _PARTS for part in _owned(grove, kind)]
    for part in left:
        grove.client.delete(ref_of(part))
    if not left and FINALIZER in grove.owner["metadata"].get("finalizers", ()):
        kept = [name for name in grove.owner["metadata"]["finalizers"] if name != FINALIZER]
        grove.client.update({**grove.owner, "metadata": {**grove.owner["metadata"], "finalizers": kept}})


def _owned(grove: _PodCliqueSet, kind: GroupVersionKind) -> list[Manifest]:
    return owned_by(grove.store, grove.owner, kind)


def _ensure_pod_requirements(grove: _PodCliqueSet) -> None:
    """Create the ServiceAccount, the Secret of its token, and the headless Service of the only replica."""
    selector = {"app.kubernetes.io/part-of": grove.name, "grove.io/podcliqueset-replica-index": "0"}
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector}
    fields: Mapping[GroupVersionKind, tuple[str, Mapping[str, Any]]] = {
        kinds.SERVICE_ACCOUNT: (grove.name, {}),
        kinds.SECRET: (f"{grove.name}-ic-sat", {"type": "kubernetes.io/service-account-token"}),
        kinds.SERVICE: (f"{grove.name}-0", {"spec": spec}),
    }
    for kind, (name, content) in fields.items():
        if grove.find(kind, name) is None:
            grove.client.create(_build(grove.owner, kind, name, grove.labels("pcs-surroundings", name), **content))


def _build(owner: Manifest, kind: GroupVersionKind, name: str, labels: Mapping[str, str], **fields: Any) -> Manifest:
    metadata = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "labels": dict(labels),
        "ownerReferences": [controller_reference(owner)],
    }
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **fields}


def _ensure_pod_clique(
    grove: _PodCliqueSet, owner: Manifest, name: str, *, template: Mapping[str, Any], labels: Mapping[str, str]
) -> None:
    """Create the PodClique, or update all but its replicas to the template."""
    prefix = name.removesuffix(template["name"])
    spec = {**template["spec"]}
    if "startsAfter" in spec:
        spec["startsAfter"] = [f"{prefix}{other}" for other in spec["startsAfter"]]
    all_labels = {**template.get("labels", {}), **labels, LABEL_TEMPLATE_HASH: _digest(template)}
    annotations = {key: dict(value) for key, value in template.items() if key == "annotations"}
    fresh = _build(owner, kinds.POD_CLIQUE, name, all_labels, spec=spec)
    fresh["metadata"] |= annotations
    live = grove.find(kinds.POD_CLIQUE, name)
    if live is None:
        grove.client.create(fresh)
        return
    changed = {**live, "spec": {**spec, "replicas": live["spec"]["replicas"]}}
    changed["metadata"] = {**live["metadata"], "labels": all_labels, **annotations}
    if not are_equal(changed, live):
        grove.client.update(changed)


def _ensure_group(grove: _PodCliqueSet, group: Mapping[str, Any]) -> Manifest:
    name = f"{grove.name}-0-{group['name']}"
    live = grove.find(kinds.POD_CLIQUE_SCALING_GROUP, name)
    if live is not None:
        return live
    spec = {key: group[key] for key in ("cliqueNames", "replicas", "minAvailable")}
    labels = grove.labels("pcs-podcliquescalinggroup", name)
    return grove.client.create(_build(grove.owner, kinds.POD_CLIQUE_SCALING_GROUP, name, labels, spec=spec))


def _reconcile_group(grove: _PodCliqueSet, group: Manifest, now: str) -> None:
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
                    "grove.io/podcliquescalinggroup": group["metadata"]["name"],
                    "grove.io/podcliquescalinggroup-replica-index": str(replica),
                }
                _ensure_pod_clique(grove, group, name, template=grove.clique(clique), labels=labels)
    available = [replica for replica in range(wanted) if _is_available(grove, group, replica)]
    status = {
        "observedGeneration": group["metadata"]["generation"],
        "replicas": wanted,
        "scheduledReplicas": len(available),
        "availableReplicas": len(available),
        "updatedReplicas": sum(_is_current(grove, group, replica) for replica in available),
    }
    breached = WorkloadCondition(BREACHED, len(available) < group["spec"]["minAvailable"])
    known = group.get("status", {}).get("conditions", ())
    kept = [ENDING] if breached.status and ENDING in known else []
    conditions = [*build_conditions(known, [breached], now), *kept]
    write_status(grove.client, group, {**status, "conditions": conditions})


def _retire_one(grove: _PodCliqueSet, group: Manifest) -> None:
    replicas = range(group["spec"]["replicas"])
    old = [replica for replica in replicas if not _is_current(grove, group, replica)]
    if not old or any(replica not in old and not _is_available(grove, group, replica) for replica in replicas):
        return
    for member in _members(grove, group):
        if _replica_of(member) == old[0]:
            grove.client.delete(ref_of(member))


def _members(grove: _PodCliqueSet, group: Manifest) -> list[Manifest]:
    return owned_by(grove.store, group, kinds.POD_CLIQUE)


def _replica_of(member: Manifest) -> int:
    return int(member["metadata"]["labels"]["grove.io/podcliquescalinggroup-replica-index"])


def _is_current(grove: _PodCliqueSet, group: Manifest, replica: int) -> bool:
    """Whether all PodCliques of a replica have the current template."""
    found = [member for member in _members(grove, group) if _replica_of(member) == replica]
    prefix = f"{group['metadata']['name']}-{replica}-"
    return all(
        hash_of(member) == _digest(grove.clique(member["metadata"]["name"].removeprefix(prefix)))
        and member.get("status", {}).get("currentPodTemplateHash", hash_of(member)) == hash_of(member)
        for member in found
    )


def _is_available(grove: _PodCliqueSet, group: Manifest, replica: int) -> bool:
    found = [member for member in _members(grove, group) if _replica_of(member) == replica]
    return len(found) == len(group["spec"]["cliqueNames"]) and all(
        member.get("status", {}).get("readyReplicas", 0) >= member["spec"]["minAvailable"] for member in found
    )


def _write_set_status(grove: _PodCliqueSet, now: str) -> None:
    live = grove.client.get(ref_of(grove.owner))
    if live is None:
        return
    old = live.get("status", {})
    digest = short_hash(canonical_json([_digest(clique) for clique in grove.template["cliques"]]), 10)
    parts = [part for kind in _PARTS for part in _owned(grove, kind)]
    is_updated = all(map(_is_updated, parts))
    progress = old.get("updateProgress")
    if old.get("currentGenerationHash", digest) != digest:
        progress = {"updateStartedAt": now, **({} if replaces_pods(live) else {"updateEndedAt": now})}
    elif progress and "updateEndedAt" not in progress and is_updated:
        progress = {**progress, "updateEndedAt": now}
    # Every pass asks for another one until the update has ended and no part is below its least.
    waits = any(map(is_breached, parts)) or bool(progress and "updateEndedAt" not in progress)
    observed = old.get("observedGeneration") if waits else live["metadata"]["generation"]
    status = {
        **({} if observed is None else {"observedGeneration": observed}),
        "replicas": live["spec"]["replicas"],
        "availableReplicas": int(is_updated),
        "updatedReplicas": int(is_updated),
        "currentGenerationHash": digest,
        **({"updateProgress": progress} if progress else {}),
    }
    write_status(grove.client, live, status)


def _is_updated(part: Manifest) -> bool:
    """Whether a PodClique or group has no old pod, and as many ready ones as it needs at least."""
    status, is_clique = part.get("status", {}), part["kind"] == kinds.POD_CLIQUE.kind
    least = part["spec"]["minAvailable"] if is_clique else part["spec"]["replicas"]
    if is_clique and status.get("currentPodTemplateHash") != hash_of(part):
        return False
    ready = status.get("readyReplicas" if is_clique else "availableReplicas", 0)
    return bool(ready >= least and status.get("updatedReplicas", 0) >= least)


def _set_of(store: Store, client: Client, group: Manifest) -> _PodCliqueSet | None:
    owner = controller_of(group)
    if owner is None:
        return None
    found = store.get(
        Ref(kinds.POD_CLIQUE_SET.group, kinds.POD_CLIQUE_SET.kind, group["metadata"]["namespace"], owner["name"])
    )
    return None if found is None or is_deleting(found) else _PodCliqueSet(store, client, found)


def _digest(template: Mapping[str, Any]) -> str:
    """Hash of the parts of a template whose change causes a rollout."""
    part = {key: template.get(key) for key in ("labels", "annotations")}
    return short_hash(canonical_json({**part, "podSpec": template["spec"]["podSpec"]}), 10)
