"""Makes calls in threads, when they are due; what is due, and what an answer means, others decide."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

_C = TypeVar("_C")
_A = TypeVar("_A")
_D_co = TypeVar("_D_co", covariant=True)

_LONGEST_WAIT = 0.5
"""Seconds after which the loop looks again for what is over and overdue, even if nothing happens."""


class Schedule(Protocol[_D_co]):
    """Decides on calls; times are seconds of a monotonic clock."""

    def give_up(self, now: float) -> Sequence[_D_co]:
        """Calls that run far longer than their timeout."""

    def due(self, now: float) -> Sequence[_D_co]:
        """The calls to make now."""

    def next_due(self, now: float) -> float | None:
        """When `due` may have a call next, unless something else comes first; None for never."""


class CallThreads(Generic[_C]):
    """A pool of daemon threads that make calls; it grows to the number of calls under way.

    The threads are daemons because a load may take minutes and must not delay the end of the process.
    """

    def __init__(self, name: str, run: Callable[[_C], None]) -> None:
        """Take the beginning of the threads' names, and the function that handles one call."""
        self._name, self._run = name, run
        self._calls: queue.SimpleQueue[_C | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._threads = 0

    def submit(self, call: _C) -> None:
        """Start a call at once, in an idle thread or a new one."""
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._threads += 1
                threading.Thread(target=self._loop, name=f"{self._name}-{self._threads}", daemon=True).start()
        self._calls.put(call)

    def stop(self) -> None:
        """End each thread after its present call."""
        for _ in range(self._threads):
            self._calls.put(None)

    def _loop(self) -> None:
        while (call := self._calls.get()) is not None:
            self._run(call)
            with self._lock:
                self._idle += 1


class LoopOwner(Generic[_C, _A]):
    """What begins and ends with its loop."""

    _loop: "CallLoop[_C, _A]"

    def start(self) -> None:
        """Start to work in the background."""
        self._loop.start()

    def stop(self) -> None:
        """Start no more calls, and return when the loop's thread has ended, without waiting for running calls."""
        self._loop.stop()

    @property
    def is_alive(self) -> bool:
        """Whether the loop's thread runs."""
        return self._loop.is_alive


class CallLoop(Generic[_C, _A]):
    """A thread that starts calls, the threads that make them, and the lock of their schedule.

    Whoever uses the schedule holds `changed`, and notifies it if a call may be due earlier.
    """

    def __init__(
        self,
        name: str,
        schedule: Schedule[_C],
        *,
        perform: Callable[[_C], _A],
        finish: Callable[[_C, _A, float], None],
        never_ended: _A,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what makes a call and waits for its answer, and what takes the answer and the time.

        `perform` raises nothing. `finish` is called with the lock held, with `never_ended` for a call that is given up.
        """
        self.changed = threading.Condition()
        self._schedule, self._perform, self._finish = schedule, perform, finish
        self._never_ended, self._clock = never_ended, clock
        self._is_stopping = False
        self._callers = CallThreads(f"{name}-call", self._make)
        self._thread = threading.Thread(target=self._dispatch, name=f"{name}-dispatcher", daemon=True)

    def start(self) -> None:
        """Start to work in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Start no more calls, and return when the loop's thread has ended, without waiting for running calls."""
        with self.changed:
            self._is_stopping = True
            self.changed.notify()
        self._thread.join()
        self._callers.stop()

    @property
    def is_alive(self) -> bool:
        """Whether the loop's thread runs."""
        return self._thread.is_alive()

    def _dispatch(self) -> None:
        with self.changed:
            while not self._is_stopping:
                now = self._clock()
                for call in self._schedule.give_up(now):
                    self._finish(call, self._never_ended, now)
                for call in self._schedule.due(now):
                    self._callers.submit(call)
                due = self._schedule.next_due(now)
                wait = _LONGEST_WAIT if due is None else min(_LONGEST_WAIT, max(0.0, due - self._clock()))
                self.changed.wait(wait)

    def _make(self, call: _C) -> None:
        """Make one call; runs in a thread of the pool."""
        answer = self._perform(call)
        with self.changed:
            self._finish(call, answer, self._clock())
            self.changed.notify()
