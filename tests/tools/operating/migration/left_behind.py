"""What the Go operator leaves in a cluster, from the corpus where it is at hand, else from a small stand-in.

An entry of the corpus has a graph and what the Go operator's generators made of it. `components_of` and `grove_of` put
owners, finalizers and the common annotations on these objects, as the operator does.
"""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.tools.operating.migration.upstream import APPLIED_HASH
from hooks.wire.policy.identity import model_hash
from hooks.wire.world.ownership import controller_reference

CORPUS = Path(__file__).parents[5] / "shared" / "corpus" / "upstream-0.9.json.gz"
NAMESPACE = "default"
"""The namespace for which the corpus was rendered."""

Entry = dict[str, Any]


@cache
def entries() -> tuple[Entry, ...]:
    """The graphs that the Go operator accepts: those of the corpus, or the stand-in where it is absent."""
    if not CORPUS.is_file():
        return (stand_in(),)
    found = json.loads(gzip.decompress(CORPUS.read_bytes()))
    return tuple(entry for entry in found if _is_whole(entry["operator"]))


def _is_whole(operator: Entry) -> bool:
    rendered = operator.get("rendered") or {}
    return (
        bool(rendered)
        and bool(operator["name"])
        and "dcdErr" not in operator
        and not any("err" in objects for objects in rendered.values())
    )


def entry_named(name: str) -> Entry:
    """The first entry of this name; the stand-in where the corpus is absent."""
    return next((entry for entry in entries() if entry["operator"].get("name") == name), entries()[0])


def in_namespace(entry: Entry, namespace: str) -> Entry:
    """The entry as the operator would have rendered it for another namespace."""
    text = json.dumps(entry["operator"])
    name = entry["operator"].get("name") or entry["graph"]["metadata"]["name"]
    text = text.replace(f'"{NAMESPACE}-{name}"', f'"{namespace}-{name}"').replace(f'"{NAMESPACE}"', f'"{namespace}"')
    return {**entry, "operator": json.loads(text)}


def scaled(entry: Entry, service: str, replicas: int) -> Entry:
    """The entry with an enabled adapter, which an autoscaler has set to a number that the graph does not name."""
    graph, operator = entry["graph"], entry["operator"]
    written = {**graph["spec"]["services"][service], "scalingAdapter": {"enabled": True}}
    services = {**graph["spec"]["services"], service: written}
    component, rendered = operator["dcds"][service], operator["rendered"][service]
    chosen = {"replicas": replicas}
    spec = {**component["spec"], **chosen, "scalingAdapter": {"enabled": True}}
    workload = {**rendered["deployment"], "spec": {**rendered["deployment"]["spec"], **chosen}}
    return {
        **entry,
        "graph": {**graph, "spec": {**graph["spec"], "services": services}},
        "operator": {
            **operator,
            "dcds": {**operator["dcds"], service: {**component, "spec": spec}},
            "rendered": {**operator["rendered"], service: {**rendered, "deployment": workload}},
        },
    }


def adapter_of(graph: Manifest, service: str, replicas: int) -> Manifest:
    """The scaling adapter of a service."""
    name = graph["metadata"]["name"]
    labels = {contract.LABEL_GRAPH: name, contract.LABEL_COMPONENT: service}
    spec = {"replicas": replicas, "dgdRef": {"name": name, "serviceName": service}}
    adapter = {**typed(contract.SCALING_ADAPTER), "metadata": {"name": f"{name}-{service.lower()}", "labels": labels}}
    return own({**adapter, "spec": spec}, graph)


def claim_of(graph: Manifest, name: str) -> Manifest:
    """A claim that the operator created for the graph: it has an owner, and no labels."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "fast"}
    claim = own({**typed(kinds.PERSISTENT_VOLUME_CLAIM), "metadata": {"name": name}, "spec": spec}, graph)
    return {**claim, "metadata": {key: value for key, value in claim["metadata"].items() if key != "annotations"}}


def model_service_of(owner: Manifest, model: str) -> Manifest:
    """The headless Service that all graphs of the namespace with one base model share; its first maker owns it."""
    label = {contract.LABEL_MODEL_HASH: model_hash(model)}
    metadata = {
        "name": f"dynamo-model-{model_hash(model)}",
        "labels": {**label, contract.LABEL_MANAGED_BY: "dynamo-operator"},
        "annotations": {contract.ANNOTATION_BASE_MODEL: model},
    }
    ports = [{"name": "system", "port": 9090, "protocol": "TCP", "targetPort": 9090}]
    service = {
        **typed(kinds.SERVICE),
        "metadata": metadata,
        "spec": {"clusterIP": "None", "ports": ports, "selector": label},
    }
    return own(service, owner)


def shared_access_of(namespace: str) -> Iterator[Manifest]:
    """The planner's account and binding, which all graphs of a namespace share and nobody owns."""
    account = "planner-serviceaccount"
    labels = {"app.kubernetes.io/managed-by": "dynamo-operator", "app.kubernetes.io/component": "rbac"}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "dynamo-platform-planner"}
    named = {"namespace": namespace, "labels": {**labels, "app.kubernetes.io/name": account}}
    yield {**typed(kinds.SERVICE_ACCOUNT), "metadata": {**named, "name": account}}
    binding = {**typed(kinds.ROLE_BINDING), "metadata": {**named, "name": f"{account}-binding"}}
    yield {**binding, "roleRef": role, "subjects": [subject]}


def graph_of(entry: Entry, number: int = 0) -> Manifest:
    """The stored graph, with the Go operator's finalizer."""
    graph = entry["graph"]
    metadata = {
        "name": entry["operator"]["name"],
        **graph.get("metadata", {}),
        "namespace": NAMESPACE,
        "uid": f"graph-{number}",
        "generation": 1,
    }
    return {**graph, "metadata": {**metadata, "finalizers": [contract.GO_FINALIZER], "resourceVersion": "1"}}


def components_of(entry: Entry, graph: Manifest, *, ready: bool = True) -> Iterator[Manifest]:
    """The graph's components with their workloads and Services, and its account for discovery."""
    yield from _access(graph)
    for service, component in sorted(entry["operator"]["dcds"].items()):
        typed = {"apiVersion": contract.COMPONENT.api_version, "kind": contract.COMPONENT.kind}
        stored = own({**typed, **without_nulls(component), "status": component_status(ready=ready)}, graph)
        stored["metadata"]["finalizers"] = [contract.GO_FINALIZER]
        yield stored
        yield from _parts(entry["operator"]["rendered"][service], stored, ready=ready)


def grove_of(entry: Entry, graph: Manifest) -> Iterator[Manifest]:
    """The graph's PodCliqueSet."""
    yield from _access(graph)
    typed = {"apiVersion": kinds.POD_CLIQUE_SET.api_version, "kind": kinds.POD_CLIQUE_SET.kind}
    yield own({**typed, **named(without_empty(entry["operator"]["pcs"]), graph)}, graph)


def named(manifest: Entry, graph: Manifest) -> Entry:
    return {**manifest, "metadata": {**manifest.get("metadata", {}), "name": graph["metadata"]["name"]}}


def parts_of(entry: Entry, graph: Manifest) -> Iterator[Manifest]:
    """What Grove makes of the PodCliqueSet: a scaling group for each service of several nodes, else a PodClique."""
    template, name = entry["operator"]["pcs"]["spec"]["template"], graph["metadata"]["name"]
    groups = {group["name"]: group.get("replicas", 1) for group in template.get("podCliqueScalingGroups") or ()}
    grouped = {one for group in template.get("podCliqueScalingGroups") or () for one in group["cliqueNames"]}
    singles = {one["name"]: one["spec"]["replicas"] for one in template["cliques"] if one["name"] not in grouped}
    for kind, word, counts in (
        (kinds.POD_CLIQUE_SCALING_GROUP, "availableReplicas", groups),
        (kinds.POD_CLIQUE, "readyReplicas", singles),
    ):
        for part, replicas in counts.items():
            labels = {"app.kubernetes.io/part-of": name, "app.kubernetes.io/managed-by": "grove-operator"}
            metadata = {"name": f"{name}-0-{part}", "namespace": graph["metadata"]["namespace"], "labels": labels}
            status = {"replicas": replicas, "updatedReplicas": replicas, word: replicas, "observedGeneration": 1}
            system = {"uid": f"{kind.kind}-{part}", "generation": 1}
            yield {**typed(kind), "metadata": {**metadata, **system}, "spec": {"replicas": replicas}, "status": status}


def own(manifest: Manifest, owner: Manifest) -> Manifest:
    """The object as the operator stores it: owned, with its annotations, and with a uid."""
    metadata = manifest["metadata"]
    uid = f"{manifest['kind']}-{metadata['name']}-of-{owner['metadata']['uid']}"
    annotations = {**metadata.get("annotations", {}), APPLIED_HASH: "0" * 64, "nvidia.com/last-applied-generation": "1"}
    stored = {
        **metadata,
        "namespace": owner["metadata"]["namespace"],
        "uid": uid,
        "resourceVersion": "1",
        "generation": 1,
        "annotations": annotations,
        "ownerReferences": [dict(controller_reference(owner))],
    }
    return {**manifest, "metadata": stored}


def without_empty(value: Any) -> Any:
    """A generator's object without the empty fields that Go writes and the API server drops."""
    if isinstance(value, dict):
        kept = {key: without_empty(item) for key, item in value.items() if key != "creationTimestamp"}
        return {key: item for key, item in kept.items() if item is not None and item != "" and key != "status"}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


def without_nulls(value: Any) -> Any:
    """A generator's object as it is sent."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def _parts(rendered: Entry, component: Manifest, *, ready: bool) -> Iterator[Manifest]:
    if "deployment" in rendered:
        yield own(
            {
                **typed(kinds.DEPLOYMENT),
                **rendered["deployment"],
                "status": _status(rendered["deployment"], ready=ready),
            },
            component,
        )
    if "lws" in rendered:
        group = rendered["lws"]
        yield own(
            {**typed(kinds.LEADER_WORKER_SET), **without_empty(group), "status": _status(group, ready=ready)}, component
        )
        metadata = {"name": group["metadata"]["name"], "labels": {contract.LABEL_INSTANCE: "0"}}
        size = group["spec"]["leaderWorkerTemplate"]["size"]
        if contract.LABEL_INSTANCE in group["metadata"]["labels"]:
            yield own({**typed(kinds.POD_GROUP), "metadata": metadata, "spec": {"minMember": size}}, component)
    name = component["metadata"]["name"]
    for suffix in ("", "-p", "-d"):
        service = without_empty(rendered["service"])
        named = {**service, "metadata": {**service["metadata"], "name": f"{name}{suffix}"}}
        yield own({**typed(kinds.SERVICE), **named}, component)


def typed(kind: Any) -> Entry:
    return {"apiVersion": kind.api_version, "kind": kind.kind}


def _access(graph: Manifest) -> Iterator[Manifest]:
    account = f"{graph['metadata']['name']}-k8s-service-discovery"
    labels = {
        "app.kubernetes.io/managed-by": "dynamo-operator",
        "app.kubernetes.io/component": "rbac",
        "app.kubernetes.io/name": account,
    }
    rules = [{"apiGroups": [""], "resources": ["endpoints"], "verbs": ["get", "list", "watch"]}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": f"{account}-role"}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": graph["metadata"]["namespace"]}
    for kind, name, rest in (
        (kinds.SERVICE_ACCOUNT, account, {}),
        (kinds.ROLE, f"{account}-role", {"rules": rules}),
        (kinds.ROLE_BINDING, f"{account}-binding", {"roleRef": role, "subjects": [subject]}),
    ):
        yield own({**typed(kind), "metadata": {"name": name, "labels": labels}, **rest}, graph)


def _status(workload: Entry, *, ready: bool) -> Entry:
    replicas = workload["spec"].get("replicas", 1)
    serving = replicas if ready else 0
    conditions = [{"type": "Available", "status": "True" if ready else "False"}]
    counts = {"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": serving, "availableReplicas": serving}
    return {"observedGeneration": 1, **counts, "conditions": conditions}


def component_status(*, ready: bool) -> Entry:
    condition = {"type": "Available", "status": "True" if ready else "False", "reason": "DeploymentReady"}
    conditions = [{**condition, "message": "as it is", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    serving = 1 if ready else 0
    counts = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": serving, "availableReplicas": serving}
    return {"conditions": conditions, "service": {"componentKind": "Deployment", "componentName": "x", **counts}}


def one_set() -> Entry:
    """A graph over several nodes as the Go operator from 1.x on leaves it: one LeaderWorkerSet with all replicas.

    Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go, generateLeaderWorkerSet.
    """
    labels = {
        contract.LABEL_COMPONENT: "Worker",
        contract.LABEL_GRAPH: "llm",
        contract.LABEL_NAMESPACE: "default-llm",
    }
    main = {"image": "example.com/sglang-runtime:1", "command": ["python3", "-m", "dynamo.sglang"], "args": ["--x"]}
    service = {
        "componentType": "worker",
        "replicas": 3,
        "multinode": {"nodeCount": 2},
        "extraPodSpec": {"mainContainer": main},
    }
    spec = {**service, "serviceName": "Worker", "dynamoNamespace": "default-llm", "labels": labels}
    pods = {
        f"{role}Template": {
            "metadata": {"labels": {**labels, contract.LABEL_COMPONENT_TYPE: "worker", contract.LABEL_ROLE: role}},
            "spec": {"containers": [{"name": "main", **main}]},
        }
        for role in ("leader", "worker")
    }
    group = {"replicas": 3, "startupPolicy": "LeaderCreated", "leaderWorkerTemplate": {"size": 2, **pods}}
    metadata = {"name": "llm-worker", "namespace": NAMESPACE, "labels": labels}
    selector = {contract.LABEL_COMPONENT_TYPE: "worker", contract.LABEL_ROLE: "leader"}
    port = {"name": "system", "port": 9090, "protocol": "TCP", "targetPort": "system"}
    entry = stand_in()
    rendered = {
        "lws": {"metadata": {**metadata, "name": "llm-worker-0"}, "spec": group},
        "service": {"metadata": metadata, "spec": {"ports": [port], "selector": selector}},
    }
    dcds = {"Worker": {"metadata": metadata, "spec": spec}}
    return {
        "graph": {**entry["graph"], "spec": {"services": {"Worker": service}}},
        "operator": {"name": "llm", "dcds": dcds, "rendered": {"Worker": rendered}},
    }


def stand_in() -> Entry:
    """A small graph of a frontend, in the form of the corpus."""
    labels = {
        contract.LABEL_COMPONENT: "Frontend",
        contract.LABEL_GRAPH: "llm",
        contract.LABEL_NAMESPACE: "default-llm",
    }
    main = {"image": "example.com/vllm-runtime:1"}
    service = {"componentType": "frontend", "replicas": 1, "extraPodSpec": {"mainContainer": main}}
    spec = {**service, "serviceName": "Frontend", "dynamoNamespace": "default-llm", "labels": labels}
    pod_labels = {**labels, contract.LABEL_COMPONENT_TYPE: "frontend", contract.LABEL_SELECTOR: "llm-frontend"}
    container = {"name": "main", **main, "command": ["python3"], "args": ["-m", "dynamo.frontend"]}
    pod = {"containers": [container], "serviceAccountName": "llm-k8s-service-discovery"}
    template = {"metadata": {"labels": pod_labels}, "spec": pod}
    selector = {contract.LABEL_COMPONENT_TYPE: "frontend", contract.LABEL_NAMESPACE: "default-llm"}
    port = {"name": "http", "port": 8000, "protocol": "TCP", "targetPort": "http"}
    metadata = {"name": "llm-frontend", "namespace": NAMESPACE, "labels": labels}
    deployment = {
        "replicas": 1,
        "selector": {"matchLabels": {contract.LABEL_SELECTOR: "llm-frontend"}},
        "template": template,
    }
    clique = {
        "name": "frontend",
        "labels": pod_labels,
        "spec": {"roleName": "frontend", "replicas": 1, "minAvailable": 1, "podSpec": pod},
    }
    pcs = {
        "metadata": {"name": "llm", "namespace": NAMESPACE},
        "spec": {"replicas": 1, "template": {"cliqueStartupType": "CliqueStartupTypeAnyOrder", "cliques": [clique]}},
    }
    return {
        "graph": {
            "apiVersion": contract.GRAPH.api_version,
            "kind": contract.GRAPH.kind,
            "metadata": {"name": "llm"},
            "spec": {"services": {"Frontend": service}},
        },
        "operator": {
            "name": "llm",
            "dcds": {"Frontend": {"metadata": metadata, "spec": spec}},
            "rendered": {
                "Frontend": {
                    "deployment": {"metadata": metadata, "spec": deployment},
                    "service": {"metadata": metadata, "spec": {"ports": [port], "selector": selector}},
                }
            },
            "pcs": pcs,
        },
    }
