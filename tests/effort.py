"""How much of what is generated the tests try: all of it in CI and with `FULL=1`, a fixed sample elsewhere.

A sample leaves out cases, never a kind of case: every rule, command, combination's part and disturbance still occurs.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

IN_CI = os.environ.get("CI") == "true"

FULL = IN_CI or os.environ.get("FULL") == "1"

ALL_STEPS, ALL_MUTATIONS, ALL_EDITS = 40_000, 2_000, 50

STEPS = ALL_STEPS if FULL else 2_000
"""Steps of tests/sequences in the simulated cluster, over all roads."""

SLICES = 4 if FULL else 1
"""Tests of the sequences for each road; each takes one whole sequence at least."""

MUTATIONS = ALL_MUTATIONS if FULL else 250
"""Mutated manifests that the API server judges too."""

EDITS = ALL_EDITS if FULL else 10
"""Seeded edits of graphs, each kind of edit once at least, for the restarts that `diff` announces."""

LARGE_GRAPH = (25, 64) if FULL else (10, 10)
"""Services of the largest graph of tests/tools/offline/simulator, and replicas of each."""

SHARE = 1 if FULL else 10
"""One of so many examples of a property is tried."""


def examples(full: int) -> int:
    """How many examples a property is tried on, of those in CI."""
    return max(full // SHARE, min(full, 10))


def choose_cases(cases: Sequence[tuple[T, tuple[int, ...]]], every: int = 0) -> list[T]:
    """The cases that are tried, in their order; each comes with a number for the value of each of its parameters.

    With `every`, one of so many; otherwise so few combinations that each value of each parameter still occurs.
    """
    if FULL:
        return [case for case, _ in cases]
    if every:
        return [case for case, _ in cases[::every]]
    seen: set[tuple[int, int]] = set()
    chosen: set[int] = set()
    for most_known in (0, 1_000):  # first those of which all values are new
        for number, (_, values) in enumerate(cases):
            placed = set(enumerate(values))
            if not placed <= seen and len(placed & seen) <= most_known:
                seen |= placed
                chosen.add(number)
    return [case for number, (case, _) in enumerate(cases) if number in chosen]


def cover(items: Sequence[T], parts_of: Callable[[T], Iterable[object]]) -> list[T]:
    """The items that are tried: so many that each part of any of them is in one, the items with most parts first."""
    if FULL:
        return list(items)
    seen: set[object] = set()
    chosen: list[T] = []
    for item in sorted(items, key=lambda item: len(set(parts_of(item))), reverse=True):
        parts = set(parts_of(item))
        if not parts <= seen:
            seen |= parts
            chosen.append(item)
    return chosen


def describe() -> str:
    """Which samples were tried and how all are, in one line."""
    if FULL:
        return "all cases of what is generated were tried"
    parts = (
        f"{STEPS:,} of {ALL_STEPS:,} steps of sequences",
        f"{MUTATIONS:,} of {ALL_MUTATIONS:,} mutated manifests",
        f"{EDITS} of {ALL_EDITS} edits of graphs",
        f"about 1 of {SHARE} examples of properties",
        "combinations so that each value occurs",
        "a third of the contract on Metacontroller and a quarter of the faults on the control plane",
    )
    return f"samples were tried: {', '.join(parts)}; everything: make test FULL=1"
