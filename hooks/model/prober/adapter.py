"""One adapter on one engine: turns requests, lists and answers into events of the phase table, and picks the next call.

Pure; time comes with a `Moment`.
"""

from dataclasses import replace

from hooks.model.prober.adapter_event import AdapterEvent, Occurrence
from hooks.model.prober.adapter_state import AdapterState, Goal, LateLoads, Listing, ListResult, WantedAdapter
from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer, EngineCall
from hooks.model.prober.limits import Moment
from hooks.model.prober.messages import AdapterPhase
from hooks.model.prober.phases import advance

_NO_ANSWER = frozenset({CallOutcome.TIMEOUT, CallOutcome.UNREACHABLE})
"""After these ends of a load the engine may still finish it."""
_EVENTS = {
    ListResult.DOWN: AdapterEvent.LIST_FAILED,
    ListResult.UNSUPPORTED: AdapterEvent.NO_LORA,
    ListResult.NO_LIST: AdapterEvent.NO_LIST,
}


def set_wanted(state: AdapterState, wanted: WantedAdapter, at: Moment) -> AdapterState:
    """The state after a request; a new source is a new goal, and so is a new generation after a final failure."""
    is_same_source, is_same_generation = state.wanted.uri == wanted.uri, state.wanted.generation == wanted.generation
    wanting = replace(state, wanted=wanted)
    if is_same_source and is_same_generation:
        return wanting
    if is_same_source and not state.is_terminal:
        return replace(wanting, tries=replace(state.tries, next_at=at.now))
    return advance(wanting, Occurrence(event=AdapterEvent.NEW_GOAL, at=at))


def apply_listing(state: AdapterState, listing: Listing, at: Moment) -> AdapterState:
    """The state after a list call; one that was sent before the last load or unload ended is outdated."""
    if listing.result is ListResult.NONE or _is_outdated(listing, state):
        return state
    event = _EVENTS.get(listing.result)
    if event is None:
        event = _read_list(state, listing)
    return advance(state, Occurrence(event=event, at=at, error=listing.error))


def _read_list(state: AdapterState, listing: Listing) -> AdapterEvent:
    if state.wanted.name in listing.names:
        return AdapterEvent.LISTED
    return AdapterEvent.LISTED_AS_OTHER if find_other_name(state, listing) else AdapterEvent.NOT_LISTED


def find_other_name(state: AdapterState, listing: Listing) -> str:
    """The only new name on the list after a load that the engine accepted, if it is not the wanted one; else empty."""
    if (
        listing.result is not ListResult.LISTED
        or state.accepted is not EngineAction.LOAD
        or _is_outdated(listing, state)
    ):
        return ""
    new = listing.names - state.known_names
    return next(iter(new)) if len(new) == 1 and state.wanted.name not in listing.names else ""


def start_call(state: AdapterState, action: EngineAction, at: Moment, known_names: frozenset[str]) -> AdapterState:
    """The state while a load or unload is under way; `known_names` are those of the engine's other adapters."""
    event = AdapterEvent.LOAD_SENT if action is EngineAction.LOAD else AdapterEvent.UNLOAD_SENT
    return advance(replace(state, known_names=known_names), Occurrence(event=event, at=at))


def apply_answer(state: AdapterState, call: EngineCall, answer: EngineAnswer, at: Moment) -> AdapterState:
    """The state after a load or unload ended; a load of a source that is no longer wanted is no event."""
    noted = _note_answer(state, call, answer, at)
    if call.action is EngineAction.LOAD and call.uri != state.wanted.uri:
        return noted
    return advance(noted, Occurrence(event=_read_event(call, answer), at=at, error=answer.message))


def _note_answer(state: AdapterState, call: EngineCall, answer: EngineAnswer, at: Moment) -> AdapterState:
    """The state after any load or unload: whether the engine has the adapter, and which loads may still arrive."""
    source, late = state.source, state.late_loads
    if _is_unloaded(call, answer):
        source = ""
    elif call.action is EngineAction.LOAD and answer.outcome is CallOutcome.OK:
        source, late = call.uri, replace(late, is_over=True)
    if call.action is EngineAction.LOAD and answer.outcome in _NO_ANSWER:
        late = LateLoads(sources=late.sources | {call.uri}, until=at.now + at.limits.late_load_window)
    elif call.action is EngineAction.UNLOAD and answer.outcome is CallOutcome.OK:
        # One of several late loads may come after this unload. That must not be taken for the next load.
        late = LateLoads() if late.is_over or state.wanted.goal is Goal.UNLOADED else late
    return replace(state, changed_at=at.now, source=source, late_loads=late, accepted=None)


def _is_unloaded(call: EngineCall, answer: EngineAnswer) -> bool:
    """Whether an unload leaves nothing behind: an engine without the adapter, or without LoRA support, has none."""
    unloaded = {CallOutcome.OK, CallOutcome.GONE, CallOutcome.UNSUPPORTED}
    return call.action is EngineAction.UNLOAD and answer.outcome in unloaded


def _read_event(call: EngineCall, answer: EngineAnswer) -> AdapterEvent:
    if _is_unloaded(call, answer):
        return AdapterEvent.UNLOAD_ACCEPTED
    match answer.outcome:
        case CallOutcome.OK:
            return AdapterEvent.LOAD_ACCEPTED
        case CallOutcome.TERMINAL:
            return AdapterEvent.CALL_REFUSED
        case CallOutcome.UNSUPPORTED:
            return AdapterEvent.LOAD_UNSUPPORTED
        case _:
            return AdapterEvent.CALL_FAILED


def choose_action(state: AdapterState, listing: Listing) -> EngineAction | None:
    """The call to make at `next_at`; None when there is nothing to do, or the engine takes no changes.

    After a load or unload the next call waits for a list: what the engine has then decides between the two.
    """
    is_idle = state.phase.is_final or state.phase is AdapterPhase.UNKNOWN or state.accepted is not None
    if is_idle or state.is_terminal or not state.wanted.is_recorded:
        return None
    if _is_outdated(listing, state) or not listing.takes_changes:
        return None
    is_there = listing.result is ListResult.NO_LIST or state.wanted.name in listing.names
    if state.wanted.goal is Goal.UNLOADED:
        return EngineAction.UNLOAD if is_there else None
    return EngineAction.UNLOAD if is_there and state.source not in {"", state.wanted.uri} else EngineAction.LOAD


def _is_outdated(listing: Listing, state: AdapterState) -> bool:
    """Whether the list shows the engine as it was before its last load or unload."""
    return listing.result is ListResult.LISTED and listing.sent < state.changed_at
