"""The content of what a user names as a file: of a pipe too, if there is a writer.

A pipe without a writer and a device would keep a command waiting for ever, or fill its memory.
"""

import errno
import os
import select
import stat
import time
from pathlib import Path

WRITER_SECONDS = 5.0
"""How long a pipe may be without a writer: a shell starts the writer at the same moment as the reader."""

_CHUNK = 2**20
_WITHOUT_WAITING = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC"))
"""Flags with which a pipe or a device is opened at once; Windows has none of them, and no pipes among its files."""


def read_file(path: Path) -> bytes:
    """The content of a file, or of a pipe until its last writer closes it.

    Raises:
        OSError: it cannot be read; `strerror` says why.
    """
    if why := find_obstacle(path):
        raise OSError(errno.EINVAL, why)
    if not path.is_fifo():
        return path.read_bytes()
    descriptor = os.open(path, os.O_RDONLY | _WITHOUT_WAITING)
    try:
        return _read_pipe(descriptor)
    finally:
        os.close(descriptor)


def find_obstacle(path: Path) -> str:
    """Why something that exists is not opened, as a sentence; empty if it is a file, a pipe or a terminal."""
    mode = path.stat().st_mode
    if stat.S_ISSOCK(mode):
        return "it is a socket; name a file, or - for standard input"
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not _is_terminal(path)):
        return "it is a device; name a file, or - for standard input"
    return ""


def _is_terminal(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | _WITHOUT_WAITING)
    try:
        return os.isatty(descriptor)
    finally:
        os.close(descriptor)


def _read_pipe(descriptor: int) -> bytes:
    """All that is written. The descriptor does not block, so that its end shows whether there is a writer."""
    parts: list[bytes] = []
    has_writer = False
    until = time.monotonic() + WRITER_SECONDS
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while True:
        try:
            part = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            has_writer = True
            poll.poll()
            continue
        if part:
            parts.append(part)
        elif parts or has_writer:
            return b"".join(parts)
        elif (left := until - time.monotonic()) > 0:
            has_writer = any(event & select.POLLHUP for _, event in poll.poll(left * 1000))  # it came, and is gone
        else:
            raise OSError(errno.ETIMEDOUT, "it is a pipe without a writer; start the writer, or name a file")
