"""Clients that call the hooks as Metacontroller does, and note each call that is not answered as it should be."""

import http.client
import select
import threading
import time
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count

from bench.load import renew

ANSWER_SECONDS = 10.0
"""How long Metacontroller waits for an answer."""

PAUSE_SECONDS = 0.1
"""Between the answer and the next call of a client."""

_SLOW_PIECES, _SLOW_PAUSE = 6, 0.5
_NUMBERS = count(time.time_ns() // 1000)


class Manner(StrEnum):
    """How a client uses its connection."""

    KEEPS = "keeps its connection"
    OPENS = "opens a connection for each call"
    SLOW = "takes three seconds to send a body"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call, and the bytes of its right answer."""

    path: str
    body: bytes
    answer: bytes

    def write_body(self) -> bytes:
        """The body with new digits each time, as if an object had changed."""
        return renew(self.body, next(_NUMBERS))


@dataclass
class Service:
    """Where a new connection goes, with which token, and whether all clients are to stop."""

    port: int
    token: str
    over: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A call without its right answer; `began` and `ended` are seconds of the monotonic clock."""

    phase: str
    began: float
    ended: float
    what: str


@dataclass
class Record:
    """What all clients saw; `phase` is the name of the present part of the run."""

    phase: str = ""
    answered: Counter[str] = field(default_factory=Counter)
    milliseconds: "array[float]" = field(default_factory=lambda: array("d"))
    failures: list[Failure] = field(default_factory=list)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note_answer(self, milliseconds: float) -> None:
        """Count a right answer."""
        with self.lock:
            self.answered[self.phase] += 1
            self.milliseconds.append(milliseconds)

    def note_failure(self, began: float, what: str) -> None:
        """Keep a call that was not answered, or not as it should be."""
        with self.lock:
            self.failures.append(Failure(phase=self.phase, began=began, ended=time.monotonic(), what=what))

    def note_outcome(self, fault: str, outcome: str) -> None:
        """Count what a broken client got."""
        with self.lock:
            self.outcomes[fault, outcome] += 1


class WrongAnswer(Exception):
    """An answer that is not the right one."""


def call_until_over(service: Service, calls: Iterable[Call], manner: Manner, record: Record) -> None:
    """Send the calls in turn until all is over; no failed call is repeated."""
    turns = list(calls)
    connection: http.client.HTTPConnection | None = None
    for number in count():
        if service.over.wait(PAUSE_SECONDS):
            break
        if connection is not None and _was_closed(connection):
            connection.close()
            connection = None
        began = time.monotonic()
        try:
            connection = connection or _connect(service.port)
            milliseconds, is_kept = _ask(connection, turns[number % len(turns)], service.token, manner)
        except (OSError, http.client.HTTPException, WrongAnswer) as error:
            record.note_failure(began, f"{manner}: {error!r}")
            is_kept = False
        else:
            record.note_answer(milliseconds)
        if connection is not None and not is_kept:
            connection.close()
            connection = None
    if connection is not None:
        connection.close()


def _connect(port: int) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
    connection.connect()
    return connection


def _was_closed(connection: http.client.HTTPConnection) -> bool:
    """Whether the server closed an idle connection; a Go client sees that, too, before it sends."""
    return bool(select.select([connection.sock], [], [], 0)[0])


def _ask(connection: http.client.HTTPConnection, call: Call, token: str, manner: Manner) -> tuple[float, bool]:
    """Milliseconds from the last byte of the call to the last of its answer, and whether the connection is kept.

    Raises:
        WrongAnswer: the status is not 200, or the body is another.
    """
    body = call.write_body()
    connection.putrequest("POST", call.path)
    for name, value in (("Authorization", f"Bearer {token}"), ("Content-Length", str(len(body)))):
        connection.putheader(name, value)
    connection.endheaders()
    size = -(-len(body) // _SLOW_PIECES) if manner is Manner.SLOW else len(body)
    for start in range(0, len(body), size):
        connection.send(body[start : start + size])
        if manner is Manner.SLOW:
            time.sleep(_SLOW_PAUSE)
    sent = time.monotonic()
    response = connection.getresponse()
    data = response.read()
    if response.status != http.HTTPStatus.OK:
        raise WrongAnswer(f"{response.status}: {data[:200]!r}")
    if data != call.answer:
        raise WrongAnswer(f"200 with other content of {len(data)} bytes")
    return (time.monotonic() - sent) * 1000, manner is not Manner.OPENS and not response.will_close
