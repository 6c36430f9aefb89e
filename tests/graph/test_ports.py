"""Ports of a graph's services: its own variables count, and the gateway and the prober call where programs listen."""

from typing import Any

import pytest

from hooks.graph.rules.validate import review_graph
from hooks.ground.problems import texts_of
from hooks.language.validation.review import Review
from tests import make
from tests.graph import world

NEW = "img:1.6.1"
HTTP = ["-m", "dynamo.frontend", "--http-port", "8080"]
PICKER = make.service("epp", NEW)
INSTALLED = ("inference-pool",)


def with_port(number: int) -> list[dict[str, str]]:
    return [{"name": "DYN_SYSTEM_PORT", "value": str(number)}]


def worker(**fields: Any) -> dict[str, Any]:
    return make.service("worker", NEW, **fields)


def problems(services: dict[str, Any], **fields: Any) -> tuple[str, ...]:
    review = Review(
        new=make.graph(services, **fields), old=None, user=None, settings=make.facts().settings, installed=None
    )
    return texts_of(review_graph(review).problems)


def children(services: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    answer = world.ask(make.graph(services, **fields), installed=INSTALLED)
    assert answer.problems == ()
    return list(answer.children)


def target_of_model(services: dict[str, Any], **fields: Any) -> int | str:
    """The port at which a DynamoModel's engines are called."""
    found = children(services, **fields)
    (service,) = (one for one in found if one["kind"] == "Service" and one["spec"].get("clusterIP") == "None")
    target: int | str = service["spec"]["ports"][0]["targetPort"]
    return target


def test_variable_of_the_graph_counts_and_is_named() -> None:
    frontend = make.service("frontend", NEW, args=HTTP)
    (text,) = problems({"F": frontend}, envs=[{"name": "DYN_HTTP_PORT", "value": "8081"}])
    assert text.startswith(
        "spec.services[F].extraPodSpec.mainContainer.args[2]: says port 8080, and spec.envs[0] says 8081"
    )


def test_variable_of_a_service_wins_over_that_of_the_graph() -> None:
    service = {**worker(), "envs": with_port(8082)}
    assert problems({"W": service}, envs=with_port(8081)) == ()
    assert target_of_model({"W": {**service, "modelRef": {"name": "m"}}}, envs=with_port(8081)) == 8082


def test_running_graph_keeps_its_children_when_its_ports_contradict() -> None:
    good = make.graph({"F": make.service("frontend", NEW)})
    answer = world.ask(good)
    live = world.apply((), answer.children)
    bad = make.graph({"F": make.service("frontend", NEW, args=HTTP)}, envs=[{"name": "DYN_HTTP_PORT", "value": "8081"}])
    kept = world.ask(bad, live)
    assert "says port 8080" in texts_of(kept.problems)[0]
    name = "DynamoComponentDeployment"
    assert world.child(kept.children, name, "g-f")["spec"] == world.child(answer.children, name, "g-f")["spec"]


@pytest.mark.parametrize(
    ("ports", "target"),
    [((9090, 9090), 9090), ((8081, 8081), 8081), ((8081, 9090), "system")],
    ids=["usual", "another", "different"],
)
def test_service_of_a_model_has_the_port_of_its_engines(ports: tuple[int, int], target: int | str) -> None:
    services = {
        f"W{index}": {**worker(modelRef={"name": "m"}), "envs": with_port(number)} for index, number in enumerate(ports)
    }
    assert target_of_model(services) == target


def pool_of(services: dict[str, Any]) -> Any:
    (pool,) = (one for one in children(services) if one["kind"] == "InferencePool")
    return pool["spec"]["targetPorts"]


def test_pool_sends_requests_to_the_frontends_beside_workers() -> None:
    assert pool_of({"E": PICKER, "W": worker(frontendSidecar={"image": NEW})}) == [{"number": 8000}]
    assert pool_of({"E": PICKER, "W": worker(frontendSidecar={"image": NEW, "args": HTTP})}) == [{"number": 8080}]


def test_frontends_of_one_pool_need_one_port() -> None:
    services = {
        "E": PICKER,
        "A": worker(frontendSidecar={"image": NEW}),
        "B": worker(frontendSidecar={"image": NEW, "args": HTTP}),
    }
    (text,) = problems(services)
    assert text.startswith(
        "spec.services[B]: the frontend beside it listens at 8080, and the one beside spec.services[A]"
    )
    assert problems({name: service for name, service in services.items() if name != "E"}) == ()


def test_deployment_configuration_has_the_frontends_port() -> None:
    config = {"name": "DYN_DEPLOYMENT_CONFIG", "value": '{"F":{"port":1}}'}
    frontend = {**make.service("frontend", NEW, args=HTTP), "envs": [config]}
    (component,) = (one for one in children({"F": frontend}) if one["kind"] == "DynamoComponentDeployment")
    assert {"name": "DYN_DEPLOYMENT_CONFIG", "value": '{"F":{"port":8080}}'} in component["spec"]["envs"]


def test_frontend_that_v1beta1_names_follows_its_flag() -> None:
    kept = '{"components":[{"name":"W","frontendSidecar":"web"}]}'
    service = worker(extraPodSpec={"containers": [{"name": "web", "image": NEW, "args": HTTP}]})
    graph = make.graph({"E": PICKER, "W": service})
    annotated = {**graph["metadata"], "annotations": {"nvidia.com/dgd-spec": kept}}
    answer = world.ask({**graph, "metadata": annotated}, installed=INSTALLED)
    (pool,) = (one for one in answer.children if one["kind"] == "InferencePool")
    assert pool["spec"]["targetPorts"] == [{"number": 8080}]
