"""Which connections are cut off so that others are heard: the longest unheard one, as soon as there are too many.

A *stranger* is a connection whose calls showed no token. Most are honest: health probes, Prometheus, and for admission
the API server, whose address is unknown. They send at once, so their time as a stranger is short. A slow peer, or
one that says nothing, is the oldest of the strangers soon, and the next connection takes its place. So nobody's
address counts: behind a NAT all callers may have the same one.
"""

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any

STRANGERS = 512
"""Connections without the token that one process holds, by default. Metacontroller, which shows it, does not count."""

LEAST_STRANGERS = 16
"""Fewer would cut off health probes and Prometheus."""

STRANGERS_BYTES = 2**26
"""Of all bodies together that strangers have announced and not yet sent whole; one body may always have its limit."""


ENTER_AT_ONCE = 4
"""Requests of strangers that one process reads and refuses at the same time, or answers without a body."""

NEW_SECONDS = 1.0
"""A new connection comes before all that had an answer within this time."""


class Entrance:
    """Lets so many requests of strangers in at a time, first those whose connection has waited longest for an answer.

    Otherwise peers that ask again and again, or pipeline requests, would keep hundreds of threads busy, and each of
    them would delay a new connection.
    """

    def __init__(self, at_once: int = ENTER_AT_ONCE, clock: Callable[[], float] = time.monotonic) -> None:
        """Nobody is in; `clock` gives seconds."""
        self._free, self._clock = at_once, clock
        self._waiting: list[tuple[float, int, threading.Lock]] = []
        self._number = count()
        self._answered: dict[Hashable, float] = {}
        self._lock = threading.Lock()

    def enter(self, peer: Hashable) -> None:
        """Wait until the peer's request is let in."""
        with self._lock:
            rank = self._answered.setdefault(peer, self._clock() - NEW_SECONDS)
            if self._free:
                self._free -= 1
                return
            turn = threading.Lock()
            turn.acquire()
            heappush(self._waiting, (rank, next(self._number), turn))
        turn.acquire()

    def leave(self, peer: Hashable) -> None:
        """The request is answered, or waits for something else; the next one is let in."""
        with self._lock:
            self._answered[peer] = self._clock()
            if self._waiting:
                heappop(self._waiting)[2].release()
            else:
                self._free += 1

    def forget(self, peer: Hashable) -> None:
        """Its connection has ended."""
        with self._lock:
            self._answered.pop(peer, None)

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._waiting)


class Strangers:
    """The connections without a token that may be cut off, the longest unheard first; for use by several threads."""

    def __init__(self, most: int = STRANGERS, most_bytes: int = STRANGERS_BYTES) -> None:
        """Hold at most so many connections, and bodies of so many bytes."""
        self._most, self._most_bytes = most, most_bytes
        self._announced: dict[Hashable, int] = {}
        self._known: set[Hashable] = set()
        self._lock = threading.Lock()

    def admit(self, peer: Hashable, announced: int = 0) -> list[Any]:
        """Take the peer in as the newest, with a body of so many bytes to come; returns those to cut off for it."""
        with self._lock:
            if peer in self._known:
                return []
            self._announced.pop(peer, None)
            self._announced[peer] = announced
            cut = []
            while len(self._announced) > self._most or self._is_too_large():
                oldest = next(iter(self._announced))
                del self._announced[oldest]
                cut.append(oldest)
            return cut

    def _is_too_large(self) -> bool:
        return len(self._announced) > 1 and sum(self._announced.values()) > self._most_bytes

    def spare(self, peer: Hashable) -> None:
        """Cut the peer off no more, until it is held again: its call is whole and is computed."""
        with self._lock:
            self._announced.pop(peer, None)

    def know(self, peer: Hashable) -> None:
        """Never cut the peer off: it showed the token."""
        with self._lock:
            self._announced.pop(peer, None)
            self._known.add(peer)

    def knows(self, peer: Hashable) -> bool:
        """Whether the peer showed the token."""
        return peer in self._known

    def forget(self, peer: Hashable) -> None:
        """Its connection has ended."""
        with self._lock:
            self._announced.pop(peer, None)
            self._known.discard(peer)

    def give_up(self) -> list[Any]:
        """The longest unheard one, to be cut off; empty if there is none."""
        with self._lock:
            oldest = next(iter(self._announced), None)
            self._announced.pop(oldest, None)
            return [] if oldest is None else [oldest]

    def all(self) -> list[Any]:
        """All peers, whether they showed the token or not."""
        with self._lock:
            return [*self._announced, *self._known]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What an application tells its server about the peer of the current request.

    `know`: it showed the token. `announce`: a body of so many bytes will be read. `spare`: the request is whole.
    `leave`: its answer waits for another server.
    """

    know: Callable[[], None] = lambda: None
    announce: Callable[[int], None] = lambda _bytes: None
    spare: Callable[[], None] = lambda: None
    leave: Callable[[], None] = lambda: None


CALLER = "hooks.caller"
"""Key of the `Caller` in a request's WSGI environment; there is none without our server."""

NOBODY = Caller()
