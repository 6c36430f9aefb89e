"""Pods whose containers end at once, or serve where no probe asks, and pods of which nothing is known."""

from typing import Any

import pytest

from hooks.tools.offline.pod_starts import find_override, find_trouble

VLLM = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1"
SYSTEM = {"name": "DYN_SYSTEM_PORT", "value": "8081"}


def probe(port: Any, path: str = "/live") -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": port}}


def pod(*command: str, image: str = VLLM, beside: str = "containers", **fields: Any) -> dict[str, Any]:
    container = {"name": "main", "image": image, "command": [*command], **fields}
    return {"containers": [{"name": "a", "image": "i"}], beside: [container]}


CRASHES = {
    "program in a script": (
        pod("sh", "-c", "ray start --head && python3 -m dynamo.vllm"),
        (127, "/bin/sh: 1: ray: not found"),
    ),
    "program alone": (
        pod("ray", "start", "--block"),
        (128, 'exec: "ray": executable file not found in $PATH'),
    ),
    "module": (pod("python3", "-m", "dynamo.sglang"), (1, "No module named dynamo.sglang")),
    "flag of an engine": (
        pod("python3", "-m", "dynamo.vllm", "--is-prefill-worker"),
        (2, "error: unrecognized arguments: --is-prefill-worker"),
    ),
    "flag of a frontend": (
        pod("python3", "-m", "dynamo.frontend", "--store-kv=mem"),
        (1, "error: unrecognized arguments: --store-kv"),
    ),
    "variable": (
        pod("python3", "-m", "dynamo.vllm", env=[{"name": "DYN_CONNECTOR", "value": "nixl"}]),
        (1, "ValueError: DYN_CONNECTOR"),
    ),
    "arguments for another program": (pod("/bin/sh", "-c", "--model", "m"), (2, "/bin/sh: Illegal option --model")),
    "arguments for a module": (pod("python3", "--http-port", "1"), (2, "unknown option --http-port")),
    "program without its words": (
        pod("/bin/sh", "-c", "python3", "-m", "dynamo.vllm"),
        (0, "python3 ends, because it has nothing to read"),
    ),
    "init container": (pod("sh", "-c", "ray start", beside="initContainers"), (127, "/bin/sh: 1: ray: not found")),
}


@pytest.mark.parametrize(("spec", "end"), CRASHES.values(), ids=CRASHES)
def test_container_ends_with_the_code_and_the_words_of_its_program(spec: Any, end: tuple[int, str]) -> None:
    trouble = find_trouble(spec)
    assert trouble is not None
    assert (trouble.exit_code, trouble.said) == end
    assert trouble.container == "main"
    assert trouble.is_init is ("initContainers" in spec)
    assert trouble.why


DEAF = {
    "worker with another system port": (
        pod("python3", "-m", "dynamo.vllm", env=[SYSTEM], startupProbe=probe(9090)),
        'Startup probe failed: Get "http://10.0.0.1:9090/live": dial tcp 10.0.0.1:9090: connect: connection refused',
        "it serves at 8081",
    ),
    "worker without a system server": (
        pod("python3", "-m", "dynamo.vllm", livenessProbe=probe(9090)),
        'Liveness probe failed: Get "http://10.0.0.1:9090/live": dial tcp 10.0.0.1:9090: connect: connection refused',
        "it serves nowhere",
    ),
    "frontend with another port": (
        pod(
            *("sh", "-c", "exec python3 -m dynamo.frontend --http-port 8080"),
            ports=[{"name": "http", "containerPort": 8000}],
            readinessProbe=probe("http", "/health"),
        ),
        (
            'Readiness probe failed: Get "http://10.0.0.1:8000/health": '
            "dial tcp 10.0.0.1:8000: connect: connection refused"
        ),
        "it serves at 8080",
    ),
    "port without a name": (
        pod("python3", "-m", "dynamo.vllm", env=[SYSTEM], readinessProbe=probe("system")),
        'Readiness probe errored: couldn\'t find port: strconv.Atoi: parsing "system": invalid syntax',
        "no port has this name",
    ),
}


@pytest.mark.parametrize(("spec", "said", "why"), DEAF.values(), ids=DEAF)
def test_probe_at_a_port_where_nothing_serves_fails(spec: Any, said: str, why: str) -> None:
    trouble = find_trouble(spec, address="10.0.0.1")
    assert trouble is not None
    assert (trouble.exit_code, trouble.said, trouble.why) == (None, said, why)


RIGHT = {
    "ports agree": pod("python3", "-m", "dynamo.vllm", env=[SYSTEM], startupProbe=probe(8081)),
    "named port": pod(
        "python3", "-m", "dynamo.frontend", ports=[{"name": "h", "containerPort": 8000}], startupProbe=probe("h")
    ),
    "variable of the shell": pod("sh", "-c", "DYN_SYSTEM_PORT=1 python3 -m dynamo.vllm", startupProbe=probe(1)),
    "variable from elsewhere": pod("python3", "-m", "dynamo.vllm", envFrom=[{}], startupProbe=probe(1)),
    "another program beside": pod("sh", "-c", "serve & python3 -m dynamo.vllm", startupProbe=probe(1)),
    "another program": pod("serve", startupProbe=probe(1)),
    "gRPC of a frontend": pod("python3", "-m", "dynamo.frontend", "--kserve-grpc-server", startupProbe=probe(1)),
    "loop that waits": pod("sh", "-c", "until ray health-check; do sleep 1; done", beside="initContainers"),
    "unknown release": pod("ray", "start", image="r/vllm-runtime:main"),
    "probe of an init container that ends": pod(
        "python3", "-m", "dynamo.vllm", beside="initContainers", startupProbe=probe(1)
    ),
    "nothing said": {"containers": [{"name": "a", "image": "i"}]},
}


@pytest.mark.parametrize("spec", RIGHT.values(), ids=RIGHT)
def test_what_may_well_start_has_no_trouble(spec: Any) -> None:
    assert find_trouble(spec) is None


def test_release_that_the_user_says_counts_for_the_main_container() -> None:
    spec = pod("python3", "-m", "dynamo.vllm", "--is-prefill-worker", image="r/llm:mine")
    assert find_trouble(spec) is None
    trouble = find_trouble(spec, "1.5.0")
    assert trouble is not None
    assert str(trouble).startswith("container main: error: unrecognized arguments: --is-prefill-worker: dynamo.vllm")


def test_release_is_said_by_the_component_or_by_the_service_of_the_graph() -> None:
    component = {"kind": "DynamoComponentDeployment", "spec": {"runtimeVersionOverride": "1.5.0"}}
    services = {"w": {"runtimeVersionOverride": "1.4.0"}}
    graph = {"kind": "DynamoGraphDeployment", "spec": {"services": services}}
    assert find_override([{"kind": "ReplicaSet"}, component, graph], "w") == "1.5.0"
    assert find_override([{"kind": "PodClique"}, graph], "w") == "1.4.0"
    assert find_override([graph], "other") == ""
    assert find_override([], "w") == ""
