"""A server that ends when its standard input does: the pipe of a program that started it closes however that one ends.

A worker watches, not the arbiter, which forks: a thread must not be about then.
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
    help="End, as on SIGTERM, when standard input ends; for programs that start this one.",
)
"""Gives a command `end_with_stdin`."""

_STDIN = 0
_CHUNK = 4096


def stop_with_stdin(worker: Any) -> None:
    """Let a gunicorn worker end its server when standard input ends."""
    threading.Thread(target=_wait, args=(worker.ppid,), name="standard-input", daemon=True).start()


def _wait(arbiter: int) -> None:
    while os.read(_STDIN, _CHUNK):
        pass
    if os.getppid() == arbiter:  # otherwise it is gone, and the worker about to follow
        os.kill(arbiter, signal.SIGTERM)
