"""Runs the hooks server and the prober as child processes on loopback ports, and always stops them.

Their standard input is a pipe from this process: when it is killed, the pipe closes and they end.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import IO

from hooks.clients.query_reader import OBJECTS_VARIABLE

START_SECONDS = 20.0
STOP_SECONDS = 5.0
_POLL_SECONDS = 0.02
_LINES_SHOWN = 15


def _heed_nothing() -> None:
    """Nothing asks to stop."""


class ServerFailed(Exception):
    """A server did not start or died; the message ends with the last lines of its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """The running servers; `check` raises ServerFailed when one of them has ended.

    `heed` raises what a signal asked for. It is called where nothing is half done: an exception out of a signal handler
    may leave a lock of the standard library taken, as that of `Popen.poll`, and the end then waits for it for ever.
    """

    hooks_url: str
    running: tuple["_ServerProcess", ...]
    heed: Callable[[], None] = _heed_nothing

    def check(self) -> None:
        """Check that all servers are running, and whether a signal asked to stop.

        Raises:
            ServerFailed: one of them ended.
        """
        self.heed()
        for server in self.running:
            if server.process.poll() is not None:
                raise ServerFailed(
                    f"{server.name} ended with status {server.process.returncode}\n{server.last_lines()}"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ServerProcess:
    name: str
    port: int
    process: "subprocess.Popen[bytes]"
    log: IO[bytes]

    def last_lines(self) -> str:
        """The end of the server's log; reading it does not move the file offset of the server."""
        written = os.pread(self.log.fileno(), os.fstat(self.log.fileno()).st_size, 0)
        return "\n".join(written.decode(errors="replace").splitlines()[-_LINES_SHOWN:])


@contextmanager
def run_servers(
    settings: Sequence[str], *, prober: bool, objects_url: str = "", heed: Callable[[], None] = _heed_nothing
) -> Iterator[Servers]:
    """Run the hooks server, and the prober beside it; `settings` are `key=value` pairs for both.

    The hooks read objects on demand at `objects_url`, nothing if it is empty.
    `heed` is called again and again, and may raise what ends the wait.

    Raises:
        ServerFailed: a server does not start.
    """
    with ExitStack() as stack:
        running = []
        pairs = list(settings)
        if prober:
            running.append(stack.enter_context(_run("prober", pairs)))
            pairs.append(f"prober_url=http://127.0.0.1:{running[0].port}")
        hooks = stack.enter_context(_run("serve", pairs, "--workers", "1", variables={OBJECTS_VARIABLE: objects_url}))
        servers = Servers(hooks_url=f"http://127.0.0.1:{hooks.port}", running=(*running, hooks), heed=heed)
        for server in servers.running:
            _wait_until_listening(servers, server)
        yield servers


@contextmanager
def _run(
    command: str, settings: Sequence[str], *options: str, variables: Mapping[str, str] = MappingProxyType({})
) -> Iterator[_ServerProcess]:
    port = find_free_port()
    arguments = [sys.executable, "-m", "hooks", command, "--bind", f"127.0.0.1:{port}", "--end-with-stdin", *options]
    for pair in settings:
        arguments += ["--set", pair]
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, **variables},
        ) as process,
    ):
        try:
            yield _ServerProcess(name=f"dynamo-hooks {command}", port=port, process=process, log=log)
        finally:
            _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Stop a server; kill it and its workers if it does not end in time."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        _wait_until_gone(process.pid)


def _wait_until_gone(group: int) -> None:
    """Wait, for a bounded time, until no process of the group is left: until then a killed worker may still listen."""
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(_POLL_SECONDS)


def find_free_port() -> int:
    """A port of loopback that nothing uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_listening(servers: Servers, server: _ServerProcess) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        servers.check()
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=1).close()
        except OSError:
            time.sleep(_POLL_SECONDS)
        else:
            return
    raise ServerFailed(f"{server.name} does not listen after {START_SECONDS:.0f} s\n{server.last_lines()}")
