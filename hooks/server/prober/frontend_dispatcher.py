"""Makes the calls to frontends that the watch decides on; decides nothing itself."""

import random
import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry

from hooks.model.prober.frontends.calls import FrontendAnswer, FrontendCall, FrontendEnd
from hooks.model.prober.frontends.watch import FrontendWatch
from hooks.model.prober.messages import GraphOffer, LoadRequest, Term
from hooks.server.prober.call_loop import CallLoop, LoopOwner
from hooks.server.prober.metrics import create_frontend_metrics
from hooks.wire.prober.frontends import ChangedGraph, FrontendQuestion, FrontendReport, FrontendState

PerformFrontend = Callable[[FrontendCall], FrontendAnswer]
"""Makes one call to a frontend and waits for its answer; raises nothing."""


class FrontendDispatcher(LoopOwner[FrontendCall, FrontendAnswer]):
    """Owns the watch over frontends, and the loop with its lock and threads; acts while the prober does."""

    def __init__(
        self,
        perform: PerformFrontend,
        find_term: Callable[[], Term],
        registry: CollectorRegistry,
        *,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        """Take what makes a call, what says the prober's term, the metrics' registry, a clock, and random numbers."""
        self._watch = FrontendWatch()
        self._find_term, self._clock, self._draw = find_term, clock, draw
        self._loop = CallLoop(
            "frontend",
            self,
            perform=perform,
            finish=self._finish,
            never_ended=FrontendAnswer(outcome=FrontendEnd.TIMEOUT, error="its answer never ended"),
            clock=clock,
        )
        self._metrics = create_frontend_metrics(registry, self._count_states)

    def ask(self, question: FrontendQuestion) -> FrontendReport:
        """Store what a graph wants to know, and return at once what is known.

        Raises:
            NotNow: this prober does not act.
        """
        with self._loop.changed:
            self._keep_term()
            report = self._watch.ask(question, self._clock())
            self._loop.changed.notify()
        return report

    def take_changes(self, could_write: bool | None = None) -> tuple[ChangedGraph, ...]:
        """Graphs that should be looked at again, () if this prober does not act; `could_write` as the watch has it."""
        with self._loop.changed:
            self._keep_term()
            return self._watch.take_changes(self._clock(), could_write)

    def look_up(self, key: str) -> tuple[FrontendQuestion, FrontendReport] | None:
        """A graph's last question and what is known; None if there is none that is young enough."""
        with self._loop.changed:
            return self._watch.look_up(key, self._clock())

    def find_offers(self, request: LoadRequest) -> tuple[GraphOffer, ...]:
        """What the frontends of a model's graphs say of its adapter; graphs of which nothing is known are left out."""
        if request.adapter is None or not request.graphs:
            return ()
        name, keys = request.adapter.name, [f"{request.namespace}/{graph}" for graph in request.graphs]
        with self._loop.changed:
            self._keep_term()
            now = self._clock()
            found = tuple(offer for key in keys if (offer := self._watch.find_offer(key, name, now)) is not None)
            self._loop.changed.notify()
        return found

    def keys(self) -> list[str]:
        """The graphs that are asked about."""
        with self._loop.changed:
            return self._watch.keys(self._clock())

    def give_up(self, now: float) -> list[FrontendCall]:
        """Calls that run far longer than their timeout."""
        return self._watch.give_up(now)

    def due(self, now: float) -> list[FrontendCall]:
        """The calls to make now."""
        self._keep_term()
        return self._watch.due(now)

    def next_due(self, now: float) -> float | None:
        """When a call may be due next."""
        return self._watch.next_due(now)

    def _keep_term(self) -> None:
        self._watch.set_term(self._find_term())

    def _count_states(self) -> dict[FrontendState, int]:
        with self._loop.changed:
            return self._watch.count_states(self._clock())

    def _finish(self, call: FrontendCall, answer: FrontendAnswer, now: float) -> None:
        self._metrics.record(call.action, answer.outcome, now - call.started)
        self._watch.finish(call, answer, now, self._draw())
