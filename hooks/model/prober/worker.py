"""Makes the calls that the ledger decides on, in threads; decides nothing itself."""

import logging
import queue
import random
import threading
import time
from collections.abc import Callable

from hooks.model.prober.calls import Action, Answer, Call, Outcome
from hooks.model.prober.engine import Turn
from hooks.model.prober.ledger import Ledger
from hooks.model.prober.metrics import create_prober_metrics
from hooks.model.prober.wish import Limits
from hooks.model.probes import LoadReport, LoadRequest, Phase

logger = logging.getLogger("hooks.model.prober")

Perform = Callable[[Call], Answer]
"""Makes one call to an engine and waits for its answer; raises nothing."""

_LONGEST_WAIT = 0.5
"""Seconds after which the dispatcher looks at mandates and calls that never ended, whatever else happens."""


class Callers:
    """Daemon threads that make calls: as many as calls are under way at one time, kept for the next ones.

    Daemons, as a load may hang for minutes and must not hold up the end of the process.
    """

    def __init__(self, run: Callable[[Call], None]) -> None:
        """Take what to do with each call."""
        self._run = run
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._threads = 0

    def submit(self, call: Call) -> None:
        """Have a call made at once: by an idle thread, or by a new one."""
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._threads += 1
                threading.Thread(target=self._loop, name=f"engine-call-{self._threads}", daemon=True).start()
        self._calls.put(call)

    def stop(self) -> None:
        """Let the threads end, each after the call that it is making."""
        for _ in range(self._threads):
            self._calls.put(None)

    def _loop(self) -> None:
        while (call := self._calls.get()) is not None:
            self._run(call)
            with self._lock:
                self._idle += 1


class Worker:
    """Owns the ledger, its lock, the dispatcher's thread and the callers."""

    def __init__(
        self,
        limits: Limits,
        perform: Perform,
        *,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        """Take how to make a call, a monotonic clock in seconds, and draws from [0, 1)."""
        self._ledger = Ledger(limits)
        self._perform, self._clock, self._draw = perform, clock, draw
        self._changed = threading.Condition()
        self._is_stopping = False
        self._callers = Callers(self._make)
        self._dispatcher = threading.Thread(target=self._dispatch, name="prober-dispatcher", daemon=True)
        self.metrics = create_prober_metrics(self._count_phases)

    def start(self) -> None:
        """Begin to work in the background."""
        self._dispatcher.start()

    def stop(self) -> None:
        """Start no further call, and return when the dispatcher has ended; calls under way end by themselves."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
        self._dispatcher.join()
        self._callers.stop()

    @property
    def is_alive(self) -> bool:
        """Whether the dispatcher runs."""
        return self._dispatcher.is_alive()

    def ask(self, request: LoadRequest) -> LoadReport:
        """Take up what a model wants and return what is known, at once."""
        with self._changed:
            report = self._ledger.ask(request, self._clock())
            self._changed.notify()
        return report

    def look_up(self, key: str) -> tuple[LoadRequest, LoadReport] | None:
        """A model's last request and what is known; None when nobody asked for it within a mandate."""
        with self._changed:
            return self._ledger.look_up(key, self._clock())

    def keys(self) -> list[str]:
        """The models asked about within a mandate."""
        with self._changed:
            return self._ledger.keys(self._clock())

    def _count_phases(self) -> dict[Phase, int]:
        with self._changed:
            return self._ledger.count_phases()

    def _dispatch(self) -> None:
        with self._changed:
            while not self._is_stopping:
                now = self._clock()
                for call in self._ledger.give_up(now):
                    self._finish(call, Answer(outcome=Outcome.TIMEOUT, message="the answer never ended"), now)
                for call in self._ledger.due(now):
                    self._callers.submit(call)
                due = self._ledger.next_due(now)
                wait = _LONGEST_WAIT if due is None else min(_LONGEST_WAIT, max(0.0, due - self._clock()))
                self._changed.wait(wait)

    def _make(self, call: Call) -> None:
        """Make one call, in a caller's thread."""
        answer = self._perform(call)
        with self._changed:
            now = self._clock()
            self._finish(call, answer, now)
            self._changed.notify()

    def _finish(self, call: Call, answer: Answer, now: float) -> None:
        self.metrics.record_call(call, answer, now - call.started)
        if call.action is not Action.LIST:
            _log_change(call, answer, now - call.started)
        for turn in self._ledger.finish(call, answer, now, self._draw()):
            self.metrics.record_turn(turn)
            _log_turn(turn)


def _log_change(call: Call, answer: Answer, seconds: float) -> None:
    fields = {
        "model": call.model,
        "pod": call.pod,
        "adapter": call.adapter,
        "attempt": call.attempt,
        "action": call.action.value,
        "outcome": answer.outcome.value,
        "duration_ms": round(seconds * 1000, 3),
    }
    logger.info("engine call", extra={"fields": {**fields, **({"error": answer.message} if answer.message else {})}})


def _log_turn(turn: Turn) -> None:
    fields = {
        "model": turn.model,
        "pod": turn.pod,
        "address": turn.address,
        "adapter": turn.adapter,
        "attempt": turn.attempt,
        "before": turn.before.value,
        "after": turn.after.value,
    }
    level = logging.WARNING if turn.is_loss or turn.after in {Phase.FAILED, Phase.RETRYING} else logging.INFO
    message = "adapter lost" if turn.is_loss else "adapter"
    logger.log(level, message, extra={"fields": {**fields, **({"error": turn.error} if turn.error else {})}})
