"""What the prober knows of one engine: its last list, the state of each adapter, and the change to make next.

It knows no other engine and makes no call.
"""

from dataclasses import dataclass, field, replace

from hooks.model.prober.adapter import (
    apply_answer,
    apply_listing,
    choose_action,
    find_other_name,
    set_wanted,
    start_call,
)
from hooks.model.prober.adapter_state import AdapterState, LateLoads, Listing, ListResult, WantedAdapter
from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer, EngineCall
from hooks.model.prober.limits import Moment
from hooks.model.prober.messages import AdapterPhase, EngineTarget, LoadRequest

_RESULTS = {
    CallOutcome.OK: ListResult.LISTED,
    CallOutcome.NO_LIST: ListResult.NO_LIST,
    CallOutcome.UNSUPPORTED: ListResult.UNSUPPORTED,
}
_LONGEST_PAUSE_AFTER_TIMEOUT, _LONGEST_PAUSE_AFTER_FAILURE = 6.0, 1.5
"""Verify intervals between two list calls to an engine that fails. A call that times out holds a connection for
seconds, so the pause may grow long. An engine that refuses connections may be restarting, so it stays short."""

_STARTUP_FAILURES = 5
"""Loads that an engine with a list of adapters may answer with "no LoRA support" while it starts: about 30 seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseChange:
    """An adapter on an engine changed its phase.

    `seconds` have passed since the first call towards its goal, or for a lost adapter since it was last seen.
    """

    model: str
    pod: str
    address: str
    adapter: str
    attempt: int
    before: AdapterPhase
    after: AdapterPhase
    error: str
    seconds: float

    @property
    def is_loss(self) -> bool:
        """Whether the engine lost an adapter that it had."""
        return self.before.is_ready and self.after is AdapterPhase.PENDING


@dataclass(slots=True, kw_only=True)
class EngineRecord:
    """One engine; `adapters` by name, `failures` counts failed list calls in a row.

    `has_listed`: it listed its adapters before, so an answer without a list is an error, not a missing feature.
    """

    address: str
    pod: str
    is_pod_ready: bool
    listing: Listing = field(default_factory=Listing)
    failures: int = 0
    has_listed: bool = False
    adapters: dict[str, AdapterState] = field(default_factory=dict)

    def apply_request(self, request: LoadRequest, target: EngineTarget, at: Moment, changing: str) -> bool:
        """Store what a model wants of this engine; True if that changes anything.

        `changing` is the adapter that is being loaded or unloaded now; empty for none.
        """
        unwanted = self._find_unwanted(request)
        is_new = request.adapter is not None and self._want_loaded(request, target, at=at, changing=changing)
        for name in unwanted:
            self._want_unloaded(name, request, target, at=at, changing=changing)
        return is_new or bool(unwanted)

    def _want_loaded(self, request: LoadRequest, target: EngineTarget, *, at: Moment, changing: str) -> bool:
        adapter = request.adapter
        if adapter is None:
            return False
        wanted = WantedAdapter(
            name=adapter.name,
            model=request.key,
            uri=adapter.uri,
            generation=request.generation,
            is_recorded=request.is_recorded,
        )
        known = self.adapters.get(adapter.name)
        if known is None:
            self._put(_restore(wanted, target, at), at, changing)
        elif known.wanted == wanted:
            return False
        elif known.wanted.model == request.key or not known.wanted.uri:
            self._put(set_wanted(known, wanted, at), at, changing)
        return True

    def _find_unwanted(self, request: LoadRequest) -> list[str]:
        """Adapters that must not be here: those the request names, and others of the model that this prober knows."""
        current = request.adapter.name if request.adapter else None
        if not request.former and self.adapters.keys() == {current}:
            return []
        own = {name for name, state in self.adapters.items() if state.wanted.model == request.key}
        return sorted((own | set(request.former)) - {current})

    def _want_unloaded(
        self, name: str, request: LoadRequest, target: EngineTarget, *, at: Moment, changing: str
    ) -> None:
        known = self.adapters.get(name)
        wanted = WantedAdapter(name=name, model=request.key, uri="", generation=request.generation)
        if known is None:
            late_loads = _read_late_loads(target, at)
            self._put(AdapterState(wanted=wanted, since=at.now, late_loads=late_loads), at, changing)
        elif known.wanted.model != request.key:
            return
        elif not known.wanted.uri and known.phase is AdapterPhase.UNLOADED and name not in request.former:
            del self.adapters[name]
        else:
            self._put(set_wanted(known, wanted, at), at, changing)

    def _put(self, state: AdapterState, at: Moment, changing: str) -> None:
        """Store a state, brought up to date by the last list."""
        name = state.wanted.name
        self.adapters[name] = state if name == changing else apply_listing(state, self.listing, at)

    def forget_model(self, model: str) -> None:
        """Drop the adapters of a model; the engine keeps what it has."""
        self.adapters = {name: state for name, state in self.adapters.items() if state.wanted.model != model}

    def choose_change(self) -> tuple[AdapterState, EngineAction] | None:
        """The load or unload that is due first; None if there is nothing to do."""
        changes = [
            (state.tries.next_at, name, state, action)
            for name, state in self.adapters.items()
            if (action := choose_action(state, self.listing)) is not None
        ]
        if not changes:
            return None
        _, _, state, action = min(changes, key=lambda change: change[:2])
        return state, action

    def start_change(self, state: AdapterState, action: EngineAction, at: Moment) -> AdapterState:
        """Store and return the state of an adapter whose load or unload is sent now."""
        started = start_call(state, action, at, self.listing.names.union(self.adapters))
        self.adapters[state.wanted.name] = started
        return started

    def finish_list(self, call: EngineCall, answer: EngineAnswer, at: Moment, changing: str) -> list[PhaseChange]:
        """Store the result of a list call, and return the changes of phase."""
        result, error = _RESULTS.get(answer.outcome, ListResult.DOWN), answer.message
        if result is ListResult.NO_LIST and self.has_listed:
            result, error = ListResult.DOWN, "the engine listed its adapters before and does not now"
        self.has_listed |= result is ListResult.LISTED
        self.listing = Listing(result=result, sent=call.started, names=answer.names, error=error)
        self.failures = self.failures + 1 if result is ListResult.DOWN else 0
        changes = []
        for name, state in list(self.adapters.items()):
            if name != changing:
                changes += self._record(state, apply_listing(state, self.listing, at), at.now)
                if other := find_other_name(state, self.listing):
                    self._put(_build_unwanted(other, state, at), at, changing)
        return changes

    def finish_change(self, call: EngineCall, answer: EngineAnswer, at: Moment) -> list[PhaseChange]:
        """Store the result of a load or unload, and return the changes of phase."""
        state = self.adapters.get(call.adapter)
        if state is None:
            return []
        if state.tries.failures < _STARTUP_FAILURES and self._may_be_starting(call, answer):
            message = f"{answer.message}; the engine may be starting"
            answer = replace(answer, outcome=CallOutcome.FAILED, message=message)
        return self._record(state, apply_answer(state, call, answer, at), at.now)

    def _may_be_starting(self, call: EngineCall, answer: EngineAnswer) -> bool:
        """Whether the engine lists adapters but takes no loads yet: it registers its handlers one by one."""
        is_refused = call.action is EngineAction.LOAD and answer.outcome is CallOutcome.UNSUPPORTED
        return is_refused and self.listing.result is ListResult.LISTED

    def next_list(self, call: EngineCall, answer: EngineAnswer, at: Moment) -> float:
        """When to list again after a list call; at once if a load or unload ended meanwhile."""
        interval = at.limits.verify_interval
        if any(state.changed_at > call.started for state in self.adapters.values()):
            return at.now
        if not self.failures:
            return at.now + interval * (0.9 + 0.2 * at.jitter)
        is_timeout = answer.outcome is CallOutcome.TIMEOUT
        longest = interval * (_LONGEST_PAUSE_AFTER_TIMEOUT if is_timeout else _LONGEST_PAUSE_AFTER_FAILURE)
        return at.now + at.jitter * min(longest, at.limits.first_backoff * 2.0 ** min(self.failures, 20))

    def _record(self, before: AdapterState, after: AdapterState, now: float) -> list[PhaseChange]:
        """Store the state after an event, and return the change of phase, if there is one."""
        is_final = after.phase.is_final
        stored = replace(after, tries=replace(after.tries, began=None)) if is_final else after
        self.adapters[after.wanted.name] = stored
        if before.phase is after.phase:
            return []
        start = before.seen_at if before.phase.is_ready else after.tries.began
        change = PhaseChange(
            model=after.wanted.model,
            pod=self.pod,
            address=self.address,
            adapter=after.wanted.name,
            attempt=after.tries.attempts,
            before=before.phase,
            after=after.phase,
            error=after.last_error,
            seconds=now - start if start is not None else 0.0,
        )
        return [change]


def _restore(wanted: WantedAdapter, target: EngineTarget, at: Moment) -> AdapterState:
    """The state of an adapter that is new to this prober, from what the model's status says about the engine."""
    state = AdapterState(wanted=wanted, since=at.now, source=target.recorded, late_loads=_read_late_loads(target, at))
    if not target.failed:
        return state
    return replace(state, phase=AdapterPhase.FAILED, last_error=target.failed, is_terminal=True)


def _read_late_loads(target: EngineTarget, at: Moment) -> LateLoads:
    """The loads that may still be under way, by what the model's status says about the engine."""
    return LateLoads(sources=frozenset(target.loading), until=at.now + at.limits.late_load_window)


def _build_unwanted(name: str, asked: AdapterState, at: Moment) -> AdapterState:
    """The state of a name under which an engine listed a load of another name; it is unloaded again."""
    wanted = WantedAdapter(name=name, model=asked.wanted.model, uri="", generation=asked.wanted.generation)
    return AdapterState(wanted=wanted, since=at.now)
