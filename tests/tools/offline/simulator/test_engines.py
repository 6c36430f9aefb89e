"""Engines of simulated pods: what they answer, and that they come and go with their pods."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import orjson
import pytest
import requests

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.engines import (
    EngineFailed,
    Engines,
    LoraSupport,
    SimulatedEngine,
    lora_of,
    reserve_port,
    run_engines,
)
from hooks.tools.offline.simulator.loopback_http import Request, Response, run_listeners
from tests.tools.offline.simulator import worlds
from tests.waiting import PATIENCE

JSON = "application/json"
BODY = {"lora_name": "org/a", "source": {"uri": "s3://b/a"}}


def ask(engine: SimulatedEngine, method: str, path: str, body: Any = None, content_type: str = JSON) -> tuple[int, Any]:
    sent = b"" if body is None else orjson.dumps(body)
    answer = engine.answer(Request(method, path, content_type, sent))
    return answer.status, orjson.loads(answer.body) if answer.content_type == JSON else answer.body.decode()


def test_adapter_is_loaded_listed_and_unloaded() -> None:
    engine = SimulatedEngine(LoraSupport.LOADS)
    assert ask(engine, "GET", "/v1/loras") == (200, {"status": "success", "loras": {}, "count": 0})
    status, loaded = ask(engine, "POST", "/v1/loras", BODY)
    assert (status, loaded["status"], loaded["lora_name"]) == (200, "success", "org/a")
    _, listed = ask(engine, "GET", "/v1/loras")
    assert listed == {"status": "success", "loras": {"org/a": loaded["lora_id"]}, "count": 1}
    assert ask(engine, "DELETE", "/v1/loras/org%2Fa")[0] == 200
    assert engine.loaded == {}


def test_slash_in_the_path_names_the_same_adapter() -> None:
    engine = SimulatedEngine(LoraSupport.LOADS, {"org/a": "s3://b/a"})
    assert ask(engine, "DELETE", "/v1/loras/org/a")[0] == 200
    assert engine.loaded == {}


def test_second_load_keeps_the_first_source() -> None:
    engine = SimulatedEngine(LoraSupport.LOADS, {"org/a": "s3://b/first"})
    assert ask(engine, "POST", "/v1/loras", BODY)[0] == 200
    assert engine.loaded == {"org/a": "s3://b/first"}


@pytest.mark.parametrize(
    ("lora", "call", "expected"),
    [
        (LoraSupport.NO_ROUTES, ("GET", "/v1/loras"), (404, "Route not found")),
        (LoraSupport.NO_ROUTES, ("POST", "/v1/loras", BODY), (404, "Route not found")),
        (LoraSupport.NO_HANDLERS, ("GET", "/v1/loras"), (500, "LoRA management not available")),
        (LoraSupport.NO_HANDLERS, ("POST", "/v1/loras", BODY), (500, "LoRA management not available")),
        (LoraSupport.NO_HANDLERS, ("DELETE", "/v1/loras/a"), (500, "LoRA management not available")),
        (LoraSupport.LOADS, ("POST", "/v1/loras", {"lora_name": "a"}), (422, "source")),
        (LoraSupport.LOADS, ("POST", "/v1/loras", []), (422, "source")),
        (LoraSupport.LOADS, ("POST", "/v1/loras", BODY, "text/plain"), (415, "application/json")),
        (LoraSupport.LOADS, ("DELETE", "/v1/loras/unknown"), (500, "not found")),
        (LoraSupport.LOADS, ("DELETE", "/v1/loras"), (405, "not allowed")),
        (LoraSupport.LOADS, ("GET", "/v1/models"), (404, "Route not found")),
    ],
    ids=[
        "no-routes-list",
        "no-routes-load",
        "no-handlers-list",
        "no-handlers-load",
        "no-handlers-unload",
        "no-source",
        "no-object",
        "no-json",
        "unknown-adapter",
        "no-name",
        "unknown-path",
    ],
)
def test_what_cannot_be_done_is_refused_as_by_a_real_engine(
    lora: LoraSupport, call: tuple[Any, ...], expected: tuple[int, str]
) -> None:
    engine = SimulatedEngine(lora)
    status, answer = ask(engine, *call)
    text = answer if isinstance(answer, str) else answer["message"]
    assert status == expected[0]
    assert expected[1] in text
    assert engine.loaded == {}


def test_engine_without_lora_is_healthy() -> None:
    status, answer = ask(SimulatedEngine(LoraSupport.NO_ROUTES), "GET", "/health")
    assert (status, answer["status"]) == (200, "ready")


@pytest.mark.parametrize(
    ("variables", "labels", "expected"),
    [
        ({"DYN_LORA_ENABLED": "true"}, {}, LoraSupport.LOADS),
        ({"DYN_LORA_ENABLED": "false"}, {}, LoraSupport.NO_ROUTES),
        ({}, {}, LoraSupport.NO_ROUTES),
        ({"DYN_LORA_ENABLED": "true"}, {contract.LABEL_SUB_COMPONENT_TYPE: "prefill"}, LoraSupport.NO_HANDLERS),
        ({"DYN_LORA_ENABLED": "true"}, {contract.LABEL_COMPONENT_TYPE: "prefill"}, LoraSupport.NO_HANDLERS),
        ({"DYN_LORA_ENABLED": "true"}, {contract.LABEL_SUB_COMPONENT_TYPE: "decode"}, LoraSupport.LOADS),
    ],
    ids=["enabled", "disabled", "unset", "prefill", "prefill-type", "decode"],
)
def test_pod_says_what_its_engine_can_do(
    variables: dict[str, str], labels: dict[str, str], expected: LoraSupport
) -> None:
    env = [{"name": name, "value": value} for name, value in variables.items()]
    containers = [{"name": "sidecar", "env": [{"name": "DYN_LORA_ENABLED", "value": "true"}]}]
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [*containers, {"name": "main", "env": env}]}}
    assert lora_of(pod) is expected


@pytest.fixture
def port() -> Iterator[int]:
    with reserve_port(0) as port:
        yield port


@pytest.fixture
def engines(port: int) -> Iterator[Engines]:
    with run_engines(port) as engines:
        yield engines


def serving(cluster: SimulatedCluster, engines: Engines, replicas: int = 2) -> list[Manifest]:
    """Bring up a Deployment of engines and give its pods back."""
    manifest = worlds.deployment(replicas=replicas)
    template = manifest["spec"]["template"]
    template["metadata"]["labels"][contract.LABEL_MODEL_HASH] = "0123abcd"
    template["spec"]["containers"][0]["env"] = [{"name": "DYN_LORA_ENABLED", "value": "true"}]
    cluster.create(manifest)
    cluster.settle()
    engines.follow(cluster)
    return worlds.pods(cluster)


def url_of(pod: Manifest, port: int) -> str:
    return f"http://{pod['status']['podIP']}:{port}/v1/loras"


def test_every_pod_has_an_engine_of_its_own(engines: Engines, port: int) -> None:
    first, second = serving(worlds.world(), engines)
    assert requests.post(url_of(first, port), json=BODY, timeout=PATIENCE).status_code == 200
    assert requests.get(url_of(first, port), timeout=PATIENCE).json()["count"] == 1
    assert requests.get(url_of(second, port), timeout=PATIENCE).json()["count"] == 0
    assert list(engines.running) == [f"default/{pod['metadata']['name']}" for pod in (first, second)]


def test_pod_of_no_base_model_has_no_engine(engines: Engines) -> None:
    cluster = worlds.world()
    cluster.create(worlds.deployment())
    cluster.settle()
    engines.follow(cluster)
    assert engines.running == {}


def test_engine_begins_when_its_pod_is_ready(engines: Engines) -> None:
    cluster = worlds.world()
    cluster.block("*")
    serving(cluster, engines)
    assert engines.running == {}
    cluster.release("*")
    cluster.settle()
    engines.follow(cluster)
    assert len(engines.running) == 2


def test_killed_pod_loses_its_adapters_and_its_successor_begins_without(engines: Engines, port: int) -> None:
    cluster = worlds.world()
    [pod] = serving(cluster, engines, replicas=1)
    with requests.Session() as session:
        assert session.post(url_of(pod, port), json=BODY, timeout=PATIENCE).status_code == 200
        cluster.delete(kinds.POD, pod["metadata"]["name"], "default")
        engines.follow(cluster)
        with pytest.raises(requests.ConnectionError):
            session.get(url_of(pod, port), timeout=PATIENCE)
    cluster.settle()
    engines.follow(cluster)
    [successor] = worlds.pods(cluster)
    assert successor["metadata"]["uid"] != pod["metadata"]["uid"]
    assert requests.get(url_of(successor, port), timeout=PATIENCE).json()["count"] == 0


def test_two_simulations_have_different_ports() -> None:
    with reserve_port(0) as first, reserve_port(first) as second:
        assert second not in {0, first}


def test_port_that_is_free_is_the_one_preferred() -> None:
    with reserve_port(0) as free:
        pass
    with reserve_port(free) as port:
        assert port == free


def test_address_that_is_taken_is_named(engines: Engines, port: int) -> None:
    cluster = worlds.world()
    cluster.block("*")
    serving(cluster, engines, replicas=1)
    [pod] = worlds.pods(cluster)
    cluster.release("*")
    cluster.settle()
    with (
        socket.create_server((pod["status"]["podIP"], port)),
        pytest.raises(EngineFailed, match=pod["metadata"]["name"]),
    ):
        engines.follow(cluster)


@pytest.mark.parametrize(
    "sent",
    [b"nonsense\r\n\r\n", b"GET /\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"x" * 100_000],
    ids=["no-request", "no-version", "no-length", "endless"],
)
def test_what_is_no_http_is_hung_up_on(sent: bytes, port: int) -> None:
    with run_listeners() as listeners:
        listeners.open("127.64.0.1", port, lambda _request: Response(200, "text/plain", b""))
        with socket.create_connection(("127.64.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(sent)
            with suppress(ConnectionResetError):  # hung up with what was sent still unread
                said = connection.makefile("rb").read()
                assert b" 200 " not in said
        assert requests.get(f"http://127.64.0.1:{port}/", timeout=PATIENCE).status_code == 200
