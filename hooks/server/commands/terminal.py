"""What reaches a terminal: texts of others (logs, statuses, Events, manifests) give it no commands.

A control sequence can rewrite what was printed, name the window, or fill the clipboard. In a pipe texts stay as they
are.
"""

import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

import click

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All but tab and line feed, with those of eight bits, which some terminals obey."""
_SHOWN = "\ufffd"


def without_controls(text: str) -> str:
    """The text with a sign in place of each control character."""
    return _CONTROLS.sub(_SHOWN, text)


class _GuardedStream:
    """A stream that writes texts without control characters to `raw`, a terminal."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        self.raw.write(without_controls(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def guard_terminal() -> None:
    """From now on, write to terminals without control characters."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and stream.isatty() and not isinstance(stream, _GuardedStream):
            setattr(sys, name, _GuardedStream(stream))


def raw_stream(*, err: bool) -> TextIO:
    """Standard output or standard error, for who takes the control sequences out of the texts of others itself."""
    stream: Any = sys.stderr if err else sys.stdout
    return cast("TextIO", getattr(stream, "raw", stream) if isinstance(stream, _GuardedStream) else stream)


def echo_painted(text: str, *, err: bool = True) -> None:
    """Print a text with colours; texts of others in it have no control characters."""
    click.echo(text, file=raw_stream(err=err))
