"""Containers that run Dynamo beside the main container."""

from typing import Any

import pytest

from tests.component.render import pod, problems

SETTINGS = {"nats_address": "nats://n:4222", "etcd_address": "http://e:2379", "model_express_url": "http://m"}
WORKER: dict[str, Any] = {
    "componentType": "worker",
    "subComponentType": "decode",
    "extraPodSpec": {"mainContainer": {"image": "r:1.6.1", "command": ["python3", "-m", "dynamo.vllm"]}},
}
FRONTEND: dict[str, Any] = {**WORKER, "frontendSidecar": {"image": "f:1.6.1"}}


def variables(container: dict[str, Any]) -> dict[str, Any]:
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container.get("env", ())}


def named(spec: dict[str, Any], name: str, section: str = "containers") -> dict[str, Any]:
    found = pod(spec, **SETTINGS)[section]
    return next(dict(container) for container in found if container["name"] == name)


def test_frontend_runs_beside_the_main_container_with_its_own_defaults() -> None:
    container = named(FRONTEND, "sidecar-frontend")
    assert [one["name"] for one in pod(FRONTEND)["containers"]] == ["sidecar-frontend", "main"]
    assert (container["image"], container["command"], container["args"]) == (
        "f:1.6.1",
        ["python3"],
        ["-m", "dynamo.frontend"],
    )
    assert container["ports"] == [{"name": "http", "containerPort": 8000, "protocol": "TCP"}]
    assert container["livenessProbe"]["httpGet"] == {"path": "/live", "port": "http"}
    assert "volumeMounts" not in container


@pytest.mark.parametrize(("image", "is_strict"), [("f:my-tag", True), ("f@sha256:0", True), ("f:1.5.0", False)])
def test_frontend_whose_image_names_no_release_has_the_defaults_of_the_components(
    image: str, *, is_strict: bool
) -> None:
    found = variables(named({**WORKER, "frontendSidecar": {"image": image}}, "sidecar-frontend"))
    assert ("DYN_NAMESPACE_PREFIX_STRICT" in found) == is_strict


def test_frontend_finds_what_the_main_container_finds() -> None:
    of_frontend, of_main = (variables(named(FRONTEND, name)) for name in ("sidecar-frontend", "main"))
    same = {
        *("NATS_SERVER", "ETCD_ENDPOINTS", "MODEL_EXPRESS_URL", "DYN_NAMESPACE", "DYN_DISCOVERY_BACKEND"),
        *("DYN_PARENT_DGD_K8S_NAME", "DYN_PARENT_DGD_K8S_NAMESPACE", "POD_NAME", "POD_NAMESPACE", "POD_UID"),
    }
    assert {name: of_frontend[name] for name in same} == {name: of_main[name] for name in same}
    assert (of_frontend["NATS_SERVER"], of_frontend["ETCD_ENDPOINTS"]) == ("nats://n:4222", "http://e:2379")
    assert (of_frontend["DYN_COMPONENT"], of_main["DYN_COMPONENT"]) == ("frontend", "worker")
    assert not {"DYN_SYSTEM_PORT", "DYN_SYSTEM_ENABLED"} & of_frontend.keys()


def test_addresses_that_the_user_sets_reach_the_frontend_and_nothing_else_of_the_engine_does() -> None:
    envs = [{"name": "NATS_SERVER", "value": "nats://mine"}, {"name": "VLLM_X", "value": "1"}]
    main = {**WORKER["extraPodSpec"]["mainContainer"], "env": [{"name": "ETCD_AUTH_USERNAME", "value": "u"}]}
    spec = {**FRONTEND, "envs": envs, "extraPodSpec": {"mainContainer": main}}
    found = variables(named(spec, "sidecar-frontend"))
    assert (found["NATS_SERVER"], found["ETCD_AUTH_USERNAME"]) == ("nats://mine", "u")
    assert "VLLM_X" not in found


def test_frontends_own_settings_win() -> None:
    sidecar = {
        "image": "f:0.9.1",
        "args": ["-m", "dynamo.frontend", "--router-mode", "direct"],
        "envFromSecret": "token",
        "envs": [{"name": "NATS_SERVER", "value": "nats://other"}, {"name": "DYN_HTTP_PORT", "value": "8080"}],
    }
    container = named({**WORKER, "frontendSidecar": sidecar}, "sidecar-frontend")
    assert container["args"] == sidecar["args"]
    assert container["envFrom"] == [{"secretRef": {"name": "token"}}]
    assert variables(container)["NATS_SERVER"] == "nats://other"
    assert variables(container)["DYN_HTTP_PORT"] == "8080"
    assert "startupProbe" not in container, "the tag of its own image counts"


def test_frontend_has_the_users_mounts_without_shared_memory() -> None:
    main = {
        **WORKER["extraPodSpec"]["mainContainer"],
        "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}, {"name": "shm", "mountPath": "/dev/shm"}],
    }
    volumes = [{"name": "v", "emptyDir": {}}, {"name": "shm", "emptyDir": {}}]
    spec = {
        **FRONTEND,
        "extraPodSpec": {"mainContainer": main, "volumes": volumes},
        "volumeMounts": [{"name": "models", "mountPoint": "/models"}],
    }
    assert named(spec, "sidecar-frontend")["volumeMounts"] == [
        {"name": "v", "mountPath": "/v", "readOnly": True},
        {"name": "models", "mountPath": "/models"},
    ]


def test_container_that_discovery_names_is_the_containers_own() -> None:
    annotations = {"nvidia.com/dynamo-kube-discovery-mode": "container"}
    spec = {**FRONTEND, "annotations": annotations}
    names = {name: variables(named(spec, name))["CONTAINER_NAME"] for name in ("main", "sidecar-frontend")}
    assert names == {"main": "main", "sidecar-frontend": "sidecar-frontend"}


RUNTIME: dict[str, Any] = {
    "componentType": "decode",
    "envs": [{"name": "SHARED", "value": "1"}],
    "extraPodSpec": {
        "mainContainer": {
            "image": "vllm/vllm-openai:latest",
            "args": ["serve", "m"],
            "env": [{"name": "ENGINE", "value": "1"}],
        },
        "initContainers": [
            {"name": "setup", "image": "setup"},
            {
                "name": "runtime",
                "image": "r:1.6.0",
                "restartPolicy": "Always",
                "env": [{"name": "NATS_SERVER", "value": "nats://own"}],
                "startupProbe": {"exec": {"command": ["true"]}},
            },
        ],
    },
}


def test_engine_beside_a_runtime_runs_as_its_image_and_the_user_say() -> None:
    container = named(RUNTIME, "main")
    assert not {"command", "ports", "livenessProbe", "readinessProbe", "startupProbe"} & container.keys()
    assert container["args"] == ["serve", "m"]
    assert variables(container) == {"ENGINE": "1", "SHARED": "1"}
    assert container["volumeMounts"] == [{"name": "shared-memory", "mountPath": "/dev/shm"}]


def test_runtime_beside_an_engine_is_dynamos_process() -> None:
    first, container = pod(RUNTIME, **SETTINGS)["initContainers"]
    assert first == {"name": "setup", "image": "setup"}
    assert "command" not in container
    assert container["ports"] == [{"name": "system", "containerPort": 9090, "protocol": "TCP"}]
    assert container["startupProbe"] == {"exec": {"command": ["true"]}}
    assert container["livenessProbe"]["failureThreshold"] == 3
    assert container["readinessProbe"]["httpGet"] == {"path": "/health", "port": "system"}
    found = variables(container)
    assert found["NATS_SERVER"] == "nats://own"
    assert (found["ETCD_ENDPOINTS"], found["DYN_COMPONENT"]) == ("http://e:2379", "decode")
    assert (found["DYN_SYSTEM_PORT"], found["SHARED"]) == ("9090", "1")
    assert not {"ENGINE", "DYN_HEALTH_CHECK_ENABLED", "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"} & found.keys()


def test_frontend_beside_a_runtime_takes_the_addresses_of_the_runtime() -> None:
    spec = {**RUNTIME, "frontendSidecar": {"image": "f"}}
    assert variables(named(spec, "sidecar-frontend"))["NATS_SERVER"] == "nats://own"


@pytest.mark.parametrize(
    "change",
    [{"image": "r:1.5.0"}, {"image": "r:latest"}, {"restartPolicy": None, "startupProbe": None}, {"name": "other"}],
    ids=["older release", "unknown release", "one that ends", "another name"],
)
def test_other_init_containers_change_nothing(change: dict[str, Any]) -> None:
    written = RUNTIME["extraPodSpec"]
    runtime = {key: value for key, value in {**written["initContainers"][1], **change}.items() if value is not None}
    spec = {**RUNTIME, "extraPodSpec": {**written, "initContainers": [written["initContainers"][0], runtime]}}
    assert pod(spec, **SETTINGS)["initContainers"] == [written["initContainers"][0], runtime]
    assert "livenessProbe" in named(spec, "main")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "container of the frontend's name": (
        {
            **FRONTEND,
            "extraPodSpec": {**WORKER["extraPodSpec"], "containers": [{"name": "sidecar-frontend", "image": "i"}]},
        },
        (
            'spec: cannot inject frontend sidecar: a container named "sidecar-frontend" already exists in '
            "extraPodSpec.containers"
        ),
    ),
    "frontend without image": ({**WORKER, "frontendSidecar": {"image": ""}}, "spec.frontendSidecar.image"),
    "variable of the frontend": (
        {**WORKER, "frontendSidecar": {"image": "i", "envs": [{"name": "A"}, {"name": "B=C"}]}},
        "spec.frontendSidecar.envs[1].name",
    ),
    "secret of the frontend": (
        {**WORKER, "frontendSidecar": {"image": "i", "envFromSecret": "A b"}},
        "spec.frontendSidecar.envFromSecret",
    ),
    "runtime of a frontend": (
        {**RUNTIME, "componentType": "frontend"},
        "spec.extraPodSpec.initContainers[1].name is supported only for worker, prefill, and decode components",
    ),
    "release": (
        {**WORKER, "runtimeVersionOverride": "1.6"},
        'spec.runtimeVersionOverride must be a semantic version such as "1.1.0"',
    ),
}


@pytest.mark.parametrize(("spec", "beginning"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_run_is_refused(spec: dict[str, Any], beginning: str) -> None:
    (problem,) = problems(spec)
    assert problem.startswith(beginning)


def test_runtime_beside_an_engine_is_refused_over_several_nodes() -> None:
    spec = {**RUNTIME, "multinode": {"nodeCount": 2}, "resources": {"limits": {"gpu": "1"}}}
    assert (
        "spec.multinode is not supported beside a runtime init container (spec.extraPodSpec.initContainers[1]); remove "
        "one of them"
    ) in problems(spec)
