"""Made-up frontends, a watch that asks them, and time."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from hooks.model.prober.frontends.calls import FrontendAction, FrontendAnswer, FrontendCall, FrontendEnd
from hooks.model.prober.frontends.watch import FrontendWatch
from hooks.wire.prober.frontends import (
    ChangedGraph,
    FrontendEntry,
    FrontendQuestion,
    FrontendReport,
    FrontendTarget,
    NamespaceReadiness,
)

REFUSED = FrontendAnswer(outcome=FrontendEnd.UNREACHABLE, error="it refuses connections")


@dataclass(slots=True)
class FakeFrontend:
    """A frontend: the models that it lists, what it says of others, and when it was asked for what.

    `needs` are models that it knows and does not list, `ready` are namespaces that it tells for each model that it
    knows. With a `fault` it answers nothing else. `has_ready`: its release can say whether a model is ready.
    """

    models: set[str] = field(default_factory=set)
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ready: dict[str, bool] = field(default_factory=dict)
    fault: FrontendAnswer | None = None
    has_ready: bool = True
    seconds: float = 0.0
    lists: list[float] = field(default_factory=list)
    readies: list[tuple[float, str]] = field(default_factory=list)

    def answer(self, call: FrontendCall, now: float) -> FrontendAnswer:
        if call.action is FrontendAction.LIST:
            self.lists.append(now)
        else:
            self.readies.append((now, call.model))
        if self.fault is not None:
            return self.fault
        if call.action is FrontendAction.LIST:
            return FrontendAnswer(outcome=FrontendEnd.OK, models=tuple(sorted(self.models)))
        if not self.has_ready or call.model not in {*self.models, *self.needs}:
            return FrontendAnswer(outcome=FrontendEnd.NOT_KNOWN)
        namespaces = tuple(
            NamespaceReadiness(namespace=name, model=call.model, is_ready=self.ready[name])
            for name in call.namespaces
            if name in self.ready
        )
        needs = self.needs.get(call.model, ())
        return FrontendAnswer(outcome=FrontendEnd.OK, needs=needs, namespaces=namespaces)


class World:
    """Graphs of some frontends, whose addresses are 10.<graph>.0.<frontend>."""

    def __init__(self, frontends: int = 1, *, graphs: int = 1, jitter: float = 0.5) -> None:
        self.now, self.jitter = 100.0, jitter
        self.watch = FrontendWatch()
        self.frontends = {
            f"http://10.{graph}.0.{one}:8000": FakeFrontend() for graph in range(graphs) for one in range(frontends)
        }
        self.most_calls = 0
        self._ends: list[tuple[float, int, FrontendCall, FrontendAnswer]] = []
        self._number = 0

    @property
    def frontend(self) -> FakeFrontend:
        """The first one."""
        return next(iter(self.frontends.values()))

    def question(self, graph: int = 0, **fields: object) -> FrontendQuestion:
        """A question about all frontends of a graph."""
        beginning = f"http://10.{graph}.0."
        targets = tuple(
            FrontendTarget(address=address, pod=f"f{one}")
            for one, address in enumerate(address for address in self.frontends if address.startswith(beginning))
        )
        return FrontendQuestion(**{"namespace": "default", "name": f"g{graph}", "targets": targets, **fields})  # type: ignore[arg-type]

    def ask(self, question: FrontendQuestion) -> FrontendReport:
        return self.watch.ask(question, self.now)

    def entry(self, question: FrontendQuestion) -> FrontendEntry:
        """What is known of the first frontend, without asking."""
        found = self.watch.look_up(question.key, self.now)
        assert found is not None
        return found[1].entries[0]

    def run(self, seconds: float, each: Callable[[], None] = lambda: None) -> None:
        """Let time pass; `each` is called after each step."""
        until = self.now + seconds
        while True:
            self._start_calls()
            times = [until, *((due,) if (due := self.watch.next_due(self.now)) is not None else ())]
            if self._ends:
                times.append(self._ends[0][0])
            self.now = max(self.now, min(times))
            self._end_calls()
            each()
            if self.now >= until and not (self._ends and self._ends[0][0] <= self.now):
                return

    def changes(self) -> tuple[ChangedGraph, ...]:
        return self.watch.take_changes(self.now)

    def _start_calls(self) -> None:
        for call in self.watch.due(self.now):
            frontend = self.frontends[call.target.address]
            self._number += 1
            end = (self.now + frontend.seconds, self._number, call, frontend.answer(call, self.now))
            heapq.heappush(self._ends, end)
        self.most_calls = max(self.most_calls, len(self._ends))

    def _end_calls(self) -> None:
        while self._ends and self._ends[0][0] <= self.now:
            _, _, call, answer = heapq.heappop(self._ends)
            self.watch.finish(call, answer, self.now, self.jitter)
