"""Peers that send or close too slowly hold up nobody else, for hooks and for admission.

Without the methods of `hooks.server.serving.worker`, these tests fail.
"""

import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPResponse
from pathlib import Path

import pytest

from tests.server.serving.servers import HOOKS, SYNC_PATH, Running, post_on, running, running_admission
from tests.waiting import PATIENCE, stretch, wait_for

PROMPT = 1.5
"""Seconds within which a probe must be answered; the kubelet waits for 3."""


@pytest.fixture(scope="module", params=["hooks", "admission"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp(request.param)
    start = running_admission(folder) if request.param == "admission" else running(folder, *HOOKS)
    with start as started:
        yield started


def connect(server: Running, *, shakes_hands: bool = True) -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
    if server.trusted and shakes_hands:
        return server.context.wrap_socket(plain, server_hostname="127.0.0.1")
    return plain


def send_half_a_head(server: Running) -> socket.socket:
    peer = connect(server)
    peer.sendall(f"POST {server.call[0]} HTTP/1.1\r\nHost: h\r\n".encode())
    return peer


def send_half_a_handshake(server: Running) -> socket.socket:
    peer = connect(server, shakes_hands=False)
    peer.sendall(b"\x16\x03\x01\x02\x00\x01")
    return peer


def send_half_a_body(server: Running) -> socket.socket:
    peer = connect(server)
    peer.sendall(f"POST {server.call[0]} HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{{".encode())
    return peer


def ask_to_close_and_stay(server: Running) -> socket.socket:
    peer = connect(server)
    peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    return peer


def send_nothing(server: Running) -> socket.socket:
    return connect(server, shakes_hands=False)


@pytest.mark.parametrize(
    ("peer", "count"),
    [
        (send_half_a_head, 8),
        (send_half_a_handshake, 8),
        (send_half_a_body, 8),
        (ask_to_close_and_stay, 20),
        (send_nothing, 20),
    ],
)
def test_slow_peers_hold_up_neither_calls_nor_probes(
    server: Running, peer: Callable[[Running], socket.socket], count: int
) -> None:
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(peer(server))
        for _ in range(5):
            started = time.monotonic()
            assert server.get("/healthz") == (200, "alive\n")
            assert server.get("/readyz") == (200, "ready\n")
            assert server.ask("POST", *server.call)[0] == 200
            assert time.monotonic() - started < stretch(3 * PROMPT)


@pytest.mark.parametrize("kind", ["hooks", "admission"])
def test_server_without_a_free_file_closes_the_oldest_connection(kind: str, tmp_path: Path) -> None:
    limited = tmp_path / "python"
    limited.write_text(f'#!/bin/sh\nulimit -n 150\nexec {sys.executable} "$@"\n')
    limited.chmod(0o755)
    start = (
        running_admission(tmp_path, program=limited)
        if kind == "admission"
        else running(tmp_path, *HOOKS, program=limited)
    )
    with start as server, ExitStack() as stack:
        for _ in range(250):
            stack.enter_context(send_nothing(server))
        for _ in range(10):
            assert server.get("/healthz") == (200, "alive\n")
            assert server.ask("POST", *server.call)[0] == 200
        assert not any("Traceback" in line for line in server.lines)


@pytest.mark.parametrize("path", ["/nowhere", SYNC_PATH])
def test_refused_peer_gets_its_answer_though_its_body_is_still_to_come(path: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("right")
    with running(tmp_path, *HOOKS, "--token-file", str(file)) as server, connect(server) as peer:
        peer.sendall(f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\n{{".encode())
        started = time.monotonic()
        with HTTPResponse(peer) as response:
            response.begin()
            assert response.status == (404 if path == "/nowhere" else 401)
            assert response.getheader("Connection") == "close"
        assert seconds_until_closed(peer) < stretch(5)
        assert time.monotonic() - started < stretch(8)


# Limits, with shorter times than those of the product


IMPATIENT = """
import time
from flask import request
from hooks.server.serving import worker
from hooks.server.serving.logs import set_up_logging
from hooks.server.serving.server import ServerOptions, run_server
from hooks.server.serving.web import BY_ITSELF, create_bare_app, read_body

worker.HEAD_SECONDS, worker.BODY_SECONDS, worker.REQUEST_SECONDS = 0.6, 1.2, 1.8

def load(_is_draining):
    app = create_bare_app("slow", "", 2**20, BY_ITSELF)
    app.add_url_rule("/computed", "computed", lambda: time.sleep(1.3) or "done")
    app.add_url_rule("/read", "read", lambda: request.get_data() or "read", methods=["POST"])
    app.add_url_rule("/body", "body", lambda: read_body(2**20), methods=["POST"])
    app.add_url_rule("/large", "large", lambda: b"x" * 2**26)
    return app

set_up_logging("info")
run_server(ServerOptions(bind="127.0.0.1:0", workers=1), load)
"""


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("impatient"), "-c", IMPATIENT) as started:
        yield started


def seconds_until_closed(peer: socket.socket) -> float:
    started = time.monotonic()
    while peer.recv(2**20):
        pass
    return time.monotonic() - started


SLOW = {
    "half a head": (b"GET /computed HTTP/1.1\r\nHost:", 0.3),
    "half a body": (b"POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{", 1.2),
    "half a chunk": (b"POST /read HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{", 1.2),
}
"""What a peer sends before it stops, and how many seconds it has at least."""


def test_connections_of_slow_peers_are_closed(impatient: Running) -> None:
    with ExitStack() as stack:
        started = time.monotonic()
        peers = {name: stack.enter_context(connect(impatient)) for name in SLOW}
        for name, (sent, _) in SLOW.items():
            peers[name].sendall(sent)
        for name, (_, least) in SLOW.items():
            seconds_until_closed(peers[name])
            assert least < time.monotonic() - started, name


@pytest.mark.parametrize(
    "head", [b"", b"POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n\r\n"], ids=["head", "body"]
)
def test_connection_of_a_peer_that_sends_byte_by_byte_is_closed(impatient: Running, head: bytes) -> None:
    with connect(impatient) as peer:
        peer.sendall(head)
        with pytest.raises(OSError, match=r"reset|pipe"):
            send_for_minutes(peer)


def send_for_minutes(peer: socket.socket) -> None:
    for _ in range(round(PATIENCE / 0.05)):
        peer.sendall(b"G")
        time.sleep(0.05)


def test_connection_of_a_peer_that_reads_nothing_is_closed(impatient: Running) -> None:
    with connect(impatient) as peer:
        peer.sendall(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
        time.sleep(stretch(2.5))
        received = 0
        while data := peer.recv(2**20):
            received += len(data)
        assert received < 2**26


def test_answer_that_takes_longer_than_a_head_may_is_sent(impatient: Running) -> None:
    assert impatient.get("/computed") == (200, "done")


def test_kept_connection_is_used_after_the_limit_of_its_first_request(impatient: Running) -> None:
    connection = impatient.connect()
    for pause in (2.4, 0.0):
        assert post_on(connection, "/read", b"{}")[:2] == (200, b"{}")
        time.sleep(pause)
    connection.close()


def test_peer_that_is_cut_off_is_named_in_the_log_once(impatient: Running) -> None:
    before = len(impatient.lines)
    with connect(impatient) as peer:
        peer.sendall(b"GET ")
        seconds_until_closed(peer)
    impatient.get("/computed")
    said = "connection of 127.0.0.1 is closed"
    wait_for(lambda: any(said in line for line in impatient.lines[before:]), "the log has it")
    assert sum(said in line for line in impatient.lines[before:]) == 1
