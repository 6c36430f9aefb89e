"""Exchanges with peers that drip, flood, pack or redirect: each ends at the deadline or the bound, as one sentence."""

import resource
import socket
import ssl
import time
from pathlib import Path

import pytest

from hooks.server.exchange.connections import HEAD_BYTES, BoundedAdapter
from hooks.server.exchange.http_client import MIB, Allowance, HttpClient, Unanswered, open_client
from tests.exchange.hostile import Speak, answers, bomb, drips, floods, peer
from tests.server.serving.servers import issue_now

SECONDS = 0.4
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
SOCKETS = 8 * MIB
"""What the kernel's buffers of both ends may hold beyond what a client took."""


def ask(address: str, seconds: float = SECONDS, most_bytes: int = MIB, client: HttpClient | None = None) -> bytes:
    used = client or open_client(most_bytes)
    try:
        return used.ask("GET", address, limits=Allowance(seconds=seconds, most_bytes=most_bytes), headers={}).body
    finally:
        used.close()


DRIPPING = {
    "first line": drips(b"", b"H"),
    "header": drips(HEAD, b"X"),
    "headers": drips(HEAD, b"X: y\r\n"),
    "body": drips(HEAD + b"Content-Length: 60000\r\n\r\n", b" "),
    "chunks": drips(CHUNKED, b"1\r\n \r\n"),
    "length of a chunk": drips(CHUNKED, b"0"),
    "provisional answers": drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "nothing": lambda _send: time.sleep(30),
}


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    """A server's side of TLS, and the file of the authority that signed its certificate."""
    folder, issued = tmp_path_factory.mktemp("tls"), issue_now()
    for name, text in (("tls.crt", issued.certificate), ("tls.key", issued.key), ("ca.crt", issued.authorities)):
        (folder / name).write_text(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context, folder / "ca.crt"


@pytest.mark.parametrize("speak", DRIPPING.values(), ids=DRIPPING)
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_peer_that_drips_is_left_at_the_deadline(
    speak: Speak, certified: tuple[ssl.SSLContext, Path], *, tls: bool
) -> None:
    context, authority = certified
    client = HttpClient(transport=BoundedAdapter(MIB), verify=str(authority))
    with peer(speak, context if tls else None) as found:
        with pytest.raises(Unanswered, match=r"^no answer within 0.4 s$") as late:
            ask(found.address, client=client)
        assert late.value.is_late
        assert found.sent < 60_000, "it would drip for many minutes"


def test_handshake_that_stalls_ends_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and says nothing
        with pytest.raises(Unanswered) as late:
            ask(f"https://127.0.0.1:{silent.getsockname()[1]}")
        assert late.value.is_late


def test_peer_that_takes_no_body_ends_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client, address = open_client(), f"http://127.0.0.1:{silent.getsockname()[1]}"
        limits = Allowance(seconds=SECONDS, most_bytes=MIB)
        with pytest.raises(Unanswered) as late:
            client.ask("PUT", address, limits=limits, headers={}, body=bytes(64 * MIB))
        assert late.value.is_late


def test_all_addresses_of_a_name_share_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as full:
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(8)]
        for one in waiting:  # a queue that is full takes no further connection
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        many = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))] * 1000
        monkeypatch.setattr("hooks.server.exchange.connections._look_up", lambda *_: iter(many))
        with pytest.raises(Unanswered, match="within") as late:
            ask(f"http://peer:{port}")
        assert late.value.is_late
        for one in waiting:
            one.close()


def test_name_that_is_never_resolved_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_args: object, **_options: object) -> None:
        time.sleep(3)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(Unanswered) as late:
        ask("http://slow.example:80")
    assert late.value.is_late


FLOODING = {
    "body without a length": floods(HEAD + b"\r\n", bytes(65536)),
    "body of a length": floods(HEAD + b"Content-Length: 99999999999\r\n\r\n", bytes(65536)),
    "length of hundreds of digits": floods(HEAD + b"Content-Length: " + b"9" * 900 + b"\r\n\r\n", bytes(65536)),
    "chunks": floods(CHUNKED, b"10000\r\n" + bytes(65536) + b"\r\n"),
    "length of a chunk": floods(CHUNKED, b"0" * 65536),
    "provisional answers": floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "headers of provisional answers": floods(b"", b"HTTP/1.1 100 Continue\r\n" + b"X: y\r\n" * 90 + b"\r\n"),
}


@pytest.mark.parametrize("speak", FLOODING.values(), ids=FLOODING)
def test_peer_that_floods_is_cut_off_at_the_bound(speak: Speak) -> None:
    with peer(speak) as found:
        with pytest.raises(Unanswered, match=r"^the answer has more than 1 MiB$|^Response chunk size line exceeded"):
            ask(found.address, seconds=60)
        assert found.left.wait(30)
        assert found.sent < MIB + HEAD_BYTES + SOCKETS


def test_head_of_many_lines_is_refused() -> None:
    with peer(floods(HEAD, b"X: " + b"y" * 60_000 + b"\r\n")) as found:
        with pytest.raises(Unanswered):
            ask(found.address, seconds=60)
        assert found.sent < MIB + HEAD_BYTES + SOCKETS


@pytest.mark.parametrize("status", [b"200 OK", b"302 Found"], ids=["answer", "redirect"])
@pytest.mark.parametrize("packing", ["gzip", "deflate", "br", "x", "gzip, gzip"])
def test_packed_answer_is_refused_and_never_unpacked(status: bytes, packing: str) -> None:
    head = f"Content-Encoding: {packing}\r\nLocation: http://127.0.0.1:9/\r\n".encode()
    with peer(answers(bomb(64), head, status)) as found:
        before = _peak_mib()
        with pytest.raises(Unanswered, match="packed"):
            ask(found.address)
        assert _peak_mib() - before < 32


def test_redirect_is_an_answer_like_any_other() -> None:
    with peer(answers(b"elsewhere", b"Location: http://127.0.0.1:9/\r\n", b"302 Found")) as found:
        limits = Allowance(seconds=5, most_bytes=MIB)
        reply = open_client().ask("GET", found.address, limits=limits, headers={})
    assert (reply.status, reply.body) == (302, b"elsewhere")


def test_answer_is_asked_for_as_it_is_and_comes_whole() -> None:
    asked: list[bytes] = []

    def speak(send: object) -> None:
        asked.append(b"")
        answers(b"x" * MIB)(send)  # type: ignore[arg-type]

    with peer(speak) as found:
        assert len(ask(found.address, seconds=30)) == MIB
    assert asked


def test_request_over_a_connection_that_was_closed_meanwhile_is_sent_again() -> None:
    calls: list[int] = []

    def speak(send: object) -> None:
        calls.append(1)
        if len(calls) > 1:
            answers(b"now")(send)  # type: ignore[arg-type]

    with peer(speak) as found:
        limits = Allowance(seconds=5, most_bytes=MIB)
        assert open_client().ask_twice("PUT", found.address, limits=limits, headers={}, body=b"x").body == b"now"
        assert len(calls) == 2


def test_request_that_is_never_answered_is_sent_twice_at_most() -> None:
    calls: list[int] = []
    with peer(lambda _send: calls.append(1)) as found, pytest.raises(Unanswered):
        open_client().ask_twice("PUT", found.address, limits=Allowance(seconds=5, most_bytes=MIB), headers={})
    assert len(calls) == 2


def test_connection_is_kept_between_requests_with_bounds_of_its_own_for_each() -> None:
    connections: list[int] = []

    def speak(send: object) -> None:
        connections.append(1)
        for _ in range(3):
            answers(b"x" * (MIB - 1), b"Connection: keep-alive\r\n")(send)  # type: ignore[arg-type]
            time.sleep(0.1)

    client = open_client()
    with peer(speak) as found:
        limits = Allowance(seconds=5, most_bytes=MIB)
        sizes = [len(client.ask("GET", found.address, limits=limits, headers={}).body) for _ in range(3)]
    assert (sizes, len(connections)) == ([MIB - 1] * 3, 1)


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
