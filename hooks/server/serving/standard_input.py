"""Stops a server when its standard input ends: the pipe closes however the program that started the server ends.

A worker watches, not gunicorn's arbiter: the arbiter forks, and must have no threads then.
"""

import os
import signal
import threading
from typing import Any

import click

end_with_stdin_option = click.option(
    "--end-with-stdin",
    is_flag=True,
    hidden=True,
    help="Stop when standard input ends, as SIGTERM does; for programs that start this one.",
)
"""Gives a command `end_with_stdin`."""

_STDIN = 0
_CHUNK = 4096


def stop_with_stdin(worker: Any) -> None:
    """Let a gunicorn worker stop its server when standard input ends."""
    threading.Thread(target=_wait, args=(worker.ppid,), name="standard-input", daemon=True).start()


def _wait(arbiter: int) -> None:
    while os.read(_STDIN, _CHUNK):
        pass
    if os.getppid() == arbiter:  # otherwise the arbiter has ended already, and this worker will too
        os.kill(arbiter, signal.SIGTERM)
