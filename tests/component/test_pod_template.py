"""The pod of each type of component: defaults, and the user's overrides over them."""

from typing import Any

import pytest

from tests.component.render import VLLM, env, main, pod

WORKER: dict[str, Any] = {"componentType": "worker"}


def with_pod(kind: str = "worker", **fields: Any) -> dict[str, Any]:
    return {"componentType": kind, "extraPodSpec": fields}


def with_main(kind: str = "worker", /, **fields: Any) -> dict[str, Any]:
    return with_pod(kind, mainContainer=fields)


def get(path: str, port: str, **timings: int) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": port}, **timings}


def test_vllm_worker_of_the_worked_example() -> None:
    """dynamo-graph.md 2.18, with what the newer runtime needs."""
    spec = {
        "componentType": "worker",
        "subComponentType": "decode",
        "resources": {"limits": {"gpu": "1"}},
        "extraPodSpec": {"mainContainer": {"image": "img", "command": VLLM, "args": ["--model", "M"]}},
    }
    assert pod(spec, nats_address="nats://x:4222") == {
        "serviceAccountName": "g-k8s-service-discovery",
        "terminationGracePeriodSeconds": 60,
        "restartPolicy": "Always",
        "securityContext": {"fsGroup": 1000},
        "volumes": [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}],
        "containers": [
            {
                "name": "main",
                "image": "img",
                "command": VLLM,
                "args": ["--model", "M"],
                "ports": [{"name": "system", "containerPort": 9090, "protocol": "TCP"}],
                "livenessProbe": get("/live", "system", periodSeconds=5, timeoutSeconds=4, failureThreshold=1),
                "readinessProbe": get("/health", "system", periodSeconds=10, timeoutSeconds=4, failureThreshold=3),
                "startupProbe": get("/live", "system", periodSeconds=10, timeoutSeconds=5, failureThreshold=720),
                "resources": {"limits": {"nvidia.com/gpu": "1"}},
                "volumeMounts": [{"name": "shared-memory", "mountPath": "/dev/shm"}],
                "env": [
                    {"name": "DYN_COMPONENT", "value": "worker"},
                    {"name": "DYN_DISCOVERY_BACKEND", "value": "kubernetes"},
                    {"name": "DYN_HEALTH_CHECK_ENABLED", "value": "false"},
                    {"name": "DYN_NAMESPACE", "value": "default-g"},
                    {"name": "DYN_PARENT_DGD_K8S_NAME", "value": "g"},
                    {"name": "DYN_PARENT_DGD_K8S_NAMESPACE", "value": "default"},
                    {"name": "DYN_STORE_KV", "value": "mem"},
                    {"name": "DYN_SYSTEM_ENABLED", "value": "true"},
                    {"name": "DYN_SYSTEM_PORT", "value": "9090"},
                    {"name": "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", "value": '["generate"]'},
                    {"name": "NATS_SERVER", "value": "nats://x:4222"},
                    {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
                    {"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
                ],
            }
        ],
    }


def test_frontend_serves_http_and_is_probed_there() -> None:
    container = main({"componentType": "frontend"})
    assert (container["command"], container["args"]) == (["python3"], ["-m", "dynamo.frontend"])
    assert container["ports"] == [{"name": "http", "containerPort": 8000, "protocol": "TCP"}]
    live = get("/live", "http", initialDelaySeconds=15, periodSeconds=10, timeoutSeconds=1, failureThreshold=3)
    ready = get("/health", "http", initialDelaySeconds=10, periodSeconds=10, timeoutSeconds=3, failureThreshold=3)
    assert (container["livenessProbe"], container["readinessProbe"]) == (live, ready)
    assert "startupProbe" not in container


def test_frontend_with_own_command_keeps_the_arguments() -> None:
    container = main(with_main("frontend", command=["python3.12"]))
    assert (container["command"], container["args"]) == (["python3.12"], ["-m", "dynamo.frontend"])


@pytest.mark.parametrize("kind", ["worker", "prefill", "decode"])
def test_every_kind_of_worker_has_a_system_server(kind: str) -> None:
    container = main({"componentType": kind})
    assert container["command"] == ["/bin/sh", "-c"]
    assert container["ports"] == [{"name": "system", "containerPort": 9090, "protocol": "TCP"}]
    assert env({"componentType": kind})["DYN_COMPONENT"] == kind


def test_planner_of_a_graph_has_metrics_an_account_and_no_probes() -> None:
    container = main({"componentType": "planner"})
    assert container["ports"] == [{"name": "metrics", "containerPort": 9085, "protocol": "TCP"}]
    assert not {"livenessProbe", "readinessProbe", "startupProbe", "args"} & container.keys()
    assert env({"componentType": "planner"})["PLANNER_PROMETHEUS_PORT"] == "9085"
    assert pod({"componentType": "planner"})["serviceAccountName"] == "g-planner"


EPP = {"componentType": "epp", "eppConfig": {"configMapRef": {"name": "mine", "key": "k.yaml"}}}


def test_endpoint_picker_reads_its_configuration_from_the_named_config_map() -> None:
    spec = pod(EPP)
    container = spec["containers"][-1]
    assert spec["volumes"][0] == {
        "name": "epp-config",
        "configMap": {"name": "mine", "items": [{"key": "k.yaml", "path": "epp-config-dynamo.yaml"}]},
    }
    assert container["volumeMounts"][0] == {"name": "epp-config", "mountPath": "/etc/epp", "readOnly": True}
    assert (spec["serviceAccountName"], spec["terminationGracePeriodSeconds"]) == ("g-epp", 130)


def test_endpoint_picker_of_the_frontends_image_is_configured_by_variables_alone() -> None:
    fields = {"componentType": "epp", "extraPodSpec": {"mainContainer": {"image": "registry/frontend:1.6.0"}}}
    spec, container, variables = pod(fields), main(fields), env(fields)
    assert not {"command", "args"} & set(container)
    wanted = {
        "DYN_ENFORCE_DISAGG": "false",
        "DYN_NAMESPACE_PREFIX": "default-g",
        "HOME": "/home/dynamo",
        "RUST_LOG": "info",
        "USE_STREAMING": "true",
    }
    assert {name: variables.get(name) for name in wanted} == wanted
    assert "DYN_KV_BLOCK_SIZE" not in variables
    assert container["volumeMounts"][0] == {"name": "hf-cache", "mountPath": "/home/dynamo/.cache"}
    assert "epp-config" not in {volume["name"] for volume in spec["volumes"]}
    assert (spec["serviceAccountName"], spec["terminationGracePeriodSeconds"]) == ("g-epp", 130)


def test_endpoint_picker_is_started_by_its_image_with_flags_of_two_dashes() -> None:
    container = main(EPP)
    assert "command" not in container
    flags = dict(zip(container["args"][::2], container["args"][1::2], strict=True))
    assert flags == {
        "--pool-name": "g-pool",
        "--pool-namespace": "default",
        "--pool-group": "inference.networking.k8s.io",
        "-v": "4",
        "--zap-encoder": "json",
        "--grpc-port": "9002",
        "--grpc-health-port": "9003",
        "--config-file": "/etc/epp/epp-config-dynamo.yaml",
    }
    assert [(port["name"], port["containerPort"]) for port in container["ports"]] == [
        ("grpc", 9002),
        ("grpc-health", 9003),
        ("metrics", 9090),
    ]
    assert container["livenessProbe"] == {
        "grpc": {"port": 9003, "service": "inference-extension"},
        "initialDelaySeconds": 5,
        "periodSeconds": 10,
    }


def test_generated_configuration_of_an_endpoint_picker_is_the_graphs() -> None:
    spec = pod({"componentType": "epp", "eppConfig": {"config": {"plugins": []}}})
    assert spec["volumes"][0]["configMap"] == {
        "name": "g-epp-config",
        "items": [{"key": "epp-config-dynamo.yaml", "path": "epp-config-dynamo.yaml"}],
    }


def test_users_mounts_do_not_drop_the_configuration_of_an_endpoint_picker() -> None:
    own = {"volumeMounts": [{"name": "a", "mountPath": "/a"}]}
    mounts = main({**EPP, **with_pod("epp", mainContainer=own, volumes=[{"name": "a"}])})["volumeMounts"]
    assert [mount["mountPath"] for mount in mounts] == ["/a", "/etc/epp", "/home/nonroot/.cache", "/dev/shm"]


@pytest.mark.parametrize("kind", ["", "default", "processor"])
def test_component_of_an_unknown_type_gets_only_what_all_get(kind: str) -> None:
    container = main({"componentType": kind})
    assert container["command"] == ["/bin/sh", "-c"]
    assert not {"args", "ports", "livenessProbe", "readinessProbe", "startupProbe"} & container.keys()


@pytest.mark.parametrize("field", ["livenessProbe", "readinessProbe"])
def test_probe_at_the_top_level_wins_over_all(field: str) -> None:
    probe = {"exec": {"command": ["a"]}, "initialDelaySeconds": 0}
    spec = {**with_main(**{field: get("/b", "system")}), field: probe}
    assert main(spec)[field] == {"exec": {"command": ["a"]}}


@pytest.mark.parametrize("field", ["livenessProbe", "readinessProbe", "startupProbe"])
def test_probe_in_the_main_container_replaces_ours_whole(field: str) -> None:
    assert main(with_main(**{field: {"tcpSocket": {"port": "8080"}}}))[field] == {"tcpSocket": {"port": 8080}}


def test_probe_in_the_main_container_without_handler_changes_only_numbers() -> None:
    assert main(with_main(startupProbe={"failureThreshold": 3}))["startupProbe"] == get(
        "/live", "system", periodSeconds=10, timeoutSeconds=5, failureThreshold=3
    )


def test_main_container_stands_behind_the_users_in_their_order() -> None:
    z, a, y, b = ({"name": name, "image": "i"} for name in "zayb")
    spec = with_pod(containers=[z, a], initContainers=[y, b])
    assert [container["name"] for container in pod(spec)["containers"]] == ["z", "a", "main"]
    assert [container["name"] for container in pod(spec)["initContainers"]] == ["y", "b"]


def test_users_lists_replace_those_of_the_main_container() -> None:
    spec = with_main(ports=[{"name": "x", "containerPort": 1}], command=["a"], args=["b"])
    container = main(spec)
    assert container["ports"] == [{"name": "x", "containerPort": 1}]
    assert (container["command"], container["args"]) == (["a"], ["b"])


def test_pod_fields_of_the_user_override_ours() -> None:
    spec = pod(
        with_pod(
            terminationGracePeriodSeconds=10,
            schedulerName="kai",
            tolerations=[{"key": "gpu", "operator": "Exists"}],
            hostIPC=True,
        )
    )
    assert spec["terminationGracePeriodSeconds"] == 10
    assert (spec["schedulerName"], spec["hostIPC"]) == ("kai", True)
    assert spec["tolerations"] == [{"key": "gpu", "operator": "Exists"}]


SECURITY: dict[str, tuple[Any, Any]] = {
    "none given": ({}, {"fsGroup": 1000}),
    "other fields given": ({"hostIPC": True}, {"fsGroup": 1000}),
    "null": ({"securityContext": None}, {"fsGroup": 1000}),
    "own fsGroup": ({"securityContext": {"fsGroup": 2000}}, {"fsGroup": 2000}),
    "only runAsUser": ({"securityContext": {"runAsUser": 5}}, {"runAsUser": 5}),
    "empty": ({"securityContext": {}}, {}),
}


@pytest.mark.parametrize(("fields", "expected"), SECURITY.values(), ids=SECURITY.keys())
def test_files_belong_to_a_group_only_where_the_user_says_nothing(fields: Any, expected: Any) -> None:
    assert pod(with_pod(**fields))["securityContext"] == expected


def test_secret_for_the_environment_stands_behind_the_users() -> None:
    spec = {**with_main(envFrom=[{"configMapRef": {"name": "a"}}]), "envFromSecret": "s"}
    assert main(spec)["envFrom"] == [{"configMapRef": {"name": "a"}}, {"secretRef": {"name": "s"}}]


RESOURCES: dict[str, tuple[Any, Any, Any]] = {
    "nothing": ({}, None, None),
    "empty parts": ({}, {"requests": {}, "limits": {}}, None),
    "all of them": (
        {},
        {
            "requests": {"cpu": "300m", "memory": "500Mi"},
            "limits": {"cpu": "10", "memory": "20Gi", "gpu": "1", "custom": {"x.io/y": "3"}},
        },
        {
            "requests": {"cpu": "300m", "memory": "500Mi"},
            "limits": {"cpu": "10", "memory": "20Gi", "nvidia.com/gpu": "1", "x.io/y": "3"},
        },
    ),
    "gpu of another make": ({}, {"limits": {"gpu": "1", "gpuType": "amd.com/gpu"}}, {"limits": {"amd.com/gpu": "1"}}),
    "gpu in requests": (
        {"limits": {"nvidia.com/gpu": 2}},
        {"requests": {"gpu": "2"}},
        {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "2"}},
    ),
    "canonical": ({}, {"limits": {"cpu": "1000m", "memory": "2048Mi"}}, {"limits": {"cpu": "1", "memory": "2Gi"}}),
    "laid over the container's by name": (
        {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": 1}},
        {"limits": {"cpu": "4"}},
        {"limits": {"cpu": "4", "memory": "1Gi"}, "requests": {"cpu": "1"}},
    ),
    "claims are appended": (
        {"claims": [{"name": "a"}]},
        {"claims": [{"name": "b", "request": ""}]},
        {"claims": [{"name": "a"}, {"name": "b"}]},
    ),
}


@pytest.mark.parametrize(("container", "resources", "expected"), RESOURCES.values(), ids=RESOURCES.keys())
def test_resources_are_laid_over_those_of_the_main_container(container: Any, resources: Any, expected: Any) -> None:
    claims = [{"name": name, "resourceClaimTemplateName": "t"} for name in ("a", "b")]
    spec = {**with_pod(mainContainer={"resources": container}, resourceClaims=claims), "resources": resources}
    assert main(spec).get("resources") == expected


def shared_memory(spec: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    rendered = pod(spec)
    return rendered.get("volumes", []), rendered["containers"][-1].get("volumeMounts", [])


@pytest.mark.parametrize(
    ("setting", "size"),
    [(None, "8Gi"), ({"size": "16Gi"}, "16Gi"), ({"size": "2048Mi"}, "2Gi")],
    ids=str,
)
def test_shared_memory_has_its_size(setting: Any, size: str) -> None:
    volumes, mounts = shared_memory({**WORKER, "sharedMemory": setting})
    assert volumes == [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": size}}]
    assert mounts == [{"name": "shared-memory", "mountPath": "/dev/shm"}]


def test_disabled_shared_memory_leaves_nothing() -> None:
    assert shared_memory({**WORKER, "sharedMemory": {"disabled": True}}) == ([], [])


OWN_MEMORY = {"medium": "Memory", "sizeLimit": "64Gi"}


def test_shared_memory_of_a_set_size_takes_the_place_of_the_users() -> None:
    fields = with_pod(
        volumes=[{"name": "shared-memory", "emptyDir": {}}, {"name": "other", "emptyDir": {}}],
        mainContainer={
            "volumeMounts": [{"name": "shared-memory", "mountPath": "/x"}, {"name": "other", "mountPath": "/dev/shm"}]
        },
    )
    volumes, mounts = shared_memory({**fields, "sharedMemory": {"size": "16Gi"}})
    assert [volume["name"] for volume in volumes] == ["other", "shared-memory"]
    assert volumes[1]["emptyDir"]["sizeLimit"] == "16Gi"
    assert mounts == [{"name": "shared-memory", "mountPath": "/dev/shm"}]


@pytest.mark.parametrize("name", ["dshm", "shared-memory"])
@pytest.mark.parametrize("path", ["/dev/shm", "/dev/shm/"])
def test_users_own_shared_memory_stays(name: str, path: str) -> None:
    volumes = [{"name": name, "emptyDir": OWN_MEMORY}]
    mounts = [{"name": name, "mountPath": path}]
    assert shared_memory(with_pod(volumes=volumes, mainContainer={"volumeMounts": mounts})) == (volumes, mounts)


def test_claim_that_is_shared_memory_stays() -> None:
    volumes, mounts = shared_memory({**WORKER, "volumeMounts": [{"name": "c", "mountPoint": "/dev/shm"}]})
    assert [volume["name"] for volume in volumes] == ["c"]
    assert mounts == [{"name": "c", "mountPath": "/dev/shm"}]


def test_users_volume_of_our_name_is_what_is_mounted() -> None:
    volumes, mounts = shared_memory(with_pod(volumes=[{"name": "shared-memory", "emptyDir": OWN_MEMORY}]))
    assert volumes == [{"name": "shared-memory", "emptyDir": OWN_MEMORY}]
    assert mounts == [{"name": "shared-memory", "mountPath": "/dev/shm"}]


def test_mount_of_our_volume_needs_no_volume_of_the_user() -> None:
    own = [{"name": "shared-memory", "mountPath": "/dev/shm"}]
    volumes, mounts = shared_memory(with_pod(mainContainer={"volumeMounts": own}))
    assert volumes == [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]
    assert mounts == own


@pytest.mark.parametrize("in_template", [False, True], ids=["claim", "volume"])
def test_disk_of_our_name_is_not_mounted_as_shared_memory(*, in_template: bool) -> None:
    disk = {"name": "shared-memory", "persistentVolumeClaim": {"claimName": "shared-memory"}}
    own = [{"name": "shared-memory", "mountPath": "/data"}]
    spec = (
        with_pod(volumes=[disk], mainContainer={"volumeMounts": own})
        if in_template
        else {**WORKER, "volumeMounts": [{"name": "shared-memory", "mountPoint": "/data"}]}
    )
    volumes, mounts = shared_memory(spec)
    assert volumes[0] == disk
    assert mounts == [*own, {"name": "shared-memory-default", "mountPath": "/dev/shm"}]
    assert volumes[1]["name"] == "shared-memory-default"


def test_claims_are_mounted_in_order_and_before_shared_memory() -> None:
    spec = {**WORKER, "volumeMounts": [{"name": "b", "mountPoint": "/b"}, {"name": "a", "mountPoint": "/a"}]}
    volumes, mounts = shared_memory(spec)
    assert volumes[:2] == [
        {"name": "b", "persistentVolumeClaim": {"claimName": "b"}},
        {"name": "a", "persistentVolumeClaim": {"claimName": "a"}},
    ]
    assert [mount["mountPath"] for mount in mounts] == ["/b", "/a", "/dev/shm"]


def test_claim_mounted_twice_is_one_volume() -> None:
    volumes, mounts = shared_memory(
        {**WORKER, "volumeMounts": [{"name": "a", "mountPoint": "/a"}, {"name": "a", "mountPoint": "/b"}]}
    )
    assert [volume["name"] for volume in volumes] == ["a", "shared-memory"]
    assert [mount["name"] for mount in mounts] == ["a", "a", "shared-memory"]


def test_claim_that_the_user_already_has_as_a_volume_is_not_added_again() -> None:
    own = {"name": "a", "persistentVolumeClaim": {"claimName": "a", "readOnly": True}}
    volumes, _ = shared_memory({**with_pod(volumes=[own]), "volumeMounts": [{"name": "a", "mountPoint": "/a"}]})
    assert volumes[0] == own
    assert len(volumes) == 2


@pytest.mark.parametrize("claim", ["my.claim", "c" * 80, "a." * 40 + "b"])
def test_volume_of_a_claim_has_a_name_that_a_volume_may_have(claim: str) -> None:
    volumes, mounts = shared_memory({**WORKER, "volumeMounts": [{"name": claim, "mountPoint": "/a"}]})
    assert volumes[0]["persistentVolumeClaim"] == {"claimName": claim}
    assert volumes[0]["name"] == mounts[0]["name"]
    assert len(volumes[0]["name"]) <= 63
    assert "." not in volumes[0]["name"]


CACHE = {
    "vllm with a place": (VLLM, "/cache", "/cache", "/cache"),
    "vllm without": (VLLM, "", "/root/.cache/vllm", "/root/.cache/vllm"),
    "sglang with a place": (["python3", "-m", "dynamo.sglang"], "/cache", "/cache", None),
}


@pytest.mark.parametrize(("command", "place", "mounted", "variable"), CACHE.values(), ids=CACHE.keys())
def test_compilation_cache_is_mounted_and_told_to_vllm(
    command: list[str], place: str, mounted: str, variable: str | None
) -> None:
    spec = {
        **with_main(command=command),
        "volumeMounts": [{"name": "c", "mountPoint": place, "useAsCompilationCache": True}],
    }
    assert main(spec)["volumeMounts"][0] == {"name": "c", "mountPath": mounted}
    assert env(spec).get("VLLM_CACHE_ROOT") == variable


def test_users_own_cache_variable_wins() -> None:
    spec = {
        **with_main(command=VLLM, env=[{"name": "VLLM_CACHE_ROOT", "value": "/mine"}]),
        "volumeMounts": [{"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}],
    }
    assert env(spec)["VLLM_CACHE_ROOT"] == "/mine"


def test_fragments_are_written_as_the_server_stores_them() -> None:
    spec = with_pod(
        hostPID=False,
        nodeSelector=None,
        containers=[
            {
                "name": "a",
                "image": "i",
                "tty": False,
                "env": [{"name": "E", "value": ""}],
                "resources": {"limits": {"cpu": 0.5}},
            }
        ],
        mainContainer={"env": [{"name": "F", "value": ""}], "stdin": False},
    )
    rendered = pod(spec)
    assert "hostPID" not in rendered
    assert rendered["containers"][0] == {
        "name": "a",
        "image": "i",
        "env": [{"name": "E"}],
        "resources": {"limits": {"cpu": "500m"}},
    }
    assert {"name": "F"} in rendered["containers"][1]["env"]


def test_references_between_variables_of_a_side_container_are_expanded() -> None:
    variables = [{"name": "A", "value": "$(B)"}, {"name": "B", "value": "1"}]
    spec = with_pod(containers=[{"name": "a", "image": "i", "env": variables}])
    assert pod(spec)["containers"][0]["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]


@pytest.mark.parametrize(
    "source", [{"emptyDir": {}}, {"hostPath": {"path": "/m"}}, {"persistentVolumeClaim": {"claimName": "b"}}]
)
def test_mount_may_name_a_volume_of_the_users_with_any_source(source: dict[str, Any]) -> None:
    volume = {"name": "models", **source}
    fields = {**WORKER, "volumeMounts": [{"name": "models", "mountPoint": "/models"}]}
    spec = pod({**fields, "extraPodSpec": {**WORKER.get("extraPodSpec", {}), "volumes": [volume]}})
    assert [one for one in spec["volumes"] if one["name"] == "models"] == [volume]
    mounts = spec["containers"][-1]["volumeMounts"]
    assert [one for one in mounts if one["name"] == "models"] == [{"name": "models", "mountPath": "/models"}]
