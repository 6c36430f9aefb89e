"""Probes ask real servers and commands; the answer is what was wrong."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.e2e.kubelet.asking import ask, run_command
from tests.e2e.kubelet.grpc_health import ACK, DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, build_frame
from tests.e2e.kubelet.probes import READINESS, Probe
from tests.loopback import serving
from tests.ports import free_port

ADDRESS = "127.0.0.1"


class Answers(BaseHTTPRequestHandler):
    """`/302` is answered with 302, and so on; `/header` only with the header that the probe sends."""

    def do_GET(self) -> None:
        is_sent = self.headers.get("X-Probe") == "yes" and self.headers.get("User-Agent") == "kube-probe"
        self.send_response({"/header": 200 if is_sent else 400}.get(self.path) or int(self.path[1:]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = ThreadingHTTPServer((ADDRESS, 0), Answers)
    with serving(server):
        yield server.server_port


def asked(handler: dict[str, Any], timeout: int = 5) -> str:
    def run(words: list[str], seconds: float) -> str:
        return run_command(words, {}, "/", seconds)

    return ask(Probe(READINESS, {**handler, "timeoutSeconds": timeout}), {}, ADDRESS, run)


@pytest.mark.parametrize(
    ("path", "fault"),
    [("/200", ""), ("204", ""), ("/302", ""), ("/400", "status 400"), ("/503", "status 503")],
)
def test_http_passes_below_400(port: int, path: str, fault: str) -> None:
    said = asked({"httpGet": {"path": path, "port": port}})
    assert said == (f"GET {path} on port {port}: {fault}" if fault else "")


def test_http_probe_sends_its_headers(port: int) -> None:
    headers = [{"name": "X-Probe", "value": "yes"}]
    assert asked({"httpGet": {"path": "/header", "port": port, "httpHeaders": headers}}) == ""


@pytest.mark.parametrize("kind", ["httpGet", "tcpSocket", "grpc"])
def test_port_on_which_nobody_listens_is_told(kind: str) -> None:
    assert "Connection refused" in asked({kind: {"port": free_port()}})


def test_tcp_passes_where_somebody_listens(port: int) -> None:
    assert asked({"tcpSocket": {"port": port}}) == ""


@pytest.mark.parametrize(
    ("code", "fault"),
    [("pass", ""), ("import sys; sys.exit('no model')", "exit code 1: no model"), ("input()", "timed out after 1 s")],
    ids=["passes", "fails", "hangs"],
)
def test_exec_passes_with_exit_code_0(code: str, fault: str) -> None:
    hangs = ["sh", "-c", "sleep 60"]
    words = hangs if "input" in code else [sys.executable, "-S", "-c", code]
    said = asked({"exec": {"command": words}}, timeout=1 if words is hangs else 30)
    assert fault in said
    assert bool(fault) is bool(said)


def test_command_that_is_not_there_is_told() -> None:
    assert "no-such-program" in asked({"exec": {"command": ["no-such-program"]}})


@contextmanager
def health_service(message: bytes) -> Iterator[int]:
    """A gRPC server that answers one call with that message, after what HTTP/2 begins with."""
    with socket.create_server((ADDRESS, 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                assert connection.recv(len(PREFACE), socket.MSG_WAITALL) == PREFACE
                body = b"\0" + len(message).to_bytes(4, "big") + message
                connection.sendall(
                    build_frame(SETTINGS, 0, 0, b"")
                    + build_frame(SETTINGS, ACK, 0, b"")
                    + build_frame(HEADERS, END_HEADERS, 1, b"\x88")
                    + build_frame(DATA, 0, 1, body[:3])
                    + build_frame(DATA, 0, 1, body[3:])
                    + build_frame(HEADERS, END_HEADERS | END_STREAM, 1, b"")
                )
                while connection.recv(4096):
                    pass

        thread = Thread(target=answer, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    ("message", "status"), [(b"\x08\x01", ""), (b"\x08\x02", "status 2"), (b"", "status None")], ids=["1", "2", "none"]
)
def test_grpc_passes_when_the_service_serves(message: bytes, status: str) -> None:
    with health_service(message) as port:
        said = asked({"grpc": {"port": port, "service": "dynamo"}})
    assert status in said
    assert bool(status) is bool(said)
