"""How many connections each worker process has, in shared memory, so that the workers divide new ones evenly.

All workers accept from the same listener, and the kernel gives a connection to any of them. Clients keep their
connections, so without this one worker could get all of them, on one processor, while the others are idle.
"""

import mmap
import time

_SLOTS = 256
"""More than the number of workers at any time. A worker's slot is its age (gunicorn's serial number) modulo this."""

_ABSENT = -1
_MAX_WAIT_SECONDS = 0.005
_PAUSE_SECONDS = 0.0005


class ConnectionCounts:
    """One number for each worker; created before the fork."""

    def __init__(self) -> None:
        self._counts = memoryview(mmap.mmap(-1, 4 * _SLOTS)).cast("i")
        for slot in range(_SLOTS):
            self._counts[slot] = _ABSENT

    def publish(self, age: int, count: int) -> None:
        """Store the number of connections of the worker of this age."""
        self._counts[age % _SLOTS] = count

    def forget(self, age: int) -> None:
        """Remove a worker that ended."""
        self._counts[age % _SLOTS] = _ABSENT

    def is_above_least(self, count: int) -> bool:
        """Whether some worker has fewer than `count` connections."""
        return any(other < count for other in self._counts if other != _ABSENT)


class FairAccept:
    """Decides when one worker leaves a new connection to a worker that has fewer.

    It leaves a connection for at most 5 ms, so a worker that hangs or has died does not delay a client longer.
    """

    def __init__(self, counts: ConnectionCounts) -> None:
        self._counts = counts
        self._waited = 0.0

    def yields_next(self, count: int) -> bool:
        """Whether a worker with `count` connections leaves the next one to another; if so, sleeps for 0.5 ms."""
        if self._waited >= _MAX_WAIT_SECONDS or not self._counts.is_above_least(count):
            self._waited = 0.0
            return False
        self._waited += _PAUSE_SECONDS
        time.sleep(_PAUSE_SECONDS)
        return True
