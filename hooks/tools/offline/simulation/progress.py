"""The progress of an applied object: the components and pods below it, whether it is ready, and why not."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.tools.offline.simulation.trees import ObjectTree, is_ready, request_state
from hooks.tools.offline.simulator.metacontroller.controller import RecordedEvent
from hooks.tools.offline.simulator.store import ref_of
from hooks.tools.offline.simulator.workloads.pods import is_ready as is_pod_ready
from hooks.tools.offline.simulator.workloads.pods import phase_of
from hooks.tools.offline.simulator.workloads.references import Reference

_LAST_STATES = frozenset({"Failed", "DeploymentDeleted"})


@dataclass(frozen=True, slots=True)
class ObjectProgress:
    """One applied object: its components and pods so far; `reasons` is empty when it is ready.

    `state` is the `status.state` of a request, empty for other kinds; `ended` says that it can no longer become ready.
    `missing` are the claims, Secrets and ConfigMaps that its pods wait for, as kind and name.
    """

    kind: str
    namespace: str
    name: str
    ready: bool
    components_ready: int
    components: int
    pods: tuple[tuple[str, int], ...]
    reasons: tuple[str, ...]
    state: str = ""
    ended: bool = False
    missing: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """`components 1/3, pods 2 Ready, 1 ContainerCreating`."""
        parts = [self.state or ("Ready" if self.ready else "not ready")]
        if self.components:
            parts.append(f"components {self.components_ready}/{self.components}")
        if self.pods:
            parts.append("pods " + ", ".join(f"{count} {phase}" for phase, count in self.pods))
        return "; ".join(parts)


def measure_progress(tree: ObjectTree, root: Manifest, events: Iterable[RecordedEvent]) -> ObjectProgress:
    """Measure the progress of one applied object; it is ready when the scaling adapters below it are ready too."""
    below = tree.descendants(root)
    adapters = [obj for obj in below if gvk_of(obj) == contract.SCALING_ADAPTER]
    components = [obj for obj in below if gvk_of(obj) == contract.COMPONENT]
    pods = [obj for obj in below if gvk_of(obj) == kinds.POD]
    ready = is_ready(root) and all(is_ready(adapter) for adapter in adapters)
    return ObjectProgress(
        kind=root["kind"],
        namespace=root["metadata"].get("namespace", ""),
        name=root["metadata"]["name"],
        ready=ready,
        components_ready=sum(is_ready(component) for component in components),
        components=len(components),
        pods=tuple(sorted(Counter(tree.describe_pod(pod) for pod in pods).items())),
        reasons=() if ready else tuple(dict.fromkeys(_find_reasons(tree, [root, *below], events))),
        missing=tuple(
            sorted({str(tree.missing[uid]) for pod in pods if (uid := pod["metadata"]["uid"]) in tree.missing})
        ),
        state=request_state(root),
        ended=has_ended(root),
    )


def has_ended(obj: Mapping[str, Any]) -> bool:
    """Whether an object is not ready and never will be: a request stays Failed."""
    return request_state(obj) in _LAST_STATES


def _find_reasons(tree: ObjectTree, objects: list[Manifest], events: Iterable[RecordedEvent]) -> Iterable[str]:
    """Why an object is not ready: failed syncs, its condition Ready, objects that are missing, pods not ready."""
    refs = {ref_of(obj) for obj in objects}
    last = {event.ref: event.message for event in events if event.ref in refs}
    yield from (f"{ref}: {message}" for ref, message in last.items())
    root = objects[0]
    adapters = [obj for obj in objects[1:] if gvk_of(obj) == contract.SCALING_ADAPTER]
    for obj in (root, *adapters):
        yield from _explain_condition(obj)
    for obj in objects:
        missing = tree.missing.get(obj["metadata"]["uid"])
        if missing is not None:
            yield _advise(missing, obj["metadata"]["namespace"])
        elif gvk_of(obj) == kinds.POD and not is_pod_ready(obj) and phase_of(obj) != "Succeeded":
            trouble = tree.troubles.get(obj["metadata"]["uid"])
            yield f"{ref_of(obj)}: {phase_of(obj)}{_pod_message(obj)}{f': {trouble}' if trouble else ''}"


def _explain_condition(obj: Manifest) -> Iterable[str]:
    """Why a Dynamo object is not ready, by its own status; nothing if it is."""
    if is_ready(obj):
        return
    if "status" not in obj:
        yield f"{ref_of(obj)}: no hook has reported a status yet"
    condition = find_condition(obj.get("status", {}).get("conditions") or (), "Ready")
    if condition is not None:
        yield f"{ref_of(obj)}: {condition.get('message') or condition.get('reason') or 'not ready'}"


def _advise(missing: Reference, namespace: str) -> str:
    """What to do about an object that pods wait for."""
    given = f"--given {missing.kind.kind}/{missing.name}"
    return (
        f"{missing.kind.kind} {namespace}/{missing.name}: pods wait for it, and no manifest has it; add its manifest, "
        f"or say that your cluster has it: {given}"
    )


def _pod_message(pod: Manifest) -> str:
    status = pod.get("status", {})
    states = [state for container in status.get("containerStatuses", ()) for state in container["state"].values()]
    messages = [found["message"] for found in [*states, *status.get("conditions", ())] if found.get("message")]
    return f" ({messages[0]})" if messages else ""
