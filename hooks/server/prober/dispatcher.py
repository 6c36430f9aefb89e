"""Makes the calls to engines that the reconciler decides on; decides nothing itself."""

import logging
import random
import time
from collections.abc import Callable

from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer, EngineCall
from hooks.model.prober.engine_record import PhaseChange
from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import AdapterPhase, LoadReport, LoadRequest, Term
from hooks.model.prober.reconciler import FIRST_TERM, Reconciler
from hooks.server.prober.call_loop import CallLoop, LoopOwner
from hooks.server.prober.metrics import create_prober_metrics
from hooks.server.serving.call_id import trace_fields

logger = logging.getLogger("hooks.model.prober")

Perform = Callable[[EngineCall], EngineAnswer]
"""Makes one call to an engine and waits for its answer; raises nothing."""


class Dispatcher(LoopOwner[EngineCall, EngineAnswer]):
    """Owns the reconciler, and the loop with its lock and threads."""

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
        self._clock, self._draw = clock, draw
        self._loop = CallLoop(
            "engine",
            self._reconciler,
            perform=perform,
            finish=self._finish,
            never_ended=EngineAnswer(outcome=CallOutcome.TIMEOUT, message="the answer never ended"),
            clock=clock,
        )
        self.metrics = create_prober_metrics(self._count_phases)

    def ask(self, request: LoadRequest, traceparent: str = "") -> LoadReport:
        """Store what a model wants, and return at once what is known; loads that follow are of the caller's trace.

        Raises:
            NotNow: this prober does not act, or the request is older than one before.
        """
        with self._loop.changed:
            report = self._reconciler.ask(request, self._clock(), traceparent)
            self._loop.changed.notify()
        return report

    def set_term(self, term: Term) -> None:
        """Begin, renew or end a term; when this returns, no call of another term will start.

        Raises:
            NotNow: the term has ended, or a later one has begun.
        """
        with self._loop.changed:
            self._reconciler.set_term(term)
            self._loop.changed.notify()

    @property
    def term(self) -> Term:
        """The newest term, over or not."""
        with self._loop.changed:
            return self._reconciler.term

    def look_up(self, key: str) -> tuple[LoadRequest, LoadReport] | None:
        """A model's last request and what is known; None if the model has no mandate."""
        with self._loop.changed:
            return self._reconciler.look_up(key, self._clock())

    def keys(self) -> list[str]:
        """The models with a mandate."""
        with self._loop.changed:
            return self._reconciler.keys(self._clock())

    def _count_phases(self) -> dict[AdapterPhase, int]:
        with self._loop.changed:
            return self._reconciler.count_phases()

    def _finish(self, call: EngineCall, answer: EngineAnswer, now: float) -> None:
        self.metrics.calls.record(call.action, answer.outcome, now - call.started)
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
