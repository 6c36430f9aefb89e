"""Grove's operator: the PodCliques and PodCliqueScalingGroups of a PodCliqueSet, and their statuses.

A new object gets its replicas from the template; later only its scale subresource changes them. What is not simulated:
the PodGangs of a set, claims for devices, and topologies.

Source: Grove v0.1.0-alpha.12, operator/internal/controller.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.types import GroupVersionKind, Manifest, is_deleting
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.store import Store, ref_of
from hooks.tools.offline.simulator.workloads.grove_gangs import (
    end_gang,
    is_breached,
    open_gates,
    parts_of,
    termination_of,
)
from hooks.tools.offline.simulator.workloads.grove_groups import ensure_group, reconcile_group
from hooks.tools.offline.simulator.workloads.grove_pods import hash_of, replaces_pods
from hooks.tools.offline.simulator.workloads.grove_set import PodCliqueSet, build, digest_of, ensure_pod_clique
from hooks.tools.offline.simulator.workloads.owned import owned_by, write_status

FINALIZER = "grove.io/podcliqueset.grove.io"
_PARTS = (kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP)


def reconcile_pod_clique_set(store: Store, client: Client, owner: Manifest, now: str) -> None:
    """Take one step of a PodCliqueSet: its PodCliques and groups, what their pods need, its status."""
    grove = PodCliqueSet(store, client, owner)
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
            ensure_pod_clique(grove, owner, target, template=clique, labels=grove.labels("pcs-podclique", target))
    for group in grove.groups:
        reconcile_group(grove, ensure_group(grove, group), now)
    open_gates(store, client, owner)
    _write_set_status(grove, now)


def _finish(grove: PodCliqueSet) -> None:
    """Delete all parts, then remove the set's finalizer."""
    left = [part for kind in _PARTS for part in _owned(grove, kind)]
    for part in left:
        grove.client.delete(ref_of(part))
    if not left and FINALIZER in grove.owner["metadata"].get("finalizers", ()):
        kept = [name for name in grove.owner["metadata"]["finalizers"] if name != FINALIZER]
        grove.client.update({**grove.owner, "metadata": {**grove.owner["metadata"], "finalizers": kept}})


def _owned(grove: PodCliqueSet, kind: GroupVersionKind) -> list[Manifest]:
    return owned_by(grove.store, grove.owner, kind)


def _ensure_pod_requirements(grove: PodCliqueSet) -> None:
    """Create the ServiceAccount, its Secret and rights, and the headless Service of the only replica."""
    selector = {"app.kubernetes.io/part-of": grove.name, "grove.io/podcliqueset-replica-index": "0"}
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector}
    role, account = f"grove.io:pcs:{grove.name}", {"kind": kinds.SERVICE_ACCOUNT.kind, "name": grove.name}
    bound = {"roleRef": {"apiGroup": kinds.ROLE.group, "kind": kinds.ROLE.kind, "name": role}, "subjects": [account]}
    rule = {"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get", "list", "watch"]}
    fields: Mapping[GroupVersionKind, tuple[str, Mapping[str, Any]]] = {
        kinds.SERVICE_ACCOUNT: (grove.name, {}),
        kinds.ROLE: (role, {"rules": [rule]}),
        kinds.ROLE_BINDING: (role, bound),
        kinds.SECRET: (f"{grove.name}-ic-sat", {"type": "kubernetes.io/service-account-token"}),
        kinds.SERVICE: (f"{grove.name}-0", {"spec": spec}),
    }
    for kind, (name, content) in fields.items():
        if grove.find(kind, name) is None:
            grove.client.create(build(grove.owner, kind, name, grove.labels("pcs-surroundings", name), **content))


def _write_set_status(grove: PodCliqueSet, now: str) -> None:
    live = grove.client.get(ref_of(grove.owner))
    if live is None:
        return
    old = live.get("status", {})
    digest = short_hash(canonical_json([digest_of(clique) for clique in grove.template["cliques"]]), 10)
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
