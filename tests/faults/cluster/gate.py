"""The network between Metacontroller and the hooks: each connection goes to one of the servers, in turn."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count

from tests.waiting import PATIENCE

BLOCK = 1 << 16


@dataclass
class Gate:
    """Passes bytes on as a Service of Kubernetes does, by connection; all of it can be changed as it goes.

    `ports` are where servers listen on 127.0.0.1. Answers arrive `delay` seconds late.
    """

    ports: tuple[int, ...]
    delay: float = 0.0
    url: str = ""
    _waiting: set[int] = field(default_factory=set)
    _open: set[socket.socket] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def calls_in_flight(self) -> int:
        """How many connections sent something last and have no answer yet."""
        return len(self._waiting)

    def cut(self) -> None:
        """End all connections, as those to servers end that are taken out of a Service."""
        for one in tuple(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:  # the listener is closed
                return
            threading.Thread(target=self._pass_on, args=(caller, next(self._numbers)), daemon=True).start()

    def _pass_on(self, caller: socket.socket, number: int) -> None:
        with caller:
            try:
                server = socket.create_connection(("127.0.0.1", self.ports[number % len(self.ports)]), timeout=PATIENCE)
            except OSError:  # nobody listens
                return
            server.settimeout(None)
            self._open |= {caller, server}
            with server:
                back = threading.Thread(target=self._pump, args=(server, caller, number, True), daemon=True)
                back.start()
                self._pump(caller, server, number, False)
                back.join()
            self._open -= {caller, server}
            self._waiting.discard(number)

    def _pump(self, source: socket.socket, target: socket.socket, number: int, is_answer: bool) -> None:
        with suppress(OSError):
            while block := source.recv(BLOCK):
                if is_answer and number in self._waiting:
                    time.sleep(self.delay)
                    self._waiting.discard(number)
                elif not is_answer:
                    self._waiting.add(number)
                target.sendall(block)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def open_gate(*ports: int) -> Iterator[Gate]:
    """A gate to these servers, until the end of the block."""
    gate = Gate(ports)
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        gate.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        accepting = threading.Thread(target=gate._serve, args=(listener,), daemon=True)
        accepting.start()
        try:
            yield gate
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            gate.cut()
            accepting.join()
