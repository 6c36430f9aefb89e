"""Reconciles PodCliques like Grove's operator: creates and replaces their pods, and writes their status.

Source: Grove v0.1.0-alpha.12, operator/internal/controller/podclique, read, and run beside the hooks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove import ON_DELETE
from hooks.ground.k8s.grove_parts import GATE, LABEL_GROUP, LABEL_POD_CLIQUE, LABEL_TEMPLATE_HASH
from hooks.ground.k8s.types import Manifest, is_deleting, labels_of
from hooks.tools.offline.pod_troubles import Trouble
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.conditions import WorkloadCondition, build_conditions
from hooks.tools.offline.simulator.store import ApiError, Ref, Store, ref_of
from hooks.tools.offline.simulator.workloads.owned import build_pod, pods_of, write_status
from hooks.tools.offline.simulator.workloads.pods import is_gated, is_ready

POD_INDEX = "grove.io/podclique-pod-index"
LABEL_GROUP_REPLICA = "grove.io/podcliquescalinggroup-replica-index"
INIT_CONTAINER = "grove-initc"
BREACHED, SCHEDULED = "MinAvailableBreached", "PodCliqueScheduled"
Progress = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one step came to: the update, whether it waits for something, and why a pod could not be made."""

    progress: Progress | None
    waits: bool
    refusal: str


def reconcile_pod_clique(store: Store, client: Client, clique: Manifest, now: str) -> None:
    """Take one step of a PodClique: its pods, old ones replaced one by one, and its status."""
    if is_deleting(clique):
        return
    progress, waits = _update(store, client, clique, now)
    for pod in _choose_excess(store, clique):
        client.delete(ref_of(pod))
    refusal = _create_missing(store, client, clique)
    outcome = _Outcome(progress, waits, refusal)
    write_status(client, clique, _build_status(store, clique, outcome, now))


def find_start_order(store: Store, pod: Mapping[str, Any]) -> Trouble | None:
    """The init container that waits until the PodCliques before this pod's have their least number of ready pods."""
    name, namespace = labels_of(pod).get(LABEL_POD_CLIQUE), pod["metadata"]["namespace"]
    kind = kinds.POD_CLIQUE
    clique = store.get(Ref(kind.group, kind.kind, namespace, name)) if name else None
    for other in clique["spec"].get("startsAfter", ()) if clique is not None else ():
        first = store.get(Ref(kind.group, kind.kind, namespace, other))
        if first is None or first.get("status", {}).get("readyReplicas", 0) < first["spec"]["minAvailable"]:
            said = f"waits for {other}"
            return Trouble(container=INIT_CONTAINER, exit_code=None, said=said, why=said, is_init=True)
    return None


def replaces_pods(pod_clique_set: Mapping[str, Any] | None) -> bool:
    """Whether Grove itself replaces the pods of a changed template."""
    strategy = ((pod_clique_set or {}).get("spec") or {}).get("updateStrategy") or {}
    return bool(strategy.get("type") != ON_DELETE)


def hash_of(obj: Mapping[str, Any]) -> str:
    """The hash of the template of a PodClique or pod."""
    text: str = obj["metadata"]["labels"][LABEL_TEMPLATE_HASH]
    return text


def _set_of(store: Store, clique: Manifest) -> Manifest | None:
    kind, name = kinds.POD_CLIQUE_SET, labels_of(clique)["app.kubernetes.io/part-of"]
    return store.get(Ref(kind.group, kind.kind, clique["metadata"]["namespace"], name))


def _update(store: Store, client: Client, clique: Manifest, now: str) -> tuple[Progress | None, bool]:
    """Begin an update, or go on with it; gives it, and whether it waits. A group replaces its members as a whole."""
    status, wanted = clique.get("status", {}), hash_of(clique)
    progress: Progress | None = status.get("updateProgress")
    last = progress["podTemplateHash"] if progress else status.get("currentPodTemplateHash")
    replaces = replaces_pods(_set_of(store, clique))
    if last not in {None, wanted} and not (replaces and LABEL_GROUP in labels_of(clique)):
        ended = {} if replaces else {"updateEndedAt": now}
        progress = {"updateStartedAt": now, "podTemplateHash": wanted, **ended}
    if progress is None or "updateEndedAt" in progress:
        return progress, False
    return _replace_pods(store, client, clique, progress=progress, now=now)


def _replace_pods(
    store: Store, client: Client, clique: Manifest, *, progress: Progress, now: str
) -> tuple[Progress, bool]:
    """Delete old pods: unready ones at once, a ready one when as many new ones are ready as were chosen before."""
    pods = pods_of(store, clique)
    old = [pod for pod in pods if hash_of(pod) != hash_of(clique)]
    for pod in old:
        if not is_ready(pod):
            client.delete(ref_of(pod))
    new = sum(is_ready(pod) for pod in pods if pod not in old)
    selected = progress.get("readyPodsSelectedToUpdate") or {}
    completed, current = list(selected.get("completed", ())), selected.get("current", "")
    if current and new < len(completed) + 1:
        return progress, True
    ready = sorted((pod for pod in old if is_ready(pod)), key=_index_of)
    if not ready:
        left = {key: value for key, value in progress.items() if key != "readyPodsSelectedToUpdate"}
        return {**left, "updateEndedAt": now}, False
    if sum(map(is_ready, pods)) < clique["spec"]["minAvailable"]:
        return progress, True
    chosen = {"current": ready[0]["metadata"]["name"], "completed": [*completed, *([current] if current else [])]}
    client.delete(ref_of(ready[0]))
    return {**progress, "readyPodsSelectedToUpdate": chosen}, True


def _choose_excess(store: Store, clique: Manifest) -> list[Manifest]:
    """The pods that are too many: at first those without a node, then unready, then old ones."""
    pods, wanted = pods_of(store, clique), clique["spec"]["replicas"]
    first = sorted(
        pods,
        key=lambda pod: ("nodeName" in pod["spec"], is_ready(pod), hash_of(pod) == hash_of(clique), -_index_of(pod)),
    )
    return first[: max(0, len(pods) - wanted)]


def _create_missing(store: Store, client: Client, clique: Manifest) -> str:
    """Create the pods that are missing; gives the words of a refusal, empty for none."""
    taken, wanted = {_index_of(pod) for pod in pods_of(store, clique)}, clique["spec"]["replicas"]
    for index in [number for number in range(wanted) if number not in taken][: max(0, wanted - len(taken))]:
        try:
            client.create(_build_pod(store, clique, index))
        except ApiError as error:
            return str(error)
    return ""


def _build_status(store: Store, clique: Manifest, outcome: _Outcome, now: str) -> dict[str, Any]:
    """The status; the generation is observed at the end of a step that waits for nothing, and errors stay."""
    before, pods, progress = clique.get("status", {}), pods_of(store, clique), outcome.progress
    target = progress["podTemplateHash"] if progress else hash_of(clique)
    updated, is_updating = (
        sum(hash_of(pod) == target for pod in pods),
        bool(progress and "updateEndedAt" not in progress),
    )
    is_done = not (outcome.waits or outcome.refusal or any(map(is_gated, pods)))
    observed = clique["metadata"]["generation"] if is_done else before.get("observedGeneration")
    is_current = not is_updating and updated == len(pods)
    current = target if is_current else before.get("currentPodTemplateHash")
    scheduled, least = sum("nodeName" in pod["spec"] for pod in pods), clique["spec"]["minAvailable"]
    ready = sum(map(is_ready, pods))
    errors = [_describe(clique, outcome.refusal, now)] if outcome.refusal else before.get("lastErrors")
    status = {
        "replicas": len(pods),
        "readyReplicas": ready,
        "updatedReplicas": updated,
        "scheduledReplicas": scheduled,
        "scheduleGatedReplicas": sum(map(is_gated, pods)),
        **({} if observed is None else {"observedGeneration": observed}),
        **({} if current is None else {"currentPodTemplateHash": current}),
        **({"updateProgress": progress} if progress else {}),
        **({"lastErrors": errors} if errors else {}),
    }
    if observed is None:
        return status
    is_breached = scheduled - sum(map(_has_failed, pods)) < least and not is_updating
    told = [WorkloadCondition(BREACHED, is_breached), WorkloadCondition(SCHEDULED, scheduled >= least)]
    return {**status, "conditions": build_conditions(before.get("conditions", ()), told, now)}


def _has_failed(pod: Manifest) -> bool:
    """Whether a pod is not ready though a container of it has started, or ended badly; one that starts is neither."""
    if is_ready(pod):
        return False
    status = pod.get("status", {})
    containers = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    ends = (one.get("lastState", {}).get("terminated", {}) for one in containers)
    started = (one.get("started") and not one["ready"] for one in status.get("containerStatuses", ()))
    return any(end.get("exitCode") for end in ends) or any(started)


def _describe(clique: Manifest, refusal: str, now: str) -> dict[str, Any]:
    what = f"[Operation: Sync, Code: ERR_CREATE_POD] message: pods of {clique['metadata']['name']}, cause: {refusal}"
    return {"code": "ERR_CREATE_POD", "description": what, "observedAt": now}


def _build_pod(store: Store, clique: Manifest, index: int) -> Manifest:
    metadata, spec = clique["metadata"], clique["spec"]["podSpec"]
    annotations = {"annotations": metadata["annotations"]} if "annotations" in metadata else {}
    labels = {**metadata["labels"], "grove.io/podclique": metadata["name"], POD_INDEX: str(index)}
    subdomain = f"{metadata['labels']['app.kubernetes.io/part-of']}-0"
    env = list(_variables(clique, subdomain))
    containers = [{**container, "env": [*container.get("env", ()), *env]} for container in spec["containers"]]
    own = {"containers": containers, "hostname": f"{metadata['name']}-{index}", "subdomain": subdomain}
    is_in_gang = _set_of(store, clique) is not None
    gated: dict[str, Any] = {"schedulingGates": [{"name": GATE}]} if is_in_gang else {}
    if clique["spec"].get("startsAfter"):
        gated["initContainers"] = [*spec.get("initContainers", ()), {"name": INIT_CONTAINER, "image": INIT_CONTAINER}]
    return build_pod(store, clique, {"metadata": {"labels": labels, **annotations}, "spec": {**spec, **own, **gated}})


def _variables(clique: Manifest, subdomain: str) -> Iterator[dict[str, Any]]:
    metadata = clique["metadata"]
    values = {
        "GROVE_PCS_NAME": metadata["labels"]["app.kubernetes.io/part-of"],
        "GROVE_PCS_INDEX": "0",
        "GROVE_PCLQ_NAME": metadata["name"],
        "GROVE_HEADLESS_SERVICE": f"{subdomain}.{metadata['namespace']}.svc.cluster.local",
    }
    yield from ({"name": name, "value": value} for name, value in values.items())
    of_labels = {"GROVE_PCLQ_POD_INDEX": POD_INDEX}
    if LABEL_GROUP in metadata["labels"]:
        of_labels |= {"GROVE_PCSG_NAME": LABEL_GROUP, "GROVE_PCSG_INDEX": LABEL_GROUP_REPLICA}
    for name, key in of_labels.items():
        field = {"apiVersion": "v1", "fieldPath": f"metadata.labels['{key}']"}
        yield {"name": name, "valueFrom": {"fieldRef": field}}


def _index_of(pod: Mapping[str, Any]) -> int:
    return int(pod["metadata"]["labels"][POD_INDEX])
