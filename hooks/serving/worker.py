"""Gunicorn's gthread worker with time limits: no peer keeps a thread, or the loop that accepts, for itself.

Head and body of an answer are sent together: in two packets, a peer that delays its acknowledgements could get the
second one 40 ms later.

Source: gunicorn, gunicorn/workers/gthread.py, 27.0. Each method here extends the method of the same name there.
"""

import socket
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker

from hooks.serving.logs import logger

HEAD_SECONDS = 10.0
"""How long a peer may take for its TLS handshake and the head of a request; gunicorn has no limit."""

CROWDED_SECONDS = 1.0
"""The same while every thread has a peer: those that wait for one may be health probes."""

REQUEST_SECONDS = 20.0
"""How long a request may take from its head to the last byte of its answer. Its caller gave up before: Metacontroller
and the API server wait for 10 seconds."""


class BoundedWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """A gthread worker that closes the connections of slow peers."""

    def init_process(self) -> None:
        """Start without peers; for each that has a thread, the time since when its head, or its request, takes."""
        self.heads: dict[TConn, float] = {}
        self.requests: dict[TConn, float] = {}
        super().init_process()

    def handle(self, conn: TConn) -> Any:
        """Handle one request of a connection within the limits.

        A connection that ends is closed here, on its own thread. Gunicorn closes it in the loop that accepts, and waits
        there for up to 2 seconds until the peer closes too.
        """
        if self.app.is_draining():
            self.max_keepalived = 0  # from now on every answer says "Connection: close"
        self.heads[conn] = time.monotonic()
        is_kept: Any = False
        try:
            is_kept = super().handle(conn)
        finally:
            if is_kept is False:
                conn.close(graceful=True)
            for peers in (self.heads, self.requests):
                peers.pop(conn, None)
        return is_kept

    def finish_request(self, conn: TConn, fs: Any) -> None:
        """Count a connection that `handle` closed once.

        Gunicorn would close it again, fail, and count it twice. A stopping worker whose count is too low believes that
        nobody is connected, and leaves requests on kept connections without an answer.
        """
        if not fs.cancelled() and fs.exception() is None and fs.result() is False:
            self.nr_conns -= 1
        else:
            super().finish_request(conn, fs)

    def handle_request(self, req: Any, conn: TConn) -> Any:
        """Answer a request, whose head has arrived."""
        self.heads.pop(conn, None)
        self.requests[conn] = time.monotonic()
        joined = JoinedWrites(conn.sock)
        is_kept = super().handle_request(req, SimpleNamespace(sock=joined, client=conn.client, server=conn.server))
        joined.flush()
        return is_kept

    def murder_pending(self) -> None:
        """Cut off peers that are too slow; gunicorn calls this at least once a second, also while it stops."""
        super().murder_pending()
        now = time.monotonic()
        is_crowded = len(self.heads) + len(self.requests) >= self.cfg.threads
        for peers, seconds in (
            (self.heads, CROWDED_SECONDS if is_crowded else HEAD_SECONDS),
            (self.requests, REQUEST_SECONDS),
        ):
            for conn in [conn for conn, since in list(peers.items()) if now - since > seconds]:
                if peers.pop(conn, None) is not None:  # otherwise its thread was faster
                    _cut_off(conn)


class JoinedWrites:
    """A socket that holds back the first piece, an answer's head, and sends it with the second, the body."""

    def __init__(self, sock: Any) -> None:
        self._socket = sock
        self._held = b""
        self._has_begun = False

    def sendall(self, data: bytes) -> None:
        """Send all bytes, but hold back the first piece."""
        if not self._has_begun:
            self._has_begun, self._held = True, data
            return
        held, self._held = self._held, b""
        self._socket.sendall(held + data if held else data)

    def flush(self) -> None:
        """Send what is still held back: the head of an answer without a body."""
        held, self._held = self._held, b""
        if held:
            self._socket.sendall(held)

    def __getattr__(self, name: str) -> Any:
        """Everything else is the socket's own."""
        return getattr(self._socket, name)


def _cut_off(conn: TConn) -> None:
    """End the connection, so that the thread that reads or writes on it goes on; that thread closes it."""
    logger.warning("connection of %s is closed: no whole request and answer in time", conn.client[0])
    with suppress(OSError):  # closed in this moment
        socket.socket.shutdown(conn.sock, socket.SHUT_RDWR)  # not SSLSocket's, which would forget its TLS state
