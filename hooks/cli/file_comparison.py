"""What `dynamo-hooks diff` is asked to compare, and the comparison of files with files."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click

from hooks.cli.cluster_options import Connection
from hooks.cli.render import load_together
from hooks.offline.diff.comparing import compare_manifests
from hooks.offline.diff.plan import Difference
from hooks.offline.manifests.reading import Loaded
from hooks.offline.processes import spread_over_processes, without_collections
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


def compare_files(sides: Sides, settings: Settings) -> Difference:
    """The difference between manifests.

    Raises:
        ManifestFaults: the problems of one side.
    """
    with without_collections():
        old, new = _load(sides)
        return compare_manifests(old, new, settings, sides.installed, spread=spread_over_processes)


def fail(lines: Iterable[str]) -> NoReturn:
    """End the process with a message and exit status 2."""
    for line in lines:
        click.echo(line, err=True)
    sys.exit(_FAILED)


def _load(sides: Sides) -> tuple[Loaded, Loaded]:
    namespace = sides.namespace or "default"
    if not sides.revision:
        old, new = (load_together([path], namespace) for path in sides.files)
        return old, new
    from hooks.cli.git_revisions import GitFailed, load_revision  # noqa: PLC0415 - seldom needed

    try:
        found = load_revision(sides.revision, sides.files, namespace)
    except GitFailed as failed:
        fail([str(failed)])
    return found.old, found.new
