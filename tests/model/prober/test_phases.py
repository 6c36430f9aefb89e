"""The phase table: every row is needed, and an adapter makes no other moves than those listed here."""

import random
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product

import pytest

from hooks.model.prober.adapter import apply_answer, apply_listing, choose_action, set_wanted, start_call
from hooks.model.prober.adapter_event import AdapterEvent, Occurrence
from hooks.model.prober.adapter_state import AdapterState, Goal, LateLoads, Listing, ListResult, Tries, WantedAdapter
from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer, EngineCall
from hooks.model.prober.limits import Limits, Moment
from hooks.model.prober.messages import AdapterPhase
from hooks.model.prober.phases import TABLE, AdapterSituation, PhaseRow, advance, describe, find_row

E, P = AdapterEvent, AdapterPhase
LIMITS = Limits(load_timeout=10)
NOW = 1000.0
WANTED = {
    Goal.LOADED: WantedAdapter(name="a", model="default/m", uri="s3://b/new", generation=1),
    Goal.UNLOADED: WantedAdapter(name="a", model="default/m", uri="", generation=1),
}
PHASES = {
    Goal.LOADED: frozenset(P) - {P.UNLOADED},
    Goal.UNLOADED: frozenset({P.UNKNOWN, P.UNLOADING, P.RETRYING, P.UNLOADED}),
}
ONLY_OF_LOADS = {E.LOAD_SENT, E.LOAD_ACCEPTED, E.LOAD_UNSUPPORTED, E.CALL_REFUSED, E.LISTED_AS_OTHER}
EVENTS = {Goal.LOADED: frozenset(E), Goal.UNLOADED: frozenset(E) - ONLY_OF_LOADS}

Moves = dict[AdapterPhase, set[AdapterPhase]]
Move = tuple[Goal, AdapterPhase, AdapterPhase]


def of_each(phases: Iterable[AdapterPhase], *then: AdapterPhase) -> Moves:
    """From each of the phases to these; without any, each stays."""
    return {phase: set(then) or {phase} for phase in phases}


def every(goal: Goal, *then: AdapterPhase) -> Moves:
    """From every phase that an adapter can have by its goal."""
    return of_each(PHASES[goal], *then)


LOADED, UNLOADED = Goal.LOADED, Goal.UNLOADED
UNCONFIRMED = (P.UNKNOWN, P.PENDING, P.LOADING, P.UNLOADING)
"""The phases in which a load or unload can be accepted and not confirmed."""
MOVES: dict[tuple[Goal, AdapterEvent], Moves] = {
    (LOADED, E.NEW_GOAL): {**of_each(P, P.PENDING), P.UNKNOWN: {P.UNKNOWN}},
    (LOADED, E.LOAD_SENT): every(LOADED, P.LOADING),
    (LOADED, E.UNLOAD_SENT): every(LOADED, P.UNLOADING),
    (LOADED, E.LOAD_ACCEPTED): every(LOADED),
    (LOADED, E.UNLOAD_ACCEPTED): every(LOADED),
    (LOADED, E.CALL_FAILED): every(LOADED, P.RETRYING),
    (LOADED, E.CALL_REFUSED): every(LOADED, P.FAILED),
    (LOADED, E.LISTED_AS_OTHER): every(LOADED, P.FAILED),
    (LOADED, E.LOAD_UNSUPPORTED): every(LOADED, P.UNSUPPORTED),
    (LOADED, E.LISTED): {
        **of_each(UNCONFIRMED, P.LOADED, P.PENDING, P.RETRYING),
        P.LOADED: {P.LOADED, P.PENDING},
        P.UNVERIFIED: {P.LOADED, P.PENDING},
        P.RETRYING: {P.LOADED, P.PENDING, P.RETRYING},
        P.FAILED: {P.LOADED, P.PENDING, P.FAILED},
        P.UNSUPPORTED: {P.LOADED, P.PENDING, P.UNSUPPORTED},
    },
    (LOADED, E.NOT_LISTED): {
        **of_each(UNCONFIRMED, P.PENDING, P.RETRYING),
        P.LOADED: {P.PENDING},
        P.UNVERIFIED: {P.PENDING},
        P.RETRYING: {P.PENDING, P.RETRYING},
        P.FAILED: {P.PENDING, P.FAILED},
        P.UNSUPPORTED: {P.PENDING, P.UNSUPPORTED},
    },
    (LOADED, E.NO_LIST): {
        **of_each(UNCONFIRMED, P.PENDING, P.UNVERIFIED),
        P.LOADED: {P.UNVERIFIED},
        P.UNVERIFIED: {P.UNVERIFIED},
        P.RETRYING: {P.PENDING, P.RETRYING},
        P.FAILED: {P.PENDING, P.FAILED},
        P.UNSUPPORTED: {P.PENDING, P.UNSUPPORTED},
    },
    (LOADED, E.NO_LORA): every(LOADED, P.UNSUPPORTED),
    (LOADED, E.LIST_FAILED): {
        **every(LOADED, P.RETRYING),
        P.LOADED: {P.LOADED, P.RETRYING},
        P.UNVERIFIED: {P.UNVERIFIED, P.RETRYING},
        P.FAILED: {P.FAILED},
        P.UNSUPPORTED: {P.UNSUPPORTED, P.RETRYING},
    },
    (UNLOADED, E.NEW_GOAL): {**of_each(P, P.UNLOADING), P.UNKNOWN: {P.UNKNOWN}},
    (UNLOADED, E.UNLOAD_SENT): every(UNLOADED, P.UNLOADING),
    (UNLOADED, E.UNLOAD_ACCEPTED): every(UNLOADED),
    (UNLOADED, E.CALL_FAILED): every(UNLOADED, P.RETRYING),
    (UNLOADED, E.LISTED): {
        P.UNKNOWN: {P.UNLOADING, P.RETRYING},
        P.UNLOADING: {P.UNLOADING, P.RETRYING},
        P.RETRYING: {P.UNLOADING, P.RETRYING},
        P.UNLOADED: {P.UNLOADING},
    },
    (UNLOADED, E.NOT_LISTED): every(UNLOADED, P.UNLOADED, P.UNLOADING),
    (UNLOADED, E.NO_LIST): {
        P.UNKNOWN: {P.UNLOADING, P.UNLOADED, P.RETRYING},
        P.UNLOADING: {P.UNLOADING, P.UNLOADED, P.RETRYING},
        P.RETRYING: {P.UNLOADING, P.RETRYING},
        P.UNLOADED: {P.UNLOADED},
    },
    (UNLOADED, E.NO_LORA): every(UNLOADED, P.UNLOADED),
    (UNLOADED, E.LIST_FAILED): {**every(UNLOADED, P.RETRYING), P.UNLOADED: {P.UNLOADED}},
}


def moment(now: float = NOW, jitter: float = 0.5) -> Moment:
    return Moment(now=now, jitter=jitter, limits=LIMITS)


def states(goal: Goal, phase: AdapterPhase) -> Iterator[AdapterState]:
    """Every state that the table tells apart."""
    uri = WANTED[goal].uri
    accepted: tuple[EngineAction | None, ...] = (
        (None, EngineAction.LOAD, EngineAction.UNLOAD) if phase in UNCONFIRMED else (None,)
    )
    terminal = {P.FAILED: (True,), P.UNSUPPORTED: (False, True)}.get(phase, (False,))
    sources, lates = ("", uri, "s3://b/old"), (frozenset[str](), frozenset({"s3://b/old"}), frozenset({uri}) - {""})
    begins = (0.0, NOW - 1) if phase is P.FAILED else (0.0,)
    for since, took, ends, source, late, failures, seen_at in product(
        begins, accepted, terminal, sources, lates, (0, 1), (0.0, NOW)
    ):
        yield AdapterState(
            wanted=WANTED[goal],
            since=since,
            phase=phase,
            source=source,
            accepted=took,
            is_terminal=ends,
            seen_at=seen_at,
            tries=Tries(failures=failures),
            late_loads=LateLoads(sources=late, until=NOW + 1),
        )


@cache
def all_moves() -> list[tuple[AdapterState, Occurrence]]:
    """Every state with each event that may happen in it."""
    return [
        (state, Occurrence(event=event, at=moment(), error="why"))
        for goal in Goal
        for event in EVENTS[goal]
        for phase in (P if event is E.NEW_GOAL else PHASES[goal])
        for state in states(goal, phase)
    ]


@cache
def all_situations() -> frozenset[AdapterSituation]:
    return frozenset(describe(state, happened) for state, happened in all_moves())


def test_every_event_in_every_phase_leads_to_the_listed_phases_and_to_no_other() -> None:
    found: dict[tuple[Goal, AdapterEvent], Moves] = {}
    for state, happened in all_moves():
        moves = found.setdefault((state.wanted.goal, happened.event), {})
        moves.setdefault(state.phase, set()).add(advance(state, happened).phase)
    assert found == MOVES


def first_match(table: tuple[PhaseRow, ...], situation: AdapterSituation) -> tuple[object, ...]:
    """What a table does in a situation; empty for nothing."""
    row = next((row for row in table if row.matches(situation)), None)
    return (row.then, row.update, row.error) if row else ()


@pytest.mark.parametrize("index", range(len(TABLE)))
def test_every_row_is_needed(index: int) -> None:
    without = (*TABLE[:index], *TABLE[index + 1 :])
    assert any(first_match(TABLE, found) != first_match(without, found) for found in all_situations())


def test_every_situation_has_a_row() -> None:
    for event, goal, phase in product(E, Goal, P):
        assert event in find_row(AdapterSituation(event=event, goal=goal, phase=phase)).events


def test_phase_keeps_its_time_where_it_stays() -> None:
    for state, happened in all_moves():
        after = advance(state, happened)
        if happened.event is not E.NEW_GOAL:
            assert (after.since == state.since) is (after.phase is state.phase)


class Walk:
    """One adapter through random requests, lists and calls, as an engine's record passes them on."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now, self.generation = NOW, 1
        self.usual = self.random.choice((ListResult.LISTED, ListResult.LISTED, ListResult.NO_LIST))
        late = frozenset(self.random.choice(((), ("s3://b/old",), ("s3://b/new",))))
        self.state = AdapterState(
            wanted=self.draw_wanted(),
            since=self.now,
            source="" if late else self.random.choice(("", "s3://b/new", "s3://b/old")),
            late_loads=LateLoads(sources=late, until=self.now + 20),
        )
        self.listing = Listing()
        self.call: EngineCall | None = None
        self.moves: set[Move] = set()

    def enter(self, state: AdapterState) -> None:
        goal, phase = state.wanted.goal, state.phase
        if phase is not self.state.phase:
            self.moves.add((goal, self.state.phase, phase))
        self.state = state
        assert phase in PHASES[goal]
        assert not phase.is_ready or state.possible_sources(self.now) == {state.wanted.uri}
        assert not state.is_terminal or phase in {P.FAILED, P.UNSUPPORTED}

    def draw_wanted(self) -> WantedAdapter:
        uri = self.random.choice(("s3://b/new", "s3://b/old", ""))
        return WantedAdapter(name="a", model="default/m", uri=uri, generation=self.generation)

    def step(self) -> None:
        self.now += self.random.choice((0.01, 0.5, 3, 8, 60))
        at = moment(self.now, self.random.random())
        match self.random.choice(("request", "list", "list", "list", "call", "call", "call")):
            case "request":
                self.generation += self.random.choice((0, 1))
                self.enter(set_wanted(self.state, self.draw_wanted(), at))
            case "list":
                self.listing = self.list_adapters()
            case _ if self.call is None:
                self.start(at)
            case _:
                self.end(self.call, at)
        if self.call is None:  # during a call a list says nothing about its adapter
            self.enter(apply_listing(self.state, self.listing, at))

    def list_adapters(self) -> Listing:
        result = self.random.choice((*(self.usual,) * 8, *ListResult))
        names = frozenset(self.random.choice(((), ("a",), ("a",), ("other",))))
        return Listing(result=result, sent=self.now - self.random.choice((0.001, 1)), names=names, error="why")

    def start(self, at: Moment) -> None:
        action = choose_action(self.state, self.listing)
        if action is None:
            return
        assert not self.state.is_terminal
        assert action is EngineAction.LOAD or self.state.source != self.state.wanted.uri or not self.state.wanted.uri
        self.enter(start_call(self.state, action, at, self.listing.names))
        uri = self.state.wanted.uri if action is EngineAction.LOAD else ""
        self.call = EngineCall(action=action, address="", pod="", timeout=1, started=self.now, adapter="a", uri=uri)

    def end(self, call: EngineCall, at: Moment) -> None:
        only = CallOutcome.TERMINAL if call.action is EngineAction.LOAD else CallOutcome.GONE
        outcomes = (CallOutcome.OK, CallOutcome.FAILED, CallOutcome.TIMEOUT, CallOutcome.UNSUPPORTED, only)
        outcome = self.random.choice((CallOutcome.OK, CallOutcome.OK, *outcomes))
        self.enter(apply_answer(self.state, call, EngineAnswer(outcome=outcome, message="why"), at))
        self.call = None


def test_random_sequences_make_the_listed_moves_only_and_reach_every_phase() -> None:
    listed = {
        (goal, before, after) for (goal, _), moves in MOVES.items() for before, then in moves.items() for after in then
    }
    made: set[Move] = set()
    for seed in range(400):
        walk = Walk(seed)
        for _ in range(50):
            walk.step()
        made |= walk.moves
    assert made - listed == set()
    assert {after for _, _, after in made} | {P.UNKNOWN} == set(P)
