"""At which port a program serves, and the Service of a component of no known type, which leads there."""

from typing import Any

import pytest

from hooks.component.image.command_line import CommandLine
from hooks.component.image.programs import read_runs
from hooks.component.image.served_ports import find_ports
from tests.component.render import children, only


@pytest.mark.parametrize(
    ("line", "env", "ports"),
    [
        ("python3 -m dynamo.frontend", {}, {8000}),
        ("python3 -m dynamo.frontend --http-port 8080", {"DYN_HTTP_PORT": "8000"}, {8080}),
        ("python3 -m dynamo.frontend", {"DYN_HTTP_PORT": "8081", "DYN_SYSTEM_PORT": "9090"}, {8081}),
        ("python3 -m dynamo.frontend --http-port $PORT", {}, None),
        ("python3 -m dynamo.vllm", {"DYN_SYSTEM_PORT": "9090"}, {9090}),
        ("python3 -m dynamo.vllm", {}, set()),
        ("python3 -m dynamo.vllm", {"DYN_SYSTEM_PORT": "-1"}, set()),
        ("python3 -m dynamo.planner", {"DYN_SYSTEM_PORT": "9090", "PLANNER_PROMETHEUS_PORT": "9085"}, {9085, 9090}),
        ("vllm serve", {"DYN_SYSTEM_PORT": "9090"}, None),
    ],
)
def test_flag_wins_over_the_variable(line: str, env: dict[str, str], ports: set[int] | None) -> None:
    (run,) = read_runs(CommandLine(command=("sh", "-c", line), args=()))
    assert find_ports(run, [{"name": name, "value": value} for name, value in env.items()]) == ports


def test_value_from_elsewhere_is_unknown() -> None:
    (run,) = read_runs(CommandLine(command=("python3", "-m", "dynamo.vllm"), args=()))
    assert find_ports(run, [{"name": "DYN_SYSTEM_PORT", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]) is None


def service_port(**container: Any) -> dict[str, Any]:
    spec = {"componentType": "main", "extraPodSpec": {"mainContainer": {"image": "r/a:1.6.1", **container}}}
    (port,) = only(children(spec), "Service")["spec"]["ports"]
    return {key: port[key] for key in ("name", "port", "targetPort")}


FRONTEND = ["python3", "-m", "dynamo.frontend"]


@pytest.mark.parametrize(
    ("container", "port"),
    [
        ({"command": FRONTEND}, {"name": "http", "port": 8000, "targetPort": 8000}),
        ({"command": [*FRONTEND, "--http-port=8080"]}, {"name": "http", "port": 8000, "targetPort": 8080}),
        (
            {"command": FRONTEND, "env": [{"name": "DYN_HTTP_PORT", "value": "8081"}]},
            {"name": "http", "port": 8000, "targetPort": 8081},
        ),
        (
            {"command": ["redis-server"], "ports": [{"name": "redis", "containerPort": 6379}]},
            {"name": "redis", "port": 6379, "targetPort": "redis"},
        ),
        (
            {"ports": [{"name": "m", "containerPort": 1}, {"name": "http", "containerPort": 8080}]},
            {"name": "http", "port": 8080, "targetPort": "http"},
        ),
        ({"ports": [{"containerPort": 7000}]}, {"name": "http", "port": 7000, "targetPort": 7000}),
        ({"command": ["x"]}, {"name": "system", "port": 9090, "targetPort": "system"}),
    ],
    ids=["frontend", "its flag", "its variable", "port", "port http", "port without a name", "nothing known"],
)
def test_service_of_no_known_type_leads_where_its_container_serves(
    container: dict[str, Any], port: dict[str, Any]
) -> None:
    assert service_port(**container) == port
