"""What the rows of the phase table write into an adapter's state, apart from the phase."""

from collections.abc import Callable
from dataclasses import replace

from hooks.model.prober.adapter_event import AdapterEvent, Occurrence
from hooks.model.prober.adapter_state import AdapterState, Goal, LateLoads, Tries
from hooks.model.prober.calls import EngineAction
from hooks.model.prober.messages import UNKNOWN_SOURCE, AdapterPhase

Update = Callable[[AdapterState, Occurrence], AdapterState]


def stay(state: AdapterState, _happened: Occurrence) -> AdapterState:
    """The same state: the event says nothing about the adapter."""
    return state


def settle(state: AdapterState, happened: Occurrence) -> AdapterState:
    """The list confirms all changes; what it says about the source of a wanted adapter is stored."""
    if state.wanted.goal is Goal.LOADED and happened.event is AdapterEvent.NOT_LISTED:
        return replace(state, accepted=None, source="")
    if state.wanted.goal is Goal.LOADED and happened.event is AdapterEvent.LISTED:
        return distrust(state, happened)
    return replace(state, accepted=None)


def distrust(state: AdapterState, happened: Occurrence) -> AdapterState:
    """The engine has the adapter, and not certainly from the wanted source.

    After loads from two sources it is unknown which one came first. If no load of ours can have brought the adapter,
    its source is unknown too.
    """
    possible = state.possible_sources(happened.at.now)
    return replace(state, accepted=None, source=next(iter(possible)) if len(possible) == 1 else UNKNOWN_SOURCE)


def note_error(state: AdapterState, happened: Occurrence) -> AdapterState:
    """As `settle`, and the error of the event is stored."""
    return replace(settle(state, happened), last_error=happened.error)


def start_over(state: AdapterState, happened: Occurrence) -> AdapterState:
    """Tries and errors are reset; what is known of the engine is kept."""
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
    """One more attempt; an unload of another source does not count as an attempt to load."""
    is_towards_goal = happened.event is AdapterEvent.LOAD_SENT or state.wanted.goal is Goal.UNLOADED
    began = happened.at.now if state.tries.began is None else state.tries.began
    return replace(state, tries=replace(state.tries, attempts=state.tries.attempts + is_towards_goal, began=began))


def accept_load(state: AdapterState, _happened: Occurrence) -> AdapterState:
    """The engine accepted the load; the next list confirms it or not."""
    return replace(state, accepted=EngineAction.LOAD, last_error="")


def accept_unload(state: AdapterState, _happened: Occurrence) -> AdapterState:
    """The engine accepted the unload; the next list confirms it or not."""
    return replace(state, accepted=EngineAction.UNLOAD, last_error="")


def back_off(state: AdapterState, happened: Occurrence) -> AdapterState:
    """One more failure, and a pause before the next call."""
    failures = state.tries.failures + 1
    tries = replace(state.tries, failures=failures, next_at=happened.at.next_try(failures))
    return replace(note_error(state, happened), tries=tries)


def give_up(state: AdapterState, happened: Occurrence) -> AdapterState:
    """No further call for this generation."""
    return replace(state, accepted=None, is_terminal=True, last_error=happened.error)


def give_up_name(state: AdapterState, happened: Occurrence) -> AdapterState:
    """As `give_up`; another load would have the other name too."""
    return replace(give_up(state, happened), is_misnamed=True)


def try_anew(state: AdapterState, happened: Occurrence) -> AdapterState:
    """As `settle`, and the next call is made at once; the error stays until then."""
    tries = replace(state.tries, failures=0, next_at=happened.at.now)
    return replace(settle(state, happened), is_terminal=False, tries=tries)


def confirm(state: AdapterState, happened: Occurrence) -> AdapterState:
    """The engine has the adapter from the wanted source; another late load of that source may still come."""
    is_stable = state.phase is AdapterPhase.LOADED and happened.at.now - state.since >= happened.at.limits.stable_after
    return replace(
        assume(state, happened),
        is_terminal=False,
        tries=replace(state.tries, failures=0, losses=0 if is_stable else state.tries.losses),
        late_loads=state.late_loads if state.late_loads.may_come(happened.at.now) else LateLoads(),
    )


def assume(state: AdapterState, happened: Occurrence) -> AdapterState:
    """The engine counts as having the adapter."""
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
    """The engine cannot have the adapter, now or after a load that is under way."""
    error = happened.error if state.wanted.goal is Goal.LOADED else ""
    return replace(clear(state, happened), last_error=error, late_loads=LateLoads())


def lose(state: AdapterState, happened: Occurrence) -> AdapterState:
    """The engine dropped the adapter; the first reload is made at once, later ones after a pause."""
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
    """As `settle`, and the next call is made at once."""
    return replace(settle(state, happened), tries=replace(state.tries, next_at=happened.at.now))
