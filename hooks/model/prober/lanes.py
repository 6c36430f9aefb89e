"""When an engine's turn comes, and how many calls run at one time."""

import heapq
from collections.abc import Iterator

from hooks.model.prober.calls import Call


class Agenda:
    """Addresses by the time at which they are due; each has one time at most, the earliest comes first."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def set(self, address: str, time: float) -> None:
        """Make an address due at a time, and at no other."""
        if self._times.get(address) != time:
            self._times[address] = time
            heapq.heappush(self._heap, (time, address))

    def drop(self, address: str) -> None:
        """Make an address due never."""
        self._times.pop(address, None)

    def time_of(self, address: str) -> float | None:
        """When an address is due; None for never."""
        return self._times.get(address)

    def first(self) -> tuple[float, str] | None:
        """The earliest time and its address; what was moved or dropped since is passed over."""
        while self._heap:
            time, address = self._heap[0]
            if self._times.get(address) == time:
                return time, address
            heapq.heappop(self._heap)
        return None


class Lane:
    """Calls of one sort under way: one an engine, `concurrency` younger than `grace` seconds, `most` in all."""

    def __init__(self, *, concurrency: int, grace: float, most: int) -> None:
        self._concurrency, self._grace, self._most = concurrency, grace, most
        self._calls: dict[str, Call] = {}

    def get(self, address: str) -> Call | None:
        """The call under way to an engine."""
        return self._calls.get(address)

    def enter(self, call: Call) -> None:
        """Take a call up."""
        self._calls[call.address] = call

    def leave(self, call: Call) -> bool:
        """Put a call down; False for one that was given up before."""
        if self._calls.get(call.address) is not call:
            return False
        del self._calls[call.address]
        return True

    def opens_at(self, now: float) -> float | None:
        """When the next call may start: now, when a running one has outlived its grace, or None for when one ends."""
        if len(self._calls) >= self._most:
            return None
        young = sorted(call.started for call in self._calls.values() if call.started + self._grace > now)
        if len(young) < self._concurrency:
            return now
        return young[len(young) - self._concurrency] + self._grace

    def overdue(self, now: float) -> Iterator[Call]:
        """Calls that should have ended by their own timeout long ago."""
        for call in list(self._calls.values()):
            if now >= call.started + 1.5 * call.timeout + 1.0:
                yield call


class Track:
    """One sort of calls: the engines that wait for one, and those under way."""

    def __init__(self, *, concurrency: int, grace: float, most: int) -> None:
        self.agenda = Agenda()
        self.lane = Lane(concurrency=concurrency, grace=grace, most=most)

    def take(self, now: float) -> Iterator[str]:
        """Addresses whose turn it is, as long as there is room; the caller enters its call before it takes the next."""
        while (first := self.agenda.first()) is not None and first[0] <= now and self.lane.opens_at(now) == now:
            self.agenda.drop(first[1])
            yield first[1]

    def next_due(self, now: float) -> float | None:
        """When `take` may give something next; None for not before a call ends or an address is set."""
        first, opens = self.agenda.first(), self.lane.opens_at(now)
        return max(first[0], opens) if first is not None and opens is not None else None
