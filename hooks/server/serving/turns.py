"""Which of the calls that have arrived are computed now, and which must come again.

A call waits for its turn only after its body has arrived, so slow peers and health probes take no turn. A call that
waits for another program meanwhile lends its turn to the next one.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hooks.ground.errors import TooBusy

AT_ONCE = 4
"""Calls that one process computes at the same time, by default."""

LARGE_BYTES = 2**19
"""Bodies above this size are computed one after the other: the objects of one can take a hundred times its bytes."""

WAITING_CALLS = 256
"""Calls of a process that wait for their turn. More of them would leave no thread for health probes."""

WAITING_BYTES = 2**25
"""Bytes of the bodies of these calls together; a body of any size may wait alone."""

AWAY_CALLS, AWAY_BYTES = 16, 2**22
"""Calls of a process that have lent their turn, and bytes of their bodies: their objects stay in memory meanwhile."""


class Turns:
    """The turns of one process."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        """Let so many calls be computed at the same time."""
        self._free = threading.BoundedSemaphore(at_once)
        self._large = threading.Lock()
        self._lock = threading.Lock()
        self.waiting = self._bytes = 0
        self.away = self._away_bytes = 0

    def take(self, size: int) -> None:
        """Wait for the turn of a call whose body has `size` bytes.

        Raises:
            TooBusy: too many calls wait already.
        """
        if not (self._take_now(size) or self._wait(size)):
            raise TooBusy(f"{self.waiting} calls wait for their turn already; call again in a moment")

    def _take_now(self, size: int) -> bool:
        if size > LARGE_BYTES and not self._large.acquire(blocking=False):
            return False
        if self._free.acquire(blocking=False):
            return True
        if size > LARGE_BYTES:
            self._large.release()
        return False

    def _wait(self, size: int) -> bool:
        with self._lock:
            is_full = self.waiting >= WAITING_CALLS or (self.waiting and self._bytes + size > WAITING_BYTES)
            if is_full:
                return False
            self.waiting, self._bytes = self.waiting + 1, self._bytes + size
        if size > LARGE_BYTES:
            self._large.acquire()
        self._free.acquire()
        with self._lock:
            self.waiting, self._bytes = self.waiting - 1, self._bytes - size
        return True

    def give_back(self, size: int) -> None:
        """End the turn of a call of that size."""
        self._free.release()
        if size > LARGE_BYTES:
            self._large.release()

    @contextmanager
    def lend(self, size: int) -> Iterator[bool]:
        """Lend the turn of a call of that size while it waits for another program; then wait to have it again.

        False if so many calls have lent theirs that it keeps it, and should not wait. A large call keeps others out
        that are large, because its objects stay.
        """
        with self._lock:
            is_full = self.away >= AWAY_CALLS or (self.away and self._away_bytes + size > AWAY_BYTES)
            if not is_full:
                self.away, self._away_bytes = self.away + 1, self._away_bytes + size
        if is_full:
            yield False
            return
        self._free.release()
        try:
            yield True
        finally:
            self._free.acquire()
            with self._lock:
                self.away, self._away_bytes = self.away - 1, self._away_bytes - size
