"""Keys that are due at a time, in seconds of the cluster's clock."""

from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=tuple[Any, ...])


class Timers(Generic[Key]):
    """The time of each key; a key has one time at most."""

    def __init__(self) -> None:
        self._due: dict[Key, float] = {}
        self._earliest: float | None = None
        """The earliest time, None if it is to be looked for."""

    def set(self, key: Key, seconds: float) -> None:
        """Make the key due at a time, instead of its time so far."""
        self._due[key] = seconds
        self._earliest = None

    def set_earlier(self, key: Key, seconds: float) -> None:
        """Make the key due at a time, unless it is due before."""
        self.set(key, min(seconds, self._due.get(key, seconds)))

    def set_new(self, key: Key, seconds: float) -> None:
        """Make the key due at a time, unless it has one."""
        if key not in self._due:
            self.set(key, seconds)

    def drop(self, key: Key) -> None:
        """Forget the key's time, if it has one."""
        if self._due.pop(key, None) is not None:
            self._earliest = None

    def next_time(self) -> float | None:
        """The earliest time; None if there is no key."""
        if self._earliest is None and self._due:
            self._earliest = min(self._due.values())
        return self._earliest

    def due(self, now: float) -> list[Key]:
        """The keys that are due, the longest waiting first; they stay."""
        first = self.next_time()
        if first is None or first > now:
            return []
        return [key for _, key in sorted((seconds, key) for key, seconds in self._due.items() if seconds <= now)]
