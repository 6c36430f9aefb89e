"""When each engine or frontend is called next, and how many calls run at one time."""

import heapq
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar


class _Call(Protocol):
    """A call under way: to whom, when it started, and its timeout in seconds."""

    @property
    def key(self) -> str:
        """Who is called; nobody is called twice at one time."""

    @property
    def started(self) -> float:
        """A time of the monotonic clock."""

    @property
    def timeout(self) -> float:
        """Seconds."""


_C = TypeVar("_C", bound=_Call)


class Timetable:
    """At most one time for each address; the earliest comes first."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def set(self, address: str, time: float) -> None:
        """Set the time of an address, and forget its previous time."""
        if self._times.get(address) != time:
            self._times[address] = time
            heapq.heappush(self._heap, (time, address))

    def drop(self, address: str) -> None:
        """Forget the time of an address."""
        self._times.pop(address, None)

    def first(self) -> tuple[float, str] | None:
        """The earliest time and its address; None if no address has a time."""
        while self._heap:
            time, address = self._heap[0]
            if self._times.get(address) == time:
                return time, address
            heapq.heappop(self._heap)  # the address now has another time, or none
        return None


class RunningCalls(Generic[_C]):
    """The calls of one kind under way, one per engine or frontend at most.

    A new call may start while fewer than `concurrency` calls are younger than `grace` seconds, and fewer than `limit`
    are under way.
    """

    def __init__(self, *, concurrency: int, grace: float, limit: int) -> None:
        self._concurrency, self._grace, self._limit = concurrency, grace, limit
        self._calls: dict[str, _C] = {}

    def get(self, address: str) -> _C | None:
        """The call under way to the one with that key."""
        return self._calls.get(address)

    def add(self, call: _C) -> None:
        """Add a call that starts now."""
        self._calls[call.key] = call

    def remove(self, call: _C) -> bool:
        """Remove a call that ended; False if it was removed before."""
        if self._calls.get(call.key) is not call:
            return False
        del self._calls[call.key]
        return True

    def next_start(self, now: float) -> float | None:
        """When the next call may start: now, or when a call outlives its grace; None if a call must end first."""
        if len(self._calls) >= self._limit:
            return None
        young = sorted(call.started for call in self._calls.values() if call.started + self._grace > now)
        if len(young) < self._concurrency:
            return now
        return young[len(young) - self._concurrency] + self._grace

    def overdue(self, now: float) -> Iterator[_C]:
        """Calls that run far longer than their timeout allows."""
        for call in list(self._calls.values()):
            if now >= call.started + 1.5 * call.timeout + 1.0:
                yield call


class CallQueue(Generic[_C]):
    """One kind of calls: those that wait for one, and the calls under way."""

    def __init__(self, *, concurrency: int, grace: float, limit: int) -> None:
        self.waiting = Timetable()
        self.running: RunningCalls[_C] = RunningCalls(concurrency=concurrency, grace=grace, limit=limit)

    def take(self, now: float) -> Iterator[str]:
        """The addresses that are due, as long as calls may start; add each call before taking the next address."""
        while (first := self.waiting.first()) is not None and first[0] <= now and self.running.next_start(now) == now:
            self.waiting.drop(first[1])
            yield first[1]

    def next_due(self, now: float) -> float | None:
        """When `take` may have an address next; None if a call must end or an address must be set first."""
        first, start = self.waiting.first(), self.running.next_start(now)
        return max(first[0], start) if first is not None and start is not None else None
