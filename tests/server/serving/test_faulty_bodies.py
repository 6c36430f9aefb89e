"""Bodies that no caller in its right mind sends: each is refused with a sentence, none is a failure of ours."""

import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench.server import image_environment, read_memory
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.wire.metacontroller.children import MAX_CHILD_BYTES
from tests import make
from tests.reviews import review
from tests.server.serving.servers import HOOKS, SYNC, SYNC_PATH, Running, running, running_admission

CHUNKS = {
    "not hexadecimal": b"zz\r\nabc\r\n0\r\n\r\n",
    "negative": b"-5\r\nabc\r\n",
    "signed": b"+3\r\nabc\r\n0\r\n\r\n",
    "empty": b"\r\nabc",
    "prefixed": b"0x3\r\nabc\r\n0\r\n\r\n",
    "underscore": b"1_0\r\nabc\r\n0\r\n\r\n",
    "control character": b"3;\x01\r\nabc\r\n0\r\n\r\n",
    "longer than it says": b"3\r\nabcdef\r\n0\r\n\r\n",
    "bad trailer": b"0\r\nbad trailer\r\n\r\n",
    "forbidden trailer": b"0\r\nContent-Length: 5\r\n\r\n",
    "line without end": b"0" * 20_000,
}


@pytest.fixture(scope="module", params=["hooks", "admission"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp(request.param)
    start = running_admission(folder) if request.param == "admission" else running(folder, *HOOKS)
    with start as started:
        yield started


def send(server: Running, body: bytes, *, ends: bool = False) -> tuple[int, str]:
    """Status and text of the answer to a chunked body; with `ends`, the client says that nothing more comes."""
    connection = server.connect()
    assert isinstance(connection.sock, socket.socket)
    head = f"POST {server.call[0]} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    connection.sock.sendall(head.encode() + body)
    if ends:
        connection.sock.shutdown(socket.SHUT_WR)
    with HTTPResponse(connection.sock) as response:
        response.begin()
        answer = response.status, response.read().decode()
    connection.close()
    return answer


@pytest.mark.parametrize("body", CHUNKS.values(), ids=CHUNKS.keys())
def test_malformed_chunks_are_refused_with_one_sentence(server: Running, body: bytes) -> None:
    status, text = send(server, body)
    assert status == 400
    assert text.startswith("the body cannot be read: ")
    assert text.count("\n") == 1
    assert server.ask("POST", *server.call)[0] == 200


def test_body_that_ends_in_a_chunk_is_refused(tmp_path: Path) -> None:
    with running(tmp_path, *HOOKS) as server:
        assert send(server, b"9\r\nab", ends=True)[0] == 400


def test_memory_of_bodies_that_are_too_large_is_given_back(tmp_path: Path) -> None:
    piece = 2**16
    body = b"".join([b"%x\r\n%b\r\n" % (piece, b"x" * piece)] * (2**24 // piece + 1)) + b"0\r\n\r\n"
    # The image sets the memory allocator, which reads its variables when a program begins.
    allocator = {name: value for name, value in image_environment().items() if name.startswith("MALLOC_")}
    with running(tmp_path, *HOOKS, "--workers", "1", program=sys.executable, **allocator) as server:
        assert server.post(SYNC)[0] == 200
        worker = server.worker_ids()[0]
        before = read_memory(worker)["rss"]
        with ThreadPoolExecutor(4) as pool:
            assert {status for status, _ in pool.map(lambda _: send(server, body), range(16))} == {413}
        assert read_memory(worker)["rss"] < before + 30, "MiB"


# Deep and large specs


def nest(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = {"a": value}
    return value


def with_depth(body: bytes, depth: int) -> bytes:
    """The body with a value of that depth in place of the text `deep`; orjson does not write such a value."""
    return body.replace(b'"deep"', b'{"a":' * depth + b'"x"' + b"}" * depth)


DEEP_SERVICES: dict[str, dict[str, Any]] = {
    "endpoint picker": {"componentType": "epp", "eppConfig": {"config": {"a": "deep"}}},
    "affinity": {"componentType": "worker", "extraPodSpec": {"affinity": "deep", "mainContainer": {"image": "i:1"}}},
    "volume": {"componentType": "worker", "extraPodSpec": {"volumes": [{"name": "v", "csi": "deep"}]}},
    "unknown field": {"componentType": "worker", "unknown": "deep"},
}
POOL: dict[str, dict[str, Any]] = {"InferencePool.inference.networking.k8s.io/v1": {}}
DEPTHS = [100, 200, 215, 220, 225, 230, 235, 240, 245, 250, 260, 400, 1000, 100_000]


@pytest.mark.parametrize("service", DEEP_SERVICES.values(), ids=DEEP_SERVICES.keys())
@pytest.mark.parametrize("call", ["sync", "finalize", "customize"])
def test_spec_is_refused_however_deep_it_is_nested(service: dict[str, Any], call: str) -> None:
    client = create_app(parse_settings({}), lambda: make.NOW).test_client()
    parents = {"graph": make.graph(services={"S": service}), "component": make.component("c", "g", **service)}
    for hook, parent in parents.items():
        children = {**orjson.loads(SYNC)["children"], **POOL, "Deployment.apps/v1": {}, "Secret.v1": {}}
        body = orjson.dumps(
            {"parent": parent, "children": children, "related": {}, "finalizing": call == "finalize", "controller": {}}
        )
        statuses = {n: client.post(f"/{hook}/{call}", data=with_depth(body, n)).status_code for n in DEPTHS}
        assert set(statuses.values()) <= {200, 400, 422}, statuses
        assert statuses[100_000] == 400
        if call == "finalize":  # what is stored can also be deleted
            assert statuses[400] == 200


@pytest.mark.parametrize("depth", [240, 260, 400, 1000])
def test_deep_spec_is_refused_by_every_server(server: Running, depth: int) -> None:
    graph = make.graph(services={"E": DEEP_SERVICES["endpoint picker"]})
    body = review(graph) if server.trusted else {**orjson.loads(SYNC), "parent": graph}
    status, answer = server.ask("POST", server.call[0], with_depth(orjson.dumps(body), depth))
    if status == 200:
        assert orjson.loads(answer)["response"]["allowed"] is False
    else:
        assert status in {400, 422}
        assert b"depth" in answer or b"nested too deeply" in answer


def test_deep_spec_says_what_is_wrong() -> None:
    client = create_app(parse_settings({}), lambda: make.NOW).test_client()
    graph = make.graph(services={"E": DEEP_SERVICES["endpoint picker"]})
    body = orjson.dumps({**orjson.loads(SYNC), "parent": graph})
    answer = client.post(SYNC_PATH, data=with_depth(body, 400))
    assert (answer.status_code, answer.text) == (422, "the object is nested too deeply\n")


@pytest.mark.parametrize("count", range(14, 24))
@pytest.mark.parametrize("place", ["envs", "mainContainer", "sidecars"])
def test_variables_that_double_each_time_are_bounded(count: int, place: str) -> None:
    env = [{"name": "A0", "value": "x"}]
    env += [{"name": f"A{i}", "value": f"$(A{i - 1})$(A{i - 1})"} for i in range(1, count)]
    pod: dict[str, Any] = {"mainContainer": {"image": "i:1"}}
    spec: dict[str, Any] = {"componentType": "worker", "extraPodSpec": pod}
    if place == "envs":
        spec["envs"] = env
    elif place == "mainContainer":
        pod["mainContainer"]["env"] = env
    else:
        pod["containers"] = [{"name": f"c{number}", "image": "i", "env": env} for number in range(3)]
    children: dict[str, Any] = {"Deployment.apps/v1": {}, "Service.v1": {}, "Ingress.networking.k8s.io/v1": {}}
    client = create_app(parse_settings({}), lambda: make.NOW).test_client()
    parent = make.component("c", "g", **spec)
    answer = client.post("/component/sync", json={"parent": parent, "children": children, "related": {}})
    assert answer.status_code in {200, 422}
    assert len(answer.data) < MAX_CHILD_BYTES + 10_000
    if count > 17:
        assert "bytes" in answer.text
