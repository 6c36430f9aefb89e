"""A small HTTP/1.1 server on many addresses at once, in one thread: it answers for simulated pods.

It does not interpret requests. A body needs a Content-Length; connections are kept open.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from threading import Thread
from typing import Any

MAX_BODY_BYTES = 2**20
_CALL_SECONDS = 10.0


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
"""Answers without blocking; called in the thread of the listeners."""


@dataclass(frozen=True, slots=True)
class _Head:
    method: str
    path: str
    fields: dict[str, str]

    @property
    def length(self) -> int:
        """Length of the body in bytes; -1 if it is not a number or too large."""
        text = self.fields.get("content-length", "0")
        length = int(text) if text.isdecimal() else -1
        return length if length <= MAX_BODY_BYTES else -1


class Listeners:
    """The listening addresses; opened and closed from one thread, served in another."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take a loop that runs in another thread."""
        self._loop = loop
        self._servers: dict[tuple[str, int], asyncio.Server] = {}
        self._connections: dict[tuple[str, int], set[asyncio.StreamWriter]] = {}

    def open(self, host: str, port: int, answer: Answer) -> None:
        """Listen on an address that is not open yet; raises OSError if the system refuses."""
        self._run(self._open((host, port), answer))

    def close(self, host: str, port: int) -> None:
        """Stop listening and break open connections, like the end of a process."""
        self._run(self._close((host, port)))

    def close_all(self) -> None:
        """Close every address."""
        for host, port in list(self._servers):
            self.close(host, port)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_CALL_SECONDS)

    async def _open(self, place: tuple[str, int], answer: Answer) -> None:
        connections: set[asyncio.StreamWriter] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.add(writer)
            try:
                if self._connections.get(place) is connections:  # else it was accepted while the place was closed
                    await _serve(reader, writer, answer)
            finally:
                connections.discard(writer)
                writer.close()

        self._connections[place] = connections
        try:
            self._servers[place] = await asyncio.start_server(serve, *place)
        except OSError:
            del self._connections[place]
            raise

    async def _close(self, place: tuple[str, int]) -> None:
        self._servers.pop(place).close()
        for writer in self._connections.pop(place):
            writer.transport.abort()


@contextmanager
def run_listeners() -> Iterator[Listeners]:
    """Listeners in another thread; all are closed at the end."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="simulated-pods", daemon=True)
    thread.start()
    listeners = Listeners(loop)
    try:
        yield listeners
    finally:
        listeners.close_all()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(_end_tasks(loop))
        loop.close()


async def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Wait until broken connections have ended."""
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer) -> None:
    """Answer the requests of one connection, until the client closes it or sends something other than HTTP."""
    with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        while (head := _parse_head(await reader.readuntil(b"\r\n\r\n"))) is not None and head.length >= 0:
            body = await reader.readexactly(head.length)
            request = Request(head.method, head.path, head.fields.get("content-type", "").lower(), body)
            response = answer(request)
            if response.seconds:
                await asyncio.sleep(response.seconds)
            writer.write(_format(response))
            await writer.drain()
            if head.fields.get("connection", "").lower() == "close":
                return


def _parse_head(head: bytes) -> _Head | None:
    """Request line and fields by lower-case name; None if it is not HTTP."""
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    pairs = (line.partition(":") for line in lines)
    return _Head(words[0], words[1], {name.strip().lower(): value.strip() for name, _, value in pairs})


def _format(response: Response) -> bytes:
    head = (
        f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}\r\n"
        f"Content-Type: {response.content_type}\r\n"
        f"Content-Length: {len(response.body)}\r\n\r\n"
    )
    return head.encode("latin-1") + response.body
