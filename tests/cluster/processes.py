"""Processes that never outlive the test run, however it ends."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

import requests

from tests.waiting import wait_for

STOP_SECONDS = 10.0


class StartFailed(Exception):
    """A process ended before it was ready; the message ends with the tail of its log."""


class Server:
    """One program that runs beside the tests: it writes to `<folder>/<name>.log`.

    The kernel kills it when the thread that started it dies, so start it from the main thread.

    Source: setpriv(1), --pdeathsig; prctl(2), PR_SET_PDEATHSIG.
    """

    def __init__(self, name: str, command: Sequence[str], folder: Path) -> None:
        self.name = name
        self.command = tuple(str(word) for word in command)
        self.log = folder / f"{name}.log"
        self._popen: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start it, or start it again after it was stopped or killed."""
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def is_running(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    def wait_until(self, ready: Callable[[], bool]) -> Self:
        """Poll until it is ready; a refused connection means that it is not.

        Raises:
            StartFailed: it ended.
        """

        def is_ready() -> bool:
            if not self.is_running():
                raise StartFailed(f"{self.name} ended:\n{self.tail()}")
            return _is_true(ready)

        wait_for(is_ready, lambda: f"{self.name} is ready:\n{self.tail()}")
        return self

    def tail(self, lines: int = 20) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self) -> None:
        """End it: SIGTERM, and SIGKILL when that does not do."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once with all that it started, as a crash of its machine would."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Stop it and all that it started where they are, until `resume`: connections stay, and nobody answers."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal_all(signal.SIGCONT)

    @property
    def pid(self) -> int:
        """The number of its process, which is that of its group."""
        assert self._popen is not None, f"{self.name} was not started"
        return self._popen.pid

    def _signal_all(self, number: signal.Signals) -> None:
        os.killpg(self.pid, number)

    def _end(self, number: signal.Signals) -> None:
        if self._popen is None or not self.is_running():
            return
        if number is signal.SIGKILL:
            os.killpg(self._popen.pid, signal.SIGKILL)
        else:
            self._popen.send_signal(number)
        try:
            self._popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.wait()


ServerType = TypeVar("ServerType", bound=Server)


@contextmanager
def running(server: ServerType) -> Iterator[ServerType]:
    """Start the server, and stop it at the end of the block."""
    try:
        yield server.start()
    finally:
        server.stop()


def _is_true(ready: Callable[[], bool]) -> bool:
    try:
        return ready()
    except (requests.ConnectionError, requests.Timeout):
        return False
