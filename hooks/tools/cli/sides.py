"""What `dynamo-hooks diff` is asked to compare, and the comparison of files; one that fails ends the process."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click

from hooks.ground.settings import Settings
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.offline.diff.files import ComparedFiles, compare_files
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.offline.manifests.built.building import DEFAULT_BUILDING, Building
from hooks.tools.offline.manifests.git_revisions import GitFailed
from hooks.tools.offline.manifests.inputs import Selection

_FAILED = 2
"""The exit status for what is no comparison, as of `kubectl diff` and `git diff`, where 1 says that there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSides:
    """What is compared: files with files, with files at a revision of git, or with the objects of a cluster."""

    files: tuple[str, ...]
    revision: str = ""
    cluster: Connection | None = None
    namespace: str = ""
    installed: frozenset[str] = frozenset()
    set_values: tuple[str, ...] = ()
    building: Building = DEFAULT_BUILDING
    origin: str = ""
    fits: bool = False
    nodes: Path | None = None
    admission: bool | None = None
    is_tried: bool = False
    keeps_state: bool = False


def compare_sides(sides: ComparedSides, settings: Settings) -> Difference:
    """The difference between files; if git cannot say one side, ends the process with exit status 2.

    Raises:
        ManifestFaults: the problems of one side.
    """
    compared = ComparedFiles(
        files=sides.files,
        revision=sides.revision,
        namespace=sides.namespace or "default",
        selection=Selection(building=sides.building, origin=sides.origin),
    )
    try:
        return compare_files(compared, settings, sides.installed, admission=sides.admission)
    except GitFailed as failed:
        fail([str(failed)])


def fail(lines: Iterable[str]) -> NoReturn:
    """End the process with a message and exit status 2."""
    for line in lines:
        click.echo(line, err=True)
    sys.exit(_FAILED)
