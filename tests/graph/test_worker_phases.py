"""The tables of workers: each row is needed, and nothing else follows than what is listed here."""

from collections.abc import Iterable, Iterator
from itertools import chain, combinations, product
from typing import Any

import pytest

from hooks.graph.workers import phases
from hooks.graph.workers.phases import (
    CHOICES,
    OLD_PODS,
    STEPS,
    Choice,
    Fact,
    LiveWorkers,
    OldPods,
    RolloutStep,
    find_choice,
    find_old_pods,
    find_step,
)

F, W = Fact, LiveWorkers
OF_CHOICES = (F.HIDDEN, F.AT_SPECS, F.NEW_DEFAULTS, F.UNCHANGED, F.SEEN_AS_BEFORE)
OF_STEPS = (F.GENERATION, F.FIRST, F.BLIND, F.ONE_SET, F.SERVING, F.LEFT)
OF_PODS = (F.THERE, F.NOBODY_LEFT, F.UNWRITTEN, F.UNSEEN, F.COUNTED, F.SETTLED)
Situation = tuple[LiveWorkers | None, frozenset[Fact]]


def subsets(facts: Iterable[Fact]) -> Iterator[frozenset[Fact]]:
    known = tuple(facts)
    return map(frozenset, chain.from_iterable(combinations(known, count) for count in range(len(known) + 1)))


CHOICE_SITUATIONS: list[Situation] = [
    (workers, facts)
    for workers, facts in product(LiveWorkers, subsets(OF_CHOICES))
    # Without workers none has the generation of the specs, and without a generation neither.
    if not (F.AT_SPECS in facts and workers in {W.NOBODY, W.WITHOUT})
]
STEP_SITUATIONS: list[Situation] = [
    (None, facts) for facts in subsets(OF_STEPS) if not (F.LEFT in facts and F.GENERATION in facts)
]
POD_SITUATIONS: list[Situation] = [(None, facts) for facts in subsets(OF_PODS)]
TABLES: dict[str, tuple[Any, list[Situation]]] = {
    "CHOICES": (CHOICES, CHOICE_SITUATIONS),
    "STEPS": (STEPS, STEP_SITUATIONS),
    "OLD_PODS": (OLD_PODS, POD_SITUATIONS),
}


def decide(table: str, found: Situation) -> Choice | RolloutStep | OldPods:
    workers, facts = found
    if table == "CHOICES":
        assert workers is not None
        return find_choice(workers, facts.__contains__)
    return find_step(facts.__contains__) if table == "STEPS" else find_old_pods(facts.__contains__)


@pytest.mark.parametrize("table", TABLES)
def test_every_row_is_needed(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, situations = TABLES[table]
    whole = [decide(table, found) for found in situations]
    for index in range(len(rows) - 1):
        monkeypatch.setattr(phases, table, (*rows[:index], *rows[index + 1 :]))
        assert [decide(table, found) for found in situations] != whole, rows[index]


@pytest.mark.parametrize("table", TABLES)
def test_every_outcome_has_a_row_and_every_fact_is_asked(table: str) -> None:
    rows, _ = TABLES[table]
    outcomes = {"CHOICES": set(Choice), "STEPS": set(RolloutStep), "OLD_PODS": set(OldPods)}
    asked = {"CHOICES": OF_CHOICES, "STEPS": OF_STEPS, "OLD_PODS": OF_PODS}
    assert {row.then for row in rows} == outcomes[table]
    assert {fact for row in rows for fact in row.facts} == set(asked[table])


def test_every_fact_is_of_one_table() -> None:
    assert sorted((*OF_CHOICES, *OF_STEPS, *OF_PODS)) == sorted(Fact)


def test_workers_get_the_generation_of_their_specs_only_where_all_would_see_it() -> None:
    for workers, facts in CHOICE_SITUATIONS:
        if F.HIDDEN in facts:
            assert decide("CHOICES", (workers, facts)) is not Choice.OF_SPECS


def test_workers_keep_what_they_have_only_while_it_is_one_and_nothing_changes() -> None:
    for workers, facts in CHOICE_SITUATIONS:
        if decide("CHOICES", (workers, facts)) is Choice.AS_THEY_ARE:
            assert workers in {W.WITHOUT, W.SAME}
            assert F.UNCHANGED in facts
            assert F.HIDDEN not in facts or F.SEEN_AS_BEFORE in facts


def test_who_is_unchanged_and_seen_as_before_keeps_what_it_has_unless_new_defaults_are_let_in() -> None:
    calm = frozenset({F.UNCHANGED, F.SEEN_AS_BEFORE})
    for workers, is_hidden, is_asked in product((W.WITHOUT, W.SAME), (False, True), (False, True)):
        facts = calm | ({F.HIDDEN} if is_hidden else set()) | ({F.NEW_DEFAULTS} if is_asked else set())
        found = decide("CHOICES", (workers, facts))
        if workers is W.WITHOUT and is_hidden:
            assert found is Choice.NONE  # which is what they have
        elif workers is W.WITHOUT and is_asked:
            assert found is Choice.OF_SPECS
        else:
            assert found is Choice.AS_THEY_ARE


def test_new_workers_and_mixed_ones_get_one_generation() -> None:
    for workers, facts in CHOICE_SITUATIONS:
        if workers in {W.NOBODY, W.MIXED}:
            expected = Choice.NONE if F.HIDDEN in facts else Choice.OF_SPECS
            assert decide("CHOICES", (workers, facts)) is expected


def test_whether_pods_change_is_asked_only_where_it_decides_and_once() -> None:
    """It costs a rendering of all services."""
    for workers, facts in CHOICE_SITUATIONS:
        asked: list[Fact] = []

        def holds(fact: Fact, facts: frozenset[Fact] = facts, asked: list[Fact] = asked) -> bool:
            asked.append(fact)
            return fact in facts

        assert workers is not None
        find_choice(workers, holds)
        assert asked.count(F.UNCHANGED) <= 1
        assert asked.count(F.SEEN_AS_BEFORE) <= (F.HIDDEN in facts and F.UNCHANGED in facts)
        if workers in {W.NOBODY, W.MIXED} or (F.AT_SPECS in facts and F.HIDDEN not in facts):
            assert F.UNCHANGED not in asked


def test_workers_wait_only_for_their_first_generation_and_while_some_serve() -> None:
    for found in STEP_SITUATIONS:
        _, facts = found
        waits = {F.GENERATION, F.FIRST, F.BLIND, F.SERVING} <= facts and F.ONE_SET not in facts
        assert (decide("STEPS", found) is RolloutStep.FRONTENDS_FIRST) == waits


def test_frontends_wait_while_workers_leave_their_generation() -> None:
    for found in STEP_SITUATIONS:
        assert (decide("STEPS", found) is RolloutStep.WORKERS_FIRST) == (F.LEFT in found[1])


def test_what_all_see_is_written_in_one_step() -> None:
    for found in STEP_SITUATIONS:
        _, facts = found
        if F.LEFT not in facts and not {F.GENERATION, F.FIRST, F.BLIND} <= facts:
            assert decide("STEPS", found) is RolloutStep.ALL


def test_pods_count_as_old_until_the_workload_says_that_they_are_not() -> None:
    for found in POD_SITUATIONS:
        _, facts = found
        old = decide("OLD_PODS", found)
        assert (old is OldPods.NONE) == bool(facts & {F.THERE, F.NOBODY_LEFT})
        if old in {OldPods.NOT_UPDATED, OldPods.ENDING}:
            assert not facts & {F.UNWRITTEN, F.UNSEEN}, "a status of before counts nothing of now"
