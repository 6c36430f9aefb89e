"""Sync requests as Metacontroller sends them for graphs and components that no longer change.

The hooks make them: their answers are sent back as observed children, with the fields that a cluster adds.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml
from flask.testing import FlaskClient

from bench.load import NEW_EACH_TIME
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, gvk_of, name_of, plural_of
from hooks.wire.metacontroller.controllers import declared_kinds

NAMESPACE = "inference"
CONTROLLERS = Path(__file__).parent.parent / "metacontroller"
_TIME = "2026-03-01T12:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One request; `children` is the number of children in it."""

    name: str
    path: str
    body: bytes
    children: int


def build_cases(client: FlaskClient, sizes: Iterable[int] = (1, 4, 25)) -> list[Case]:
    """A sync of a graph for each number of services, and one of a component.

    Raises:
        RuntimeError: a hook refused, or its answer keeps changing.
    """
    graphs = [_build_graph_case(client, size) for size in sizes]
    component = _only(graphs[-1][1], contract.COMPONENT)[-1]
    return [*(case for case, _ in graphs), _build_component_case(client, component)[0]]


def _build_graph_case(client: FlaskClient, services: int) -> tuple[Case, list[Manifest]]:
    parent, name = _store(write_graph(services)), f"graph, {services} service{'s' if services > 1 else ''}"
    children = [_store(child, parent) for child in _ask(client, "graph", parent, [])["children"]]
    children = [_run(client, child) for child in children]
    return _settle(client, "graph", parent, children, name=name), children


def _build_component_case(client: FlaskClient, component: Manifest) -> tuple[Case, Any]:
    children = [_store(child, component) for child in _ask(client, "component", component, [])["children"]]
    children = [_make_ready(child) if gvk_of(child) == kinds.DEPLOYMENT else child for child in children]
    case = _settle(client, "component", component, children, name="component")
    return case, _ask(client, "component", component, children)["status"]


def _run(client: FlaskClient, child: Manifest) -> Manifest:
    """The child; a component has the status that its own hook reports."""
    if gvk_of(child) != contract.COMPONENT:
        return child
    return {**child, "status": {**_build_component_case(client, child)[1], "observedGeneration": 1}}


def _settle(client: FlaskClient, hook: str, parent: Manifest, children: list[Manifest], *, name: str) -> Case:
    """The request of a parent whose answer no longer changes: its status is that of the answer before."""
    first = _ask(client, hook, parent, children)
    rested = {**parent, "status": {**first["status"], "observedGeneration": 1}}
    second = _ask(client, hook, rested, children)
    if second["children"] != first["children"] or second["status"] != first["status"] or not second["children"]:
        raise RuntimeError(f"{name} keeps changing")
    body = _write_request(hook, _change(rested), [_change(children[0]), *children[1:]])
    return Case(name=name, path=f"/{hook}/sync", body=body, children=len(children))


def _change(manifest: Manifest) -> Manifest:
    """The object with a new resourceVersion in every request: syncs happen because an object changed."""
    return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": NEW_EACH_TIME}}


def _ask(client: FlaskClient, hook: str, parent: Manifest, children: list[Manifest]) -> Any:
    response = client.post(f"/{hook}/sync", data=_write_request(hook, parent, children))
    if response.status_code != 200:
        raise RuntimeError(f"{hook} hook answered {response.status_code}: {response.text}")
    return orjson.loads(response.data)


def _write_request(hook: str, parent: Manifest, children: list[Manifest]) -> bytes:
    controller = yaml.safe_load((CONTROLLERS / f"{hook}.yaml").read_text())
    declared = {(child["apiVersion"], child["resource"]) for child in controller["spec"]["childResources"]}
    groups: dict[str, dict[str, Manifest]] = {
        kind.key: {} for kind in declared_kinds() if (kind.api_version, plural_of(kind)) in declared
    }
    for child in children:
        groups[gvk_of(child).key][f"{NAMESPACE}/{name_of(child)}"] = child
    named = {kind.key: groups[kind.key] for kind in _ASKED_BY_NAME[hook]}
    related = named if hook == "graph" else {**named, "Secret.v1": _pull_secrets(), "ServiceAccount.v1": {}}
    request = {"controller": controller, "parent": parent, "children": groups, "related": related, "finalizing": False}
    return orjson.dumps(request)


_ASKED_BY_NAME = {"graph": (contract.COMPONENT,), "component": (kinds.SERVICE, kinds.DEPLOYMENT)}
"""Kinds of which the hooks ask for the objects that have the names of their children."""


def _only(manifests: Iterable[Manifest], kind: GroupVersionKind) -> list[Manifest]:
    return [manifest for manifest in manifests if gvk_of(manifest) == kind]


def _store(desired: Mapping[str, Any], owner: Manifest | None = None) -> Manifest:
    """The object as the API server returns it; one with an owner was applied by Metacontroller."""
    manifest: Manifest = json.loads(json.dumps(desired))
    metadata = manifest["metadata"]
    metadata.update(
        namespace=NAMESPACE,
        uid=f"00000000-0000-4000-8000-{zlib.crc32(name_of(manifest).encode()):012}",
        resourceVersion="123456",
        generation=1,
        creationTimestamp=_TIME,
    )
    if owner is not None:
        text = json.dumps(desired, sort_keys=True, separators=(",", ":"))
        metadata["annotations"] = {**metadata.get("annotations", {}), contract.ANNOTATION_LAST_APPLIED: text}
        metadata["labels"] = {
            **metadata.get("labels", {}),
            contract.LABEL_CONTROLLER_UID: owner["metadata"]["uid"],
        }
        reference = {key: owner[key] for key in ("apiVersion", "kind")}
        reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
        metadata["ownerReferences"] = [{**reference, "controller": True, "blockOwnerDeletion": True}]
    entry = {
        "apiVersion": manifest["apiVersion"],
        "fieldsType": "FieldsV1",
        "fieldsV1": name_fields(manifest),
        "manager": "metacontroller" if owner else "kubectl-client-side-apply",
        "operation": "Update",
        "time": _TIME,
    }
    metadata["managedFields"] = [entry]
    return manifest


def name_fields(value: Any) -> dict[str, Any]:
    """The fields of an object as `managedFields` lists them; they are a large part of a request."""
    if isinstance(value, dict):
        return {f"f:{key}": name_fields(item) for key, item in value.items() if key not in {"apiVersion", "kind"}}
    if isinstance(value, list) and value and all(isinstance(item, dict) and "name" in item for item in value):
        keys = (json.dumps({"name": item["name"]}, separators=(",", ":")) for item in value)
        return {f"k:{key}": {".": {}, **name_fields(item)} for key, item in zip(keys, value, strict=True)}
    return {}


def _make_ready(deployment: Manifest) -> Manifest:
    replicas = deployment["spec"].get("replicas", 1)
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    conditions = [
        {"type": kind, "status": "True", "reason": reason, "lastUpdateTime": _TIME, "lastTransitionTime": _TIME}
        for kind, reason in (("Available", "MinimumReplicasAvailable"), ("Progressing", "NewReplicaSetAvailable"))
    ]
    status = {"observedGeneration": 1, **dict.fromkeys(counts, replicas), "conditions": conditions}
    return {**deployment, "status": status}


def _pull_secrets() -> dict[str, Manifest]:
    return {
        f"{NAMESPACE}/{name}": _store(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, "labels": {contract.LABEL_IMAGE_PULL: "true"}},
                "type": "kubernetes.io/dockerconfigjson",
                "data": {".dockerconfigjson": "eyJhdXRocyI6eyJteS1yZWdpc3RyeSI6eyJhdXRoIjoiYmVuY2g9In19fQ=="},
            }
        )
        for name in ("registry-a", "registry-b")
    }


def write_graph(services: int) -> Manifest:
    """A graph as users write it: a frontend, and vLLM workers that alternate between prefill and decode."""
    workers = {
        f"Worker{number:02}": _write_worker("prefill" if number % 2 else "decode") for number in range(1, services)
    }
    frontend = {
        "componentType": "frontend",
        "replicas": 1,
        "extraPodSpec": {"mainContainer": {"image": "my-registry/vllm-runtime:0.9.1"}},
    }
    return {
        "apiVersion": contract.GRAPH.api_version,
        "kind": contract.GRAPH.kind,
        "metadata": {"name": f"bench-{services}", "labels": {"team": "inference"}},
        "spec": {
            "backendFramework": "vllm",
            "envs": [{"name": "DYN_LOG", "value": "info"}, {"name": "HF_HOME", "value": "/models"}],
            "pvcs": [
                {
                    "name": "models",
                    "create": True,
                    "size": "100Gi",
                    "storageClass": "shared",
                    "volumeAccessMode": "ReadWriteMany",
                }
            ],
            "services": {"Frontend": frontend, **workers},
        },
    }


def _write_worker(role: str) -> dict[str, Any]:
    flags = ["--model", "Qwen/Qwen3-0.6B", "--max-model-len", "16384", "--gpu-memory-utilization", "0.9"]
    return {
        "componentType": "worker",
        "subComponentType": role,
        "replicas": 2,
        "envFromSecret": "hf-token-secret",
        "scalingAdapter": {"enabled": True},
        "modelRef": {"name": "Qwen/Qwen3-0.6B"},
        "envs": [{"name": f"OPTION_{number}", "value": f"value-{number}"} for number in range(6)],
        "volumeMounts": [{"name": "models", "mountPoint": "/models"}],
        "sharedMemory": {"size": "16Gi"},
        "resources": {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"gpu": "1"}},
        "extraPodSpec": {
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "nodeSelector": {"node.kubernetes.io/instance-type": "gpu-large"},
            "mainContainer": {
                "image": "my-registry/vllm-runtime:0.9.1",
                "workingDir": "/workspace",
                "command": ["python3", "-m", "dynamo.vllm"],
                "args": [*flags, "--is-prefill-worker"] if role == "prefill" else flags,
            },
        },
    }
