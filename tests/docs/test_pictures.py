"""The pictures of the pages show what the project does now; `make pictures` draws them again."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.text import Text

from tests.docs.pictures import __main__ as command
from tests.docs.pictures.__main__ import FOLDER, MAKERS, NAMES, make, pages_with
from tests.docs.pictures.casts import draw_move, run_demo
from tests.docs.pictures.dashboards import SHOWN, mark_of
from tests.docs.pictures.panels import Drawn, Line, draw_dashboard, format_value
from tests.docs.pictures.terminal import COLUMNS, draw_terminal, prompt, read_terminal
from tests.docs.pictures.topology import digest, read_dot
from tests.monitoring.dashboards import DASHBOARDS

STALE = "the picture is not what is printed now: make pictures"
LARGEST = 100_000
SVG = "{http://www.w3.org/2000/svg}"


def read(name: str) -> str:
    return (FOLDER / f"{name}.svg").read_text()


def trees_of(lines: Sequence[str]) -> list[str]:
    """What `make demo` prints at the end, without times and the ends of pods' names.

    Which states it shows before, and in which order it makes pods, depends on the machine.
    """
    begin = next(number for number, line in enumerate(lines) if line.startswith("DynamoGraphDeployment"))
    named = (re.sub(r"(Pod \S+-)[0-9a-f]{5}(?= )", r"\1…", line) for line in lines[begin:])
    *tree, last = "\n".join(re.sub(r"\d+\.\d s", "… s", line) for line in named).partition("all Ready")
    # Where this sentence is broken depends on the digits of its time.
    return [*"".join(tree).splitlines(), *last.split()]


def test_demo_prints_what_its_cast_shows() -> None:
    shown = read_terminal(read("demo"))
    printed = read_terminal(draw_terminal([Text.from_ansi(line) for line in run_demo().splitlines()], "x"))
    assert shown[0] == "$ make demo"
    assert trees_of(shown) == trees_of(printed), STALE
    assert [line for line in shown if re.match(r" +0\.0 s  DynamoGraphDeployment .* not ready", line)]


def test_move_prints_what_its_cast_shows() -> None:
    assert read("move") == draw_move(), STALE
    assert read_terminal(read("move"))[-1] == "There is nothing to migrate."


def test_topology_is_that_of_the_example() -> None:
    assert f"<!-- DOT {digest(read_dot())} -->" in read("graph"), STALE
    assert "KV transfer" in read("graph")


@pytest.mark.parametrize("name", SHOWN)
def test_dashboard_is_that_of_the_chart_and_has_data(name: str) -> None:
    (dashboard,) = [one for one in DASHBOARDS if one.uid == name]
    text = read(name)
    assert f"<!-- {mark_of(name)} -->" in text, STALE
    words = {element.text for element in ET.fromstring(text).iter(f"{SVG}text")}  # noqa: S314 - our own file
    assert {panel.title for _, panels in dashboard.rows for panel in panels} <= words
    empty = text.count(">no data<")
    assert empty <= 1, f"{empty} panels without data"


@pytest.mark.parametrize("name", NAMES)
def test_picture_is_small_well_formed_and_on_a_page(name: str) -> None:
    text = read(name)
    assert ET.fromstring(text).tag == f"{SVG}svg"  # noqa: S314 - our own file
    assert len(text.encode()) < LARGEST
    assert pages_with(name)
    assert not re.search(r"https?://(?!www\.w3\.org/)", text), "a picture loads nothing"


def test_no_other_picture_is_kept() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(NAMES)


@pytest.mark.parametrize("word", sorted(MAKERS))
def test_picture_that_cannot_be_made_is_named_with_its_pages(word: str) -> None:
    def fail() -> dict[str, str]:
        raise OSError("no dot here")

    said = make(word, {word: fail})
    assert said.endswith("cannot be made: no dot here")
    name = SHOWN[0] if word == "dashboards" else word
    assert name in said
    assert [page for page in pages_with(name) if page not in said] == []


def test_picture_that_can_be_made_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "FOLDER", tmp_path / "pictures")
    assert make("x", {"x": lambda: {"a": "<svg/>"}}) == ""
    assert (tmp_path / "pictures/a.svg").read_text() == "<svg/>"


def test_cast_keeps_its_text_and_wraps_long_lines() -> None:
    long = "x" * (COLUMNS + 5)
    lines = [prompt("a <b> & 'c'"), Text(""), Text("  ├── Pod", style="dim"), Text(long)]
    assert read_terminal(draw_terminal(lines, "t")) == ["$ a <b> & 'c'", "", "  ├── Pod", "x" * COLUMNS, "x" * 5]


def test_cast_moves_only_for_those_who_want_motion() -> None:
    text = draw_terminal([Text(str(number)) for number in range(60)], "t")
    still, _, moving = text.partition("@media (prefers-reduced-motion: no-preference)")
    assert "animation" not in still
    assert moving.count("animation:") == 2


def panel(kind: str, *lines: Line) -> Drawn:
    return Drawn(title="A < B", kind=kind, unit="s", place=(0, 0, 12, 8), lines=lines)


@pytest.mark.parametrize("kind", ["timeseries", "stat", "gauge", "table", "row"])
def test_panel_of_each_kind_is_drawn_with_any_text(kind: str) -> None:
    lines = [Line(legend=f"<{number}> & more", points=((0.0, 1.0), (1.0, 2.0))) for number in range(7)]
    text = draw_dashboard("D & D", [panel(kind, *lines)], "mark")
    words = [element.text for element in ET.fromstring(text).iter(f"{SVG}text")]  # noqa: S314 - our own file
    assert words[:2] == ["D & D", "A < B"]
    assert ("<0> & more: 2 s" in words) is (kind in {"timeseries", "table"})
    assert ("and 2 more" in words) is (kind == "timeseries")


def test_panel_without_data_says_so() -> None:
    assert ">no data<" in draw_dashboard("D", [panel("timeseries")], "mark")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0216, "s", "21.6 ms"),
        (90, "s", "90 s"),
        (600, "s", "10 min"),
        (28_440_000, "s", "329 days"),
        (0, "s", "0 s"),
        (3 * 2**20, "bytes", "3 MiB"),
        (1010, "bytes", "1010 B"),
        (0, "bytes", "0 B"),
        (61.111, "percent", "61.1%"),
        (1.25, "ops", "1.25/s"),
        (12_345, "short", "12345"),
    ],
)
def test_values_have_their_units(value: float, unit: str, text: str) -> None:
    assert format_value(value, unit) == text
