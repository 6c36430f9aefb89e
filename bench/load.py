"""A load generator: keep-alive connections, each of which sends its next request after the last answer.

It runs in its own process for a bounded time, connects to 127.0.0.1 only, and uses sockets directly, so that the server
is measured and not the generator.
"""

import json
import selectors
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path

NEW_EACH_TIME = "9876543210"
"""Placeholder in a body for digits that differ in every request, as the resourceVersion of a changed object does."""


@dataclass
class Connection:
    """One connection: when its request was sent, and what was received since."""

    sock: socket.socket
    started: float = 0.0
    received: bytearray = field(default_factory=bytearray)
    length: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The milliseconds of every request, and the seconds of the whole run."""

    milliseconds: list[float]
    seconds: float


def run(port: int, path: str, body: bytes, *, connections: int, seconds: float) -> Measurement:
    """Send the body on each connection for so many seconds, with other digits for `NEW_EACH_TIME` in each request.

    Raises:
        RuntimeError: the server answers other than 200, not within 30 seconds, or closes a connection.
    """
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    requests = _number(head.encode() + body)
    opened = [Connection(socket.create_connection(("127.0.0.1", port), timeout=30)) for _ in range(connections)]
    try:
        with selectors.DefaultSelector() as selector:
            return _drive(selector, opened, requests, seconds)
    finally:
        for connection in opened:
            connection.sock.close()


def _number(request: bytes) -> Iterator[bytes]:
    """The request with new digits each time; they start at the clock's, so that no two runs send the same."""
    parts, digits = request.split(NEW_EACH_TIME.encode()), len(NEW_EACH_TIME)
    for number in count(time.time_ns() // 1000):
        yield (b"%0*d" % (digits, number % 10**digits)).join(parts)


def _drive(
    selector: selectors.BaseSelector, connections: list[Connection], requests: Iterator[bytes], seconds: float
) -> Measurement:
    begun = time.perf_counter()
    for connection in connections:
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection.sock, selectors.EVENT_READ, connection)
        _send(connection, next(requests))
    latencies: list[float] = []
    while selector.get_map():
        ready = selector.select(timeout=30)
        if not ready:
            raise RuntimeError("no answer within 30 seconds")
        for key, _ in ready:
            connection = key.data
            if not _receive(connection):
                continue
            now = time.perf_counter()
            latencies.append((now - connection.started) * 1000)
            if now - begun < seconds:
                _send(connection, next(requests))
            else:
                selector.unregister(connection.sock)
    return Measurement(milliseconds=latencies, seconds=time.perf_counter() - begun)


def _send(connection: Connection, request: bytes) -> None:
    connection.received.clear()
    connection.length = 0
    connection.started = time.perf_counter()
    connection.sock.sendall(request)


def _receive(connection: Connection) -> bool:
    """Read what has arrived; True once the answer is complete."""
    data = connection.sock.recv(1 << 20)
    if not data:
        raise RuntimeError("the server closed a connection")
    connection.received += data
    if not connection.length:
        end = connection.received.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(connection.received[:end])
        if not head.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"answered {head.splitlines()[0].decode()}")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        connection.length = end + 4 + int(length.split(b":")[1])
    return len(connection.received) >= connection.length


if __name__ == "__main__":
    port, path, file, connections, seconds = sys.argv[1:]
    result = run(int(port), path, Path(file).read_bytes(), connections=int(connections), seconds=float(seconds))
    print(json.dumps(asdict(result)))
