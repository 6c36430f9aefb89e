"""`dynamo-hooks validate`: every problem of the manifests, each with file and line."""

import sys
from collections.abc import Iterable

import click
import orjson

from hooks import contract
from hooks.cli.options import known_kinds_option, namespace_option, read_offline_settings, settings_option
from hooks.manifests.annotations import write_annotations
from hooks.manifests.checking import check_manifests, check_rendered
from hooks.manifests.document import Fault
from hooks.manifests.reading import Loaded, load_manifests
from hooks.manifests.writing import guard_output
from hooks.problems import describe_problem

_SELF_CONTAINED = frozenset({contract.GRAPH, contract.COMPONENT})
"""Kinds that manifests alone can render; a request also needs the cluster and its settings."""


def refuse(faults: Iterable[Fault], skipped: int = 0) -> None:
    """Print the problems and their number to standard error and end with exit status 1."""
    found = list(faults)
    for fault in found:
        click.echo(str(fault), err=True)
    click.echo(f"{count(len(found), 'problem')}{_describe_skipped(skipped)}", err=True)
    sys.exit(1)


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks validate graph.yaml
  dynamo-hooks validate --with grove,inference-pool -o json manifests/
  cat graph.yaml | dynamo-hooks validate -"""
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@namespace_option
@known_kinds_option
@settings_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    help="The form in which problems are printed; github marks their lines in a pull request of GitHub.",
)
def validate(
    *,
    files: tuple[str, ...],
    namespace: str,
    installed: frozenset[str] | None,
    set_values: tuple[str, ...],
    output: str,
) -> None:
    """Check manifests as the API server and admission would. Print every problem and warning with file and line.

    FILE is a file, a directory (read recursively) or - for standard input. Objects of other kinds are not checked. In a
    directory, files that hold no manifest are skipped: values, patches and templates of Helm and Kustomize, and files
    of other programs. The exit status is 1 if there is a problem, else 0, also with warnings.
    """
    settings = read_offline_settings(set_values)
    loaded = load_manifests(files, namespace)
    if installed is None:
        checked = check_manifests(loaded, settings, installed)
    else:
        checked = check_rendered(loaded, settings, installed, _SELF_CONTAINED)
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
    return f"{count(ours, 'manifest')} valid{passed}{warned}{_describe_skipped(loaded.skipped)}"


def _describe_skipped(files: int) -> str:
    return f", {count(files, 'file')} without manifests skipped" if files else ""


def count(number: int, word: str) -> str:
    """`1 problem`, `2 problems`."""
    return f"{number} {word}{'s' if number != 1 else ''}"
