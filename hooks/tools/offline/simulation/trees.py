"""The objects of a real or simulated cluster as a tree of owners, each with its state in a few words."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rich.text import Text
from rich.tree import Tree

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition, is_pod_ready
from hooks.ground.k8s.types import GroupVersionKind, Manifest, controller_of, gvk_of
from hooks.tools.offline.pod_troubles import Trouble
from hooks.tools.offline.simulator.resources import REPLICA_SET
from hooks.tools.offline.simulator.store import ref_of
from hooks.tools.offline.simulator.workloads.pods import phase_of
from hooks.tools.offline.simulator.workloads.references import Reference
from hooks.wire.metacontroller.controllers import RECORDS


class ObjectTree:
    """All objects of a cluster at one moment, by controlling owner; records of what was are left out.

    `missing` says by the uid of a pod which object it waits for, and `troubles` why a started pod is never ready.
    """

    def __init__(
        self,
        objects: Iterable[Manifest],
        missing: Mapping[str, Reference] | None = None,
        troubles: Mapping[str, Trouble] | None = None,
    ) -> None:
        self.missing = missing or {}
        self.troubles = troubles or {}
        self.by_uid: dict[str, Manifest] = {}
        self._children: dict[str, list[Manifest]] = {}
        for obj in objects:
            self.by_uid[obj["metadata"]["uid"]] = obj
            owner = controller_of(obj)
            if owner is not None and gvk_of(obj) not in RECORDS:
                self._children.setdefault(str(owner.get("uid")), []).append(obj)

    def children(self, obj: Manifest) -> list[Manifest]:
        """Objects that an object controls, sorted by kind and name."""
        return sorted(self._children.get(obj["metadata"]["uid"], ()), key=ref_of)

    def describe_pod(self, pod: Manifest) -> str:
        """The phase of a pod in a word, and the object that it waits for."""
        missing = self.missing.get(pod["metadata"]["uid"])
        return phase_of(pod) if missing is None else f"Pending ({missing} is missing)"

    def descendants(self, obj: Manifest) -> list[Manifest]:
        """All objects below an object, parents before their children."""
        found: list[Manifest] = []
        for child in self.children(obj):
            found += [child, *self.descendants(child)]
        return found


def build_tree(
    root: Manifest, objects: ObjectTree, describe: Callable[[Manifest, ObjectTree], str] | None = None
) -> Tree:
    """The object with everything that it controls, directly or not; a model with its endpoints.

    `describe` says the state of an object, by default as a simulation shows it.
    """
    return _grow(Tree(_label(root, objects, describe or describe_object)), objects, root, describe or describe_object)


def _grow(tree: Tree, objects: ObjectTree, obj: Manifest, describe: Callable[[Manifest, ObjectTree], str]) -> Tree:
    if gvk_of(obj) == contract.MODEL:
        for title, state in describe_model(obj):
            tree.add(Text.assemble(title, (f"  {state}" if state else "", "dim")))
    for child in objects.children(obj):
        _grow(tree.add(_label(child, objects, describe)), objects, child, describe)
    return tree


def _label(obj: Manifest, objects: ObjectTree, describe: Callable[[Manifest, ObjectTree], str]) -> Text:
    state = describe(obj, objects)
    return Text.assemble(f"{obj['kind']} {obj['metadata']['name']}", (f"  {state}" if state else "", "dim"))


def describe_object(obj: Manifest, objects: ObjectTree) -> str:
    """An object's state in a few words, a pod's with the object that it waits for; empty if it has none."""
    return objects.describe_pod(obj) if gvk_of(obj) == kinds.POD else describe_state(obj)


def is_ready(obj: Mapping[str, Any]) -> bool:
    """Whether a Dynamo object reports that it is ready, for its current spec.

    The condition Ready decides; an object without one is ready when `status.state` is `successful`.
    """
    status = obj.get("status", {})
    if status.get("observedGeneration", obj["metadata"].get("generation")) != obj["metadata"].get("generation"):
        return False
    condition = find_condition(status.get("conditions") or (), "Ready")
    return bool(condition["status"] == "True" if condition else status.get("state") == "successful")


def request_state(obj: Mapping[str, Any]) -> str:
    """The `status.state` of a request; empty for other kinds."""
    return str(obj.get("status", {}).get("state", "")) if gvk_of(obj) == contract.GRAPH_REQUEST else ""


def describe_restart(root: Manifest) -> str:
    """`r1 Restarting Frontend` or `r1 Completed`; empty without a restart."""
    restart = root.get("status", {}).get("restart") or {}
    if not restart:
        return ""
    return " ".join(filter(None, [restart["observedID"], restart["phase"], ", ".join(restart.get("inProgress", ()))]))


def describe_rollout(root: Manifest, objects: ObjectTree) -> str:
    """`InProgress: new generation 0a1b2c3d 3/4 pods ready, old generation ffee0011 5/5 pods ready`; empty for none."""
    status = root.get("status", {})
    phase = (status.get("rollingUpdate") or {}).get("phase")
    if not phase:
        return ""
    said = [str(entry.get("runtimeNamespace") or "") for entry in (status.get("services") or {}).values()]
    pods = find_generations(root, objects)
    old = {suffix for suffix in pods if any(name.endswith(f"-{suffix}") for name in said if suffix)}
    new = pods.keys() - old - {""} or pods.keys() - old
    return f"{phase}: " + ", ".join(
        f"{'new' if suffix in new else 'old'} generation {suffix or 'without a name'} "
        f"{sum(map(is_pod_ready, found))}/{len(found)} pods ready"
        for suffix, found in sorted(pods.items(), key=lambda item: (item[0] not in new, item[0]))
    )


def find_generations(root: Manifest, objects: ObjectTree) -> dict[str, list[Manifest]]:
    """By generation the pods of a graph's workers; "" are those without a generation."""
    pods: dict[str, list[Manifest]] = {}
    for one in objects.descendants(root):
        labels = one["metadata"].get("labels") or {}
        if gvk_of(one) == kinds.POD and labels.get(contract.LABEL_COMPONENT_TYPE) in contract.WORKER_TYPES:
            pods.setdefault(labels.get(contract.LABEL_WORKER_HASH, ""), []).append(one)
    return pods


def describe_model(model: Manifest) -> Iterator[tuple[str, str]]:
    """The adapters of a model's status with their sources, then its endpoints with their phases."""
    status = model.get("status", {})
    for adapter in status.get("adapters", ()):
        yield f"adapter {adapter['name']}", f"from {adapter['source']}"
    for endpoint in status.get("endpoints", ()):
        error = f": {endpoint['lastError']}" if endpoint.get("lastError") else ""
        name = endpoint.get("podName") or endpoint["address"]
        yield f"endpoint {name}", f"{endpoint.get('phase', 'Discovered')}{error}"


def describe_state(obj: Manifest) -> str:
    """An object's state in a few words; empty if it has none."""
    describe = _DESCRIPTIONS.get(gvk_of(obj))
    if describe is not None:
        return describe(obj)
    if any(found.get("type") == "Ready" for found in obj.get("status", {}).get("conditions", ())):
        return "Ready" if is_ready(obj) else "not ready"
    return ""


def _describe_replicas(obj: Manifest) -> str:
    return f"{obj.get('status', {}).get('readyReplicas', 0)}/{_replicas_of(obj)} ready"


def _describe_available(obj: Manifest) -> str:
    return f"{obj.get('status', {}).get('availableReplicas', 0)}/{_replicas_of(obj)} ready"


def _replicas_of(obj: Manifest) -> int:
    return int((obj.get("spec") or {}).get("replicas", 1))


def _describe_service(obj: Manifest) -> str:
    spec = obj.get("spec") or {}
    ports = ", ".join(str(port["port"]) for port in spec.get("ports", []))
    return f"{'headless ' if spec.get('clusterIP') == 'None' else ''}{ports}"


def _describe_slice(obj: Manifest) -> str:
    endpoints = obj.get("endpoints", [])
    return f"{sum(endpoint['conditions']['ready'] for endpoint in endpoints)}/{len(endpoints)} ready"


def _describe_phase(obj: Manifest) -> str:
    return str(obj.get("status", {}).get("phase", "Pending"))


def _describe_job(obj: Manifest) -> str:
    status = obj.get("status", {})
    ends = [
        condition["type"] for condition in status.get("conditions", ()) if condition["type"] in {"Complete", "Failed"}
    ]
    return ends[0] if ends else f"{status.get('active', 0)} active"


_DESCRIPTIONS: Mapping[GroupVersionKind, Callable[[Manifest], str]] = {
    contract.GRAPH_REQUEST: request_state,
    kinds.JOB: _describe_job,
    kinds.DEPLOYMENT: _describe_replicas,
    kinds.LEADER_WORKER_SET: _describe_replicas,
    kinds.POD_CLIQUE: _describe_replicas,
    kinds.POD_CLIQUE_SCALING_GROUP: _describe_available,
    REPLICA_SET: _describe_replicas,
    kinds.SERVICE: _describe_service,
    kinds.ENDPOINT_SLICE: _describe_slice,
    kinds.PERSISTENT_VOLUME_CLAIM: _describe_phase,
}
