"""`python -m bench.siege_clients …`: many peers of one server that want to keep others from it, for a bounded time.

They come from several addresses of the loopback range. Each holds one connection, and connects again when it ends.
"""

import asyncio
import contextlib
import mmap
import ssl
import struct
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Siege(StrEnum):
    """What each peer does."""

    PIPELINED = "sends requests without waiting for answers"
    METRICS = "asks for /metrics again and again"
    HANDSHAKE = "begins a TLS handshake, and stalls"
    BODY = "sends a head, and of its body one byte"


ADDRESSES = 8
"""Addresses that the peers come from: 127.0.0.2 and the next ones."""
MOST_CONNECTIONS = 20_000
"""Connections that all peers of a run make: a flood of connections is another siege."""
AT_ONCE = 50
"""Requests that a peer pipelines at once."""

_PAUSE_SECONDS = 0.05
_ANSWER = b"HTTP/1.1 "


class Count:
    """A number in a file, which several processes read while one of them counts."""

    def __init__(self, file: Path) -> None:
        """Use a file of eight bytes."""
        with file.open("r+b") as opened:
            self._memory = mmap.mmap(opened.fileno(), 8)

    @classmethod
    def create(cls, file: Path) -> "Count":
        """A new one that is 0."""
        file.write_bytes(bytes(8))
        return cls(file)

    @property
    def value(self) -> int:
        """The number now."""
        (found,) = struct.unpack("q", self._memory[:8])
        return int(found)

    def add(self, number: int) -> None:
        """Count so many more."""
        self._memory[:8] = struct.pack("q", self.value + number)


@dataclass(kw_only=True)
class Besiegers:
    """Peers of `port` that all do the same until a moment; `path` is what bodies are sent to."""

    port: int
    path: str
    siege: Siege
    is_tls: bool
    ends: float
    answers: Count
    left: int = MOST_CONNECTIONS

    async def attack(self, count: int) -> None:
        """Hold `count` connections; says on standard output when each was there once."""
        arrived = [asyncio.Event() for _ in range(count)]
        peers = [asyncio.create_task(self._hold(number, one)) for number, one in enumerate(arrived)]
        for one in arrived:
            await one.wait()
        print("attacking", flush=True)  # read by who started this
        await asyncio.wait(peers)

    async def _hold(self, number: int, arrived: asyncio.Event) -> None:
        while time.monotonic() < self.ends and self.left > 0:
            self.left -= 1
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                await asyncio.wait_for(self._connect_once(number, arrived), self.ends - time.monotonic())
            arrived.set()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _connect_once(self, number: int, arrived: asyncio.Event) -> None:
        context = None
        if self.is_tls and self.siege is not Siege.HANDSHAKE:
            context = ssl._create_unverified_context()  # noqa: S323 - an attacker trusts everybody
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=context, local_addr=(f"127.0.0.{2 + number % ADDRESSES}", 0)
        )
        try:
            arrived.set()
            await self._besiege(reader, writer)
        finally:
            writer.transport.abort()

    async def _besiege(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match self.siege:
            case Siege.PIPELINED:
                await self._ask(reader, writer, b"GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n", AT_ONCE)
            case Siege.METRICS:
                await self._ask(reader, writer, b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n", 1)
            case Siege.HANDSHAKE:
                writer.write(_begin_handshake())
                await self._wait(reader)
            case Siege.BODY:
                head = f"POST {self.path} HTTP/1.1\r\nHost: h\r\nContent-Length: 90000\r\n\r\n"
                writer.write(head.encode() + b"{")
                await self._wait(reader)

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, at_once: int
    ) -> None:
        """Send so many requests, and as many again each time when all have their answer."""
        before, missing = b"", 0
        while True:
            if missing <= 0:
                writer.write(request * at_once)
                missing += at_once
            data = await reader.read(2**16)
            if not data:
                return
            found = (before + data).count(_ANSWER)
            before = data[-len(_ANSWER) + 1 :]
            missing -= found
            self.answers.add(found)

    async def _wait(self, reader: asyncio.StreamReader) -> None:
        while await reader.read(2**16):
            pass


def _begin_handshake() -> bytes:
    """What a client sends first; the server answers with its certificate, and waits."""
    outgoing = ssl.MemoryBIO()
    context = ssl._create_unverified_context()  # noqa: S323 - as above
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    return outgoing.read()


def main(words: Sequence[str]) -> None:
    """Besiege for so many seconds."""
    port, path, siege, count, seconds, tls, answers = words
    besiegers = Besiegers(
        port=int(port),
        path=path,
        siege=Siege[siege],
        is_tls=tls == "tls",
        ends=time.monotonic() + float(seconds),
        answers=Count(Path(answers)),
    )
    asyncio.run(besiegers.attack(int(count)))


if __name__ == "__main__":
    main(sys.argv[1:])
