"""Makes the calls that the reconciler decides on, in threads; decides nothing itself."""

import logging
import queue
import random
import threading
import time
from collections.abc import Callable

from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer, EngineCall
from hooks.model.prober.engine_record import PhaseChange
from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import AdapterPhase, LoadReport, LoadRequest, Term
from hooks.model.prober.reconciler import FIRST_TERM, Reconciler
from hooks.server.prober.metrics import create_prober_metrics
from hooks.server.serving.call_id import trace_fields

logger = logging.getLogger("hooks.model.prober")

Perform = Callable[[EngineCall], EngineAnswer]
"""Makes one call to an engine and waits for its answer; raises nothing."""

_LONGEST_WAIT = 0.5
"""Seconds after which the dispatcher checks mandates and overdue calls again, even if nothing happens."""


class CallThreads:
    """A pool of daemon threads that make calls; it grows to the number of calls under way.

    The threads are daemons because a load may take minutes and must not delay the end of the process.
    """

    def __init__(self, run: Callable[[EngineCall], None]) -> None:
        """Take the function that handles one call."""
        self._run = run
        self._calls: queue.SimpleQueue[EngineCall | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._threads = 0

    def submit(self, call: EngineCall) -> None:
        """Start a call at once, in an idle thread or a new one."""
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._threads += 1
                threading.Thread(target=self._loop, name=f"engine-call-{self._threads}", daemon=True).start()
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


class Dispatcher:
    """Owns the reconciler and its lock, the dispatcher's thread and the threads that make calls."""

    def __init__(
        self,
        limits: Limits,
        perform: Perform,
        *,
        term: Term = FIRST_TERM,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        """Take the function that makes a call, a monotonic clock in seconds, and one for random numbers in [0, 1)."""
        self._reconciler = Reconciler(limits, term)
        self._perform, self._clock, self._draw = perform, clock, draw
        self._changed = threading.Condition()
        self._is_stopping = False
        self._callers = CallThreads(self._make)
        self._thread = threading.Thread(target=self._dispatch, name="prober-dispatcher", daemon=True)
        self.metrics = create_prober_metrics(self._count_phases)

    def start(self) -> None:
        """Start to work in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Start no more calls, and return when the dispatcher's thread has ended, without waiting for running calls."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
        self._thread.join()
        self._callers.stop()

    @property
    def is_alive(self) -> bool:
        """Whether the dispatcher's thread runs."""
        return self._thread.is_alive()

    def ask(self, request: LoadRequest, traceparent: str = "") -> LoadReport:
        """Store what a model wants, and return at once what is known; loads that follow are of the caller's trace.

        Raises:
            NotNow: this prober does not act, or the request is older than one before.
        """
        with self._changed:
            report = self._reconciler.ask(request, self._clock(), traceparent)
            self._changed.notify()
        return report

    def set_term(self, term: Term) -> None:
        """Begin, renew or end a term; when this returns, no call of another term will start.

        Raises:
            NotNow: the term has ended, or a later one has begun.
        """
        with self._changed:
            self._reconciler.set_term(term)
            self._changed.notify()

    @property
    def term(self) -> Term:
        """The newest term, over or not."""
        with self._changed:
            return self._reconciler.term

    def look_up(self, key: str) -> tuple[LoadRequest, LoadReport] | None:
        """A model's last request and what is known; None if the model has no mandate."""
        with self._changed:
            return self._reconciler.look_up(key, self._clock())

    def keys(self) -> list[str]:
        """The models with a mandate."""
        with self._changed:
            return self._reconciler.keys(self._clock())

    def _count_phases(self) -> dict[AdapterPhase, int]:
        with self._changed:
            return self._reconciler.count_phases()

    def _dispatch(self) -> None:
        with self._changed:
            while not self._is_stopping:
                now = self._clock()
                for call in self._reconciler.give_up(now):
                    timed_out = EngineAnswer(outcome=CallOutcome.TIMEOUT, message="the answer never ended")
                    self._finish(call, timed_out, now)
                for call in self._reconciler.due(now):
                    self._callers.submit(call)
                due = self._reconciler.next_due(now)
                wait = _LONGEST_WAIT if due is None else min(_LONGEST_WAIT, max(0.0, due - self._clock()))
                self._changed.wait(wait)

    def _make(self, call: EngineCall) -> None:
        """Make one call; runs in a thread of the pool."""
        answer = self._perform(call)
        with self._changed:
            now = self._clock()
            self._finish(call, answer, now)
            self._changed.notify()

    def _finish(self, call: EngineCall, answer: EngineAnswer, now: float) -> None:
        self.metrics.record_call(call, answer, now - call.started)
        if call.action is not EngineAction.LIST:
            _log_call(call, answer, now - call.started)
        for change in self._reconciler.finish(call, answer, now, self._draw()):
            self.metrics.record_phase_change(change)
            _log_phase_change(change)


def _log_call(call: EngineCall, answer: EngineAnswer, seconds: float) -> None:
    fields = {
        **trace_fields(call.traceparent),
        "model": call.model,
        "pod": call.pod,
        "adapter": call.adapter,
        "attempt": call.attempt,
        "action": call.action.value,
        "outcome": answer.outcome.value,
        "duration_ms": round(seconds * 1000, 3),
    }
    logger.info("engine call", extra={"fields": {**fields, **({"error": answer.message} if answer.message else {})}})


def _log_phase_change(change: PhaseChange) -> None:
    fields = {
        "model": change.model,
        "pod": change.pod,
        "address": change.address,
        "adapter": change.adapter,
        "attempt": change.attempt,
        "before": change.before.value,
        "after": change.after.value,
    }
    is_bad = change.is_loss or change.after in {AdapterPhase.FAILED, AdapterPhase.RETRYING}
    message = "adapter lost" if change.is_loss else "adapter"
    error = {"error": change.error} if change.error else {}
    logger.log(logging.WARNING if is_bad else logging.INFO, message, extra={"fields": {**fields, **error}})
