"""The Service of a component of no known type leads to the port at which its container serves."""

from typing import Any

import pytest

from tests.component.render import children, only


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
            {"command": [*FRONTEND, "--http-port=8080"], "env": [{"name": "DYN_HTTP_PORT", "value": "8081"}]},
            {"name": "http", "port": 8000, "targetPort": 8080},
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
    ids=["frontend", "its flag", "its variable", "both", "port", "port http", "port without a name", "nothing known"],
)
def test_service_of_no_known_type_leads_where_its_container_serves(
    container: dict[str, Any], port: dict[str, Any]
) -> None:
    assert service_port(**container) == port
