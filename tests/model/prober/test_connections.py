"""Deadlines of connections to engines on real sockets, and how many connections are kept."""

import http.server
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from bench.prober import run_slow_engines
from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer, EngineCall
from hooks.server.prober.connections import MOST_OPEN_ENGINES, open_engines
from hooks.server.prober.lora_api import open_transport, perform
from tests.model.parts import ANY_ENGINE
from tests.waiting import PATIENCE, stretch

TIMEOUT = 0.5
_PAUSE_SECONDS = 0.02
BEFORE_BODY = b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n"


@contextmanager
def dripping(begin: bytes, drop: bytes) -> Iterator[tuple[str, threading.Event]]:
    """An engine that answers `begin` at once and then `drop` for minutes; the event is set once its client hangs up."""
    left = threading.Event()

    def drip(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(begin)
            for _ in range(round(PATIENCE / _PAUSE_SECONDS)):
                connection.sendall(drop)
                time.sleep(_PAUSE_SECONDS)
        left.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                drip(listener.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", left


@pytest.mark.parametrize(
    ("begin", "drop"),
    [
        pytest.param(BEFORE_BODY, b" ", id="body"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"X", id="a header"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", id="headers"),
        pytest.param(b"", b"H", id="first line"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", id="chunks"),
    ],
)
@pytest.mark.parametrize("action", [EngineAction.LIST, EngineAction.LOAD])
def test_connection_to_an_engine_that_sends_byte_by_byte_is_closed_at_the_deadline(
    begin: bytes, drop: bytes, action: EngineAction
) -> None:
    with dripping(begin, drop) as (address, left):
        call = EngineCall(
            action=action, address=address, pod="w0", timeout=TIMEOUT, started=0.0, adapter="a", uri="s3://b/a"
        )
        answer = perform(open_transport(), call, rules=ANY_ENGINE)
        assert answer == EngineAnswer(outcome=CallOutcome.TIMEOUT, message=f"no answer within {TIMEOUT:g} s")
        assert left.wait(PATIENCE)


def test_kept_connection_has_a_whole_timeout_for_each_call() -> None:
    timeout = stretch(TIMEOUT)

    class Engine(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            time.sleep(0.6 * timeout)
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"[]")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        transport, address = open_transport(), f"http://127.0.0.1:{server.server_address[1]}"
        call = EngineCall(action=EngineAction.LIST, address=address, pod="w0", timeout=timeout, started=0.0)
        assert [perform(transport, call, rules=ANY_ENGINE).outcome for _ in range(3)] == [CallOutcome.OK] * 3
        transport.close()
        server.shutdown()


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with run_slow_engines(1, 0.0) as targets:
        call = EngineCall(action=EngineAction.LIST, address=targets[0].address, pod="w0", timeout=PATIENCE, started=0.0)
        assert perform(open_transport(), call, rules=ANY_ENGINE).outcome is CallOutcome.OK


@pytest.mark.parametrize(
    ("files", "calls", "kept"),
    [
        (1_048_576, 200, MOST_OPEN_ENGINES),
        (resource.RLIM_INFINITY, 200, MOST_OPEN_ENGINES),
        (1024, 200, 348),
        (256, 200, 1),
    ],
)
def test_connections_are_kept_for_as_many_engines_as_files_allow(
    files: int, calls: int, kept: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert open_engines(files, calls) == kept
    assert [record.message for record in caplog.records] == ["few open files"] * (kept < MOST_OPEN_ENGINES)


def test_process_raises_its_limit_of_open_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    script = "from hooks.server.serving.files import raise_file_limit; print(raise_file_limit())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) == hard
