"""Takes what models want and what engines answer, and says what is known of each; `call_schedule` says when to call.

This module, or one that it imports, makes every decision of the prober. Time is an argument, in seconds of a monotonic
clock. Not thread-safe. The prober acts for a model while the model has a mandate; every request about the model renews
the mandate. With several hooks pods it acts only during a term, and forgets everything when another term begins.
"""

from dataclasses import dataclass

from hooks.model.prober.adapter_state import Goal
from hooks.model.prober.call_schedule import CallSchedule
from hooks.model.prober.calls import EngineAction, EngineAnswer, EngineCall
from hooks.model.prober.engine_record import EngineRecord, PhaseChange
from hooks.model.prober.limits import Limits, Moment
from hooks.model.prober.messages import AdapterPhase, EngineTarget, LoadReport, LoadRequest, Term, without_evidence
from hooks.model.prober.reports import build_report


@dataclass(slots=True, kw_only=True)
class _ModelRecord:
    """The last request of a model, and the times of the first and the last request of this mandate.

    `is_applied`: the last request changed nothing, so an equal request need not be applied again. `traceparent` is that
    of the last caller who had one, about this generation of the model; empty for none.
    """

    request: LoadRequest
    is_applied: bool
    first_asked: float
    last_asked: float
    traceparent: str = ""

    def trace_of(self, request: LoadRequest) -> str:
        """The trace, if the request is about the same generation of the model."""
        mine = self.request
        return self.traceparent if (mine.uid, mine.generation) == (request.uid, request.generation) else ""


class NotNow(Exception):
    """The request is not taken: this prober does not act, or knows a newer request. The message is a sentence."""


FIRST_TERM = Term(number=0, until=1e15)
"""The term of a prober that acts without a Lease, because there is one hooks pod; JSON has no infinity."""
NO_TERM = Term(number=0)
"""The term of a prober that waits until its pod holds the Lease."""


class Reconciler:
    """All models with a mandate, and their engines."""

    def __init__(self, limits: Limits, term: Term = FIRST_TERM) -> None:
        """Start with no model and no engine."""
        self._limits, self._term = limits, term
        self._forget_all()

    def _forget_all(self) -> None:
        """Start again: answers to earlier calls change nothing any more."""
        self._models: dict[str, _ModelRecord] = {}
        self._engines: dict[str, EngineRecord] = {}
        self._calls = CallSchedule(self._limits)

    def ask(self, request: LoadRequest, now: float, traceparent: str = "") -> LoadReport:
        """Store what a model wants, renew its mandate, and return what is known.

        Raises:
            NotNow: this prober does not act, or the request is older than one before.
        """
        if not self.is_acting(now):
            raise NotNow("the prober of this pod does not act now; another one does, or will soon")
        known = self._models.get(request.key)
        if known and known.request.uid == request.uid and request.generation < known.request.generation:
            newer = known.request.generation
            raise NotNow(f"generation {request.generation} is outdated: the prober knows generation {newer}")
        first_asked = known.first_asked if known and self._has_mandate(known, now) else now
        is_applied = self._is_applied(known, request) or self._apply(known, request, now)
        trace = traceparent or (known.trace_of(request) if known else "")
        self._models[request.key] = _ModelRecord(
            request=request, is_applied=is_applied, first_asked=first_asked, last_asked=now, traceparent=trace
        )
        return self._report(request, first_asked, now)

    def set_term(self, term: Term) -> None:
        """Begin or renew a term, or end it; what was learnt in another term is forgotten.

        Raises:
            NotNow: the term has ended, or a later one has begun.
        """
        has_ended = term.number == self._term.number and not self._term.until
        if term.number < self._term.number or (has_ended and term.until):
            raise NotNow(f"term {term.number} of this prober has ended")
        if term.number > self._term.number or not term.until:
            self._forget_all()
            self._term = term
        elif term.until > self._term.until:
            self._term = term

    @property
    def term(self) -> Term:
        """The newest term, over or not."""
        return self._term

    def is_acting(self, now: float) -> bool:
        """Whether this prober may call engines."""
        return now < self._term.until

    def look_up(self, key: str, now: float) -> tuple[LoadRequest, LoadReport] | None:
        """The last request of a model (`namespace/name`) and what is known; None without a mandate."""
        known = self._models.get(key)
        if known is None or not self._has_mandate(known, now):
            return None
        return known.request, self._report(known.request, known.first_asked, now)

    def _report(self, request: LoadRequest, first_asked: float, now: float) -> LoadReport:
        return build_report(request, self._engines, self._limits, first_asked=first_asked, now=now)

    def keys(self, now: float) -> list[str]:
        """The models with a mandate, sorted."""
        return sorted(key for key, known in self._models.items() if self._has_mandate(known, now))

    def count_phases(self) -> dict[AdapterPhase, int]:
        """How many pairs of engine and wanted adapter are in each phase."""
        counts = dict.fromkeys(AdapterPhase, 0)
        for engine in self._engines.values():
            for state in engine.adapters.values():
                if state.wanted.goal is Goal.LOADED:
                    counts[state.phase] += 1
        return counts

    def due(self, now: float) -> list[EngineCall]:
        """The calls to make now; a call is under way until `finish` gets its answer."""
        self._end_mandates(now)
        if not self.is_acting(now):
            return []
        return self._calls.take_due(self._engines, self._moment(now), self._trace_of)

    def give_up(self, now: float) -> list[EngineCall]:
        """Calls that run far longer than their timeout; the caller must `finish` them as timed out."""
        return self._calls.overdue(now)

    def next_due(self, now: float) -> float | None:
        """When `due` may have a call next, unless something else comes first; None for never."""
        return self._calls.next_due(now) if self.is_acting(now) else None

    def finish(self, call: EngineCall, answer: EngineAnswer, now: float, jitter: float) -> list[PhaseChange]:
        """Store the answer to a call, and return the changes of phase; a call that was given up changes nothing."""
        if not self._calls.end(call):
            return []
        engine = self._engines.get(call.address)
        if engine is None or engine.pod != call.pod:
            return []
        at = self._moment(now, jitter)
        if call.action is EngineAction.LIST:
            changes = engine.finish_list(call, answer, at, self._changing(engine))
            self._calls.set_list(engine.address, engine.next_list(call, answer, at))
        else:
            changes = engine.finish_change(call, answer, at)
            self._calls.set_list(engine.address, now)  # only a list shows whether the answer is true
        self._calls.set_change(engine)
        return changes

    def _trace_of(self, model: str) -> str:
        known = self._models.get(model)
        return known.traceparent if known is not None else ""

    def _moment(self, now: float, jitter: float = 0.0) -> Moment:
        return Moment(now=now, jitter=jitter, limits=self._limits)

    def _has_mandate(self, known: _ModelRecord, now: float) -> bool:
        return now < known.last_asked + self._limits.mandate

    def _is_applied(self, known: _ModelRecord | None, request: LoadRequest) -> bool:
        """Whether the request equals the last one, and no engine was replaced or forgotten since."""
        if known is None or not known.is_applied or known.request != request:
            return False
        name = request.adapter.name if request.adapter is not None else ""
        engines = [self._engines.get(target.address) for target in request.targets]
        states = [engine.adapters.get(name) if engine is not None else None for engine in engines]
        return all(state is not None and state.wanted.model == request.key for state in states)

    def _apply(self, known: _ModelRecord | None, request: LoadRequest, now: float) -> bool:
        """Apply the request to every engine's record, and forget engines that left; True if nothing changed."""
        at = self._moment(now)
        # What the status proves counts only at the first request: later this prober knows better.
        targets = request.targets if known is None else map(without_evidence, request.targets)
        changed = [target for target in targets if self._apply_to_engine(target, request, at)]
        kept = {target.address for target in request.targets}
        for target in known.request.targets if known else ():
            if target.address not in kept:
                self._forget(target.address, request.key)
        return not changed

    def _apply_to_engine(self, target: EngineTarget, request: LoadRequest, at: Moment) -> bool:
        engine = self._find_engine(target, at.now)
        is_new = engine.apply_request(request, target, at, self._changing(engine))
        if is_new:
            self._calls.set_change(engine)
        return is_new

    def _find_engine(self, target: EngineTarget, now: float) -> EngineRecord:
        """The engine at an address: a new record for a new pod; listed at once when its pod becomes ready."""
        engine = self._engines.get(target.address)
        if engine is None or engine.pod != target.pod:
            engine = EngineRecord(address=target.address, pod=target.pod, is_pod_ready=target.ready)
            self._engines[target.address] = engine
            self._calls.set_list(target.address, now)
        elif target.ready and not engine.is_pod_ready:
            engine.failures = 0
            if not self._calls.is_listing(target.address):
                self._calls.set_list(target.address, now)
        engine.is_pod_ready = target.ready
        return engine

    def _changing(self, engine: EngineRecord) -> str:
        """The adapter that the engine is loading or unloading now; empty for none."""
        call = self._calls.find_change(engine.address)
        return call.adapter if call is not None and call.pod == engine.pod else ""

    def _forget(self, address: str, key: str) -> None:
        """Drop a model's adapters of an engine; if no other model wants the engine, drop the engine too."""
        engine = self._engines.get(address)
        if engine is None:
            return
        engine.forget_model(key)
        if engine.adapters:
            self._calls.set_change(engine)
            return
        del self._engines[address]
        self._calls.drop(address)

    def _end_mandates(self, now: float) -> None:
        for key, known in list(self._models.items()):
            if self._has_mandate(known, now):
                continue
            if self._has_withdrawn_load(known):
                known.last_asked = now
                continue
            del self._models[key]
            for target in known.request.targets:
                self._forget(target.address, key)

    def _has_withdrawn_load(self, known: _ModelRecord) -> bool:
        """Whether a load is under way that the model no longer wants; the adapter must be unloaded when it ends."""
        for target in known.request.targets:
            call, engine = self._calls.find_change(target.address), self._engines.get(target.address)
            if (
                call is None
                or engine is None
                or call.action is not EngineAction.LOAD
                or call.model != known.request.key
            ):
                continue
            state = engine.adapters.get(call.adapter)
            if state is not None and state.wanted.goal is Goal.UNLOADED:
                return True
        return False
