"""The site that `make docs` builds, where mkdocs is installed; its navigation holds every page in any case."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.test_links import UNLISTED

ROOT = Path(__file__).parents[2]
WITHOUT = importlib.util.find_spec("mkdocs") is None


def pages_of(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else (entry,):
            yield from pages_of(value) if isinstance(value, list) else (value,)


def test_navigation_names_every_page_once() -> None:
    named = list(pages_of(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(named) == sorted(pages - UNLISTED)


@pytest.mark.skipif(WITHOUT, reason="mkdocs is not installed: make docs")
def test_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "index.html").read_text()
    assert "README (<code>chart/README.md</code>)" in page or "<code>chart/README.md</code>" in page
    assert 'href="troubleshooting/"' in page
