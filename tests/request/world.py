"""What a request's sync is shown, in a few lines: Job, pods, output, graphs, Namespaces, Nodes."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import yaml

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition, format_time
from hooks.ground.k8s.types import GroupVersionKind, Manifest, name_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.request.spec.names import job_name, output_config_map_name
from hooks.request.sync import sync
from hooks.wire.metacontroller.effects import Event
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.metacontroller.wire import write_sync_answer
from tests import make
from tests.request import jobs

NAME = "qwen"
OTHER = "elsewhere"
IMAGE = {"hooks_image": jobs.HOOKS_IMAGE, "request_namespaces": f"{OTHER},absent"}


def ask(
    parent: Manifest,
    children: Iterable[Manifest] = (),
    related: Iterable[Manifest] = (),
    now: datetime = make.NOW,
    **settings: str,
) -> SyncAnswer:
    """Sync, with the answer checked as the server checks it; Namespaces are there unless related brings its own."""
    seen = list(related)
    if not any(found["kind"] == "Namespace" for found in seen):
        seen += [namespace(make.NAMESPACE), namespace(OTHER)]
    request = make.sync_request(parent, children, seen, shown=[contract.GRAPH])
    answer = sync(request, Facts(now=now, settings=parse_settings({}, {**IMAGE, **settings})))
    assert write_sync_answer(answer, request.children)
    return answer


def after(parent: Manifest, answer: SyncAnswer) -> Manifest:
    """The request with the status that Metacontroller wrote."""
    return {**parent, "status": {**(answer.status or {}), "observedGeneration": parent["metadata"]["generation"]}}


def known(parent: Manifest, *steps: Iterable[Manifest]) -> Manifest:
    """The request after a sync for each step's children; the output and graphs among them are shown as related."""
    for step in steps:
        found = list(step)
        parent = after(parent, ask(parent, [c for c in found if is_child(c)], found))
    return parent


def is_child(manifest: Manifest) -> bool:
    return contract.LABEL_CONTROLLER_UID in manifest["metadata"].get("labels", {})


def job(
    parent: Manifest,
    *,
    ended: str = "",
    message: str = "",
    now: datetime = make.NOW,
    related: Iterable[Manifest] = (),
) -> Manifest:
    """The Job that the hook asked for, as the cluster holds it; `ended` is a condition: Complete or Failed."""
    bare = {key: value for key, value in parent.items() if key != "status"}
    wanted = next(child for child in ask(bare, related=related).children if child["kind"] == "Job")
    conditions = [condition(ended, message=message, now=now)] if ended else []
    status = {"conditions": conditions, **({"completionTime": format_time(now)} if ended == "Complete" else {})}
    return make.observed(wanted, status=status)


def condition(kind: str, *, message: str = "", now: datetime = make.NOW) -> dict[str, Any]:
    return {"type": kind, "status": "True", "message": message, "lastTransitionTime": format_time(now)}


def pod(name: str = "p", phase: str = "Failed", **containers: Any) -> Manifest:
    """A pod of the Job; a keyword is a container (`output_copier` too) with its state."""
    statuses = [{"name": key.replace("_", "-"), "state": state} for key, state in containers.items()]
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job_name(NAME),
        "uid": f"u-{job_name(NAME)}",
        "controller": True,
    }
    return _object(kinds.POD, name, ownerReferences=[owner]) | {
        "status": {"phase": phase, "containerStatuses": statuses}
    }


def output(text: str | None = None, *, uid: str = f"u-{NAME}", key: str = contract.PROFILER_OUTPUT) -> Manifest:
    """The output ConfigMap as the profiler's Job writes it."""
    annotations = {contract.ANNOTATION_REQUEST_UID: uid} if uid else {}
    content = yaml.safe_dump(generated()) if text is None else text
    return config_map(output_config_map_name(NAME), {key: content}, annotations=annotations)


def generated(name: str = "found", **spec: Any) -> dict[str, Any]:
    """A graph as a profiler writes it."""
    services = {
        "Frontend": {"componentType": "frontend", "extraPodSpec": {"mainContainer": {"image": "img:1"}}},
        "Worker": {"componentType": "worker", "extraPodSpec": {"mainContainer": {"image": "img:1"}}},
    }
    kind = contract.GRAPH
    body = {"services": services, **spec}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": body}


def graph(state: str = "", *, name: str = "found", ours: bool = True, message: str = "", **metadata: Any) -> Manifest:
    """A graph in the cluster, created by the request unless `ours` is false."""
    labels = {contract.LABEL_CONTROLLER_UID: f"u-{NAME}"} if ours else {}
    made = {"generation": 1, "creationTimestamp": format_time(make.NOW), **metadata}
    status = {"state": state, "observedGeneration": 1, "conditions": [{"type": "Ready", "message": message}]}
    whole = _object(contract.GRAPH, name, labels=labels, **made) | {"spec": generated()["spec"]}
    return {**whole, **({"status": status} if state else {})}


def namespace(name: str) -> Manifest:
    manifest = _object(kinds.NAMESPACE, name)
    del manifest["metadata"]["namespace"]
    return manifest


def node(name: str, count: str = "8", product: str = "NVIDIA-H100-80GB-HBM3", memory: str = "81559") -> Manifest:
    labels = {"nvidia.com/gpu.count": count, "nvidia.com/gpu.product": product, "nvidia.com/gpu.memory": memory}
    manifest = _object(kinds.NODE, name, labels=labels)
    del manifest["metadata"]["namespace"]
    return manifest


def config_map(name: str, data: Mapping[str, str], **metadata: Any) -> Manifest:
    return _object(kinds.CONFIG_MAP, name, **metadata) | {"data": dict(data)}


def _object(kind: GroupVersionKind, name: str, **metadata: Any) -> Manifest:
    described = {"name": name, "namespace": make.NAMESPACE, "uid": f"u-{name}", **metadata}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": described}


def condition_of(answer: SyncAnswer, kind: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition."""
    assert answer.status is not None
    found = find_condition(answer.status["conditions"], kind)
    assert found is not None, kind
    return str(found["status"]), str(found["reason"]), str(found["message"])


def events_of(answer: SyncAnswer) -> list[tuple[str, str, str]]:
    """Type, reason and message of the events."""
    return [(e.type, e.reason, e.message) for e in answer.effects if isinstance(e, Event)]


def children(answer: SyncAnswer) -> list[str]:
    """`Kind/name` of the children, those of other namespaces with it."""
    return [_title(child) for child in answer.children]


def _title(child: Manifest) -> str:
    place = child["metadata"]["namespace"]
    return f"{child['kind']}/{'' if place == make.NAMESPACE else f'{place}/'}{name_of(child)}"


def later(minutes: float) -> datetime:
    return make.NOW + timedelta(minutes=minutes)
