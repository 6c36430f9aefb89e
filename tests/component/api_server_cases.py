"""Specs whose children the API server refuses, with what is said of them before, and specs whose children it takes."""

from typing import Any

FIELD = {"fieldRef": {"fieldPath": "metadata.name"}}


def pod(**fields: Any) -> dict[str, Any]:
    return {"extraPodSpec": fields}


def main(**fields: Any) -> dict[str, Any]:
    return pod(mainContainer=fields)


def mounts(*entries: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"componentType": "worker", "volumeMounts": list(entries), **fields}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "label's value": (
        {"labels": {"team": "a b"}},
        "spec.labels[team]: 'a b' is not a label value; use at most 63 letters",
    ),
    "long label": ({"extraPodMetadata": {"labels": {"a": "v" * 64}}}, "spec.extraPodMetadata.labels[a]: 'vvv"),
    "label's key": (
        {"labels": {"Example.com/a": "b"}},
        "spec.labels[Example.com/a]: 'Example.com/a' is not a label key",
    ),
    "label of an ingress": (
        {"ingress": {"enabled": True, "host": "h", "ingressControllerClassName": "nginx", "labels": {"a": "-"}}},
        "spec.ingress.labels[a]: '-' is not a label value",
    ),
    "annotation's key": ({"annotations": {"a/b/c": ""}}, "spec.annotations[a/b/c]: 'a/b/c' is not an annotation key"),
    "annotation's key of a pod": (
        {"extraPodMetadata": {"annotations": {"a b": "c"}}},
        "spec.extraPodMetadata.annotations[a b]: 'a b' is not an annotation key",
    ),
    "variable's name": ({"envs": [{"name": "A=B", "value": "1"}]}, "spec.envs[0].name: 'A=B' is not a variable name"),
    "variable's name in a side container": (
        pod(containers=[{"name": "a", "image": "i", "env": [{"name": "é"}]}]),
        "spec.extraPodSpec.containers[0].env[0].name: 'é' is not a variable name",
    ),
    "variable of two values": (
        main(env=[{"name": "A", "value": "1", "valueFrom": FIELD}]),
        "spec.extraPodSpec.mainContainer.env[0].valueFrom: A has both value and valueFrom",
    ),
    "variable from nowhere": (
        {"envs": [{"name": "A", "valueFrom": {"fieldRef": None}}]},
        "spec.envs[0].valueFrom: must have exactly one source",
    ),
    "port zero": (
        main(ports=[{"containerPort": 0}]),
        "spec.extraPodSpec.mainContainer.ports[0].containerPort: is 0, must be from 1 to 65535",
    ),
    "port of an init container past the last": (
        pod(initContainers=[{"name": "a", "image": "i", "ports": [{"containerPort": 65536}]}]),
        "spec.extraPodSpec.initContainers[0].ports[0].containerPort: is 65536, must be",
    ),
    "port of the host": (
        main(ports=[{"containerPort": 1, "hostPort": 70000}]),
        "spec.extraPodSpec.mainContainer.ports[0].hostPort: is 70000, must be",
    ),
    "name of a port": (
        main(ports=[{"containerPort": 1, "name": "prometheus-metrics"}]),
        "spec.extraPodSpec.mainContainer.ports[0].name: 'prometheus-metrics' is not a port name",
    ),
    "two ports of one name": (
        main(ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
        "spec.extraPodSpec.mainContainer.ports[1].name: 'a' is already the name of spec.extraPodSpec.mainContainer.por",
    ),
    "negative request": (
        {"resources": {"requests": {"cpu": "-1"}}},
        "spec.resources.requests.cpu: is -1, must not be negative",
    ),
    "negative size of an emptyDir": (
        pod(volumes=[{"name": "a", "emptyDir": {"sizeLimit": "-1"}}]),
        "spec.extraPodSpec.volumes[0].emptyDir.sizeLimit: is -1, must not be negative",
    ),
    "negative shared memory": ({"sharedMemory": {"size": "-1Gi"}}, "spec.sharedMemory.size: is -1Gi, must not be"),
    "request above the limit": (
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}}},
        "spec.resources.requests.cpu: is 2, must be at most the limit, which is 1500m",
    ),
    "request above the main container's limit": (
        {"resources": {"requests": {"memory": "2Gi"}}, **main(resources={"limits": {"memory": "1Gi"}})},
        "spec.resources.requests.memory: is 2Gi, must be at most the limit, which is 1Gi",
    ),
    "request above the limit in a side container": (
        pod(
            containers=[
                {"name": "a", "image": "i", "resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1}}},
            ]
        ),
        "spec.extraPodSpec.containers[0].resources.requests[cpu]: is 2, must be at most",
    ),
    "request of fewer GPUs than the limit": (
        {"resources": {"requests": {"gpu": "1"}, "limits": {"gpu": "2"}}},
        "spec.resources.requests.gpu: is 1, must be equal to the limit, which is 2",
    ),
    "request of GPUs alone": (
        {"resources": {"requests": {"gpu": "1"}}},
        "spec.resources.requests.gpu: nvidia.com/gpu needs a limit too",
    ),
    "half a GPU": ({"resources": {"limits": {"gpu": "500m"}}}, "spec.resources.limits.gpu: is 500m, must be a whole"),
    "pods that end": (
        pod(restartPolicy="OnFailure"),
        "spec.extraPodSpec.restartPolicy: is 'OnFailure', must be 'Always' or absent",
    ),
    "mount of no volume": (
        main(volumeMounts=[{"name": "models", "mountPath": "/models"}]),
        "spec.extraPodSpec.mainContainer.volumeMounts[0].name: the pod has no volume named 'models'",
    ),
    "mount of shared memory that is disabled": (
        {
            "sharedMemory": {"disabled": True},
            **main(volumeMounts=[{"name": "shared-memory", "mountPath": "/dev/shm"}]),
        },
        "spec.extraPodSpec.mainContainer.volumeMounts[0].name: the pod has no volume named 'shared-memory'",
    ),
    "no image": (main(image=""), "spec.extraPodSpec.mainContainer.image is required"),
    "no image of a side container": (
        pod(containers=[{"name": "a"}]),
        "spec.extraPodSpec.containers[0].image is required",
    ),
    "no image of an init container": (
        pod(initContainers=[{"name": "a", "image": ""}]),
        "spec.extraPodSpec.initContainers[0].image is required",
    ),
}

ACCEPTED: dict[str, dict[str, Any]] = {
    "empty label": {"labels": {"a": ""}},
    "domain before a label's key": {"labels": {"example.com/A_b": "1.0"}},
    "labels that operators set": {
        "extraPodMetadata": {"labels": {"nvidia.com/dynamo-namespace": "a b"}},
        "labels": {"controller-uid": "a b"},
    },
    "capitals before the slash of an annotation's key": {"annotations": {"Example.com/a": "any text"}},
    "ingress that is off": {"ingress": {"enabled": False, "labels": {"a": "-"}}},
    "strange names of variables": {"envs": [{"name": name, "value": "1"} for name in ("1A", "a/b", " ", "{x}", "..")]},
    "empty value beside a source": {"envs": [{"name": "A", "value": "", "valueFrom": FIELD}]},
    "variable whose better one is right": {
        **main(env=[{"name": "A", "value": "1", "valueFrom": FIELD}]),
        "envs": [{"name": "A", "value": "1"}],
    },
    "last port": main(ports=[{"containerPort": 65535, "hostPort": 0, "name": "a-1"}, {"containerPort": 1, "name": ""}]),
    "request at the limit": {"resources": {"requests": {"cpu": "1000m"}, "limits": {"cpu": "1"}}},
    "GPUs as a quantity": {"resources": {"limits": {"gpu": "1000m"}}},
    "part of a resource of Kubernetes itself": {
        "resources": {
            "requests": {"custom": {"x.kubernetes.io/y": "500m"}},
            "limits": {"custom": {"x.kubernetes.io/y": "1"}},
        }
    },
    "main container's limit that the spec raises": {
        **main(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
        "resources": {"limits": {"cpu": "2"}},
    },
    "pods that run for ever": pod(restartPolicy="Always"),
    "mount of a claim": {
        **mounts({"name": "a.b", "mountPoint": "/a"}),
        **main(volumeMounts=[{"name": "a-b-2e7336dc", "mountPath": "/b"}]),
    },
    "mounts of shared memory": pod(
        mainContainer={"volumeMounts": [{"name": "mine", "mountPath": "/dev/shm"}]},
        containers=[{"name": "a", "image": "i", "volumeMounts": [{"name": "shared-memory", "mountPath": "/dev/shm"}]}],
    ),
    "mount of an endpoint picker's configuration": {
        "componentType": "epp",
        "eppConfig": {"configMapRef": {"name": "a"}},
        **main(volumeMounts=[{"name": "epp-config", "mountPath": "/b"}]),
    },
    "image of spaces": main(image=" "),
}
"""What the API server accepts, or our pod makes right."""
