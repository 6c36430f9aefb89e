"""Gunicorn inside our own process: its configuration, and what begins and ends with it.

SIGTERM is gunicorn's graceful stop: it stops accepting at once and finishes the requests in flight. A Service still
sends requests for some seconds then. So something must come before SIGTERM, in Kubernetes a `preStop` hook: it creates
the file `drain_file` and waits. While the file exists, `/readyz` answers 503 and every answer closes its connection.
"""

import logging
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from hooks.server.serving.logs import logger
from hooks.server.serving.memory import freeze_memory
from hooks.server.serving.standard_input import stop_with_stdin
from hooks.server.serving.strangers import STRANGERS
from hooks.server.serving.tls import CertificateFiles, Contexts
from hooks.server.serving.worker import CALLS, REQUEST_SECONDS, BoundedWorker

KEEP_ALIVE_SECONDS = 95
"""Longer than the 90 seconds after which a Go client closes an idle connection. So the client closes first, and none of
its requests arrives on a connection that the server is closing."""

HEADERS = 48
"""Of a request; proxies add some. With gunicorn's 8 KiB for each, they bound the memory that a head can take."""

TRUSTS_NOBODY: dict[str, Any] = {"control_socket_disable": True, "forwarded_allow_ips": "", "forwarder_headers": ""}
"""Gunicorn's settings that would let peers, or processes of this machine, say more than a request may.

By default it believes 127.0.0.1 who a caller is, and even where the application lies (SCRIPT_NAME).
"""

METRICS_DIR = "PROMETHEUS_MULTIPROC_DIR"
"""Variable of prometheus_client, which reads it when it is imported."""

_ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How to serve: `bind` is HOST:PORT; with a `certificate`, by HTTPS.

    Each of the `workers` holds at most so many connections that showed no token (`strangers`).

    `begin` runs in each worker, with a function that says whether the worker is draining. `end` runs once, after all
    workers ended. With `end_with_stdin`, the end of standard input stops the server, as SIGTERM does.
    """

    bind: str
    workers: int
    strangers: int = STRANGERS
    drain_file: Path | None = None
    certificate: CertificateFiles | None = None
    begin: Callable[[Callable[[], bool]], None] = lambda _is_draining: None
    end: Callable[[], None] = lambda: None
    end_with_stdin: bool = False


LoadApp = Callable[[Callable[[], bool]], WsgiApp]
"""Creates the application from a function that says whether the server is draining."""


def run_server(options: ServerOptions, load_app: LoadApp) -> None:
    """Serve until SIGTERM, then end the process; never returns.

    `load_app` runs after the metrics directory is set, and must itself import `hooks.server.serving.metrics`, not
    earlier.
    """
    for number in _ENDING:  # until gunicorn installs its own handlers, so that the directory is removed then too
        signal.signal(number, lambda *_: sys.exit(0))
    owner = os.getpid()
    given = os.environ.get(METRICS_DIR)
    directory = Path(given or Path(_find_temporary_dir(), f"dynamo-hooks-metrics-{owner}-{secrets.token_hex(8)}"))
    try:
        _empty(directory)
        if options.drain_file is not None:
            options.drain_file.unlink(missing_ok=True)  # of the container before this one, in the same pod
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


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """The application under gunicorn."""

    def __init__(self, options: ServerOptions, load_app: LoadApp) -> None:
        self.options = options
        self._load_app = load_app
        super().__init__()

    def load_config(self) -> None:
        """Configure gunicorn by these values only: not by files, arguments or variables."""
        threads = self.options.strangers + CALLS  # started when they are needed; one that waits costs little
        values: dict[str, Any] = {
            **TRUSTS_NOBODY,
            "bind": self.options.bind,
            "workers": self.options.workers,
            "threads": threads,
            "worker_connections": 2 * threads,
            "worker_class": BoundedWorker,
            "logger_class": JsonLog,
            "preload_app": True,  # all workers share memory pages from before the fork
            "keepalive": KEEP_ALIVE_SECONDS,
            "graceful_timeout": round(REQUEST_SECONDS),
            "worker_tmp_dir": _find_memory_dir(),
            "loglevel": logging.getLevelName(logger.getEffectiveLevel()).lower(),
            "limit_request_fields": HEADERS,
            "on_starting": prepare_signals,
            "when_ready": lambda _arbiter: freeze_memory(),
            "post_worker_init": self._begin,
            "on_exit": lambda _arbiter: self.options.end(),
            "child_exit": _forget_worker,
        }
        if certificate := self.options.certificate:
            values["certfile"], values["keyfile"] = str(certificate.certificate), str(certificate.key)
            values["ssl_context"] = Contexts(certificate).create
        for key, value in values.items():
            self.cfg.set(key, value)

    def load(self) -> WsgiApp:
        """Create the application, once, before the fork."""
        return self._load_app(self.is_draining)

    def is_draining(self) -> bool:
        """Whether the drain file exists."""
        return self.options.drain_file is not None and self.options.drain_file.exists()

    def _begin(self, worker: Any) -> None:
        self.options.begin(lambda: self.is_draining() or not worker.alive)
        if self.options.end_with_stdin:
            stop_with_stdin(worker)


def _forget_worker(_arbiter: Any, worker: Any) -> None:
    """Remove a dead worker's live gauges; its counters stay, because a counter must never fall."""
    from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415 - reads the environment

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]  # prometheus_client says no types here


def _find_memory_dir() -> str:
    """Directory of the heartbeat files that workers touch every second; in memory, because a slow disk would block."""
    shared = Path("/dev/shm")  # noqa: S108 - gunicorn creates an anonymous file there
    return str(shared) if os.access(shared, os.W_OK) else tempfile.gettempdir()


def prepare_signals(arbiter: Any) -> None:
    """Before gunicorn handles signals: SIGUSR2 does nothing, and each worker hears SIGTERM.

    SIGUSR2 would start a second parent of workers. The handler that a worker inherits would lose a SIGTERM, and the
    server would wait for that worker until the end of its patience. So the signal waits while a worker is forked, and
    ends it until the worker has its own handler.
    """
    arbiter.SIGNALS = [number for number in arbiter.SIGNALS if number != signal.SIGUSR2]
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    os.register_at_fork(
        before=partial(signal.pthread_sigmask, signal.SIG_BLOCK, {signal.SIGTERM}),
        after_in_parent=partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, {signal.SIGTERM}),
        after_in_child=_let_sigterm_end,
    )


def _let_sigterm_end() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
