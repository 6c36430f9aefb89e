"""Engines as HTTP servers on loopback addresses, with every way of misbehaving."""

import json
import socket
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from hooks.model.prober.messages import EngineTarget


@dataclass(slots=True)
class EngineState:
    """What an engine holds (`held`: adapter to source) and how it behaves; may be changed while it serves.

    `shape` of its list: `map`, `names`, `objects` or `none`. `hangs` and `fails` are methods (`GET`, `POST`, `DELETE`).
    `traces` are the methods that it was asked with, each with the caller's `traceparent`.
    """

    held: dict[str, str] = field(default_factory=dict)
    shape: str = "map"
    hangs: frozenset[str] = frozenset()
    fails: frozenset[str] = frozenset()
    is_lying: bool = False
    has_lora: bool = True
    load_seconds: float = 0.0
    asked: Counter[str] = field(default_factory=Counter)
    traces: set[tuple[str, str]] = field(default_factory=set)
    released: threading.Event = field(default_factory=threading.Event)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, host: str, port: int, state: EngineState) -> None:
        self.state = state
        self.connections: set[socket.socket] = set()
        super().__init__((host, port), _Handler)

    def hang_up(self) -> None:
        """Break the connections that clients keep, as the end of a process does."""
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of the engine's."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""

    def do_GET(self) -> None:
        if self._begin():
            names = sorted(self.server.state.held)
            match self.server.state.shape:
                case "map":
                    self._send(200, {"status": "success", "loras": dict.fromkeys(names, 1), "count": len(names)})
                case "names":
                    self._send(200, {"loras": names})
                case "objects":
                    self._send(200, {"loras": [{"lora_name": name, "lora_id": 1} for name in names]})
                case _:
                    self._send(404, "Route not found")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null")
        if self._begin():
            state = self.server.state
            if state.is_lying:
                self._send(200, {"status": "success"})
                return
            state.released.wait(state.load_seconds) if state.load_seconds else None
            state.held.setdefault(body["lora_name"], body["source"]["uri"])
            self._send(200, {"status": "success", "lora_name": body["lora_name"], "lora_id": 1})

    def do_DELETE(self) -> None:
        if self._begin():
            name = unquote(self.path.removeprefix("/v1/loras/"))
            known = self.server.state.held.pop(name, None)
            self._send(
                200 if known else 500, {"status": "success" if known else "error", "message": "", "lora_name": name}
            )

    def _begin(self) -> bool:
        self.server.state.traces.add((self.command, self.headers.get("traceparent", "")))
        state = self.server.state
        state.asked[self.command] += 1
        if self.command in state.hangs:
            state.released.wait(60)
            self.close_connection = True
            return False
        if not state.has_lora:
            self._send(500, {"status": "error", "message": "LoRA management not available: no endpoint"})
            return False
        if self.command in state.fails:
            self._send(500, {"status": "error", "message": "boom"})
            return False
        return True

    def _send(self, status: int, document: Any) -> None:
        body = document.encode() if isinstance(document, str) else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@dataclass(frozen=True, slots=True)
class RunningEngine:
    """An engine that serves at `target`."""

    state: EngineState
    target: EngineTarget


@contextmanager
def run_engine(state: EngineState, number: int = 0, *, port: int = 0) -> Iterator[RunningEngine]:
    """Serve one engine on 127.0.0.<number + 2>, at any free port unless one is given."""
    host = f"127.0.0.{number + 2}"
    server = _Server(host, port, state)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        address = f"http://{host}:{server.server_address[1]}"
        yield RunningEngine(state, EngineTarget(address=address, pod=f"w{number}"))
    finally:
        state.released.set()
        server.shutdown()
        server.server_close()
        server.hang_up()
        thread.join()


@contextmanager
def run_engines(states: Iterable[EngineState]) -> Iterator[list[RunningEngine]]:
    """Serve several engines, each at an address of its own."""
    with ExitStack() as stack:
        yield [stack.enter_context(run_engine(state, number)) for number, state in enumerate(states)]
