"""The table: cells from outcomes, one row replaced, and the page that has it."""

from pathlib import Path

from tests.compatibility.attempt import SERVES, Outcome
from tests.compatibility.table import HEADINGS, build_cells, build_missing, read_rows, write_row
from tests.e2e.examples import ROOT
from tests.e2e.releases import RELEASES

PAGE = ROOT / "docs" / "compatibility.md"
GOOD = Outcome(frontend=SERVES, worker=SERVES, listed=SERVES, completion=SERVES, end="exit 0", seconds=2)
BAD = Outcome(frontend=SERVES, worker="ended with 1: no NATS")


def test_page_has_a_row_of_every_release() -> None:
    rows = read_rows(PAGE.read_text())
    assert tuple(rows) == RELEASES
    assert {len(cells) for cells in rows.values()} == {len(HEADINGS) - 1}


def test_same_of_all_graphs_is_said_once_and_a_difference_by_graph() -> None:
    cells = build_cells("2026-11-23", {"a": GOOD, "b": BAD}, BAD, ["worker: arguments"])
    assert cells == (
        "2026-11-23",
        "yes",
        "a: yes; b: ended with 1: no NATS",
        "a: yes; b: –",
        "a: yes; b: –",
        "a: exit 0; b: – within 2 s",
        "no: ended with 1: no NATS",
        "worker: arguments",
    )


def test_release_that_serves_without_nats_and_changes_nothing() -> None:
    assert build_cells("2026-11-23", {"a": GOOD}, GOOD, [])[-2:] == ("yes", "–")


def test_row_is_replaced_or_added_in_its_place(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# T\n\n<!-- compatibility -->\n<!-- /compatibility -->\n\nend\n")
    good = build_cells("2026-11-23", {"a": GOOD}, GOOD, [])
    for name, cells in (("1.6.1", build_missing("2026-11-22", "a | b")), ("0.9.1", good), ("1.6.1", good)):
        write_row(page, name, cells)
    assert read_rows(page.read_text()) == {"0.9.1": good, "1.6.1": good}
    assert list(read_rows(page.read_text())) == ["0.9.1", "1.6.1"]
    assert page.read_text().startswith("# T\n\n<!-- compatibility -->\n| wheels | run on |")
    assert page.read_text().endswith("<!-- /compatibility -->\n\nend\n")


def test_missing_release_says_why_in_one_cell(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- compatibility -->\n<!-- /compatibility -->\n")
    write_row(page, "0.9.1", build_missing("2026-11-22", "no wheel | for this machine"))
    (cells,) = read_rows(page.read_text()).values()
    assert cells == ("2026-11-22", "not installed: no wheel / for this machine", *["–"] * 6)


def test_pod_that_ended_is_told_before_one_that_waits_for_it() -> None:
    waiting = Outcome(frontend="readinessProbe /health: 503", worker="ended with 1: no NATS")
    assert waiting.failure == "ended with 1: no NATS"
    assert Outcome(frontend=SERVES, worker=SERVES, listed="404", completion="").failure == "404"
    assert GOOD.failure == ""
