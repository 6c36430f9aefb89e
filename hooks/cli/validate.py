"""`dynamo-hooks validate`: every fault of the manifests, each with file and line."""

import sys
from collections.abc import Iterable

import click
import orjson

from hooks.cli.manifests import Document, Fault, ManifestFaults, load_manifests
from hooks.cli.options import namespace_option
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
    click.echo(f"{len(found)} fault{'s' if len(found) != 1 else ''}; nothing was done", err=True)
    sys.exit(1)


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks validate graph.yaml
  dynamo-hooks validate -o json manifests/
  cat graph.yaml | dynamo-hooks validate -"""
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@namespace_option
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How faults are printed.")
def validate(files: tuple[str, ...], namespace: str, output: str) -> None:
    """Check manifests against the schemas of the five kinds, and print every fault with file and line.

    FILE is a file, a directory (read recursively) or - for standard input. Exit status 0 without faults, 1 with.
    """
    try:
        documents = load_checked(files, namespace)
        faults: tuple[Fault, ...] = ()
    except ManifestFaults as error:
        documents, faults = [], error.faults
    if output == "json":
        rows = [{"file": f.file, "line": f.line, "field": f.field, "message": f.message} for f in faults]
        click.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        sys.exit(1 if faults else 0)
    if faults:
        refuse(faults)
    ours = sum(document.is_ours for document in documents)
    passed = f", {len(documents) - ours} of other kinds not judged" if len(documents) > ours else ""
    click.echo(f"{ours} manifest{'s' if ours != 1 else ''} valid{passed}")
