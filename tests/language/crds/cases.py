"""Manifests that the API server refuses, with what is wrong; and manifests that it takes, with what it keeps.

Both are held against `hooks.language.crds` and, in the cluster tests, can be held against a real API server.
"""

from dataclasses import dataclass
from typing import Any

Json = Any
GRAPH, COMPONENT = "DynamoGraphDeployment", "DynamoComponentDeployment"
MODEL, REQUEST = "DynamoModel", "DynamoGraphDeploymentRequest"
ADAPTER, RECORD = "DynamoGraphDeploymentScalingAdapter", "DynamoWorkerMetadata"


@dataclass(frozen=True)
class Refused:
    """`faults` are `path: sentence`, in the order of the manifest."""

    id: str
    kind: str
    spec: Json
    faults: tuple[str, ...]


@dataclass(frozen=True)
class Kept:
    """A spec as written, and as stored."""

    id: str
    kind: str
    spec: Json
    stored: Json


def manifest(kind: str, spec: Json, name: str = "example") -> dict[str, Any]:
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def one_service(**fields: Json) -> Json:
    return {"services": {"main": fields}}


def request(**fields: Json) -> Json:
    return {"model": "m", "backend": "vllm", "profilingConfig": {"profilerImage": "i"}} | fields


CHECKPOINT = "checkpoint.job cannot be set when checkpointRef is specified"
OWN = "every entry needs its own"
MAIN = "spec.services[main]"

REFUSED = (
    Refused(
        "unknown-field",
        GRAPH,
        {"service": {}},
        ("spec.service: unknown field; did you mean services?",),
    ),
    Refused(
        "unknown-field-of-service",
        GRAPH,
        one_service(env=[]),
        (f"{MAIN}.env: unknown field; did you mean envs?",),
    ),
    Refused(
        "unknown-field-like-nothing",
        GRAPH,
        one_service(zzz=1),
        (f"{MAIN}.zzz: unknown field",),
    ),
    Refused(
        "unknown-null-field",
        GRAPH,
        one_service(zzz=None),
        (f"{MAIN}.zzz: unknown field",),
    ),
    Refused(
        "unknown-field-in-another-case",
        COMPONENT,
        {"Replicas": 1},
        ("spec.Replicas: unknown field; did you mean replicas?",),
    ),
    Refused(
        "field-of-the-container-on-the-service",
        GRAPH,
        one_service(image="i"),
        (f"{MAIN}.image: unknown field; it belongs in extraPodSpec.mainContainer",),
    ),
    Refused(
        "field-of-the-graph-on-the-service",
        GRAPH,
        one_service(backendFramework="vllm"),
        (f"{MAIN}.backendFramework: unknown field; it belongs in spec",),
    ),
    Refused(
        "field-of-the-service-on-the-container",
        GRAPH,
        one_service(extraPodSpec={"mainContainer": {"replicas": 1}}),
        (f"{MAIN}.extraPodSpec.mainContainer.replicas: unknown field; it belongs in {MAIN}",),
    ),
    Refused(
        "field-of-the-pod-that-is-like-one-of-the-service",
        GRAPH,
        one_service(serviceAccountName="a"),
        (f"{MAIN}.serviceAccountName: unknown field; it belongs in extraPodSpec",),
    ),
    Refused(
        "field-of-several-parts",
        GRAPH,
        one_service(enabled=True),
        (f"{MAIN}.enabled: unknown field; it belongs in ingress or scalingAdapter",),
    ),
    Refused(
        "field-of-the-pod-on-the-component",
        COMPONENT,
        {"tolerations": []},
        ("spec.tolerations: unknown field; it belongs in extraPodSpec",),
    ),
    Refused(
        "typo-in-main-container",
        GRAPH,
        one_service(extraPodSpec={"mainContainer": {"comand": ["x"]}}),
        (f"{MAIN}.extraPodSpec.mainContainer.comand: unknown field; did you mean command?",),
    ),
    Refused(
        "typo-in-volume",
        COMPONENT,
        {"extraPodSpec": {"volumes": [{"name": "v", "emptydir": {}}]}},
        ("spec.extraPodSpec.volumes[0].emptydir: unknown field; did you mean emptyDir?",),
    ),
    Refused(
        "integer-for-string",
        GRAPH,
        one_service(resources={"limits": {"gpu": 1}}),
        (f'{MAIN}.resources.limits.gpu: is the integer 1, should be a string: write "1"',),
    ),
    Refused(
        "whole-float-for-string",
        GRAPH,
        one_service(resources={"limits": {"memory": 2e9}}),
        (f'{MAIN}.resources.limits.memory: is the number 2000000000.0, should be a string: write "2000000000"',),
    ),
    Refused(
        "boolean-for-string",
        GRAPH,
        {"envs": [{"name": "A", "value": True}]},
        ("spec.envs[0].value: is a boolean, should be a string: write it in quotes",),
    ),
    Refused(
        "string-for-integer",
        COMPONENT,
        {"replicas": "2"},
        ('spec.replicas: is the string "2", should be an integer: write 2',),
    ),
    Refused(
        "string-for-boolean",
        COMPONENT,
        {"sharedMemory": {"disabled": "True"}},
        ('spec.sharedMemory.disabled: is the string "True", should be a boolean: write true',),
    ),
    Refused(
        "string-for-list",
        GRAPH,
        one_service(extraPodSpec={"mainContainer": {"args": "--model x"}}),
        (f"{MAIN}.extraPodSpec.mainContainer.args: is a string, should be an array",),
    ),
    Refused("list-for-object", GRAPH, {"services": []}, ("spec.services: is an array, should be an object",)),
    Refused(
        "object-for-string", COMPONENT, {"componentType": {}}, ("spec.componentType: is an object, should be a string",)
    ),
    Refused(
        "null-in-list",
        COMPONENT,
        {"extraPodSpec": {"mainContainer": {"args": [None]}}},
        ("spec.extraPodSpec.mainContainer.args[0]: is null, should be a string",),
    ),
    Refused(
        "fraction-for-integer",
        COMPONENT,
        {"replicas": 1.5},
        ("spec.replicas: is the number 1.5, should be an integer",),
    ),
    Refused(
        "fraction-for-quantity",
        COMPONENT,
        {"sharedMemory": {"size": 0.5}},
        ('spec.sharedMemory.size: is the number 0.5, should be an integer or a string: write "0.5"',),
    ),
    Refused(
        "no-quantity",
        COMPONENT,
        {"sharedMemory": {"size": "8 GB"}},
        ('spec.sharedMemory.size: is "8 GB", should be a quantity, for example 500m, 2 or 16Gi',),
    ),
    Refused(
        "unknown-choice",
        GRAPH,
        {"backendFramework": "vlm"},
        ('spec.backendFramework: is "vlm", should be one of sglang, vllm, trtllm; did you mean vllm?',),
    ),
    Refused(
        "mocker-is-no-backend",
        REQUEST,
        request(backend="mocker"),
        ('spec.backend: is "mocker", should be one of auto, vllm, sglang, trtllm',),
    ),
    Refused(
        "unknown-restart-type",
        GRAPH,
        {"restart": {"id": "1", "strategy": {"type": "parallel"}}},
        ('spec.restart.strategy.type: is "parallel", should be one of Sequential, Parallel; did you mean Parallel?',),
    ),
    Refused("negative-replicas", GRAPH, one_service(replicas=-1), (f"{MAIN}.replicas: is -1, should be at least 0",)),
    Refused(
        "replicas-past-32-bits",
        COMPONENT,
        {"replicas": 2**31},
        ("spec.replicas: is 2147483648, should be at most 2147483647",),
    ),
    Refused(
        "one-node",
        COMPONENT,
        {"multinode": {"nodeCount": 1}},
        ("spec.multinode.nodeCount: is 1, should be at least 2",),
    ),
    Refused("empty-restart-id", GRAPH, {"restart": {"id": ""}}, ("spec.restart.id: is empty",)),
    Refused("missing-restart-id", GRAPH, {"restart": {}}, ("spec.restart.id: is missing",)),
    Refused("null-required-field", GRAPH, {"pvcs": [{"name": None}]}, ("spec.pvcs[0].name: is missing",)),
    Refused(
        "too-many-services",
        GRAPH,
        {"services": {f"s{n}": {} for n in range(26)}},
        ("spec.services: has 26 entries, should have at most 25",),
    ),
    Refused(
        "too-many-claims",
        GRAPH,
        {"pvcs": [{"name": f"p{n}"} for n in range(101)]},
        ("spec.pvcs: has 101 entries, should have at most 100",),
    ),
    Refused(
        "incomplete-claim",
        GRAPH,
        {"pvcs": [{"name": "a", "create": True, "size": "1Gi"}]},
        (
            "spec.pvcs[0].storageClass is required when create is true",
            "spec.pvcs[0].volumeAccessMode is required when create is true",
        ),
    ),
    Refused(
        "checkpoint-with-job-and-name",
        GRAPH,
        one_service(checkpoint={"checkpointRef": "c", "job": {}}),
        (f"{MAIN}.checkpoint: {CHECKPOINT}",),
    ),
    Refused(
        "checkpoint-with-job-and-name-of-a-component",
        COMPONENT,
        {"checkpoint": {"enabled": False, "checkpointRef": "c", "job": {"gmsClientContainers": ["a"]}}},
        (f"spec.checkpoint: {CHECKPOINT}",),
    ),
    Refused(
        "no-replica-available",
        GRAPH,
        one_service(minAvailable=0),
        (f"{MAIN}.minAvailable: is 0, should be at least 1",),
    ),
    Refused(
        "frontend-without-image",
        GRAPH,
        one_service(frontendSidecar={"args": ["a"]}),
        (f"{MAIN}.frontendSidecar.image: is missing",),
    ),
    Refused(
        "two-containers-of-one-name",
        COMPONENT,
        {"extraPodSpec": {"containers": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}},
        (f"spec.extraPodSpec.containers[2]: repeats name a of entry 0; {OWN}",),
    ),
    Refused(
        "two-ports-of-one-number-and-default-protocol",
        COMPONENT,
        {"extraPodSpec": {"mainContainer": {"ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]}}},
        (f"spec.extraPodSpec.mainContainer.ports[1]: repeats containerPort 1, protocol TCP of entry 0; {OWN}",),
    ),
    Refused(
        "container-without-name",
        COMPONENT,
        {"extraPodSpec": {"containers": [{"image": "i"}]}},
        ("spec.extraPodSpec.containers[0].name: is missing",),
    ),
    Refused(
        "mount-without-name",
        COMPONENT,
        {"volumeMounts": [{"mountPoint": "/m"}]},
        ("spec.volumeMounts[0].name: is missing",),
    ),
    Refused(
        "empty-model",
        MODEL,
        {},
        ("spec.baseModelName: is missing", "spec.modelName: is missing"),
    ),
    Refused(
        "source-without-uri",
        MODEL,
        {"modelName": "a", "baseModelName": "b", "source": {}},
        ("spec.source.uri: is missing",),
    ),
    Refused(
        "adapter-without-service",
        ADAPTER,
        {"replicas": 1, "dgdRef": {"name": "g", "service": "s"}},
        (
            "spec.dgdRef.serviceName: is missing",
            "spec.dgdRef.service: unknown field; did you mean serviceName?",
        ),
    ),
    Refused("no-spec", ADAPTER, None, ("spec: is missing",)),
    Refused("record-without-data", RECORD, {}, ("spec.data: is missing",)),
    Refused(
        "many-faults",
        GRAPH,
        {"backendFramework": 1, "services": {"a": {"replicas": -1}, "b": {"sharedMemory": {"size": True}}}, "x": 1},
        (
            'spec.backendFramework: is the integer 1, should be a string: write "1"',
            "spec.services[a].replicas: is -1, should be at least 0",
            'spec.services[b].sharedMemory.size: is the boolean true, should be an integer or a string: write "true"',
            "spec.x: unknown field",
        ),
    ),
)

KEPT = (
    Kept("nothing", GRAPH, {}, {}),
    Kept("null-field", GRAPH, one_service(subComponentType=None), one_service()),
    Kept("null-service", GRAPH, {"services": {"a": None, "b": {}}}, {"services": {"b": {}}}),
    Kept(
        "null-with-default",
        MODEL,
        {"modelName": "a", "baseModelName": "b", "modelType": None},
        {"modelName": "a", "baseModelName": "b", "modelType": "base"},
    ),
    Kept(
        "defaults-of-present-objects",
        COMPONENT,
        {"multinode": {}, "scalingAdapter": {}, "checkpoint": {}, "volumeMounts": [{"name": "a"}]},
        {
            "multinode": {"nodeCount": 2},
            "scalingAdapter": {"enabled": False},
            "checkpoint": {"enabled": False, "mode": "Auto"},
            "volumeMounts": [{"name": "a", "useAsCompilationCache": False}],
        },
    ),
    Kept(
        "restart-strategy",
        GRAPH,
        {"restart": {"id": "1", "strategy": {}}},
        {"restart": {"id": "1", "strategy": {"type": "Sequential"}}},
    ),
    Kept("restart-without-strategy", GRAPH, {"restart": {"id": "1"}}, {"restart": {"id": "1"}}),
    Kept(
        "kubernetes-defaults",
        COMPONENT,
        {"extraPodSpec": {"mainContainer": {"ports": [{"containerPort": 1}], "livenessProbe": {"grpc": {"port": 1}}}}},
        {
            "extraPodSpec": {
                "mainContainer": {
                    "ports": [{"containerPort": 1, "protocol": "TCP"}],
                    "livenessProbe": {"grpc": {"port": 1, "service": ""}},
                }
            }
        },
    ),
    Kept(
        "one-port-of-two-protocols",
        COMPONENT,
        {"extraPodSpec": {"mainContainer": {"ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}]}}},
        {
            "extraPodSpec": {
                "mainContainer": {
                    "ports": [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 1, "protocol": "UDP"}]
                }
            }
        },
    ),
    Kept(
        "quantities-as-numbers-and-strings",
        GRAPH,
        {
            "pvcs": [{"name": "p", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "m"}],
            **one_service(sharedMemory={"size": 1024}),
        },
        {
            "pvcs": [{"name": "p", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "m"}],
            **one_service(sharedMemory={"size": 1024}),
        },
    ),
    Kept(
        "anything-in-open-objects",
        COMPONENT,
        {"eppConfig": {"config": {"plugins": [{"type": "x", "parameters": {"a": [1, {"b": None}]}}]}}},
        {"eppConfig": {"config": {"plugins": [{"type": "x", "parameters": {"a": [1, {"b": None}]}}]}}},
    ),
    Kept(
        "request",
        REQUEST,
        request(profilingConfig={"profilerImage": "i", "configMapRef": {"name": "c"}, "config": {"sla": {"isl": 1}}}),
        request(
            profilingConfig={
                "profilerImage": "i",
                "configMapRef": {"name": "c", "key": "disagg.yaml"},
                "config": {"sla": {"isl": 1}},
            },
            useMocker=False,
            enableGpuDiscovery=False,
            autoApply=False,
        ),
    ),
    Kept(
        "checkpoint-by-identity",
        COMPONENT,
        {"checkpoint": {"enabled": True, "identity": {"model": "m", "backendFramework": "vllm"}}},
        {
            "checkpoint": {
                "enabled": True,
                "mode": "Auto",
                "identity": {
                    "model": "m",
                    "backendFramework": "vllm",
                    "tensorParallelSize": 1,
                    "pipelineParallelSize": 1,
                },
            }
        },
    ),
    Kept(
        "scaled-to-zero",
        ADAPTER,
        {"replicas": 0, "dgdRef": {"name": "g", "serviceName": "S"}},
        {"replicas": 0, "dgdRef": {"name": "g", "serviceName": "S"}},
    ),
    Kept("record", RECORD, {"data": {"a": {"b": 1}}}, {"data": {"a": {"b": 1}}}),
    Kept("unknown-component-type", COMPONENT, {"componentType": "anything"}, {"componentType": "anything"}),
)
