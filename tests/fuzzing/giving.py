"""How inputs are given, and what every answer must have."""

import io
import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hooks.server.commands.main import main
from tests.fuzzing.mutations import Path as Place

_SAID = frozenset({400, 404, 405, 409, 413, 415, 422, 429})
MOST_WORDS = 2100
"""The longest answer that says what is wrong; it is logged, and shown in an Event."""


class Broken(AssertionError):
    """An input after which something does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """A sound input: where it goes, and what it says."""

    name: str
    path: str
    value: Any


Give = Callable[[Seed, bytes, tuple[Place, ...]], None]
"""Gives an input, made from a seed by changes at these places, and raises Broken if the answer is not sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """The seeds of a surface, how they are written, and what opens it."""

    seeds: Callable[[], list[Seed]]
    open: Callable[[], Any]
    write_yaml: bool = False
    is_text: bool = False
    """Whether the seeds are texts, which need not stay JSON or YAML."""


class Failures(logging.Handler):
    """Keeps where the last failure of ours was raised."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the traceback's end, if the record has one."""
        if record.exc_info and (error := record.exc_info[1]) is not None:
            self.last = describe_error(error)


def describe_error(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno} {last.name}: {error}"[:300]


@contextmanager
def failures_kept() -> Iterator[Failures]:
    """The failures that are logged meanwhile; nothing is printed."""
    found, logger = Failures(), logging.getLogger("hooks")
    logger.addHandler(found)
    yield found
    logger.removeHandler(found)


def check_words(status: int, text: str, failures: Failures | None = None) -> None:
    if status not in _SAID:
        raise Broken(f"status {status}: {failures.last if failures else text[:300]}")
    if not text.strip() or "Traceback" in text or len(text) > MOST_WORDS:
        raise Broken(f"status {status} with {len(text)} characters: {text[:300]}")


class Terminal:
    """Standard streams of commands that are called in this process, one after another.

    They stay the same: click remembers each stream that it has written to, and so would keep what was written.
    """

    def __init__(self) -> None:
        self._out, self._err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))

    def run(self, arguments: list[str], body: bytes) -> tuple[int, str]:
        """The exit status of a command that reads the body, and what it wrote."""
        code: str | int | None = None
        with (
            patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(body), encoding="utf-8")),
            redirect_stdout(self._out),
            redirect_stderr(self._err),
        ):
            try:
                main.main(arguments, prog_name="dynamo-hooks")
            except SystemExit as ended:
                code = ended.code
        status = code if isinstance(code, int) else int(bool(code))
        return status, "".join(map(_take, (self._out, self._err)))


def _take(stream: io.TextIOWrapper) -> str:
    """What was written, which is then forgotten."""
    stream.seek(0)
    text = stream.read()
    stream.seek(0)
    stream.truncate()
    return text
