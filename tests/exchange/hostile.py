"""Peers on real sockets that drip, never end, or send more than anybody asked for; they count what was taken."""

import gzip
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

DROP_SECONDS = 0.02
Speak = Callable[[Callable[[bytes], None]], None]
"""What a peer does with a connection on which a request came: it gets a function that sends."""


@dataclass
class Peer:
    """Its address, the bytes that it could send, and how many clients hung up on it."""

    address: str
    sent: int = 0
    left: threading.Event = field(default_factory=threading.Event)


@contextmanager
def peer(speak: Speak, context: ssl.SSLContext | None = None) -> Iterator[Peer]:
    """A server that does the same on each connection; with a context it speaks TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        scheme = "http" if context is None else "https"
        found = Peer(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}")

        def talk(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                if context is not None:
                    connection = context.wrap_socket(connection, server_side=True)
                connection.recv(65536)

                def send(data: bytes) -> None:
                    connection.sendall(data)
                    found.sent += len(data)

                speak(send)
            found.left.set()

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield found


def drips(begin: bytes, drop: bytes) -> Speak:
    """Begins at once, and then sends a drop again and again for ever."""

    def speak(send: Callable[[bytes], None]) -> None:
        send(begin)
        while True:
            send(drop)
            time.sleep(DROP_SECONDS)

    return speak


def floods(begin: bytes, piece: bytes) -> Speak:
    """Begins, and sends the same piece as fast as it is taken, for ever."""

    def speak(send: Callable[[bytes], None]) -> None:
        send(begin)
        while True:
            send(piece)

    return speak


def answers(body: bytes, head: bytes = b"", status: bytes = b"200 OK") -> Speak:
    """Answers and closes."""
    text = b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\n" % len(body) + head + b"\r\n" + body
    return lambda send: send(text)


def bomb(mib: int) -> bytes:
    """That many MiB of zeros, packed with gzip."""
    return gzip.compress(bytes(mib * 2**20))
