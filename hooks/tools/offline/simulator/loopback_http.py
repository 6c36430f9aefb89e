"""Small HTTP/1.1 servers on many addresses: they answer for simulated pods, one request at a time.

A body needs a Content-Length; connections are kept open.
"""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Lock, Thread
from typing import Any

MAX_BODY_BYTES = 2**20
_WAITING = 128
"""Connections of one address that are not accepted yet."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `path` is as sent, still percent-encoded."""

    method: str
    path: str
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """One answer, sent after `seconds`."""

    status: int
    content_type: str
    body: bytes
    seconds: float = 0.0


Answer = Callable[[Request], Response]
"""Answers without blocking; called by one thread at a time."""


class Listeners:
    """The listening addresses; opened and closed from one thread, served in others."""

    def __init__(self) -> None:
        self._servers: dict[tuple[str, int], _Server] = {}
        self._turn = Lock()

    def open(self, host: str, port: int, answer: Answer) -> None:
        """Listen on an address that is not open yet; raises OSError if the system refuses."""

        def answer_in_turn(request: Request) -> Response:
            with self._turn:
                return answer(request)

        self._servers[host, port] = _Server((host, port), answer_in_turn)

    def close(self, host: str, port: int) -> None:
        """Stop listening, and answer nothing more, like the end of a process."""
        self._servers.pop((host, port)).end()

    def close_all(self) -> None:
        """Close every address."""
        for host, port in list(self._servers):
            self.close(host, port)


@contextmanager
def run_listeners() -> Iterator[Listeners]:
    """Listeners in other threads; all are closed at the end."""
    listeners = Listeners()
    try:
        yield listeners
    finally:
        listeners.close_all()


class _Server(ThreadingTCPServer):
    """One address, with a thread of its own and one for each connection."""

    allow_reuse_address = True
    block_on_close = False
    daemon_threads = True
    request_queue_size = _WAITING

    def __init__(self, place: tuple[str, int], answer: Answer) -> None:
        super().__init__(place, _Connection)
        self.answer = answer
        self.is_open = True
        Thread(target=self._accept, name=f"simulated {place[0]}", daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # the address is closed
            while True:
                self.process_request(*self.socket.accept())

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: the peer closed its connection."""

    def end(self) -> None:
        """Stop listening; each connection breaks at its next request."""
        self.is_open = False
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # ends `accept`
        self.server_close()


class _Connection(BaseHTTPRequestHandler):
    """Reads the requests of one connection, and writes the answers."""

    server: _Server
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def _answer(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not self.server.is_open or not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            return
        body = self.rfile.read(int(length))
        response = self.server.answer(
            Request(self.command, self.path, self.headers.get("Content-Type", "").lower(), body)
        )
        time.sleep(response.seconds)
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        self.wfile.write(response.body)

    do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - the names in http.server

    def log_message(self, *_: Any) -> None:
        """Nothing: the commands print what happens."""
