"""The state tables of workers as the page has them, in words."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from hooks.graph.workers.phases import CHOICES, OLD_PODS, STEPS, LiveWorkers


def write_worker_tables() -> str:
    """One table for each of the three; the first row that matches wins."""
    choices = ([*_in_order(row.workers), *row.facts] for row in CHOICES)
    return "\n\n".join(
        (
            _write("live workers", "they get", choices, (row.then for row in CHOICES)),
            _write("the chosen generation", "this answer", (row.facts for row in STEPS), (row.then for row in STEPS)),
            _write("a worker", "its old pods", (row.facts for row in OLD_PODS), (row.then for row in OLD_PODS)),
        )
    )


def _write(about: str, then: str, found: Iterable[Sequence[StrEnum]], outcomes: Iterable[StrEnum]) -> str:
    rows = (f"| {_join(values)} | {outcome} |" for values, outcome in zip(found, outcomes, strict=True))
    return "\n".join((f"| {about} | {then} |", "|---|---|", *rows))


def _in_order(workers: Iterable[LiveWorkers]) -> list[LiveWorkers]:
    return sorted(workers, key=list(LiveWorkers).index)


def _join(values: Sequence[StrEnum]) -> str:
    """What live workers have is one of several, facts must all hold."""
    workers = " or ".join(value for value in values if isinstance(value, LiveWorkers))
    facts = (value for value in values if not isinstance(value, LiveWorkers))
    return "; ".join(filter(None, (workers, *facts))) or "otherwise"
