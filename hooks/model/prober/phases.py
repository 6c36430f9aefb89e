"""The phases of one adapter on one engine: a table from event and state to the next phase; the first match wins.

    To be loaded:

        Unknown --list--> Pending --load--> Loading --listed, or no list--> Loaded, Unverified
                           ^   ^               |                                    |
                           |   |               | call failed, or not listed         |
                           |   |               v                                    |
                           |   +---list---- Retrying --load--> Loading              |
                           |                                                        |
                           +---------------------- not listed ----------------------+

        Pending --unload of another or an unknown source--> Unloading --not listed--> Pending

    To be unloaded:

        Unknown --list--> Unloading --not listed; or unload accepted, and no list--> Unloaded
                           ^   ^ |                                                      |
                           |   | | call failed, or still listed                         |
                           |   | v                                                      |
                           |  Retrying --unload--> Unloading                            |
                           |                                                            |
                           +------------------------- listed ---------------------------+

    From every phase:

        --new goal--> Pending or Unloading; Unknown stays
        --call refused, or listed under another name after a load--> Failed
        --load unsupported--> Unsupported
        --no LoRA support--> Unsupported; Unloaded if it is to be unloaded
        --list failed--> Retrying; a failed or unloaded adapter stays, and one that was seen lately

From `Retrying` a list leads on only if no load or unload failed; otherwise the next call follows after a pause.
`Failed`, and `Unsupported` after a load, end with a new goal, or when the engine lists the adapter after a late load of
the wanted source. After a long pause, `Failed` becomes `Pending` again,
unless the engine lists another name.

A list has names and no sources. So an adapter that is listed counts as the wanted one only if its source is known: by a
load of this prober, or by the model's status. Any other adapter of that name is a stranger's. It is unloaded, and
loaded again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from hooks.model.prober.adapter_event import AdapterEvent, Occurrence
from hooks.model.prober.adapter_state import AdapterState, Goal
from hooks.model.prober.calls import EngineAction
from hooks.model.prober.messages import AdapterPhase
from hooks.model.prober.updates import (
    Update,
    accept_load,
    accept_unload,
    assume,
    back_off,
    clear,
    confirm,
    count_call,
    distrust,
    give_up,
    give_up_name,
    lose,
    note_error,
    retry_now,
    rule_out,
    settle,
    start_over,
    stay,
    try_anew,
)

_STILL_LISTED = "the engine still lists the adapter after it was unloaded"
_NOT_LISTED = "the engine accepted the load and does not list the adapter"
_LATE_LOAD = "a load that was under way may still arrive; it is unloaded then"
_OTHER_NAME = (
    "after the load the engine lists another name than spec.modelName, which is unloaded again; "
    "name the model as the engine names the adapter"
)


class AdapterFact(StrEnum):
    """What else the table asks about a state."""

    TERMINAL = "no further call is made for this generation"
    LOAD_UNCONFIRMED = "the engine accepted a load, and no list has confirmed it yet"
    UNLOAD_UNCONFIRMED = "the engine accepted an unload, and no list has confirmed it yet"
    CALL_FAILED = "the last load or unload failed"
    SEEN_LATELY = "the engine had the adapter within two intervals"
    SOURCE_KNOWN = "the engine is known to have loaded the wanted source"
    SOURCE_FITS = "if the engine has the adapter, it is from the wanted source"
    LATE_LOAD = "a load of another source may still arrive"
    FAILED_LONG_AGO = "the last refusal is so old that another call may succeed"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterSituation:
    """All that the table depends on."""

    event: AdapterEvent
    goal: Goal
    phase: AdapterPhase
    facts: frozenset[AdapterFact] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRow:
    """One line of the table; an empty set of events, goals or phases matches all of them.

    `then` is the next phase, None if the phase stays. `update` changes the rest of the state. `error` replaces the
    error of the event.
    """

    then: AdapterPhase | None
    update: Update
    events: frozenset[AdapterEvent]
    goals: frozenset[Goal] = frozenset()
    phases: frozenset[AdapterPhase] = frozenset()
    facts: frozenset[AdapterFact] = frozenset()
    error: str = ""

    def matches(self, found: AdapterSituation) -> bool:
        """Whether the line applies to this situation."""
        return (
            found.event in self.events
            and (not self.goals or found.goal in self.goals)
            and (not self.phases or found.phase in self.phases)
            and self.facts <= found.facts
        )


def _row(*values: StrEnum, then: AdapterPhase | None, update: Update, error: str = "") -> PhaseRow:
    """A line that matches one of the given events, goals and phases, and requires all given facts."""
    return PhaseRow(
        then=then,
        update=update,
        events=frozenset(value for value in values if isinstance(value, AdapterEvent)),
        goals=frozenset(value for value in values if isinstance(value, Goal)),
        phases=frozenset(value for value in values if isinstance(value, AdapterPhase)),
        facts=frozenset(value for value in values if isinstance(value, AdapterFact)),
        error=error,
    )


_E, _P, _F = AdapterEvent, AdapterPhase, AdapterFact
_LOADED, _UNLOADED = Goal.LOADED, Goal.UNLOADED
_READY = (_P.LOADED, _P.UNVERIFIED)
_ANSWERED = (_E.LISTED, _E.NOT_LISTED, _E.NO_LIST)

TABLE = (
    # A new goal. Before the first list, the next call is unknown.
    _row(_E.NEW_GOAL, _P.UNKNOWN, then=_P.UNKNOWN, update=start_over),
    _row(_E.NEW_GOAL, _LOADED, then=_P.PENDING, update=start_over),
    _row(_E.NEW_GOAL, _UNLOADED, then=_P.UNLOADING, update=start_over),
    # A call and its end; a list must confirm what the engine accepted.
    _row(_E.LOAD_SENT, then=_P.LOADING, update=count_call),
    _row(_E.UNLOAD_SENT, then=_P.UNLOADING, update=count_call),
    _row(_E.LOAD_ACCEPTED, then=None, update=accept_load),
    _row(_E.UNLOAD_ACCEPTED, then=None, update=accept_unload),
    _row(_E.CALL_FAILED, then=_P.RETRYING, update=back_off),
    _row(_E.CALL_REFUSED, then=_P.FAILED, update=give_up),
    _row(_E.LOAD_UNSUPPORTED, then=_P.UNSUPPORTED, update=give_up),
    # A failed list changes nothing that is final. An engine that had the adapter lately may only be busy.
    _row(_E.LIST_FAILED, _F.TERMINAL, then=None, update=stay),
    _row(_E.LIST_FAILED, _P.UNLOADED, then=None, update=stay),
    _row(_E.LIST_FAILED, _F.SEEN_LATELY, then=None, update=stay),
    _row(_E.LIST_FAILED, then=_P.RETRYING, update=note_error),
    # An engine without LoRA support has no adapter.
    _row(_E.NO_LORA, _LOADED, then=_P.UNSUPPORTED, update=rule_out),
    _row(_E.NO_LORA, _UNLOADED, then=_P.UNLOADED, update=rule_out),
    # What was refused long ago is tried again: the source may have come, or the hub may answer again.
    _row(*_ANSWERED, _P.FAILED, _F.FAILED_LONG_AGO, then=_P.PENDING, update=try_anew),
    # An engine that cannot list: what it accepted counts as done.
    _row(_E.NO_LIST, _F.TERMINAL, then=None, update=stay),
    _row(_E.NO_LIST, _LOADED, _F.LOAD_UNCONFIRMED, _F.LATE_LOAD, then=_P.PENDING, update=distrust),
    _row(_E.NO_LIST, _LOADED, _F.LOAD_UNCONFIRMED, then=_P.UNVERIFIED, update=assume),
    _row(_E.NO_LIST, _LOADED, *_READY, then=_P.UNVERIFIED, update=assume),
    _row(_E.NO_LIST, _LOADED, _P.UNKNOWN, _F.SOURCE_KNOWN, then=_P.UNVERIFIED, update=assume),
    _row(_E.NO_LIST, _UNLOADED, _P.UNLOADED, then=None, update=stay),
    _row(
        _E.NO_LIST,
        _UNLOADED,
        _F.UNLOAD_UNCONFIRMED,
        _F.LATE_LOAD,
        then=_P.RETRYING,
        update=back_off,
        error=_LATE_LOAD,
    ),
    _row(_E.NO_LIST, _UNLOADED, _F.UNLOAD_UNCONFIRMED, then=_P.UNLOADED, update=clear),
    # The engine lists the adapter.
    _row(_E.LISTED, _LOADED, _F.SOURCE_FITS, then=_P.LOADED, update=confirm),
    _row(_E.LISTED, _F.UNLOAD_UNCONFIRMED, then=_P.RETRYING, update=back_off, error=_STILL_LISTED),
    _row(_E.LISTED, _UNLOADED, _P.UNLOADED, then=_P.UNLOADING, update=retry_now),
    # The engine lists its adapters without this one.
    _row(_E.LISTED_AS_OTHER, then=_P.FAILED, update=give_up_name, error=_OTHER_NAME),
    _row(_E.NOT_LISTED, _UNLOADED, _F.LATE_LOAD, then=_P.UNLOADING, update=note_error, error=_LATE_LOAD),
    _row(_E.NOT_LISTED, _UNLOADED, then=_P.UNLOADED, update=clear),
    _row(_E.NOT_LISTED, *_READY, then=_P.PENDING, update=lose),
    _row(_E.NOT_LISTED, _F.LOAD_UNCONFIRMED, then=_P.RETRYING, update=back_off, error=_NOT_LISTED),
    # The engine answers, and the goal is not reached; a failed call stays visible until the next one.
    _row(*_ANSWERED, _F.TERMINAL, then=None, update=settle),
    _row(*_ANSWERED, _P.RETRYING, _F.CALL_FAILED, then=None, update=settle),
    _row(*_ANSWERED, _LOADED, then=_P.PENDING, update=settle),
    _row(*_ANSWERED, _UNLOADED, then=_P.UNLOADING, update=settle),
)
_ROWS = {event: tuple(row for row in TABLE if event in row.events) for event in AdapterEvent}


def find_row(found: AdapterSituation) -> PhaseRow:
    """The first row that matches; the last row of each event matches every situation."""
    return next(row for row in _ROWS[found.event] if row.matches(found))


def advance(state: AdapterState, happened: Occurrence) -> AdapterState:
    """The state after an event."""
    row = find_row(describe(state, happened))
    updated = row.update(state, replace(happened, error=row.error) if row.error else happened)
    if row.then is None or row.then is state.phase:
        return updated
    return replace(updated, phase=row.then, since=happened.at.now)


def describe(state: AdapterState, happened: Occurrence) -> AdapterSituation:
    """The situation of a state when an event happens."""
    facts = frozenset(_find_facts(state, happened))
    return AdapterSituation(event=happened.event, goal=state.wanted.goal, phase=state.phase, facts=facts)


def _find_facts(state: AdapterState, happened: Occurrence) -> Iterator[AdapterFact]:
    now, uri = happened.at.now, state.wanted.uri
    holds = (
        (_F.TERMINAL, state.is_terminal),
        (_F.LOAD_UNCONFIRMED, state.accepted is EngineAction.LOAD),
        (_F.UNLOAD_UNCONFIRMED, state.accepted is EngineAction.UNLOAD),
        (_F.CALL_FAILED, state.tries.failures > 0),
        (_F.SEEN_LATELY, state.phase.is_ready and now - state.seen_at <= 2 * happened.at.limits.verify_interval),
        (_F.SOURCE_KNOWN, state.source == uri),
        (_F.SOURCE_FITS, state.possible_sources(now) == {uri}),
        (_F.LATE_LOAD, state.late_loads.may_bring_other(uri, now)),
        (_F.FAILED_LONG_AGO, not state.is_misnamed and now - state.since >= happened.at.limits.pause_after_refusal),
    )
    return (fact for fact, is_so in holds if is_so)
