"""How many connections each worker process has, in memory that all of them see, so that they share new ones evenly.

The workers wait at one listener, and the kernel lets any of them take a connection. Clients keep theirs, so one worker
may end up with all of them, on one processor, while the others are idle.
"""

import mmap
import time

_SLOTS = 256
"""More than there are workers at one time: a worker's slot is its age, counted by gunicorn, modulo this."""

_ABSENT = -1
_PATIENCE_SECONDS = 0.005
_PAUSE_SECONDS = 0.0005


class ConnectionCounts:
    """One number for each worker; made before the fork."""

    def __init__(self) -> None:
        self._counts = memoryview(mmap.mmap(-1, 4 * _SLOTS)).cast("i")
        for slot in range(_SLOTS):
            self._counts[slot] = _ABSENT

    def publish(self, age: int, count: int) -> None:
        """Say how many connections the worker of this age has."""
        self._counts[age % _SLOTS] = count

    def forget(self, age: int) -> None:
        """Leave out a worker that ended."""
        self._counts[age % _SLOTS] = _ABSENT

    def is_above_least(self, count: int) -> bool:
        """Whether some worker has fewer connections than so many."""
        return any(other < count for other in self._counts if other != _ABSENT)


class Courtesy:
    """One worker's patience: a worker with more connections than another lets that one go first, for a moment.

    A worker that does not come, because it hangs or has just died, delays a connection by no more than 5 ms.
    """

    def __init__(self, counts: ConnectionCounts) -> None:
        self._counts = counts
        self._waited = 0.0

    def gives_way(self, count: int) -> bool:
        """Whether a worker with so many connections leaves the next one to another; pauses for 0.5 ms if so."""
        if self._waited >= _PATIENCE_SECONDS or not self._counts.is_above_least(count):
            self._waited = 0.0
            return False
        self._waited += _PAUSE_SECONDS
        time.sleep(_PAUSE_SECONDS)
        return True
