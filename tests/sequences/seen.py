"""Whether a request shows that what its parent wants is complete; read apart from the hooks' own rules."""

from collections.abc import Iterable, Iterator
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, labels_of
from hooks.wire.metacontroller.controllers import NEVER_UPDATED, RECORDS
from hooks.wire.policy import identity
from hooks.wire.world.merge import is_up_to_date
from tests.sequences.calls import Call
from tests.sequences.truth import USERS, Asked, asked_of, is_condition_true, nodes_of, replicas_of, run_by

_MARKS = (contract.ANNOTATION_RENDERING, contract.ANNOTATION_ROLLOUT)


def why_unready(call: Call) -> str:
    """What a sync was shown that is not complete; empty for nothing."""
    if call.hook == "component":
        return next(_component_faults(call), "")
    if call.hook == "graph":
        return next(_graph_faults(call), "")
    return ""


def says_ready(call: Call) -> bool:
    """Whether a sync answered Ready."""
    conditions = call.said.get("status", {}).get("conditions", ())
    return call.stage == "sync" and any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def pending_writes(call: Call) -> Iterator[str]:
    """What Metacontroller will create or update by the answer to a call, by its own merge.

    Annotations by which new defaults are held do not count, records of what was, nor the fields of a Service that were
    set back and are now left out again: they change nothing that runs.
    """
    uid = call.parent["metadata"]["uid"]
    for wanted in call.said.get("children", ()):
        kind, metadata = GroupVersionKind.of(wanted["apiVersion"], wanted["kind"]), wanted["metadata"]
        group = call.request["children"].get(kind.key, {})
        live = group.get(f"{metadata['namespace']}/{metadata['name']}")
        if kind in RECORDS:
            continue
        labels = {contract.LABEL_CONTROLLER_UID: uid, **metadata.get("labels", {})}
        desired = {**wanted, "metadata": {**metadata, "labels": labels}}
        desired = desired if live is None else _with_marks_of(live, desired)
        if live is None:
            yield f"create {kind.kind} {metadata['name']}"
        elif kind not in NEVER_UPDATED[contract.GRAPH] and not any(
            is_up_to_date(live, one) for one in (desired, _with_routes_of(live, desired))
        ):
            yield f"update {kind.kind} {metadata['name']}"


def _with_routes_of(live: Manifest, desired: Manifest) -> Manifest:
    """What is desired, with the fields that were set back and have the API server's values."""
    spec, found = desired.get("spec") or {}, live.get("spec") or {}
    if live["kind"] != kinds.SERVICE.kind or "type" in spec or found.get("type", "ClusterIP") != "ClusterIP":
        return desired
    return {**desired, "spec": {**spec, **{key: found[key] for key in ("type",) if key in found}}}


def _with_marks_of(live: Manifest, desired: Manifest) -> Manifest:
    """What is desired, with the marks that the live object has."""
    found, annotations = live["metadata"].get("annotations", {}), desired["metadata"].get("annotations", {})
    kept = {key: value for key, value in annotations.items() if key not in _MARKS}
    marks = {key: found[key] for key in _MARKS if key in found}
    if not kept and not marks:
        return desired
    return {**desired, "metadata": {**desired["metadata"], "annotations": {**kept, **marks}}}


def _component_faults(call: Call) -> Iterator[str]:
    spec, name = call.parent["spec"], call.parent["metadata"]["name"]
    replicas = int(spec.get("replicas", 1))
    if nodes_of(spec) > 1:
        sets = {found["metadata"]["name"]: found for found in call.children("LeaderWorkerSet")}
        alone = len(sets) == 1 and not any(is_numbered(found) for found in sets.values())
        wanted = {f"{name}-0": replicas} if alone else {f"{name}-{index}": 1 for index in range(replicas)}
        for one, count in wanted.items():
            yield from _set_faults(sets.get(one), spec, count)
        return
    found = next((child for child in call.children("Deployment") if child["metadata"]["name"] == name), None)
    if found is None:
        yield f"there is no Deployment {name}"
        return
    yield from _workload_faults(found, ("replicas", "updatedReplicas", "readyReplicas"), replicas)
    if found["spec"]["replicas"] != replicas:
        yield f"the Deployment has {found['spec']['replicas']} replicas instead of {replicas}"
    if run_by(found["spec"]["template"]) != _asked(spec):
        yield f"the Deployment runs {run_by(found['spec']['template'])} instead of {_asked(spec)}"


def is_numbered(found: Manifest) -> bool:
    """Whether a LeaderWorkerSet is that of one replica, whose pods name a PodGroup."""
    template = found["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    return contract.ANNOTATION_GANG in (template["metadata"].get("annotations") or {})


def _set_faults(found: Manifest | None, spec: dict[str, Any], replicas: int) -> Iterator[str]:
    if found is None:
        yield "a LeaderWorkerSet is missing"
        return
    group = found["spec"]["leaderWorkerTemplate"]
    yield from _workload_faults(found, ("updatedReplicas", "readyReplicas"), replicas)
    if found["spec"]["replicas"] != replicas:
        yield f"{found['metadata']['name']} has {found['spec']['replicas']} replicas instead of {replicas}"
    if group["size"] != nodes_of(spec):
        yield f"{found['metadata']['name']} has {group['size']} nodes instead of {nodes_of(spec)}"
    for template in (group["leaderTemplate"], group["workerTemplate"]):
        if run_by(template) != _asked(spec):
            yield f"{found['metadata']['name']} runs {run_by(template)} instead of {_asked(spec)}"


def _workload_faults(found: Manifest, counts: tuple[str, ...], wanted: int) -> Iterator[str]:
    name, status = f"{found['kind']} {found['metadata']['name']}", found.get("status") or {}
    if "deletionTimestamp" in found["metadata"]:
        yield f"{name} is being deleted"
    progress = status.get("updateProgress") or {"updateEndedAt": ""}
    is_empty = found["kind"] == "PodClique" and wanted == 0 == status.get("replicas", 0)
    is_running = "updateEndedAt" not in progress and "readyPodsSelectedToUpdate" in progress
    has_stopped = is_empty and is_running  # Grove looks no more
    if status.get("observedGeneration") != found["metadata"]["generation"] and not has_stopped:
        yield f"{name} has a status of an older spec"
    for field in counts:
        if status.get(field, 0) != wanted:
            yield f"{name} has {field} {status.get(field, 0)} instead of {wanted}"


def _asked(spec: dict[str, Any]) -> Asked:
    envs = {entry["name"]: entry["value"] for entry in spec.get("envs", ()) if entry["name"].startswith(USERS)}
    return spec["extraPodSpec"]["mainContainer"]["image"], tuple(sorted(envs.items()))


def _graph_faults(call: Call) -> Iterator[str]:
    for service in call.parent["spec"]["services"]:
        yield from service_faults(call, service)


def service_faults(call: Call, service: str) -> Iterator[str]:
    """What a graph's sync was shown of a service that is not complete."""
    wanted = replicas_of(call.parent, service, call.children(contract.SCALING_ADAPTER.kind))
    if call.children("PodCliqueSet"):
        yield from _part_faults(call, service, wanted)
    else:
        yield from _child_faults(call, service, wanted)


def _child_faults(call: Call, service: str, wanted: int) -> Iterator[str]:
    name = identity.component_name(call.parent["metadata"]["name"], service)
    components = call.children(contract.COMPONENT.kind)
    found = next((child for child in components if child["metadata"]["name"] == name), None)
    if found is None:
        yield f"there is no component {name}"
        return
    if "deletionTimestamp" in found["metadata"]:
        yield f"component {name} is being deleted"
    for type_ in ("Available", "Ready"):
        if not is_condition_true(found, type_):
            yield f"component {name} is not {type_} at its generation"
    if found["spec"].get("replicas", 1) != wanted:
        yield f"component {name} has {found['spec'].get('replicas', 1)} replicas instead of {wanted}"
    if _asked(found["spec"]) != asked_of(call.parent, service):
        yield f"component {name} asks for {_asked(found['spec'])} instead of {asked_of(call.parent, service)}"


def _clique_faults(cliques: Iterable[Manifest], asked: Asked) -> Iterator[str]:
    """What is wrong with PodCliques of a set whose own status says nothing of its newest spec."""
    for clique in cliques:
        name, status = clique["metadata"]["name"], clique.get("status") or {}
        if run_by({"spec": clique["spec"]["podSpec"]}) != asked:
            yield f"PodClique {name} is not of the wanted template"
        is_current = status.get("currentPodTemplateHash") == labels_of(clique)["grove.io/pod-template-hash"]
        if clique["spec"]["replicas"] and not is_current:
            yield f"PodClique {name} may have pods of an older template"


def _part_faults(call: Call, service: str, wanted: int) -> Iterator[str]:
    """What is wrong with the PodClique or PodCliqueScalingGroup of a service, or with the set."""
    (found,) = call.children("PodCliqueSet")
    parts = [part for group in (call.request.get("related") or {}).values() for part in group.values()]
    if (found.get("status") or {}).get("observedGeneration") != found["metadata"]["generation"]:
        cliques = [part for part in parts if part["kind"] == "PodClique"]
        yield from _clique_faults(
            [one for one in cliques if labels_of(one).get(contract.LABEL_COMPONENT) == service],
            asked_of(call.parent, service),
        )
    for clique in found["spec"]["template"]["cliques"]:
        is_ours = (clique.get("labels") or {}).get(contract.LABEL_COMPONENT) == service
        if is_ours and run_by({"spec": clique["spec"]["podSpec"]}) != asked_of(call.parent, service):
            yield f"clique {clique['name']} is not of the wanted template"
    target = f"{call.parent['metadata']['name']}-0-{service.lower()}"
    part = next((part for part in parts if part["metadata"]["name"] == target), None)
    if part is None:
        yield f"there is no {target}"
        return
    ready = "readyReplicas" if part["kind"] == "PodClique" else "availableReplicas"
    if part["spec"]["replicas"] != wanted:
        yield f"{target} has {part['spec']['replicas']} replicas instead of {wanted}"
    yield from _workload_faults(part, (ready, "updatedReplicas"), wanted)
