"""What `dynamo-hooks validate` does with its arguments: checks the manifests and prints what was found."""

import sys
from collections.abc import Sequence

import click
import orjson

from hooks import contract
from hooks.cli.refusing import count, describe_skipped, refuse
from hooks.offline.manifests.annotations import write_annotations
from hooks.offline.manifests.checking import check_manifests, check_rendered
from hooks.offline.manifests.document import Fault
from hooks.offline.manifests.reading import Loaded, load_manifests
from hooks.offline.manifests.writing import guard_output
from hooks.offline.processes import spread_over_processes
from hooks.problems import describe_problem
from hooks.settings import Settings

_SELF_CONTAINED = frozenset({contract.GRAPH, contract.COMPONENT})
"""Kinds that manifests alone can render; a request also needs the cluster and its settings."""


def print_findings(
    files: Sequence[str], namespace: str, settings: Settings, installed: frozenset[str] | None, *, output: str
) -> None:
    """Print every problem and warning; if there is a problem, ends the process with status 1."""
    loaded = load_manifests(files, namespace)
    if installed is None:
        checked = check_manifests(loaded, settings, installed, spread_over_processes)
    else:
        checked = check_rendered(loaded, settings, installed, _SELF_CONTAINED, spread=spread_over_processes)
    faults, warnings = checked.faults, checked.warnings
    if output == "json":
        rows = [_row(fault) for fault in (*faults, *warnings)]
        with guard_output():
            click.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        sys.exit(1 if faults else 0)
    if output == "github":
        with guard_output():
            click.echo(write_annotations(faults, warnings), nl=False)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    if faults:
        refuse(faults, loaded.skipped)
    with guard_output():
        click.echo(_summary(loaded, len(warnings)), err=output == "github")


def _row(fault: Fault) -> dict[str, str | int]:
    mark = fault.mark
    return {"file": fault.file, "line": mark.line, "column": mark.column, **describe_problem(fault.problem)}


def _summary(loaded: Loaded, warnings: int) -> str:
    ours = sum(document.is_ours for document in loaded.documents)
    others = len(loaded.documents) - ours + loaded.unchecked
    passed = f", {others} of other kinds not checked" if others else ""
    warned = f", {count(warnings, 'warning')}" if warnings else ""
    return f"{count(ours, 'manifest')} valid{passed}{warned}{describe_skipped(loaded.skipped)}"
