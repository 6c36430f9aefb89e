"""The port of a program is the one that the user writes: everything that names a port says the same number."""

from collections.abc import Iterator
from typing import Any

import pytest

from hooks.ground import contract
from tests import make
from tests.component import groups, render
from tests.component.api_server_cases import main, pod

OLD, NEW = "img:0.9.1", "img:1.6.1"
GRPC = [{"name": "grpc", "containerPort": 9002}]
RUNTIME = {"name": "runtime", "image": NEW, "restartPolicy": "Always"}


def env(name: str, value: str) -> dict[str, Any]:
    return {"envs": [{"name": name, "value": value}]}


def frontend(**container: Any) -> dict[str, Any]:
    return {"componentType": "frontend", **main(**container)}


def worker(**container: Any) -> dict[str, Any]:
    return {"componentType": "worker", **main(image=NEW, **container)}


def planner(**container: Any) -> dict[str, Any]:
    return {"componentType": "planner", **main(image=NEW, **container)}


def named(name: str, number: int) -> dict[str, Any]:
    return {"ports": [{"name": name, "containerPort": number}]}


def shell(script: str) -> dict[str, Any]:
    return {"command": ["sh", "-c"], "args": [script]}


FOLLOWED: dict[str, tuple[dict[str, Any], str, int, str]] = {
    "worker's variable": ({**worker(), **env("DYN_SYSTEM_PORT", "8081")}, "system", 8081, "DYN_SYSTEM_PORT"),
    "main container's variable": (
        worker(env=[{"name": "DYN_SYSTEM_PORT", "value": "8081"}]),
        *("system", 8081, "DYN_SYSTEM_PORT"),
    ),
    "the stronger variable": (
        {**worker(env=[{"name": "DYN_SYSTEM_PORT", "value": "7000"}]), **env("DYN_SYSTEM_PORT", "8081")},
        *("system", 8081, "DYN_SYSTEM_PORT"),
    ),
    "worker's port by name": (worker(**named("system", 9091)), "system", 9091, "DYN_SYSTEM_PORT"),
    "a shell gives a worker the variable": (
        worker(**shell("DYN_SYSTEM_PORT=8081 python3 -m dynamo.vllm --model m")),
        *("system", 8081, "DYN_SYSTEM_PORT"),
    ),
    "an old worker": ({"componentType": "decode", **env("DYN_SYSTEM_PORT", "8081")}, "system", 8081, "DYN_SYSTEM_PORT"),
    "NIXL": (
        {**worker(), **env("NIXL_TELEMETRY_PROMETHEUS_PORT", "19999")},
        *("nixl", 19999, "NIXL_TELEMETRY_PROMETHEUS_PORT"),
    ),
    "frontend's flag": (frontend(args=["-m", "dynamo.frontend", "--http-port", "8080"]), "http", 8080, "DYN_HTTP_PORT"),
    "with an equals sign": (
        frontend(args=["-m", "dynamo.frontend", "--http-port=8080"]),
        "http",
        8080,
        "DYN_HTTP_PORT",
    ),
    "in a shell": (
        frontend(**shell("exec python3 -m dynamo.frontend --router-mode kv --http-port '8080'")),
        *("http", 8080, "DYN_HTTP_PORT"),
    ),
    "in a subshell": (
        frontend(**shell("(python3 -m dynamo.frontend --http-port 8080)")),
        "http",
        8080,
        "DYN_HTTP_PORT",
    ),
    "not in a comment": (
        frontend(**shell("# --http-port 9999\npython3 -m dynamo.frontend \\\n  --http-port 8080")),
        *("http", 8080, "DYN_HTTP_PORT"),
    ),
    "flag that refers to a variable": (
        {**frontend(args=["-m", "dynamo.frontend", "--http-port", "$(PORT)"]), **env("PORT", "8080")},
        *("http", 8080, "DYN_HTTP_PORT"),
    ),
    "flag in a shell that refers to one": (
        {**frontend(**shell('python3 -m dynamo.frontend --http-port "${PORT}"')), **env("PORT", "8080")},
        *("http", 8080, "DYN_HTTP_PORT"),
    ),
    "flag that refers to its own variable": (
        {**frontend(**shell("python3 -m dynamo.frontend --http-port ${DYN_HTTP_PORT:-8000}"), **named("http", 8080))},
        *("http", 8080, "DYN_HTTP_PORT"),
    ),
    "frontend's variable": ({**frontend(), **env("DYN_HTTP_PORT", "8080")}, "http", 8080, "DYN_HTTP_PORT"),
    "variable that refers to another": (
        {**frontend(), "envs": [{"name": "DYN_HTTP_PORT", "value": "$(P)"}, {"name": "P", "value": "8080"}]},
        *("http", 8080, "DYN_HTTP_PORT"),
    ),
    "frontend's port by name": (frontend(**named("http", 8080)), "http", 8080, "DYN_HTTP_PORT"),
    "two places that agree": (
        {**frontend(**named("http", 8080)), **env("DYN_HTTP_PORT", "8080")},
        *("http", 8080, "DYN_HTTP_PORT"),
    ),
    "planner's variable": (
        {**planner(), **env("PLANNER_PROMETHEUS_PORT", "9100")},
        *("metrics", 9100, "PLANNER_PROMETHEUS_PORT"),
    ),
    "planner's configuration": (
        planner(
            command=["python3", "-m", "dynamo.planner"],
            args=["--config", '{"metric_reporting_prometheus_port": 9100}'],
        ),
        *("metrics", 9100, "PLANNER_PROMETHEUS_PORT"),
    ),
    "planner's system port": ({**planner(), **env("DYN_SYSTEM_PORT", "8081")}, "system", 8081, "DYN_SYSTEM_PORT"),
    "new picker's metrics": (
        {"componentType": "epp", **main(image=NEW, ports=[*GRPC, {"name": "metrics", "containerPort": 9100}])},
        *("metrics", 9100, "DYN_EPP_METRICS_PORT"),
    ),
}


def ports_of(container: dict[str, Any]) -> dict[str, int]:
    return {port["name"]: port["containerPort"] for port in container.get("ports", ())}


def asked(container: dict[str, Any]) -> Iterator[int]:
    """The numbers at which the probes ask; a name is looked up among the container's ports."""
    ports = ports_of(container)
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        for handler in ("httpGet", "grpc", "tcpSocket"):
            if port := container.get(field, {}).get(handler, {}).get("port"):
                yield ports[port] if isinstance(port, str) else port


@pytest.mark.parametrize("case", FOLLOWED)
def test_port_variable_and_probes_follow_what_is_written(case: str) -> None:
    spec, name, number, variable = FOLLOWED[case]
    container = render.main(spec)
    assert ports_of(container)[name] == number
    assert render.env(spec)[variable] == str(number)
    if name in {"http", "system"}:
        assert set(asked(container)) == {number}


@pytest.mark.parametrize("case", FOLLOWED)
def test_service_reaches_the_port(case: str) -> None:
    spec, name, number, _ = FOLLOWED[case]
    children = render.children(spec)
    service = next(child for child in children if child["kind"] == "Service")
    ports = ports_of(render.main(spec))
    reached = {port["name"]: ports.get(port["targetPort"], port["targetPort"]) for port in service["spec"]["ports"]}
    if name in reached:
        assert reached[name] == number
    assert next(iter(service["spec"]["ports"]))["port"] in {8000, 9090, 9085, 9002}, "clients know the Service's own"


def test_picker_with_configuration_gets_the_flags() -> None:
    spec = {
        "componentType": "epp",
        "eppConfig": {"configMapRef": {"name": "c"}},
        **main(ports=[{"name": "grpc", "containerPort": 9102}, {"name": "metrics", "containerPort": 9190}]),
    }
    args = render.main(spec)["args"]
    assert args[args.index("--grpc-port") + 1] == "9102"
    assert args[args.index("--metrics-port") + 1] == "9190"
    assert args[args.index("--grpc-health-port") + 1] == "9003"


def test_picker_listens_where_its_own_arguments_say() -> None:
    spec = {
        "componentType": "epp",
        "eppConfig": {"configMapRef": {"name": "c"}},
        **main(args=["-grpc-port", "9102", "-grpc-health-port=9103"]),
    }
    container = render.main(spec)
    assert ports_of(container) == {"grpc": 9102, "grpc-health": 9103, "metrics": 9090}
    assert set(asked(container)) == {9103}


@pytest.mark.parametrize(
    "written",
    [
        {"args": ["-m", "dynamo.frontend", "--http-port", "8080"]},
        {"envs": [{"name": "DYN_HTTP_PORT", "value": "8080"}]},
    ],
    ids=["flag", "variable"],
)
def test_frontend_beside_a_worker_follows_its_own(written: dict[str, Any]) -> None:
    spec = {**worker(), "frontendSidecar": {"image": NEW, **written}}
    sidecar = next(one for one in render.pod(spec)["containers"] if one["name"] == "sidecar-frontend")
    assert ports_of(sidecar) == {"http": 8080}
    assert set(asked(sidecar)) == {8080}
    assert {"name": "DYN_HTTP_PORT", "value": "8080"} in sidecar["env"]
    assert ports_of(render.main(spec))["system"] == 9090


def test_runtime_beside_an_engine_follows_the_variable() -> None:
    spec = {
        "componentType": "worker",
        **pod(mainContainer={"image": "engine:1"}, initContainers=[RUNTIME]),
        **env("DYN_SYSTEM_PORT", "8081"),
    }
    container = render.pod(spec)["initContainers"][0]
    assert ports_of(container) == {"system": 8081}
    assert set(asked(container)) == {8081}


def test_ingress_of_a_worker_reaches_the_frontend_beside_it() -> None:
    spec = {
        **worker(),
        "frontendSidecar": {"image": NEW, "args": ["-m", "dynamo.frontend", "--http-port=8080"]},
        "ingress": {"enabled": True, "host": "h", "ingressControllerClassName": "nginx"},
    }
    service = next(child for child in render.children(spec) if child["kind"] == "Service")
    assert {(port["port"], port["targetPort"]) for port in service["spec"]["ports"]} == {(9090, "system"), (8000, 8080)}


def test_model_service_of_a_lone_component_has_the_engines_port() -> None:
    spec = {**worker(), "modelRef": {"name": "org/m"}, **env("DYN_SYSTEM_PORT", "8081")}
    services = [child for child in render.children(spec, graph="") if child["kind"] == "Service"]
    model = next(one for one in services if one["spec"].get("clusterIP") == "None")
    assert model["spec"]["ports"][0]["targetPort"] == 8081


def test_node_of_an_elastic_engine_waits_at_the_leaders_port() -> None:
    spec = {
        **worker(command=["python3", "-m", "dynamo.vllm"], args=["--enable-elastic-ep", "--model", "m"]),
        **env("DYN_SYSTEM_PORT", "8081"),
        "multinode": {"nodeCount": 2},
        "resources": {"limits": {"gpu": "2"}},
    }
    answer = render.answer(make.component("c", "g", **spec), installed=groups.INSTALLED)
    sets = render.only(answer.children, "LeaderWorkerSet")
    script = sets["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][-1]["args"][0]
    assert ":8081/live" in script
    assert f":{contract.SYSTEM_PORT}/live" not in script


UNFOLLOWED: dict[str, dict[str, Any]] = {
    "no port": {**worker(), **env("DYN_SYSTEM_PORT", "-1")},
    "a random port": {**worker(), **env("DYN_SYSTEM_PORT", "0")},
    "a Secret": {
        **worker(),
        "envs": [{"name": "DYN_SYSTEM_PORT", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
    },
    "several": worker(**shell("DYN_SYSTEM_PORT=1 python3 -m a & DYN_SYSTEM_PORT=2 python3 -m dynamo.vllm")),
    "a frontend's flag in a worker": worker(**shell("python3 -m x --http-port 1 & python3 -m dynamo.vllm")),
}


@pytest.mark.parametrize("case", UNFOLLOWED)
def test_what_cannot_be_read_leaves_the_default(case: str) -> None:
    container = render.main(UNFOLLOWED[case])
    assert ports_of(container)["system"] == contract.SYSTEM_PORT
    assert set(asked(container)) == {contract.SYSTEM_PORT}


def test_known_flag_counts_beside_an_unknown_variable() -> None:
    spec = {
        **frontend(args=["-m", "dynamo.frontend", "--http-port", "8080"]),
        "envs": [{"name": "DYN_HTTP_PORT", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}],
    }
    assert ports_of(render.main(spec)) == {"http": 8080}
