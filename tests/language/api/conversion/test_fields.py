"""Each field that differs between the versions, in both directions."""

import pytest

from hooks.ground.k8s.types import Json, Manifest
from hooks.language.versions import convert
from tests.language.api.conversion.graphs import alpha, beta, beta_main, saved

SECRET = {"secretRef": {"name": "hf"}}
PROBE = {"httpGet": {"path": "/live", "port": 9090}}
A, B = {"name": "A", "value": "1"}, {"name": "B", "value": "2"}
CONTAINER = {"name": "sidecar-frontend", "image": "f:1", "args": ["-m", "x"], "env": [A], "envFrom": [SECRET]}


def pod(**spec: Json) -> Manifest:
    return beta(podTemplate={"spec": spec})


EQUAL = {
    "type": (alpha(componentType="frontend"), beta(type="frontend")),
    "prefill": (alpha(componentType="worker", subComponentType="prefill"), beta(type="prefill")),
    "shared memory": (alpha(sharedMemory={"size": "16Gi"}), beta(sharedMemorySize="16Gi")),
    "no shared memory": (alpha(sharedMemory={"disabled": True}), beta(sharedMemorySize="0")),
    "scaling adapter": (alpha(scalingAdapter={"enabled": True}), beta(scalingAdapter={})),
    "variables": (alpha(envs=[B, A]), beta_main(env=[B, A])),
    "Secret": (alpha(envFromSecret="hf"), beta_main(envFrom=[SECRET])),
    "sources": (
        alpha(extraPodSpec={"mainContainer": {"envFrom": [SECRET, SECRET]}}),
        beta_main(envFrom=[SECRET, SECRET]),
    ),
    "main container": (
        alpha(extraPodSpec={"mainContainer": {"image": "i:1", "args": ["x"], "startupProbe": PROBE}}),
        beta_main(image="i:1", args=["x"], startupProbe=PROBE),
    ),
    "probe": (alpha(livenessProbe=PROBE), beta_main(livenessProbe=PROBE)),
    "probe's numbers": (
        alpha(extraPodSpec={"mainContainer": {"readinessProbe": {"periodSeconds": 3}}}),
        beta_main(readinessProbe={"periodSeconds": 3}),
    ),
    "resources": (
        alpha(
            resources={"limits": {"cpu": "4", "gpu": "2", "custom": {"rdma/ib": "1"}}, "requests": {"memory": "1Gi"}}
        ),
        beta_main(
            resources={"limits": {"cpu": "4", "nvidia.com/gpu": "2", "rdma/ib": "1"}, "requests": {"memory": "1Gi"}}
        ),
    ),
    "other GPUs": (
        alpha(resources={"limits": {"gpu": "2", "gpuType": "gpu.intel.com/xe"}}),
        beta_main(resources={"limits": {"gpu.intel.com/xe": "2"}}),
    ),
    "claims of resources": (
        alpha(resources={"claims": [{"name": "gpus"}]}),
        beta_main(resources={"claims": [{"name": "gpus"}]}),
    ),
    "mounts of claims": (
        alpha(volumeMounts=[{"name": "models", "mountPoint": "/models"}]),
        beta_main(volumeMounts=[{"name": "models", "mountPath": "/models"}]),
    ),
    "mounts that say more": (
        alpha(
            extraPodSpec={
                "mainContainer": {"volumeMounts": [{"name": "m", "mountPath": "/m", "readOnly": True, "subPath": "s"}]}
            }
        ),
        beta_main(volumeMounts=[{"name": "m", "mountPath": "/m", "readOnly": True, "subPath": "s"}]),
    ),
    "mounts of volumes": (
        alpha(
            extraPodSpec={
                "volumes": [{"name": "tmp", "emptyDir": {}}],
                "mainContainer": {"volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]},
            }
        ),
        pod(
            volumes=[{"name": "tmp", "emptyDir": {}}],
            containers=[{"name": "main", "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]}],
        ),
    ),
    "compilation cache": (
        alpha(volumeMounts=[{"name": "cache", "mountPoint": "/cache", "useAsCompilationCache": True}]),
        beta(compilationCache={"pvcName": "cache", "mountPath": "/cache"}),
    ),
    "sidecar of the frontend": (
        alpha(frontendSidecar={"image": "f:1", "args": ["-m", "x"], "envs": [A], "envFromSecret": "hf"}),
        beta(frontendSidecar="sidecar-frontend", podTemplate={"spec": {"containers": [CONTAINER]}}),
    ),
    "other containers": (
        alpha(extraPodSpec={"mainContainer": {"image": "i:1"}, "containers": [{"name": "logs"}, {"name": "a"}]}),
        pod(containers=[{"name": "main", "image": "i:1"}, {"name": "logs"}, {"name": "a"}]),
    ),
    "pod": (
        alpha(extraPodSpec={"nodeSelector": {"a": "b"}, "tolerations": [{"key": "x"}]}),
        pod(nodeSelector={"a": "b"}, tolerations=[{"key": "x"}]),
    ),
    "pod's metadata": (
        alpha(extraPodMetadata={"labels": {"a": "b"}, "annotations": {"c": "d"}}),
        beta(podTemplate={"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}),
    ),
    "GPU memory service": (
        alpha(gpuMemoryService={"enabled": True, "mode": "interPod", "deviceClassName": "x"}),
        beta(experimental={"gpuMemoryService": {"mode": "InterPod", "deviceClassName": "x"}}),
    ),
    "failover": (
        alpha(failover={"enabled": True, "mode": "intraPod", "numShadows": 2}),
        beta(experimental={"failover": {"mode": "IntraPod", "numShadows": 2}}),
    ),
    "checkpoint": (
        alpha(checkpoint={"enabled": False, "checkpointRef": "c"}),
        beta(experimental={"checkpoint": {"enabled": False, "checkpointRef": "c"}}),
    ),
    "same in both": (
        alpha(multinode={"nodeCount": 2}, modelRef={"name": "m"}, minAvailable=1, unknown=[1], roles=[]),
        beta(multinode={"nodeCount": 2}, modelRef={"name": "m"}, minAvailable=1, unknown=[1], roles=[]),
    ),
}


@pytest.mark.parametrize(("old", "new"), EQUAL.values(), ids=EQUAL)
def test_a_field_is_converted_both_ways_without_annotation(old: Manifest, new: Manifest) -> None:
    assert convert(old, "v1beta1") == new
    assert convert(new, "v1alpha1") == old


KEPT_OF_ALPHA = {
    "names and places of a service": (
        {"annotations": {"a": "b"}, "labels": {"c": "d"}, "dynamoNamespace": "x", "ingress": {"enabled": False}},
        beta(),
    ),
    "another name": ({"serviceName": "other"}, beta()),
    "disabled adapter": ({"scalingAdapter": {"enabled": False}}, beta()),
    "empty adapter": ({"scalingAdapter": {}}, beta()),
    "disabled feature": ({"gpuMemoryService": {"enabled": False, "mode": "intraPod"}}, beta()),
    "shared memory that is not disabled": ({"sharedMemory": {"disabled": False}}, beta()),
    "odd role": ({"componentType": "worker", "subComponentType": "encode"}, beta(type="worker")),
    "role as type": ({"componentType": "prefill"}, beta(type="prefill")),
    "variables in both places": (
        {"envs": [A], "extraPodSpec": {"mainContainer": {"env": [B]}}},
        beta_main(env=[A, B]),
    ),
    "variable of the container": ({"extraPodSpec": {"mainContainer": {"env": [B]}}}, beta_main(env=[B])),
    "second cache": (
        {
            "volumeMounts": [
                {"name": "a", "mountPoint": "/a", "useAsCompilationCache": True},
                {"name": "b", "mountPoint": "/b", "useAsCompilationCache": True},
            ]
        },
        beta(
            compilationCache={"pvcName": "a", "mountPath": "/a"},
            podTemplate={
                "spec": {"containers": [{"name": "main", "volumeMounts": [{"name": "b", "mountPath": "/b"}]}]}
            },
        ),
    ),
    "empty objects": ({"extraPodSpec": {"mainContainer": {}}, "resources": {}, "extraPodMetadata": {}}, beta()),
    "name of the main container": (
        {"extraPodSpec": {"mainContainer": {"name": "x", "image": "i"}}},
        beta_main(image="i"),
    ),
    "fields of v1beta1": ({"podTemplate": {"spec": {}}, "type": "x", "experimental": {}, "name": "y"}, beta()),
    "wrong types": ({"envs": "x", "volumeMounts": 3, "extraPodSpec": "y", "resources": [1]}, beta()),
}


@pytest.mark.parametrize(("service", "new"), KEPT_OF_ALPHA.values(), ids=KEPT_OF_ALPHA)
def test_what_v1beta1_cannot_say_is_kept_and_comes_back(service: dict[str, Json], new: Manifest) -> None:
    old = alpha(**service)
    converted = convert(old, "v1beta1")
    assert converted["spec"] == new["spec"]
    assert saved(converted)["version"] == 1
    assert saved(converted)["spec"]["services"]["w"]
    assert convert(converted, "v1alpha1") == old


KEPT_OF_BETA = {
    "Grove's options": ({"experimental": {"grove": {"forceScalingGroup": True}}}, alpha()),
    "numbers as amounts": (
        {"podTemplate": {"spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}},
        alpha(resources={"limits": {"gpu": "1"}}),
    ),
    "adapter that says that it is on": (
        {"scalingAdapter": {"enabled": True}},
        alpha(scalingAdapter={"enabled": True}),
    ),
    "adapter that is off": ({"scalingAdapter": {"enabled": False}}, alpha(scalingAdapter={"enabled": False})),
    "zero of another form": ({"sharedMemorySize": "0Gi"}, alpha(sharedMemory={"disabled": True})),
    "sidecar that says more": (
        {
            "frontendSidecar": "sidecar-frontend",
            "podTemplate": {"spec": {"containers": [{**CONTAINER, "workingDir": "/w"}]}},
        },
        alpha(extraPodSpec={"containers": [{**CONTAINER, "workingDir": "/w"}]}),
    ),
    "order of containers": (
        {"podTemplate": {"spec": {"containers": [{"name": "a"}, {"name": "main", "image": "i"}, {"name": "b"}]}}},
        alpha(extraPodSpec={"mainContainer": {"image": "i"}, "containers": [{"name": "a"}, {"name": "b"}]}),
    ),
    "two main containers": (
        {"podTemplate": {"spec": {"containers": [{"name": "main"}, {"name": "main", "image": "i"}]}}},
        alpha(extraPodSpec={"containers": [{"name": "main", "image": "i"}]}),
    ),
    "name of the pod": ({"podTemplate": {"metadata": {"name": "x", "creationTimestamp": None}}}, alpha()),
    "empty objects": ({"podTemplate": {"spec": {"containers": []}}, "experimental": {}}, alpha()),
    "fields of v1alpha1": ({"extraPodSpec": {}, "envs": [A], "annotations": {"a": "b"}, "serviceName": "y"}, alpha()),
    "wrong types": ({"podTemplate": "x", "compilationCache": [], "scalingAdapter": True, "experimental": 5}, alpha()),
}


@pytest.mark.parametrize(("component", "old"), KEPT_OF_BETA.values(), ids=KEPT_OF_BETA)
def test_what_v1alpha1_cannot_say_is_kept_and_comes_back(component: dict[str, Json], old: Manifest) -> None:
    new = beta(**component)
    converted = convert(new, "v1alpha1")
    assert converted["spec"] == old["spec"]
    assert saved(converted)["spec"]["components"][0]["name"] == "w"
    assert convert(converted, "v1beta1") == new
