"""A load generator in a process of its own: some keep-alive connections, each sending its next request when answered.

It only ever talks to 127.0.0.1, for a bounded time, and is written close to the socket so that the server, and not the
generator, is what is measured.
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
"""Stands in a body for digits that are others in every request, as the version of an object that changed."""


@dataclass
class Client:
    """One connection: when its request left, and what came back so far."""

    connection: socket.socket
    started: float = 0.0
    received: bytearray = field(default_factory=bytearray)
    wanted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The milliseconds of every request, and the seconds that all took together."""

    milliseconds: list[float]
    seconds: float


def run(port: int, path: str, body: bytes, *, connections: int, seconds: float) -> Measured:
    """Send the body again and again on each connection, for so many seconds, with other digits for `NEW_EACH_TIME`.

    Raises:
        RuntimeError: an answer other than 200, none for 30 seconds, or a connection that the server closed.
    """
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    requests = _number(head.encode() + body)
    clients = [Client(socket.create_connection(("127.0.0.1", port), timeout=30)) for _ in range(connections)]
    try:
        with selectors.DefaultSelector() as selector:
            return _drive(selector, clients, requests, seconds)
    finally:
        for client in clients:
            client.connection.close()


def _number(request: bytes) -> Iterator[bytes]:
    """The request again and again; the digits begin at the clock's, so that no two runs send the same."""
    parts, digits = request.split(NEW_EACH_TIME.encode()), len(NEW_EACH_TIME)
    for number in count(time.time_ns() // 1000):
        yield (b"%0*d" % (digits, number % 10**digits)).join(parts)


def _drive(
    selector: selectors.BaseSelector, clients: list[Client], requests: Iterator[bytes], seconds: float
) -> Measured:
    begun = time.perf_counter()
    for client in clients:
        client.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(client.connection, selectors.EVENT_READ, client)
        _send(client, next(requests))
    latencies: list[float] = []
    while selector.get_map():
        ready = selector.select(timeout=30)
        if not ready:
            raise RuntimeError("no answer within 30 seconds")
        for key, _ in ready:
            client = key.data
            if not _receive(client):
                continue
            now = time.perf_counter()
            latencies.append((now - client.started) * 1000)
            if now - begun < seconds:
                _send(client, next(requests))
            else:
                selector.unregister(client.connection)
    return Measured(milliseconds=latencies, seconds=time.perf_counter() - begun)


def _send(client: Client, request: bytes) -> None:
    client.received.clear()
    client.wanted = 0
    client.started = time.perf_counter()
    client.connection.sendall(request)


def _receive(client: Client) -> bool:
    """Read what there is; True once the answer is whole."""
    data = client.connection.recv(1 << 20)
    if not data:
        raise RuntimeError("the server closed a connection")
    client.received += data
    if not client.wanted:
        end = client.received.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(client.received[:end])
        if not head.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"answered {head.splitlines()[0].decode()}")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        client.wanted = end + 4 + int(length.split(b":")[1])
    return len(client.received) >= client.wanted


if __name__ == "__main__":
    port, path, file, connections, seconds = sys.argv[1:]
    result = run(int(port), path, Path(file).read_bytes(), connections=int(connections), seconds=float(seconds))
    print(json.dumps(asdict(result)))
