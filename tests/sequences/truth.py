"""What is really so: the pods of a graph against what its user asked for, past everything that anybody reports."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, controller_of
from hooks.tools.offline.simulator.metacontroller.informer import ObjectReader
from hooks.tools.offline.simulator.store import Ref
from hooks.tools.offline.simulator.workloads.pods import is_ready
from hooks.wire.policy import identity

USERS = "USER_"
"""Variables of this prefix are the user's."""

Asked = tuple[str, tuple[tuple[str, str], ...]]
"""What a user says of a service's pods: the image, and the variables sorted by name."""


class Fact(NamedTuple):
    """So many pods of a service, all of which run this; None for no pods."""

    run: Asked | None
    pods: int


def find_lie(reader: ObjectReader, graph: Manifest) -> str:
    """Why a graph is not ready in truth; empty when it is."""
    adapters = reader.list_kind(contract.SCALING_ADAPTER, graph["metadata"]["namespace"])
    for service in graph["spec"]["services"]:
        wanted = wanted_of(graph, service, adapters)
        if find_fact(reader, graph, service) != wanted:
            pods = pods_of(reader, graph, service)
            shown = [(pod["metadata"]["name"], "ready" if is_ready(pod) else "not ready", run_by(pod)) for pod in pods]
            return f"{service} has the pods {shown} instead of {wanted}"
    return ""


def wanted_of(graph: Manifest, service: str, adapters: Iterable[Manifest]) -> Fact:
    """What a graph asks of a service."""
    count = replicas_of(graph, service, adapters) * nodes_of(graph["spec"]["services"][service])
    return Fact(asked_of(graph, service) if count else None, count)


def find_fact(reader: ObjectReader, graph: Manifest, service: str) -> Fact | None:
    """What the pods of a service run, all ready and all alike; None where they are not."""
    pods = pods_of(reader, graph, service)
    run = {run_by(pod) for pod in pods}
    if len(run) > 1 or not all(is_ready(pod) for pod in pods):
        return None
    return Fact(next(iter(run), None), len(pods))


def asked_of(graph: Manifest, service: str) -> Asked:
    """What a graph asks of the pods of a service."""
    spec = graph["spec"]["services"][service]
    variables = {**_variables(graph["spec"].get("envs", ())), **_variables(spec.get("envs", ()))}
    return spec["extraPodSpec"]["mainContainer"]["image"], tuple(sorted(variables.items()))


def run_by(pod: Mapping[str, Any]) -> Asked:
    """The same of a pod or pod template."""
    main = next(container for container in pod["spec"]["containers"] if container["name"] == "main")
    return main["image"], tuple(sorted(_variables(main.get("env", ())).items()))


def replicas_of(graph: Manifest, service: str, adapters: Iterable[Manifest]) -> int:
    """How many replicas are asked for: the adapter's, where it is enabled and there, or the graph's."""
    spec = graph["spec"]["services"][service]
    name = identity.component_name(graph["metadata"]["name"], service)
    if (spec.get("scalingAdapter") or {}).get("enabled"):
        for adapter in adapters:
            if adapter["metadata"]["name"] == name:
                return int(adapter["spec"]["replicas"])
    return int(spec.get("replicas", 1))


def nodes_of(spec: Mapping[str, Any]) -> int:
    """Over how many nodes each replica of a service or component spans."""
    return int((spec.get("multinode") or {}).get("nodeCount", 1))


def pods_of(reader: ObjectReader, graph: Manifest, service: str) -> list[Manifest]:
    """The pods of a service that are not on their way out, as those are whose owner is gone."""
    labels = {contract.LABEL_GRAPH: graph["metadata"]["name"], contract.LABEL_COMPONENT: service}
    found = reader.list_kind(kinds.POD, graph["metadata"]["namespace"])
    return [
        pod
        for pod in found
        if "deletionTimestamp" not in pod["metadata"]
        and labels.items() <= (pod["metadata"].get("labels") or {}).items()
        and _has_owner(reader, pod)
    ]


def _has_owner(reader: ObjectReader, pod: Manifest) -> bool:
    reference = controller_of(pod)
    if reference is None:
        return True
    group = reference["apiVersion"].rpartition("/")[0]
    owner = reader.get(Ref(group, reference["kind"], pod["metadata"]["namespace"], reference["name"]))
    return owner is not None and owner["metadata"]["uid"] == reference["uid"]


def is_condition_true(obj: Manifest, type_: str) -> bool:
    """Whether a condition is True and of the present generation."""
    status = obj.get("status") or {}
    is_current = status.get("observedGeneration") == obj["metadata"]["generation"]
    conditions = status.get("conditions") or ()
    return is_current and any(c["type"] == type_ and c["status"] == "True" for c in conditions)


def _variables(entries: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in entries if entry["name"].startswith(USERS)}
