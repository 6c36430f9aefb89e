"""What `dynamo-hooks diff` is asked to compare, and the comparison of files; one that fails ends the process."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

import click

from hooks.ground.settings import Settings
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.cli.diff_options import Asked, OldSide, Reading
from hooks.tools.offline.diff.files import ComparedFiles, compare_files
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.offline.manifests.git_revisions import GitFailed
from hooks.tools.offline.manifests.inputs import Selection

_FAILED = 2
"""The exit status for what is no comparison, as of `kubectl diff` and `git diff`, where 1 says that there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSides:
    """What is compared: files with files, with files at a revision of git, or with the objects of a cluster."""

    files: tuple[str, ...]
    old: OldSide
    reading: Reading
    answer: Asked
    connection: Connection


def compare_sides(sides: ComparedSides, settings: Settings) -> Difference:
    """The difference between files; if git cannot say one side, ends the process with exit status 2.

    Raises:
        ManifestFaults: the problems of one side.
    """
    reading = sides.reading
    compared = ComparedFiles(
        files=sides.files,
        revision=sides.old.revision,
        namespace=reading.namespace or "default",
        selection=Selection(building=reading.building, origin=reading.origin),
    )
    try:
        return compare_files(compared, settings, reading.installed, admission=sides.old.admission)
    except GitFailed as failed:
        fail([str(failed)])


def fail(lines: Iterable[str]) -> NoReturn:
    """End the process with a message and exit status 2."""
    for line in lines:
        click.echo(line, err=True)
    sys.exit(_FAILED)
