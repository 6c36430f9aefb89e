"""A work queue with delays and back-off on simulated time; it holds a key once, however often it is added.

Source: client-go util/workqueue; Metacontroller's limiter: 5 ms doubled with each failure, at most 1000 s.
"""

from collections.abc import Collection
from typing import Any, Generic, TypeVar

from hooks.tools.offline.simulator.timers import Timers

Key = TypeVar("Key", bound=tuple[Any, ...])

FIRST_BACK_OFF = 0.005
LONGEST_BACK_OFF = 1000.0


class WorkQueue(Generic[Key]):
    """Keys that are due, now or at a later time of the cluster."""

    def __init__(self) -> None:
        self._ready: dict[Key, None] = {}
        self._later: Timers[Key] = Timers()
        self._failures: dict[Key, int] = {}

    def add(self, key: Key) -> None:
        """Make the key due now; a later time of it stays scheduled."""
        self._ready.setdefault(key)

    def add_at(self, key: Key, seconds: float) -> None:
        """Make the key due at a time; of several times the earliest counts."""
        self._later.set_earlier(key, seconds)

    def add_failed(self, key: Key, now: float) -> None:
        """Make the key due after its back-off."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.add_at(key, now + min(FIRST_BACK_OFF * 2**failures, LONGEST_BACK_OFF))

    @property
    def has_failures(self) -> bool:
        """Whether any key failed without `forget` since."""
        return bool(self._failures)

    def forget(self, key: Key) -> None:
        """Reset the key's back-off."""
        self._failures.pop(key, None)

    def ready(self, now: float) -> Collection[Key]:
        """Keys that are due now, oldest first; what is returned changes with the queue."""
        for key in self._later.due(now):
            self._later.drop(key)
            self.add(key)
        return self._ready.keys()

    def take(self, key: Key) -> None:
        """Remove a due key."""
        del self._ready[key]

    def next_time(self) -> float | None:
        """When the next delayed key is due, None if there is none."""
        return self._later.next_time()
