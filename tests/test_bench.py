"""The bench measures what it says: real requests, each answered in full."""

import re
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import orjson
import pytest

from bench.bodies import Case, build_cases
from bench.comparison import ECHO, JSON_ECHO, LoadRun, measure
from bench.echo_app import echo, echo_json
from bench.load import NEW_EACH_TIME, _choose_times, run, run_at_rate
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.server.serving.web import BY_ITSELF, create_bare_app
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
        assert {c["status"] for c in status["conditions"] if c["type"] != "Serving"} == {"True"}, "nobody is asked"
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


@pytest.mark.parametrize("port", [Keeping], indirect=True)
def test_requests_arrive_at_the_rate_however_fast_they_are_answered(port: int) -> None:
    Keeping.bodies.clear()
    measured = run_at_rate(port, "/", NEW_EACH_TIME.encode(), connections=2, seconds=0.2, rate=200)
    assert len(measured.milliseconds) == len(set(Keeping.bodies)) == len(list(_choose_times(0.2, 200)))
    assert measured.seconds > 0.2 / 2


class Slow(Handler):
    def do_POST(self) -> None:
        time.sleep(0.05)
        super().do_POST()


@pytest.mark.parametrize("port", [Slow], indirect=True)
def test_a_slow_answer_counts_for_those_that_wait_behind_it(port: int) -> None:
    measured = run_at_rate(port, "/", b"", connections=1, seconds=0.1, rate=100)
    assert len(measured.milliseconds) > 3
    assert max(measured.milliseconds) > 50 * (len(measured.milliseconds) - 2), "the last waits for all before it"


@pytest.mark.parametrize("port", [Handler], indirect=True)
def test_hook_and_echo_are_compared_busy_and_at_the_rate(port: int, tmp_path: Path) -> None:
    case = Case(name="n", path="/n", body=b"{}", children=0)
    load = LoadRun(port=port, connections=2, seconds=0.1, body=tmp_path / "body.json")
    result, *_ = measure([case], load, rounds=2, rate=100)
    assert result["at_rate"]["hook"]["requests"] == 2 * len(list(_choose_times(0.1, 100)))
    assert result["hook"]["requests"] > 2
    assert result["p99_over_echo_ms"] == result["at_rate"]["hook"]["p99_ms"] - result["at_rate"]["echo"]["p99_ms"]
    assert "json_echo" not in result


@pytest.mark.parametrize("port", [Handler], indirect=True)
def test_the_hook_is_compared_with_both_echoes(port: int, tmp_path: Path) -> None:
    load = LoadRun(port=port, connections=2, seconds=0.1, body=tmp_path / "body.json")
    case = Case(name="n", path="/n", body=b"{}", children=0)
    result, *_ = measure([case], load, rounds=1, rate=100, busy_echoes={**ECHO, **JSON_ECHO})
    hook, json_echo = (result[kind]["requests_per_second"] for kind in ("hook", "json_echo"))
    assert result["ratio_to_json_echo"] == hook / json_echo


def test_one_echo_answers_the_bytes_and_the_other_parses_them() -> None:
    app, body = create_bare_app("echoes", "none", 100, BY_ITSELF), b'{"a": [1, 2]}'
    with app.test_request_context(data=body):
        assert echo().data == body
    with app.test_request_context(data=body):
        assert echo_json().data == b'{"a":[1,2]}'
