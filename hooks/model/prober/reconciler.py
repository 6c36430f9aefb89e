"""Compares the wanted adapters of models with the lists of engines, and decides when to make which call.

This module, or one that it imports, makes every decision of the prober. Time is an argument, in seconds of a monotonic
clock. Not thread-safe. The prober acts for a model while the model has a mandate; every request about the model renews
the mandate. With several hooks pods it acts only during a term, and forgets everything when another term begins.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hooks.model.prober.adapter_state import AdapterState, Goal
from hooks.model.prober.call_queue import CallQueue
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
        limits = self._limits
        self._models: dict[str, _ModelRecord] = {}
        self._engines: dict[str, EngineRecord] = {}
        concurrency, limit = limits.concurrency, limits.max_calls
        self._lists = CallQueue(concurrency=concurrency, grace=limits.list_grace, limit=limit)
        self._changes = CallQueue(concurrency=concurrency, grace=limits.change_grace, limit=limit)
        self._reloads = CallQueue(concurrency=concurrency, grace=limits.change_grace, limit=limit)

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
        return [*self._due_lists(now), *self._due_changes(self._reloads, now), *self._due_changes(self._changes, now)]

    def give_up(self, now: float) -> list[EngineCall]:
        """Calls that run far longer than their timeout; the caller must `finish` them as timed out."""
        return [call for queue in self._queues for call in queue.running.overdue(now)]

    def next_due(self, now: float) -> float | None:
        """When `due` may have a call next, unless something else comes first; None for never."""
        if not self.is_acting(now):
            return None
        times = [time for queue in self._queues if (time := queue.next_due(now)) is not None]
        return min(times, default=None)

    def finish(self, call: EngineCall, answer: EngineAnswer, now: float, jitter: float) -> list[PhaseChange]:
        """Store the answer to a call, and return the changes of phase; a call that was given up changes nothing."""
        if not any(queue.running.remove(call) for queue in self._queues):
            return []
        engine = self._engines.get(call.address)
        if engine is None or engine.pod != call.pod:
            return []
        at = self._moment(now, jitter)
        if call.action is EngineAction.LIST:
            changes = engine.finish_list(call, answer, at, self._changing(engine))
            self._lists.waiting.set(engine.address, engine.next_list(call, answer, at))
        else:
            changes = engine.finish_change(call, answer, at)
            self._lists.waiting.set(engine.address, now)  # only a list shows whether the answer is true
        self._schedule_change(engine)
        return changes

    @property
    def _queues(self) -> tuple[CallQueue, CallQueue, CallQueue]:
        return self._lists, self._reloads, self._changes

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
            self._schedule_change(engine)
        return is_new

    def _find_engine(self, target: EngineTarget, now: float) -> EngineRecord:
        """The engine at an address: a new record for a new pod; listed at once when its pod becomes ready."""
        engine = self._engines.get(target.address)
        if engine is None or engine.pod != target.pod:
            engine = EngineRecord(address=target.address, pod=target.pod, is_pod_ready=target.ready)
            self._engines[target.address] = engine
            self._lists.waiting.set(target.address, now)
        elif target.ready and not engine.is_pod_ready:
            engine.failures = 0
            if self._lists.running.get(target.address) is None:
                self._lists.waiting.set(target.address, now)
        engine.is_pod_ready = target.ready
        return engine

    def _changing(self, engine: EngineRecord) -> str:
        """The adapter that the engine is loading or unloading now; empty for none."""
        call = self._find_change(engine.address)
        return call.adapter if call is not None and call.pod == engine.pod else ""

    def _find_change(self, address: str) -> EngineCall | None:
        """The load or unload under way to an engine; there is one at most."""
        return self._reloads.running.get(address) or self._changes.running.get(address)

    def _forget(self, address: str, key: str) -> None:
        """Drop a model's adapters of an engine; if no other model wants the engine, drop the engine too."""
        engine = self._engines.get(address)
        if engine is None:
            return
        engine.forget_model(key)
        if engine.adapters:
            self._schedule_change(engine)
            return
        del self._engines[address]
        for queue in self._queues:
            queue.waiting.drop(address)

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
            call, engine = self._find_change(target.address), self._engines.get(target.address)
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

    def _due_lists(self, now: float) -> Iterator[EngineCall]:
        timeout = self._limits.list_timeout
        for address in self._lists.take(now):
            if self._lists.running.get(address) is not None:
                self._lists.waiting.set(address, now + timeout)
                continue
            pod = self._engines[address].pod
            call = EngineCall(action=EngineAction.LIST, address=address, pod=pod, timeout=timeout, started=now)
            self._lists.running.add(call)
            yield call

    def _due_changes(self, queue: CallQueue, now: float) -> Iterator[EngineCall]:
        for address in queue.take(now):
            engine = self._engines[address]
            chosen = engine.choose_change()
            if chosen is None:
                continue
            state, action = chosen
            started = engine.start_change(state, action, self._moment(now))
            call = self._build_change(engine, started, action, now)
            queue.running.add(call)
            yield call

    def _build_change(self, engine: EngineRecord, state: AdapterState, action: EngineAction, now: float) -> EngineCall:
        is_load = action is EngineAction.LOAD
        asked = self._models.get(state.wanted.model)
        return EngineCall(
            action=action,
            address=engine.address,
            pod=engine.pod,
            timeout=self._limits.load_timeout if is_load else self._limits.unload_timeout,
            started=now,
            adapter=state.wanted.name,
            uri=state.wanted.uri if is_load else "",
            model=state.wanted.model,
            attempt=state.tries.attempts,
            traceparent=asked.traceparent if asked else "",
        )

    def _schedule_change(self, engine: EngineRecord) -> None:
        """Put an engine's next load or unload into its queue, and remove it from the other one."""
        chosen = engine.choose_change() if self._find_change(engine.address) is None else None
        for queue in (self._reloads, self._changes):
            if chosen is not None and chosen[0].is_first_reload == (queue is self._reloads):
                queue.waiting.set(engine.address, chosen[0].tries.next_at)
            else:
                queue.waiting.drop(engine.address)
