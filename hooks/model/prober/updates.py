"""What a move of the phase table writes into an adapter's state beside the phase."""

from collections.abc import Callable
from dataclasses import replace

from hooks.model.prober.adapter_event import AdapterEvent, Occurrence
from hooks.model.prober.adapter_state import AdapterState, Goal, LateLoads, Tries
from hooks.model.prober.calls import Action
from hooks.model.prober_messages import AdapterPhase

Update = Callable[[AdapterState, Occurrence], AdapterState]


def keep(state: AdapterState, _happened: Occurrence) -> AdapterState:
    """The same state: the event says nothing about the adapter."""
    return state


def settle(state: AdapterState, happened: Occurrence) -> AdapterState:
    """No change is unconfirmed any more; of a wanted adapter the source is what the list says about it."""
    source = state.source
    if state.wanted.goal is Goal.LOADED and happened.event is AdapterEvent.NOT_LISTED:
        source = ""
    elif state.wanted.goal is Goal.LOADED and happened.event is AdapterEvent.LISTED:
        # After two loads nobody knows which one the engine lists, so neither is taken for the wanted one.
        source = state.late_loads.find_other(state.wanted.uri, happened.at.now) or source
    return replace(state, accepted=None, source=source)


def note_error(state: AdapterState, happened: Occurrence) -> AdapterState:
    """Settled, with the error."""
    return replace(settle(state, happened), last_error=happened.error)


def start_over(state: AdapterState, happened: Occurrence) -> AdapterState:
    """A new goal: no back-off and no error; what may be on the engine is still known."""
    return AdapterState(
        wanted=state.wanted,
        since=happened.at.now,
        phase=state.phase,
        source=state.source,
        changed_at=state.changed_at,
        tries=Tries(next_at=happened.at.now),
        late_loads=state.late_loads,
    )


def count_call(state: AdapterState, happened: Occurrence) -> AdapterState:
    """One attempt more; an unload that makes room for another source is none."""
    is_towards_goal = happened.event is AdapterEvent.LOAD_SENT or state.wanted.goal is Goal.UNLOADED
    began = happened.at.now if state.tries.began is None else state.tries.began
    return replace(state, tries=replace(state.tries, attempts=state.tries.attempts + is_towards_goal, began=began))


def accept_load(state: AdapterState, _happened: Occurrence) -> AdapterState:
    """The engine accepted the load; the next list confirms it or not."""
    return replace(state, accepted=Action.LOAD, last_error="")


def accept_unload(state: AdapterState, _happened: Occurrence) -> AdapterState:
    """The engine accepted the unload; the next list confirms it or not."""
    return replace(state, accepted=Action.UNLOAD, last_error="")


def back_off(state: AdapterState, happened: Occurrence) -> AdapterState:
    """One failure more, and a pause before the next call."""
    failures = state.tries.failures + 1
    tries = replace(state.tries, failures=failures, next_at=happened.at.next_try(failures))
    return replace(note_error(state, happened), tries=tries)


def give_up(state: AdapterState, happened: Occurrence) -> AdapterState:
    """No further call for this generation."""
    return replace(state, is_terminal=True, last_error=happened.error)


def confirm(state: AdapterState, happened: Occurrence) -> AdapterState:
    """The engine lists the adapter, from the wanted source as far as anybody knows."""
    is_stable = state.phase is AdapterPhase.LOADED and happened.at.now - state.since >= happened.at.limits.stable_after
    return replace(
        assume(state, happened),
        is_terminal=False,
        tries=replace(state.tries, failures=0, losses=0 if is_stable else state.tries.losses),
        late_loads=LateLoads(),
    )


def assume(state: AdapterState, happened: Occurrence) -> AdapterState:
    """The engine cannot list; it accepted the load, so it is taken to have the adapter."""
    return replace(
        state,
        accepted=None,
        source=state.wanted.uri,
        seen_at=happened.at.now,
        last_error="",
        tries=replace(state.tries, failures=0),
    )


def clear(state: AdapterState, _happened: Occurrence) -> AdapterState:
    """The engine does not have the adapter."""
    return replace(state, accepted=None, source="", last_error="", tries=replace(state.tries, failures=0))


def rule_out(state: AdapterState, happened: Occurrence) -> AdapterState:
    """The engine cannot have any adapter, and no load that is under way will bring one."""
    error = happened.error if state.wanted.goal is Goal.LOADED else ""
    return replace(clear(state, happened), last_error=error, late_loads=LateLoads())


def lose(state: AdapterState, happened: Occurrence) -> AdapterState:
    """The engine dropped the adapter: reload at once the first time, after a pause the next times."""
    losses = state.tries.losses + 1
    next_at, error = happened.at.now, "the engine lost the adapter; it is loaded again"
    if losses > 1:
        next_at = happened.at.next_try(losses)
        error = (
            f"the engine dropped the adapter {losses} times; check that it has room for all adapters and does not "
            "restart"
        )
    tries = replace(state.tries, attempts=0, began=None, losses=losses, next_at=next_at)
    return replace(settle(state, happened), last_error=error, tries=tries)


def retry_now(state: AdapterState, happened: Occurrence) -> AdapterState:
    """Settled, and the next call is made at once."""
    return replace(settle(state, happened), tries=replace(state.tries, next_at=happened.at.now))
