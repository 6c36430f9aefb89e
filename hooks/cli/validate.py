"""`dynamo-hooks validate`: every fault of the manifests, each with file and line."""

import sys
from collections.abc import Iterable

import click
import orjson

from hooks.cli.judging import judge_documents
from hooks.cli.manifests import Document, Fault, ManifestFaults, load_manifests
from hooks.cli.options import known_kinds_option, namespace_option, read_offline_settings, settings_option
from hooks.crds import find_faults


def check_documents(documents: Iterable[Document]) -> list[Fault]:
    """All faults of our own documents against their schemas; foreign kinds are not judged."""
    return sorted(
        document.fault(fault.path, fault.message)
        for document in documents
        if document.is_ours
        for fault in find_faults(document.object)
    )


def load_checked(paths: Iterable[str], namespace: str) -> list[Document]:
    """Read manifests and check them.

    Raises:
        ManifestFaults: every fault of every file.
    """
    documents = load_manifests(paths, namespace)
    faults = check_documents(documents)
    if faults:
        raise ManifestFaults(faults)
    return documents


def refuse(faults: Iterable[Fault]) -> None:
    """Print the faults to standard error and end with exit status 1."""
    found = list(faults)
    for fault in found:
        click.echo(str(fault), err=True)
    click.echo(f"{_count(len(found), 'fault')}; nothing was done", err=True)
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
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How faults are printed.")
def validate(
    *,
    files: tuple[str, ...],
    namespace: str,
    installed: frozenset[str] | None,
    set_values: tuple[str, ...],
    output: str,
) -> None:
    """Check manifests as the API server and admission would, and print every fault and warning with file and line.

    FILE is a file, a directory (read recursively) or - for standard input. Objects of other kinds are not judged. Exit
    status 0 without faults, though there be warnings, and 1 with.
    """
    settings = read_offline_settings(set_values)
    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    try:
        documents = load_manifests(files, namespace)
        found = check_documents(documents)
        judged = judge_documents(documents, found, settings, installed)
        faults, warnings = tuple(sorted([*found, *judged.problems])), judged.warnings
    except ManifestFaults as error:
        documents, faults = [], error.faults
    if output == "json":
        rows = [*(_row(fault, "error") for fault in faults), *(_row(warning, "warning") for warning in warnings)]
        click.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        sys.exit(1 if faults else 0)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    if faults:
        refuse(faults)
    click.echo(_summary(documents, len(warnings)))


def _row(fault: Fault, severity: str) -> dict[str, str | int]:
    return {
        "file": fault.file,
        "line": fault.line,
        "severity": severity,
        "field": fault.field,
        "message": fault.message,
    }


def _summary(documents: list[Document], warnings: int) -> str:
    ours = sum(document.is_ours for document in documents)
    passed = f", {len(documents) - ours} of other kinds not judged" if len(documents) > ours else ""
    warned = f", {_count(warnings, 'warning')}" if warnings else ""
    return f"{_count(ours, 'manifest')} valid{passed}{warned}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number != 1 else ''}"
