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

from hooks.server.clients.query_reader import OBJECTS_VARIABLE
from hooks.tools.offline.simulation.starting import begin_wait, find_fault, look_again, read_processor_seconds, say_so

STOP_SECONDS = 5.0
_POLL_SECONDS = 0.02
_LINES_SHOWN = 15


def _heed_nothing() -> None:
    """Nothing asks to stop."""


def _say_nothing(_line: str) -> None:
    """Nobody waits at a terminal."""


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

    def count_written(self) -> int:
        """The bytes of the server's log so far."""
        return os.fstat(self.log.fileno()).st_size

    def last_lines(self) -> str:
        """The end of the server's log; reading it does not move the file offset of the server."""
        written = os.pread(self.log.fileno(), self.count_written(), 0)
        return "\n".join(written.decode(errors="replace").splitlines()[-_LINES_SHOWN:])


@contextmanager
def run_servers(
    settings: Sequence[str],
    *,
    prober: bool,
    objects_url: str = "",
    heed: Callable[[], None] = _heed_nothing,
    say: Callable[[str], None] = _say_nothing,
) -> Iterator[Servers]:
    """Run the hooks server, and the prober beside it; `settings` are `key=value` pairs for both.

    The hooks read objects on demand at `objects_url`, nothing if it is empty.
    `heed` is called again and again, and may raise what ends the wait. `say` gets a line if the wait is long: it lasts
    as long as the servers make progress.

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
            _wait_until_listening(servers, server, say)
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


def _wait_until_listening(servers: Servers, server: _ServerProcess, say: Callable[[str], None]) -> None:
    wait = begin_wait(time.monotonic())
    while not _listens(server):
        servers.check()
        now, used = time.monotonic(), read_processor_seconds(server.process.pid)
        wait, line = say_so(look_again(wait, now, processor=used, written=server.count_written()), now)
        if fault := find_fault(wait, now):
            raise ServerFailed(f"{server.name} {fault}\n{server.last_lines()}")
        if line:
            say(f"{server.name} is {line}")
        time.sleep(_POLL_SECONDS)
    servers.check()


def _listens(server: _ServerProcess) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port), timeout=1).close()
    except OSError:
        return False
    return True
