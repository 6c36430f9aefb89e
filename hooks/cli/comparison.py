"""What `dynamo-hooks diff` does with its arguments: compares two sides, and writes the answer or why there is none."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click
import orjson

from hooks.cli.cluster_options import Connection
from hooks.cli.options import read_offline_settings
from hooks.offline.diff.as_json import write_json
from hooks.offline.diff.files import compare_files
from hooks.offline.diff.markdown import write_markdown
from hooks.offline.diff.plan import Difference
from hooks.offline.diff.text import write_text
from hooks.offline.diff.variables import without_values
from hooks.offline.manifests.reading import ManifestFaults
from hooks.offline.manifests.writing import guard_output
from hooks.settings import Settings

_FAILED = 2
"""The exit status for what is no comparison, as of `kubectl diff` and `git diff`, where 1 says that there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What is compared: files with files, with files at a revision of git, or with the objects of a cluster."""

    files: tuple[str, ...]
    revision: str = ""
    cluster: Connection | None = None
    namespace: str = ""
    installed: frozenset[str] = frozenset()
    set_values: tuple[str, ...] = ()
    fits: bool = False
    nodes: Path | None = None


def compare(sides: Sides) -> Difference:
    """The difference; if there can be none, ends the process with a message and exit status 2."""
    settings = read_offline_settings(sides.set_values)
    try:
        if sides.cluster is None and sides.nodes is None:
            return compare_sides(sides, settings)
        from hooks.cli.live_comparison import compare_on_nodes  # noqa: PLC0415 - files alone need no API server

        return compare_on_nodes(sides, settings)
    except ManifestFaults as error:
        fail(map(str, error.faults))


def compare_sides(sides: Sides, settings: Settings) -> Difference:
    """The difference between files; if git cannot say one side, ends the process with exit status 2.

    Raises:
        ManifestFaults: the problems of one side.
    """
    namespace = sides.namespace or "default"
    from hooks.offline.manifests.git_revisions import GitFailed  # noqa: PLC0415 - seldom needed

    try:
        return compare_files(sides.files, sides.revision, namespace, settings=settings, installed=sides.installed)
    except GitFailed as failed:
        fail([str(failed)])


def show(found: Difference, output: str, *, shows_values: bool) -> None:
    """Print the difference in the form that the user chose; values of environment variables only if asked for."""
    shown = found if shows_values else without_values(found)
    with guard_output():
        click.echo(_write(shown, output), nl=False)


def fail(lines: Iterable[str]) -> NoReturn:
    """End the process with a message and exit status 2."""
    for line in lines:
        click.echo(line, err=True)
    sys.exit(_FAILED)


def _write(difference: Difference, output: str) -> str:
    match output:
        case "json":
            return orjson.dumps(write_json(difference), option=orjson.OPT_INDENT_2).decode() + "\n"
        case "markdown":
            return write_markdown(difference)
        case _:
            return write_text(difference, _colour)


def _colour(text: str, colour: str) -> str:
    return click.style(text, bold=True) if colour == "bold" else click.style(text, fg=colour)
