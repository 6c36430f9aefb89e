"""Clients that break the rules of HTTP, or of the hooks, one each; each says what it got for that."""

import http.client
import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum

from bench.good_clients import Record, Service

PATIENCE = 30.0
"""Seconds until a broken client gives up; the server has closed its connection before."""

TOO_LARGE = 17 * 2**20
"""More bytes than the setting `max_body_bytes` allows by default."""

CLOSED = "closed by the server"
_PAUSE = 0.5
_STEP = 0.2
_STAY = 5.0
_PIECE = b"x" * 2**16


class Fault(StrEnum):
    """What a broken client does."""

    HALF_HEAD = "sends half a head, and waits"
    SLOW_BODY = "sends a body byte by byte, without end"
    RESET = "resets the connection in the middle of a body"
    TOO_LARGE = "sends a body of 17 MiB"
    WRONG_TOKEN = "shows a wrong token"  # noqa: S105 - a sentence
    STAYS = "asks to close the connection, and does not close it"


def break_until_over(service: Service, fault: Fault, record: Record) -> None:
    """Do the same wrong thing again and again, and note what came of it."""
    while not service.over.wait(_PAUSE):
        try:
            with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as peer:
                outcome = _BREAK[fault](service, peer)
        except OSError as error:
            outcome = f"{type(error).__name__}"
        if not service.over.is_set():
            record.note_outcome(fault, outcome)


def _send_half_a_head(service: Service, peer: socket.socket) -> str:
    peer.sendall(b"POST /graph/sync HTTP/1.1\r\nHost: h\r\nContent-")
    return _wait_for_end(service, peer, b"")


def _send_byte_by_byte(service: Service, peer: socket.socket) -> str:
    peer.sendall(_head(service.token, "Content-Length: 100000"))
    return _wait_for_end(service, peer, b" ")


def _wait_for_end(service: Service, peer: socket.socket, byte: bytes) -> str:
    """Send the byte again and again until the server ends the connection."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not service.over.is_set():
        if select.select([peer], [], [], _STEP)[0]:
            return _read_outcome(peer)
        with suppress(OSError):  # the next look finds the end
            peer.sendall(byte)
    return "still open"


def _reset(service: Service, peer: socket.socket) -> str:
    peer.sendall(_head(service.token, "Content-Length: 100000") + _PIECE)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return "nothing"


def _send_too_much(service: Service, peer: socket.socket) -> str:
    """Chunked, so that the server cannot refuse it by its head."""
    peer.sendall(_head(service.token, "Transfer-Encoding: chunked"))
    with suppress(OSError):  # refused before the end; the answer may still be there
        for _ in range(TOO_LARGE // len(_PIECE)):
            peer.sendall(b"%x\r\n%b\r\n" % (len(_PIECE), _PIECE))
        peer.sendall(b"0\r\n\r\n")
    return _read_outcome(peer)


def _show_a_wrong_token(_service: Service, peer: socket.socket) -> str:
    peer.sendall(_head("not-the-token", "Content-Length: 2") + b"{}")
    return _read_outcome(peer)


def _stay(service: Service, peer: socket.socket) -> str:
    peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    outcome = _read_outcome(peer)
    service.over.wait(_STAY)
    return outcome


def _head(token: str, framing: str) -> bytes:
    return f"POST /graph/sync HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\n{framing}\r\n\r\n".encode()


def _read_outcome(peer: socket.socket) -> str:
    """The status of the answer, or that there is none."""
    try:
        with http.client.HTTPResponse(peer) as response:
            response.begin()
            response.read()
            return str(response.status)
    except (ConnectionError, http.client.HTTPException):
        return CLOSED


_BREAK: dict[Fault, Callable[[Service, socket.socket], str]] = {
    Fault.HALF_HEAD: _send_half_a_head,
    Fault.SLOW_BODY: _send_byte_by_byte,
    Fault.RESET: _reset,
    Fault.TOO_LARGE: _send_too_much,
    Fault.WRONG_TOKEN: _show_a_wrong_token,
    Fault.STAYS: _stay,
}
