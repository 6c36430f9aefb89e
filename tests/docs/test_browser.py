"""Every page in a real browser, on a laptop and on a phone: nothing is cut off.

A line of code may be longer than its block, which then scrolls; the block itself has to lie within the column. A cell
of a table has to be visible as a whole.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.docs.browser import find_browser, measure
from tests.docs.site_building import ROOT, build_site, needs_generator

LAPTOP, PHONE = ({"name": str(width), "width": width, "style": ""} for width in (1280, 500))
UNBROKEN = {"name": "unbroken", "width": 1280, "style": "#content table :is(th, td, code) { white-space: nowrap }"}
"""What the site had before: no cell of a table was broken into lines."""
NARROW = 600
"""A column on a laptop is wider than this."""


@needs_generator
def test_no_cell_and_no_code_lies_outside_its_column(tmp_path: Path) -> None:
    find_browser()
    assert build_site(tmp_path).returncode == 0
    pages = sorted(str(page.relative_to(ROOT / "docs").with_suffix(".html")) for page in (ROOT / "docs").rglob("*.md"))
    found = measure(tmp_path / "site", tmp_path, pages, [LAPTOP, PHONE, UNBROKEN])
    assert [one for one in found if "error" in one] == []
    by_view = {view: [one for one in found if one["view"] == view] for view in ("1280", "500", "unbroken")}
    assert [len(pages_of_view) for pages_of_view in by_view.values()] == [len(pages)] * 3
    assert find_lost(by_view["1280"]) == {}
    assert find_lost(by_view["500"]) == {}
    assert len(find_lost(by_view["unbroken"])) > len(pages) / 2, "the test does not see what is cut off"
    assert [one["page"] for one in by_view["1280"] if one["column"] < NARROW] == []
    assert sum(one["cells"] for one in by_view["1280"]) > 1000
    assert sum(one["copies"] for one in by_view["1280"]) > 100


def find_lost(measured: list[dict[str, Any]]) -> dict[str, Any]:
    """By page, what is not within its column, or that the page itself scrolls to the side."""
    return {one["page"]: one["lost"] or "scrolls" for one in measured if one["lost"] or one["scrolls"]}


@pytest.mark.parametrize("program", ["chromium", "google-chrome"])
def test_browser_is_found_by_any_of_its_names(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / program).write_text("#!/bin/sh\n")
    (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser() == str(tmp_path / program)


def test_without_a_browser_the_test_is_skipped_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium"):
        find_browser()
