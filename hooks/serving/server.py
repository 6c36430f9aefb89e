"""Gunicorn inside our own process: how many workers and threads, and how they stop without losing a request.

On SIGTERM gunicorn stops accepting at once and resets the connections that wait in the listeners' queue, although a
Service still sends requests for some seconds. So a worker drains first:

1. `/readyz` answers 503 and every answer closes its connection, while the worker still accepts new ones.
2. The kernel drops new TCP handshakes, and the worker accepts all connections that wait in the queue.
3. Gunicorn's own shutdown finishes the requests in flight.

Source: gunicorn, gunicorn/workers/gthread.py and gunicorn/arbiter.py, 27.0.
"""

import ctypes
import gc
import logging
import os
import secrets
import shutil
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import ThreadWorker

from hooks.serving.connection_counts import ConnectionCounts, FairAccept
from hooks.serving.logs import logger
from hooks.serving.secure_connection import SecureConnection
from hooks.serving.standard_input import stop_with_stdin
from hooks.serving.tls import ServedCertificate, WsgiApp

DRAIN_SECONDS = 5.0
"""How long a stopping worker still accepts: kube-proxies need some seconds to remove the pod from the Service."""

REQUEST_SECONDS = 20
"""How long a request in flight may take after the drain; both together stay below a pod's usual 30 seconds."""

KEEP_ALIVE_SECONDS = 95
"""Longer than the 90 seconds after which a Go client closes an idle connection. So the client closes first, and none of
its requests arrives on a connection that the server is closing."""

METRICS_DIR = "PROMETHEUS_MULTIPROC_DIR"
"""Variable of prometheus_client, which reads it when it is imported."""

_ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})

_HANDSHAKE_SECONDS = 0.3
"""How long TCP handshakes may still take that began before the kernel drops new ones."""

_SO_ATTACH_FILTER = 26
_DROP_NEW_CONNECTIONS = b"".join(
    struct.pack("HBBI", *instruction)
    for instruction in (
        (0x30, 0, 0, 13),  # load the byte of the TCP header that holds the flags
        (0x45, 0, 1, 0x02),  # with SYN go on, otherwise skip one
        (0x06, 0, 0, 0),  # drop
        (0x06, 0, 0, 0xFFFFFFFF),  # keep
    )
)
"""A classic BPF program; the kernel runs it on every packet to a listener."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurePort:
    """A second port, HOST:PORT, for HTTPS only."""

    bind: str
    certificate: ServedCertificate


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How to serve: `bind` is HOST:PORT, `drain` is in seconds.

    `begin` runs in each worker, with a function that says whether the worker is draining. `end` runs once, after all
    workers ended. With `end_with_stdin`, the end of standard input stops the server, as SIGTERM does.
    """

    bind: str
    workers: int
    threads: int
    drain: float = DRAIN_SECONDS
    secure_port: SecurePort | None = None
    begin: Callable[[Callable[[], bool]], None] = lambda _is_draining: None
    end: Callable[[], None] = lambda: None
    end_with_stdin: bool = False


LoadApp = Callable[[Callable[[], bool]], WsgiApp]
"""Creates the application from a function that says whether this process is draining."""


def run_server(options: ServerOptions, load_app: LoadApp) -> None:
    """Serve until SIGTERM, then end the process; never returns.

    `load_app` runs after the metrics directory is set, and must itself import `hooks.serving.metrics`, not earlier.
    """
    for number in _ENDING:  # until gunicorn installs its own handlers, so that the directory is removed then too
        signal.signal(number, lambda *_: sys.exit(0))
    owner = os.getpid()
    given = os.environ.get(METRICS_DIR)
    directory = Path(given or Path(_find_temporary_dir(), f"dynamo-hooks-metrics-{owner}-{secrets.token_hex(8)}"))
    try:
        _empty(directory)
        os.environ[METRICS_DIR] = str(directory)
        Server(options, load_app).run()
    finally:
        if not given and os.getpid() == owner:  # workers are forks and get here too
            shutil.rmtree(directory, ignore_errors=True)


def _find_temporary_dir() -> str:
    """Python's directory for temporary files; signals wait, so that Python removes the file with which it tests it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        return tempfile.gettempdir()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _empty(directory: Path) -> None:
    """Create the directory, or delete the files of an earlier run, whose process ids could be those of ours."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in directory.glob("*.db"):
        old.unlink()


class JsonLog(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Sends gunicorn's messages to our log."""

    def setup(self, cfg: Any) -> None:
        """Leave the handlers to the root logger."""
        cfg.set("errorlog", None)
        super().setup(cfg)
        self.error_log.propagate = True


class DrainingWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """A gthread worker that takes its fair share of connections, and drains before it stops."""

    def init_process(self) -> None:
        """Add this worker to the shared counts."""
        self.fair_accept = FairAccept(self.app.counts)
        self.app.counts.publish(self.age, 0)
        super().init_process()

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Publish the number of connections after each round: they end in several of gunicorn's methods."""
        super().wait_for_and_dispatch_events(timeout)
        self.app.counts.publish(self.age, self.nr_conns)

    def init_signals(self) -> None:
        """Time the drain by SIGALRM: a signal handler must not start a thread or take a lock."""
        super().init_signals()
        signal.signal(signal.SIGALRM, self.handle_alarm)
        signal.siginterrupt(signal.SIGALRM, False)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - gunicorn's signature
        """Start to drain; a second SIGTERM changes nothing."""
        if not self.app.is_draining:
            self.app.is_draining = True
            self.max_keepalived = 0  # from now on every answer says "Connection: close"
            signal.setitimer(signal.ITIMER_REAL, max(self.app.options.drain, 0.001))

    def handle_alarm(self, sig: int, frame: FrameType | None) -> None:
        """First alarm: let the kernel drop new handshakes. Second alarm, when earlier ones are finished: stop."""
        if not self.app.is_shut:
            self.app.is_shut = True
            for listener in self.sockets:
                drop_new_handshakes(listener.sock)
            signal.setitimer(signal.ITIMER_REAL, _HANDSHAKE_SECONDS)
        else:
            super().handle_exit(sig, frame)

    def accept(self, listener: Any) -> None:
        """Accept a connection, unless it is left to a worker with fewer; a draining worker accepts all."""
        if not self.app.is_draining and self.fair_accept.yields_next(self.nr_conns):
            return
        self._take(listener)
        self.app.counts.publish(self.age, self.nr_conns)

    def _take(self, listener: Any) -> None:
        """Accept; the second listener, if any, is the secure port."""
        secure_port = self.app.options.secure_port
        if secure_port is None or listener is not self.sockets[1]:
            super().accept(listener)
            return
        try:
            accepted = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):  # another worker was faster, or the client gave up
            return
        self.nr_conns += 1
        server = listener.getsockname()
        self.enqueue_req(SecureConnection(self.cfg, accepted, server, secure_port.certificate))

    def set_accept_enabled(self, enabled: bool) -> None:
        """Before the listeners close for good, accept all waiting connections: closing would reset them."""
        if not enabled and not self.alive:
            for listener in self.sockets:
                self._accept_waiting(listener)
        super().set_accept_enabled(enabled)

    def _accept_waiting(self, listener: Any) -> None:
        before = -1
        while self.nr_conns > before:
            before = self.nr_conns
            self.accept(listener)


def drop_new_handshakes(listener: socket.socket) -> None:
    """Let the kernel drop packets that begin a connection; the client sends them again, and is refused after we ended.

    If the kernel cannot do this, a connection from the listener's last moments may be reset.
    """
    if sys.platform != "linux":
        return
    program = ctypes.create_string_buffer(_DROP_NEW_CONNECTIONS)
    count = len(_DROP_NEW_CONNECTIONS) // 8
    try:
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", count, ctypes.addressof(program)))
    except OSError as error:
        logger.warning("new connections may be reset while the server stops: %s", error)


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """The application under gunicorn. Workers set `is_draining` and `is_shut` after the fork, each for itself."""

    def __init__(self, options: ServerOptions, load_app: LoadApp) -> None:
        self.options = options
        self.is_draining = False
        self.is_shut = False
        self.counts = ConnectionCounts()
        self._load_app = load_app
        super().__init__()

    def load_config(self) -> None:
        """Configure gunicorn by these values only: not by files, arguments or variables."""
        secure_port = self.options.secure_port
        values: dict[str, Any] = {
            "bind": [self.options.bind, *([secure_port.bind] if secure_port else [])],
            "workers": self.options.workers,
            "threads": self.options.threads,
            "worker_class": DrainingWorker,
            "logger_class": JsonLog,
            "preload_app": True,  # all workers share memory pages from before the fork
            "keepalive": KEEP_ALIVE_SECONDS,
            "graceful_timeout": round(self.options.drain + REQUEST_SECONDS),
            "forwarded_allow_ips": "127.0.0.1",
            "worker_tmp_dir": _find_memory_dir(),
            "loglevel": logging.getLevelName(logger.getEffectiveLevel()).lower(),
            "control_socket_disable": True,
            "when_ready": _begin_serving,
            "post_fork": _let_sigterm_end,
            "post_worker_init": self._begin,
            "on_exit": lambda _arbiter: self.options.end(),
            "child_exit": self._forget_worker,
        }
        for key, value in values.items():
            self.cfg.set(key, value)

    def load(self) -> WsgiApp:
        """Create the application, once, before the fork."""
        return self._load_app(lambda: self.is_draining)

    def _begin(self, worker: Any) -> None:
        self.options.begin(lambda: self.is_draining)
        if self.options.end_with_stdin:
            stop_with_stdin(worker)

    def _forget_worker(self, _server: Any, worker: Any) -> None:
        """Remove a dead worker's connections and live gauges; its counters stay, because a counter must never fall."""
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415 - reads the environment

        self.counts.forget(worker.age)
        mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]  # prometheus_client says no types here


def _find_memory_dir() -> str:
    """Directory of the heartbeat files that workers touch every second; in memory, because a slow disk would block."""
    shared = Path("/dev/shm")  # noqa: S108 - gunicorn creates an anonymous file there
    return str(shared) if os.access(shared, os.W_OK) else tempfile.gettempdir()


def _begin_serving(server: Any) -> None:
    """Log the address of admission, which gunicorn logs as plain HTTP, and freeze the memory."""
    for listener in server.LISTENERS[1:]:
        host, port = listener.sock.getsockname()[:2]
        logger.info("admission is served at https://%s:%d", f"[{host}]" if ":" in host else host, port)
    freeze_memory()


def freeze_memory() -> None:
    """Exclude everything loaded so far from garbage collection: a collection would copy pages that the forks share.

    The larger threshold suits bodies of thousands of small objects, which reference counting alone frees.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _let_sigterm_end(_server: Any, _worker: Any) -> None:
    """Let SIGTERM end a worker that is still starting: the handler that it inherited would ignore the signal."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
