"""Gunicorn's gthread worker, in which no peer keeps a thread, or the loop that accepts, from others.

A thread waits for its peer within time limits. When there are more strangers than the process holds, the longest
unheard one is cut off (`hooks.server.serving.strangers`), so a new connection is always heard at once.

Source: gunicorn, gunicorn/workers/gthread.py, 27.0. Each method here extends the method of the same name there.
"""

import errno
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.util import close_graceful
from gunicorn.workers.gthread import TConn, ThreadWorker

from hooks.server.serving.files import raise_file_limit
from hooks.server.serving.logs import logger
from hooks.server.serving.strangers import CALLER, LEAST_STRANGERS, Caller, Entrance, Strangers

HEAD_SECONDS = 10.0
"""How long a peer may take for its TLS handshake and the head of a request; gunicorn has no limit."""

BODY_SECONDS = 10.0
"""How long the whole body of a request may take."""

REQUEST_SECONDS = 20.0
"""How long a request may take from its head to the last byte of its answer. Its caller gave up before: Metacontroller
and the API server wait for 10 seconds."""

CALLS = 512
"""Threads of a process for calls that are computed, or wait for their turn, and for peers that showed the token."""

OWN_FILES, FILES_OF_A_PEER = 64, 2
"""Of a process: files that are no connections of peers, and those of each: gunicorn waits with one for data."""

LAST_SECONDS, LAST_BYTES = 1.0, 2**20
"""Of a body that is not wanted, how much is still taken after the answer: who still sends would lose it otherwise."""


class BoundedWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """A gthread worker that closes the connections of slow peers."""

    def init_process(self) -> None:
        """Start without peers."""
        self.strangers = Strangers(_fit(self.cfg.threads - CALLS, raise_file_limit()))
        self.entrance = Entrance()
        self.deadlines: dict[TConn, float] = {}
        self.served = threading.local()
        super().init_process()

    def load_wsgi(self) -> None:
        """Let the application say what it knows of its caller."""
        super().load_wsgi()
        self.wsgi: Callable[..., Iterable[bytes]] = partial(self.call, self.app.wsgi())

    def accept(self, listener: Any) -> None:
        """Accept a connection; without a free file, cut off a stranger instead."""
        try:
            super().accept(listener)
        except OSError as error:
            if error.errno not in {errno.EMFILE, errno.ENFILE}:
                raise
            self.cut_off(self.strangers.give_up())

    def enqueue_req(self, conn: TConn) -> None:
        """Give a new connection, or one that sends again, a thread."""
        self.cut_off(self.strangers.admit(conn))
        super().enqueue_req(conn)

    def handle(self, conn: TConn) -> Any:
        """Handle one request of a connection within the limits.

        A connection that ends is closed here, on its own thread. Gunicorn closes it in the loop that accepts, and waits
        there for up to 2 seconds until the peer closes too.
        """
        if self.app.is_draining():
            self.max_keepalived = 0  # from now on every answer says "Connection: close"
        self.deadlines[conn] = time.monotonic() + HEAD_SECONDS
        is_kept: Any = False
        try:
            is_kept = super().handle(conn)
        finally:
            if is_kept is False:
                with suppress(OSError):  # the peer, or gunicorn, has closed it
                    conn.sock.setblocking(True)
                    close_graceful(conn.sock, LAST_SECONDS, LAST_BYTES)
                self.forget(conn)
            self.deadlines.pop(conn, None)
        return is_kept

    def finish_request(self, conn: TConn, fs: Any) -> None:
        """Count a connection that `handle` closed once.

        Gunicorn would close it again, fail, and count it twice. A stopping worker whose count is too low believes that
        no client is connected, and leaves requests on kept connections without an answer.
        """
        if not fs.cancelled() and fs.exception() is None and fs.result() is False:
            self.nr_conns -= 1
        else:
            super().finish_request(conn, fs)

    def handle_request(self, req: Any, conn: TConn) -> Any:
        """Answer a request, whose head has arrived."""
        self.extend(conn, REQUEST_SECONDS)
        self.served.request, self.served.conn = req, conn
        return super().handle_request(req, conn)

    def call(
        self, app: Callable[..., Iterable[bytes]], environ: dict[str, Any], start_response: Any
    ) -> Iterable[bytes]:
        """Call the application; if the rest of a body is still to come, the connection is closed after the answer."""
        request, conn = self.served.request, self.served.conn
        ends = time.monotonic() + REQUEST_SECONDS
        is_whole = environ.get("CONTENT_LENGTH", "0") == "0" and "HTTP_TRANSFER_ENCODING" not in environ

        is_inside = not self.strangers.knows(conn)
        if is_inside:
            self.entrance.enter(conn)

        def leave() -> None:
            nonlocal is_inside
            if is_inside:
                is_inside = False
                self.entrance.leave(conn)

        def announce(length: int) -> None:
            leave()
            self.extend(conn, BODY_SECONDS)
            self.cut_off(self.strangers.admit(conn, length))

        def spare() -> None:
            nonlocal is_whole
            is_whole = True
            self.strangers.spare(conn)
            self.extend(conn, ends - time.monotonic())

        environ[CALLER] = Caller(know=partial(self.strangers.know, conn), announce=announce, spare=spare, leave=leave)
        try:
            answer = app(environ, start_response)
        finally:
            leave()
        self.cut_off(self.strangers.admit(conn))
        if not is_whole:
            request.force_close()
        return answer

    def extend(self, conn: TConn, seconds: float) -> None:
        """Move the end of the time that a connection has; one that was cut off stays so."""
        if conn in self.deadlines:
            self.deadlines[conn] = time.monotonic() + seconds

    def murder_pending(self) -> None:
        """Cut off peers that are too slow; gunicorn calls this at least once a second, also while it stops."""
        super().murder_pending()
        now = time.monotonic()
        late = [conn for conn, ends in list(self.deadlines.items()) if ends < now]
        for conn in late:
            if self.deadlines.pop(conn, None) is not None:  # otherwise its thread was faster
                logger.warning("connection of %s is closed: no whole request and answer in time", conn.client[0])
        self.cut_off(late)
        for conn in self.strangers.all():
            if conn.sock.fileno() < 0:  # it was idle for long, and gunicorn closed it
                self.forget(conn)

    def forget(self, conn: TConn) -> None:
        """Its connection has ended."""
        self.strangers.forget(conn)
        self.entrance.forget(conn)

    def cut_off(self, conns: Iterable[Any]) -> None:
        """End connections, so that the threads that read or write on them go on; these threads close them."""
        for conn in conns:
            with suppress(OSError):  # closed in this moment
                socket.socket.shutdown(conn.sock, socket.SHUT_RDWR)  # not SSLSocket's, which would forget its TLS state


def _fit(peers: int, files: int) -> int:
    """As many peers as wanted, or as the open files of the process suffice for."""
    if files == resource.RLIM_INFINITY:
        return peers
    return max(LEAST_STRANGERS, min(peers, (files - OWN_FILES) // FILES_OF_A_PEER))
