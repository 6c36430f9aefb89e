"""The table of docs/compatibility.md: a row for each release, which a run of that release replaces."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten

from tests.compatibility.attempt import SERVES, Outcome
from tests.e2e.releases import RELEASES

HEADINGS = (
    *("wheels", "run on", "frontend's probes", "workers' probes", "model listed", "completion", "SIGTERM"),
    *("without NATS", "rendered differently from the row above"),
)
NOTHING = "–"
_PART = re.compile(r"(<!-- compatibility -->\n).*?(<!-- /compatibility -->)", re.DOTALL)

Cells = tuple[str, ...]


def build_cells(day: str, outcomes: Mapping[str, Outcome], without_nats: Outcome, changes: Sequence[str]) -> Cells:
    """The cells behind a release's name; `outcomes` are by graph, all of them with NATS."""
    steps = ("frontend", "worker", "listed", "completion", "end")
    *told, end = (_tell({graph: getattr(outcome, step) for graph, outcome in outcomes.items()}) for step in steps)
    seconds = max(outcome.seconds for outcome in outcomes.values())
    ended = f"{end} within {seconds} s" if seconds else end
    alone = f"no: {shorten(without_nats.failure, 70, placeholder=' …')}" if without_nats.failure else SERVES
    return (day, *told, ended, alone, "; ".join(changes) or NOTHING)


def build_missing(day: str, reason: str) -> Cells:
    """The cells of a release that cannot be installed."""
    return (day, f"not installed: {reason}", *(NOTHING for _ in HEADINGS[3:]))


def read_rows(text: str) -> dict[str, Cells]:
    """The cells of a page by release."""
    found = _PART.search(text)
    lines = found[0].splitlines() if found else []
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows if row[0] in RELEASES}


def write_row(page: Path, release: str, cells: Cells) -> None:
    """Replace a release's row, or add it in its place."""
    text = page.read_text()
    rows = {**read_rows(text), release: tuple(cell.replace("|", "/") for cell in cells)}
    written = [(name, *rows[name]) for name in RELEASES if name in rows]
    lines = [f"| {' | '.join(row)} |" for row in (HEADINGS, *written)]
    table = "\n".join([lines[0], "|---" * len(HEADINGS) + "|", *lines[1:]])
    page.write_text(_PART.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text))


def _tell(said: Mapping[str, str]) -> str:
    """One word where it is the same of all graphs, else each graph with its own."""
    if len(set(said.values())) == 1:
        return next(iter(said.values())) or NOTHING
    return "; ".join(f"{graph}: {one or NOTHING}" for graph, one in said.items())
