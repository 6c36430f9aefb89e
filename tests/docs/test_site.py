"""The site that `make docs` builds, where mkdocs is installed; its navigation holds every page in any case."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
needs_mkdocs = pytest.mark.skipif(find_spec("mkdocs") is None, reason="mkdocs is not installed: make docs")


def pages_of(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else (entry,):
            yield from pages_of(value) if isinstance(value, list) else (value,)


def test_navigation_names_every_page_once() -> None:
    named = list(pages_of(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(named) == sorted(pages)


def build(config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site; a quiet build would not count its warnings."""
    options = ["--strict", "--config-file", str(config), "--site-dir", str(folder / "site")]
    command = [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@needs_mkdocs
def test_site_is_built_without_a_warning(tmp_path: Path) -> None:
    done = build(ROOT / "mkdocs.yml", tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site/index.html").read_text()
    assert "values (<code>chart/README.md</code>)" in page
    assert 'href="troubleshooting/"' in page


@needs_mkdocs
def test_broken_link_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("[gone](gone.md)\n")
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    hook = str(ROOT / "docs/.mkdocs/outside_links.py")
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump({**config, "nav": ["index.md"], "hooks": [hook]}))
    done = build(tmp_path / "mkdocs.yml", tmp_path)
    assert done.returncode != 0
    assert "gone.md" in done.stderr
