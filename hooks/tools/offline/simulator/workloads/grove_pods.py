"""Reconciles PodCliques like Grove's operator: creates and replaces their pods, and writes their status.

For `startsAfter`, Grove delays a pod's containers by an init container; here the pod is created later.

Source: Grove v0.1.0-alpha.12, operator/internal/controller/podclique.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, is_deleting
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.store import Ref, Store, ref_of
from hooks.tools.offline.simulator.workloads.owned import build_pod, pods_of, write_status
from hooks.tools.offline.simulator.workloads.pods import is_ready

TEMPLATE_HASH = "grove.io/pod-template-hash"
POD_INDEX = "grove.io/podclique-pod-index"


def reconcile_pod_clique(store: Store, client: Client, clique: Manifest, _now: str) -> None:
    """Take one step of a PodClique: its pods, old ones replaced one by one, and its status."""
    if is_deleting(clique) or not _may_start(store, clique):
        return
    _roll_pods(store, client, clique)
    pods, wanted = pods_of(store, clique), clique["spec"]["replicas"]
    for pod in sorted(pods, key=_index_of)[wanted:]:
        client.delete(ref_of(pod))
    taken = {_index_of(pod) for pod in pods_of(store, clique)}
    for index in [number for number in range(wanted) if number not in taken][: wanted - len(taken)]:
        client.create(_build_pod(store, clique, index))
    pods = pods_of(store, clique)
    status = {
        "observedGeneration": clique["metadata"]["generation"],
        "replicas": len(pods),
        "readyReplicas": sum(is_ready(pod) for pod in pods),
        "updatedReplicas": sum(hash_of(pod) == hash_of(clique) for pod in pods),
        "scheduledReplicas": sum("nodeName" in pod["spec"] for pod in pods),
        "scheduleGatedReplicas": 0,
        "currentPodTemplateHash": hash_of(clique),
    }
    write_status(client, clique, status)


def followers_of(store: Store, clique: Manifest) -> list[Ref]:
    """PodCliques that start after this one."""
    name = clique["metadata"]["name"]
    beside = store.list_kind(kinds.POD_CLIQUE, clique["metadata"]["namespace"])
    return [ref_of(other) for other in beside if name in other["spec"].get("startsAfter", ())]


def _may_start(store: Store, clique: Manifest) -> bool:
    """Whether the cliques before it have enough ready pods, or it has pods already."""
    if pods_of(store, clique):
        return True
    namespace = clique["metadata"]["namespace"]
    for name in clique["spec"].get("startsAfter", ()):
        first = store.get(Ref(kinds.POD_CLIQUE.group, kinds.POD_CLIQUE.kind, namespace, name))
        if first is None or first.get("status", {}).get("readyReplicas", 0) < first["spec"]["minAvailable"]:
            return False
    return True


def _roll_pods(store: Store, client: Client, clique: Manifest) -> None:
    """Delete old pods: unready ones at once, ready ones one by one while all others are ready."""
    pods = pods_of(store, clique)
    old = [pod for pod in pods if hash_of(pod) != hash_of(clique)]
    for pod in old:
        if not is_ready(pod):
            client.delete(ref_of(pod))
    ready = [pod for pod in old if is_ready(pod)]
    if ready and all(is_ready(pod) for pod in pods) and len(pods) >= clique["spec"]["replicas"]:
        client.delete(ref_of(min(ready, key=_index_of)))


def _build_pod(store: Store, clique: Manifest, index: int) -> Manifest:
    metadata, spec = clique["metadata"], clique["spec"]["podSpec"]
    annotations = {"annotations": metadata["annotations"]} if "annotations" in metadata else {}
    labels = {**metadata["labels"], "grove.io/podclique": metadata["name"], POD_INDEX: str(index)}
    subdomain = f"{metadata['labels']['app.kubernetes.io/part-of']}-0"
    env = list(_variables(clique, subdomain, index))
    containers = [{**container, "env": [*container.get("env", ()), *env]} for container in spec["containers"]]
    own = {"containers": containers, "hostname": f"{metadata['name']}-{index}", "subdomain": subdomain}
    return build_pod(store, clique, {"metadata": {"labels": labels, **annotations}, "spec": {**spec, **own}})


def _variables(clique: Manifest, subdomain: str, index: int) -> Iterator[dict[str, str]]:
    metadata = clique["metadata"]
    labels = metadata["labels"]
    values = {
        "GROVE_PCS_NAME": labels["app.kubernetes.io/part-of"],
        "GROVE_PCS_INDEX": "0",
        "GROVE_PCLQ_NAME": metadata["name"],
        "GROVE_HEADLESS_SERVICE": f"{subdomain}.{metadata['namespace']}.svc.cluster.local",
        "GROVE_PCLQ_POD_INDEX": str(index),
        "GROVE_PCSG_NAME": labels.get("grove.io/podcliquescalinggroup", ""),
        "GROVE_PCSG_INDEX": labels.get("grove.io/podcliquescalinggroup-replica-index", ""),
    }
    return ({"name": name, "value": value} for name, value in values.items() if value)


def hash_of(obj: Mapping[str, Any]) -> str:
    """The hash of the template of a PodClique or pod."""
    text: str = obj["metadata"]["labels"][TEMPLATE_HASH]
    return text


def _index_of(pod: Mapping[str, Any]) -> int:
    return int(pod["metadata"]["labels"][POD_INDEX])
