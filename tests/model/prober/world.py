"""A prober's reconciler against made-up engines, on a made-up clock."""

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer, EngineCall
from hooks.model.prober.engine_record import PhaseChange
from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import Adapter, AdapterPhase, EndpointReport, EngineTarget, LoadReport, LoadRequest
from hooks.model.prober.reconciler import Reconciler

LIMITS = Limits()
A, B = Adapter(name="a", uri="s3://b/a"), Adapter(name="a", uri="s3://b/new")


@dataclass(slots=True)
class FakeEngine:
    """An engine: `held` maps adapters to their sources, `answers` replaces the answer to a sort of call.

    It has `room` for so many adapters and drops the oldest one for another. It lists some under the name in `renames`.
    """

    held: dict[str, str] = field(default_factory=dict)
    answers: dict[EngineAction, EngineAnswer] = field(default_factory=dict)
    seconds: dict[EngineAction, float] = field(default_factory=dict)
    asked: Counter[EngineAction] = field(default_factory=Counter)
    under_way: int = 0
    most_at_once: int = 0
    room: int = 100
    renames: dict[str, str] = field(default_factory=dict)

    def answer(self, call: EngineCall) -> EngineAnswer:
        replaced = self.answers.get(call.action)
        if replaced is not None:
            return replaced
        match call.action:
            case EngineAction.LOAD:
                self.held.setdefault(
                    self.renames.get(call.adapter, call.adapter), call.uri
                )  # the first source stays, as a real engine has it
                while len(self.held) > self.room:
                    del self.held[next(iter(self.held))]
            case EngineAction.UNLOAD:
                self.held.pop(call.adapter, None)
            case EngineAction.LIST:
                return EngineAnswer(outcome=CallOutcome.OK, names=frozenset(self.held))
        return EngineAnswer(outcome=CallOutcome.OK)


class World:
    """Engines, one reconciler or several, and time."""

    def __init__(self, engines: int = 1, *, probers: int = 1, limits: Limits = LIMITS, jitter: float = 0.5) -> None:
        self.now = 100.0
        self.jitter = jitter
        self.engines = {f"http://10.0.0.{i + 1}:9090": FakeEngine() for i in range(engines)}
        self.limits = limits
        self.probers = [Reconciler(limits) for _ in range(probers)]
        self.changes: list[PhaseChange] = []
        self.most_changes = 0
        self._ends: list[tuple[float, int, int, EngineCall]] = []
        self._count = 0

    @property
    def engine(self) -> FakeEngine:
        return next(iter(self.engines.values()))

    def request(
        self,
        adapter: Adapter | None = A,
        *,
        name: str = "m",
        former: Iterable[str] = (),
        generation: int = 1,
        recorded: str = "",
        failed: str = "",
        loading: str = "",
        uid: str = "u",
        pod: str = "w",
        ready: bool = True,
    ) -> LoadRequest:
        targets = tuple(
            EngineTarget(
                address=address,
                pod=f"{pod}{i}",
                recorded=recorded,
                ready=ready,
                failed=failed,
                loading=(loading,) if loading else (),
            )
            for i, address in enumerate(self.engines)
        )
        return LoadRequest(
            namespace="default",
            name=name,
            uid=uid,
            generation=generation,
            adapter=adapter,
            former=tuple(former),
            targets=targets,
        )

    def ask(self, request: LoadRequest, prober: int = 0) -> LoadReport:
        return self.probers[prober].ask(request, self.now)

    def one(self, request: LoadRequest, prober: int = 0) -> EndpointReport:
        return self.ask(request, prober).endpoints[0]

    def restart_prober(self, prober: int = 0) -> None:
        self.probers[prober] = Reconciler(self.limits)
        self._ends = [end for end in self._ends if end[2] != prober]
        heapq.heapify(self._ends)

    def run(self, seconds: float) -> None:
        """Let time pass; each call ends after the seconds that its engine takes."""
        end = self.now + seconds
        while True:
            self._start()
            times = [time for reconciler in self.probers if (time := reconciler.next_due(self.now)) is not None]
            times += [self._ends[0][0]] if self._ends else []
            self.now = max(self.now, min([*times, end]))
            if self.now >= end:
                return
            while self._ends and self._ends[0][0] <= self.now:
                self._end(*heapq.heappop(self._ends)[2:])

    def run_asking(
        self, seconds: float, request: LoadRequest, *, every: float = 5.0, prober: int = 0
    ) -> EndpointReport:
        """Let time pass while a hook keeps asking."""
        for _ in range(round(seconds / every)):
            self.ask(request, prober)
            self.run(every)
        return self.one(request, prober)

    def _start(self) -> None:
        for number, reconciler in enumerate(self.probers):
            for call in reconciler.give_up(self.now):
                reconciler.finish(
                    call, EngineAnswer(outcome=CallOutcome.TIMEOUT, message="never"), self.now, self.jitter
                )
            for call in reconciler.due(self.now):
                engine = self.engines[call.address]
                engine.asked[call.action] += 1
                if call.action is not EngineAction.LIST:
                    engine.under_way += 1
                    engine.most_at_once = max(engine.most_at_once, engine.under_way)
                    self.most_changes = max(self.most_changes, sum(e.under_way for e in self.engines.values()))
                self._count += 1
                duration = engine.seconds.get(call.action, 0.01)
                heapq.heappush(self._ends, (self.now + duration, self._count, number, call))

    def _end(self, number: int, call: EngineCall) -> None:
        engine = self.engines[call.address]
        if call.action is not EngineAction.LIST:
            engine.under_way -= 1
        self.changes += self.probers[number].finish(call, engine.answer(call), self.now, self.jitter)

    def phases(self) -> list[AdapterPhase]:
        return [change.after for change in self.changes]
