"""What the casts show: `make demo`, and a move from the Go operator."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from click.testing import CliRunner
from rich.text import Text

from hooks.server.commands.main import main
from hooks.tools.cli import migrate
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.operating.cluster import Cluster
from tests.docs.pictures.terminal import draw_terminal, prompt
from tests.installation import ROOT
from tests.tools.operating.migration.left_behind import stand_in
from tests.tools.operating.migration.moved import moved
from tests.tools.operating.migration.played_cluster import play

MOVE = ("migrate --all-namespaces", "migrate --all-namespaces --apply", "migrate --all-namespaces")


def draw_demo() -> str:
    """The cast of `make demo`."""
    return draw_terminal([prompt("make demo"), *map(Text.from_ansi, run_demo().splitlines())], "make demo")


def run_demo() -> str:
    """What the recipe of `make demo` prints, with its colours.

    Raises:
        CalledProcessError: it failed.
    """
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "120", "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}
    environment.pop("NO_COLOR", None)
    done = subprocess.run(
        [sys.executable, "-m", "hooks", *demo_command()],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout


def demo_command() -> list[str]:
    """The arguments that the Makefile gives to `dynamo-hooks`."""
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.findall(r"^demo:[^\n]*\n\t\$\(BIN\)/dynamo-hooks ([^\n]+)$", makefile, re.MULTILINE)[0]
    example = re.findall(r"^EXAMPLE \?= (.+)$", makefile, re.MULTILINE)[0]
    return str(recipe).replace("$(EXAMPLE)", example).split()


def draw_move() -> str:
    """The cast of a move from the Go operator: the plan, the move, and that nothing is left to do."""
    return draw_terminal(
        [Text(line) if line[:1] != "$" else prompt(line[2:]) for line in run_move()], "dynamo-hooks migrate"
    )


def run_move() -> list[str]:
    """The commands and what they print, in a simulated cluster with a graph of the Go operator."""
    world = moved([stand_in()])

    @contextmanager
    def connect(_connection: Connection) -> Iterator[Cluster]:
        yield play(world.simulated)

    lines: list[str] = []
    with patch.object(migrate, "connect", connect):
        for words in MOVE:
            result = CliRunner().invoke(main, words.split(), catch_exceptions=False)
            lines += [f"$ dynamo-hooks {words}", *result.output.splitlines(), ""]
    return lines[:-1]
