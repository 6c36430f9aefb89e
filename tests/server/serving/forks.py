"""Servers that begin at once: forks of one process that has loaded the modules of the hooks.

A fork has its own arguments, environment, standard error and process group, as a process of its own would have.
Modules that read the environment when they are loaded are loaded by each fork. `python -m tests.server.serving.forks
SOCKET` is the process that forks; it ends with the process that started it.
"""

import importlib
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TextIO

import orjson

from tests.waiting import PATIENCE

_LOADED = (
    "flask",
    "gunicorn.arbiter",
    "hooks.server.admission.access",
    "hooks.server.admission.rules",
    "hooks.server.admission.wire",
    "hooks.server.admission.written",
    "hooks.language.api.base",
    "hooks.server.clients.key_removal",
    "hooks.server.clients.namespace_locks",
    "hooks.server.clients.pod_reader",
    "hooks.server.commands.main",
    "hooks.server.commands.serve",
    "hooks.server.commands.serve_admission",
    "hooks.component.sync",
    "hooks.request.sync",
    "hooks.adapter.sync",
    "hooks.graph.sync",
    "hooks.model.sync",
)
_READS_ENVIRONMENT = "prometheus_client"
_MOST = 2**20


class Fork:
    """A server that is a fork, with the methods of `subprocess.Popen` that the tests use."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        errors, written = os.pipe()
        self._status, told = os.pipe()
        message = orjson.dumps([list(command), dict(environment)])
        socket.send_fds(_forking(), [message], [written, told])
        os.close(written)
        os.close(told)
        self.stderr: TextIO | None = os.fdopen(errors)
        self.pid = int(self._read_line())
        self.returncode: int | None = None

    def _read_line(self) -> str:
        line = b""
        while not line.endswith(b"\n"):
            read = os.read(self._status, 1)
            assert read, "the process that forks servers has ended"
            line += read
        return line.decode()

    def wait(self, timeout: float) -> int:
        """The exit status, or the negative number of the signal that ended it."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            self.returncode = os.waitstatus_to_exitcode(int(self._read_line()))
            os.close(self._status)
        return self.returncode

    def poll(self) -> int | None:
        """The exit status, None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


def run_to_end(command: Sequence[str]) -> tuple[int, str]:
    """Run a command that ends by itself: its exit status, and what it wrote to standard error."""
    fork = Fork(command, os.environ)
    assert fork.stderr is not None
    with fork.stderr as errors:
        written = errors.read()
    return fork.wait(PATIENCE), written


@cache
def _forking() -> socket.socket:
    """The socket of the process that forks, which is started for the first server."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        subprocess.Popen(
            [sys.executable, "-m", "tests.server.serving.forks", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        ).returncode = 0  # it is never waited for: it ends when the socket is closed
    return ours


def _fork_on_demand(asking: socket.socket) -> list[str]:
    """Fork for each message; returns in each fork, with its command, and never in the process that forks."""
    while True:
        message, files, _, _ = socket.recv_fds(asking, _MOST, 2)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            break
        for file in files:
            os.close(file)
    asking.close()
    errors, told = files
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    server = os.fork()
    if server:
        os.close(errors)
        os.write(told, f"{server}\n".encode())
        os.write(told, f"{os.waitpid(server, 0)[1]}\n".encode())
        os._exit(0)
    os.setsid()
    os.dup2(errors, 2)
    os.close(errors)
    os.close(told)
    command, environment = orjson.loads(message)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    time.tzset()
    return list(map(str, command))


def _run(command: Sequence[str]) -> None:
    """Run what Python would run with these arguments: `-m MODULE …` or `-c CODE`."""
    sys.argv = [command[0], *command[2:]]
    if command[0] == "-c":
        exec(command[1], {"__name__": "__main__"})  # noqa: S102 - as `python -c` does
        return
    assert command[0] == "-m", command
    if command[1] != "hooks":
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        return
    from hooks.server.commands.main import main  # noqa: PLC0415 - the process of the tests needs none of it

    main(prog_name="python -m hooks")


if __name__ == "__main__":
    for name in _LOADED:
        importlib.import_module(name)
    assert _READS_ENVIRONMENT not in sys.modules
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _run(_fork_on_demand(socket.socket(fileno=int(sys.argv[1]))))
