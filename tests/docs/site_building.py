"""The site of the pages, built as `make docs` builds it, from the repository or from a copy that a test has changed."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
needs_generator = pytest.mark.skipif(find_spec("sphinxawesome_theme") is None, reason="no Sphinx here: make docs")


def build_site(folder: Path, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Build the site of the project at `root` into `folder`/site by the recipe of `make docs`."""
    makefile = (ROOT / "Makefile").read_text()
    (recipe,) = re.findall(r"^\t\$\(BIN\)/python (-m sphinx .*) docs site$", makefile, re.MULTILINE)
    words = [str(folder / word) if word == "site/.read" else word for word in recipe.split()]
    command = [sys.executable, "-W", "ignore", *words, "docs", str(folder / "site")]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=PATIENCE, check=False)


def copy_with_pages(folder: Path, pages: dict[str, str]) -> Path:
    """A project of these pages alone, with the repository's README and the settings of its site."""
    shutil.copytree(ROOT / "docs/.site", folder / "docs/.site")
    shutil.copy(ROOT / "README.md", folder)
    (folder / "docs/.site/navigation.yaml").write_text("nav: [index.md]\n")
    for name, text in pages.items():
        (folder / "docs" / name).write_text(text)
    return folder
