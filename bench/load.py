"""A load generator: kept connections that send as fast as they are answered, or requests that arrive at a rate.

It runs in its own process for a bounded time, connects to 127.0.0.1 only, and uses sockets directly, so that the server
is measured and not the generator.
"""

import json
import selectors
import socket
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

NEW_EACH_TIME = "9876543210"
"""Placeholder in a body for digits that differ in every request, as the resourceVersion of a changed object does."""
_PATIENCE = 30.0
"""Seconds until an answer counts as missing."""


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
    with selectors.DefaultSelector() as selector, _connect(port, connections, selector) as opened:
        return _drive(selector, opened, _write_requests(path, body), seconds)


def run_at_rate(port: int, path: str, body: bytes, *, connections: int, seconds: float, rate: float) -> Measurement:
    """Send the body `rate` times a second on average, at random times that are the same in each run.

    A request takes a free connection, or waits for one. Its time counts from the moment at which it was due, so a slow
    answer counts for the requests that wait behind it, too.

    Raises:
        RuntimeError: as `run`.
    """
    with selectors.DefaultSelector() as selector, _connect(port, connections, selector) as opened:
        return _send_when_due(selector, opened, _write_requests(path, body), list(_choose_times(seconds, rate)))


@contextmanager
def _connect(port: int, connections: int, selector: selectors.BaseSelector) -> Iterator[list[Connection]]:
    """So many connections, known to the selector, and closed after use."""
    opened = [Connection(socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE)) for _ in range(connections)]
    try:
        for connection in opened:
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(connection.sock, selectors.EVENT_READ, connection)
        yield opened
    finally:
        for connection in opened:
            connection.sock.close()


def _write_requests(path: str, body: bytes) -> Iterator[bytes]:
    """The request with new digits each time; they start at the clock's, so that no two runs send the same."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    request = head.encode() + body
    for number in count(time.time_ns() // 1000):
        yield renew(request, number)


def renew(text: bytes, number: int) -> bytes:
    """The text with the number's last digits for `NEW_EACH_TIME`."""
    digits = len(NEW_EACH_TIME)
    return text.replace(NEW_EACH_TIME.encode(), b"%0*d" % (digits, number % 10**digits))


def _drive(
    selector: selectors.BaseSelector, connections: list[Connection], requests: Iterator[bytes], seconds: float
) -> Measurement:
    begun = time.perf_counter()
    for connection in connections:
        _send(connection, next(requests), time.perf_counter())
    latencies: list[float] = []
    while selector.get_map():
        for connection in _receive_next(selector):
            now = time.perf_counter()
            latencies.append((now - connection.started) * 1000)
            if now - begun < seconds:
                _send(connection, next(requests), now)
            else:
                selector.unregister(connection.sock)
    return Measurement(milliseconds=latencies, seconds=time.perf_counter() - begun)


def _send_when_due(
    selector: selectors.BaseSelector, connections: list[Connection], requests: Iterator[bytes], times: list[float]
) -> Measurement:
    begun = time.perf_counter()
    due, free = deque(begun + seconds for seconds in times), deque(connections)
    latencies: list[float] = []
    while due or len(free) < len(connections):
        while due and free and due[0] <= time.perf_counter():
            _send(free.popleft(), next(requests), due.popleft())
        until = due[0] - time.perf_counter() if due and free else None
        for connection in _receive_next(selector, until):
            latencies.append((time.perf_counter() - connection.started) * 1000)
            free.append(connection)
    return Measurement(milliseconds=latencies, seconds=time.perf_counter() - begun)


def _choose_times(seconds: float, rate: float) -> Iterator[float]:
    """The seconds at which requests are due: exponential gaps, as those of clients that know nothing of each other."""
    gaps, due = Random(1), 0.0  # noqa: S311 - nothing secret
    while (due := due + gaps.expovariate(rate)) < seconds:
        yield due


def _receive_next(selector: selectors.BaseSelector, until: float | None = None) -> list[Connection]:
    """The connections whose answers are complete, after the next data came or, where given, after so many seconds.

    Raises:
        RuntimeError: no data came in time, though nothing else was to be done.
    """
    ready = selector.select(timeout=_PATIENCE if until is None else max(0.0, until))
    if not ready and until is None:
        raise RuntimeError(f"no answer within {_PATIENCE:g} seconds")
    return [key.data for key, _ in ready if _receive(key.data)]


def _send(connection: Connection, request: bytes, started: float) -> None:
    connection.received.clear()
    connection.length = 0
    connection.started = started
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
    port, path, file, connections, seconds, rate = sys.argv[1:]
    send = partial(run_at_rate, rate=float(rate)) if float(rate) else run
    result = send(int(port), path, Path(file).read_bytes(), connections=int(connections), seconds=float(seconds))
    print(json.dumps(asdict(result)))
