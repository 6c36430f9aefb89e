"""`python -m tests.docs.pictures [NAME…]`, which is `make pictures`: all pictures of the pages, or some."""

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial

import click
import pytest

from tests.docs.pictures.casts import draw_demo, draw_move
from tests.docs.pictures.dashboards import SHOWN, draw_dashboards
from tests.docs.pictures.topology import draw_topology
from tests.installation import ROOT

FOLDER = ROOT / "docs" / "pictures"
Maker = Callable[[], Mapping[str, str]]


def _alone(name: str, draw: Callable[[], str]) -> Mapping[str, str]:
    return {name: draw()}


MAKERS: Mapping[str, Maker] = {
    "demo": partial(_alone, "demo", draw_demo),
    "move": partial(_alone, "move", draw_move),
    "graph": partial(_alone, "graph", draw_topology),
    "dashboards": draw_dashboards,
}
"""By the word for the command line, what makes pictures by their names."""
NAMES = ("demo", "move", "graph", *SHOWN)


def pages_with(name: str) -> list[str]:
    """The pages that show a picture."""
    pages = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    shown = re.compile(rf"pictures/{re.escape(name)}\.svg")
    return [str(page.relative_to(ROOT)) for page in pages if shown.search(page.read_text())]


def make(word: str, makers: Mapping[str, Maker] = MAKERS) -> str:
    """Write the pictures of one maker; what went wrong, with the pages concerned, or nothing."""
    try:
        drawn = makers[word]()
    except (Exception, pytest.skip.Exception) as error:
        names = SHOWN if word == "dashboards" else (word,)
        pages = sorted({page for name in names for page in pages_with(name)})
        detail = (
            (error.stderr or error.stdout or "").strip() if isinstance(error, subprocess.CalledProcessError) else ""
        )
        said = " ".join(filter(None, (str(error), detail)))
        return f"{', '.join(pages)}: the picture {' and '.join(names)} cannot be made: {said}"
    FOLDER.mkdir(exist_ok=True)
    for name, text in drawn.items():
        (FOLDER / f"{name}.svg").write_text(text)
        click.echo(f"wrote docs/pictures/{name}.svg, {len(text) // 1024 + 1} KB")
    return ""


@click.command()
@click.argument("words", nargs=-1, type=click.Choice(list(MAKERS)))
def main(words: tuple[str, ...]) -> None:
    """Make all pictures, or those of these WORDS."""
    failures = list(filter(None, map(make, words or MAKERS)))
    for failure in failures:
        click.echo(failure, err=True)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
