"""`python -m tests.server.serving.strangers …`: slow peers of one server, in a process of its own, for a bounded time.

Each holds one connection: it sends a part of a request, and connects again when the server ends the connection. They
come from several addresses of the loopback range.
"""

import asyncio
import contextlib
import ssl
import sys
import time
from dataclasses import dataclass

PARTS = ("half a head", "a head and one byte", "a trickle", "a kept connection")
"""What a peer sends: see `_send`."""

ADDRESSES = 8
"""Addresses that the peers come from: 127.0.0.2 and the next ones."""

MOST_CONNECTIONS = 20_000
"""Connections that all peers of a run make; a server that ends them at once would otherwise see many more."""

_ARRIVAL_SECONDS = 5
_TRICKLE_SECONDS = 0.5
_PAUSE_SECONDS = 0.05


@dataclass(kw_only=True)
class Strangers:
    """Peers of `port` that all send the same part; `path` is what their requests name."""

    port: int
    path: str
    part: str
    is_tls: bool
    ends: float
    left: int = MOST_CONNECTIONS

    async def attack(self, count: int) -> None:
        """Hold `count` connections until the end; says on standard output when all were there, or seconds later."""
        arrived = [asyncio.Event() for _ in range(count)]
        peers = [asyncio.create_task(self._hold(number, one)) for number, one in enumerate(arrived)]
        await asyncio.wait([asyncio.create_task(one.wait()) for one in arrived], timeout=_ARRIVAL_SECONDS)
        print("attacking", flush=True)  # noqa: T201 - read by the test
        await asyncio.wait(peers)

    async def _hold(self, number: int, arrived: asyncio.Event) -> None:
        while time.monotonic() < self.ends and self.left > 0:
            self.left -= 1
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                await asyncio.wait_for(self._connect_once(number, arrived), self.ends - time.monotonic())
            arrived.set()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _connect_once(self, number: int, arrived: asyncio.Event) -> None:
        context = ssl._create_unverified_context() if self.is_tls else None  # noqa: S323 - an attacker trusts everybody
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=context, local_addr=(f"127.0.0.{2 + number % ADDRESSES}", 0)
        )
        try:
            sending = asyncio.create_task(self._send(writer))
            arrived.set()
            while await reader.read(2**16):
                pass
            sending.cancel()
        finally:
            writer.transport.abort()

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        if self.part == "a kept connection":
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
            return
        writer.write(f"POST {self.path} HTTP/1.1\r\nHost: h\r\n".encode())
        if self.part == "half a head":
            return
        writer.write(b"Content-Length: 90000\r\n\r\n{")
        while self.part == "a trickle":
            await asyncio.sleep(_TRICKLE_SECONDS)
            writer.write(b" ")


def main(port: str, path: str, part: str, count: str, seconds: str, tls: str) -> None:
    """Attack for so many seconds."""
    strangers = Strangers(
        port=int(port), path=path, part=part, is_tls=tls == "tls", ends=time.monotonic() + float(seconds)
    )
    asyncio.run(strangers.attack(int(count)))


if __name__ == "__main__":
    main(*sys.argv[1:])
