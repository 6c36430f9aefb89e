"""Which calls to engines are due: lists, first reloads after a loss, and other changes, each in a queue of its own.

An engine has one list under way at most, and one load or unload. This module knows no models: what an engine needs is
in its record.
"""

from collections.abc import Callable, Iterator, Mapping

from hooks.model.prober.adapter_state import AdapterState
from hooks.model.prober.call_queue import CallQueue
from hooks.model.prober.calls import EngineAction, EngineCall
from hooks.model.prober.engine_record import EngineRecord
from hooks.model.prober.limits import Limits, Moment


class CallSchedule:
    """The calls that wait for their time, and those under way."""

    def __init__(self, limits: Limits) -> None:
        """Start with no call."""
        concurrency, limit = limits.concurrency, limits.max_calls
        self._limits = limits
        self._lists = CallQueue[EngineCall](concurrency=concurrency, grace=limits.list_grace, limit=limit)
        self._changes = CallQueue[EngineCall](concurrency=concurrency, grace=limits.change_grace, limit=limit)
        self._reloads = CallQueue[EngineCall](concurrency=concurrency, grace=limits.change_grace, limit=limit)

    def take_due(
        self, engines: Mapping[str, EngineRecord], at: Moment, trace_of: Callable[[str], str]
    ) -> list[EngineCall]:
        """Start the calls that are due now; `trace_of` has the trace of a model."""
        queues = (self._reloads, self._changes)
        changes = (call for queue in queues for call in self._take_changes(queue, engines, at, trace_of))
        return [*self._take_lists(engines, at.now), *changes]

    def next_due(self, now: float) -> float | None:
        """When a call may start next, unless something else comes first; None for never."""
        times = [time for queue in self._queues if (time := queue.next_due(now)) is not None]
        return min(times, default=None)

    def overdue(self, now: float) -> list[EngineCall]:
        """Calls that run far longer than their timeout."""
        return [call for queue in self._queues for call in queue.running.overdue(now)]

    def end(self, call: EngineCall) -> bool:
        """Remove a call that ended; False if it was removed before."""
        return any(queue.running.remove(call) for queue in self._queues)

    def find_change(self, address: str) -> EngineCall | None:
        """The load or unload under way to an engine; there is one at most."""
        return self._reloads.running.get(address) or self._changes.running.get(address)

    def is_listing(self, address: str) -> bool:
        """Whether a list of an engine is under way."""
        return self._lists.running.get(address) is not None

    def set_list(self, address: str, time: float) -> None:
        """List an engine at that time, and at no other."""
        self._lists.waiting.set(address, time)

    def set_change(self, engine: EngineRecord) -> None:
        """Put an engine's next load or unload into its queue, and remove it from the other one."""
        chosen = engine.choose_change() if self.find_change(engine.address) is None else None
        for queue in (self._reloads, self._changes):
            if chosen is not None and chosen[0].is_first_reload == (queue is self._reloads):
                queue.waiting.set(engine.address, chosen[0].tries.next_at)
            else:
                queue.waiting.drop(engine.address)

    def drop(self, address: str) -> None:
        """Start no further call to an engine."""
        for queue in self._queues:
            queue.waiting.drop(address)

    @property
    def _queues(self) -> tuple[CallQueue[EngineCall], ...]:
        return self._lists, self._reloads, self._changes

    def _take_lists(self, engines: Mapping[str, EngineRecord], now: float) -> Iterator[EngineCall]:
        timeout = self._limits.list_timeout
        for address in self._lists.take(now):
            if self.is_listing(address):
                self._lists.waiting.set(address, now + timeout)
                continue
            pod = engines[address].pod
            call = EngineCall(action=EngineAction.LIST, address=address, pod=pod, timeout=timeout, started=now)
            self._lists.running.add(call)
            yield call

    def _take_changes(
        self,
        queue: CallQueue[EngineCall],
        engines: Mapping[str, EngineRecord],
        at: Moment,
        trace_of: Callable[[str], str],
    ) -> Iterator[EngineCall]:
        for address in queue.take(at.now):
            engine = engines[address]
            chosen = engine.choose_change()
            if chosen is None:
                continue
            state, action = chosen
            started = engine.start_change(state, action, at)
            call = self._build_change(engine, started, action, at.now, traceparent=trace_of(state.wanted.model))
            queue.running.add(call)
            yield call

    def _build_change(
        self, engine: EngineRecord, state: AdapterState, action: EngineAction, now: float, *, traceparent: str
    ) -> EngineCall:
        is_load = action is EngineAction.LOAD
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
            traceparent=traceparent,
        )
