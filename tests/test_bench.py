"""The bench measures what it says: real requests, each answered in full."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import orjson
import pytest

from bench.bodies import build_cases
from bench.load import NEW_EACH_TIME, run
from hooks.app import create_app
from hooks.settings import parse_settings
from tests import make


def test_requests_are_those_of_parents_at_rest() -> None:
    client = create_app(parse_settings({}), lambda: make.NOW).test_client()
    cases = build_cases(client, (1, 4))
    assert [case.name for case in cases] == ["graph, 1 service", "graph, 4 services", "component"]
    for case in cases:
        answer = client.post(case.path, data=case.body)
        request = orjson.loads(case.body)
        assert answer.json is not None
        status = {**answer.json["status"], "observedGeneration": 1}
        assert status == request["parent"]["status"]
        assert {c["status"] for c in status["conditions"]} == {"True"}
        assert len(answer.json["children"]) == sum(len(group) for group in request["children"].values())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    status = 200

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        pass


class Refusing(Handler):
    status = 503


@pytest.fixture(params=[Handler])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), request.param)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


class Keeping(Handler):
    bodies: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.bodies.append(body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.mark.parametrize("port", [Keeping], indirect=True)
def test_every_request_is_a_new_one_where_its_body_says_so(port: int) -> None:
    Keeping.bodies.clear()
    for _ in range(2):
        run(port, "/", b"<%s|%s>" % (2 * (NEW_EACH_TIME.encode(),)), connections=2, seconds=0.02)
    assert len(set(Keeping.bodies)) == len(Keeping.bodies) > 3
    assert all(re.fullmatch(rb"<(\d{10})\|\1>", body) for body in Keeping.bodies)


def test_parent_and_a_child_are_new_in_every_request() -> None:
    client = create_app(parse_settings({}), lambda: make.NOW).test_client()
    counts = [case.body.count(NEW_EACH_TIME.encode()) for case in build_cases(client, (4,))]
    assert counts == [3, 3], "the child is a related object too"


def test_load_measures_every_answered_request(port: int) -> None:
    result = run(port, "/", b"x" * 300_000, connections=3, seconds=0.05)
    assert len(result.milliseconds) >= 3
    assert all(0 < value < 1000 * result.seconds + 1 for value in result.milliseconds)


@pytest.mark.parametrize("port", [Refusing], indirect=True)
def test_load_stops_at_an_answer_that_is_no_success(port: int) -> None:
    with pytest.raises(RuntimeError, match=r"answered HTTP/1\.1 503"):
        run(port, "/", b"x", connections=1, seconds=0.05)
