"""`dynamo-hooks convert`: manifests in the other version of their kinds, without a cluster."""

from collections.abc import Iterator

import click

from hooks.ground.k8s.types import ReadManifest
from hooks.language.versions import VERSIONS
from hooks.tools.cli.refusing import count, refuse
from hooks.tools.offline.manifests.checking import check_document
from hooks.tools.offline.manifests.converting import convert_document, is_converted
from hooks.tools.offline.manifests.document import Document, Fault, sort_faults
from hooks.tools.offline.manifests.reading import Loaded, load_manifests
from hooks.tools.offline.manifests.two_meanings import find_two_meanings
from hooks.tools.offline.manifests.writing import format_as_given, guard_output, order_keys


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks convert --to v1beta1 graph.yaml > graph-v1beta1.yaml
  dynamo-hooks convert --to v1alpha1 -o json manifests/ | jq '.[].spec.services'
  kubectl get dgd.v1alpha1.nvidia.com -o yaml | dynamo-hooks convert --to v1beta1 -"""
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--to",
    "version",
    required=True,
    type=click.Choice(list(VERSIONS.names)),
    help="The version of the output.",
)
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="How to print the result.")
def convert(*, files: tuple[str, ...], version: str, output: str) -> None:
    """Print manifests in the given version of nvidia.com.

    FILE is a file, a directory (read recursively) or - for standard input. Graphs, components and scaling adapters are
    converted; every other object is printed unchanged, and so are those that have the version already. The objects
    keep their order; a List is printed as its items. Comments are lost.

    Nothing else is lost: what the version cannot say is kept in annotations, from which a conversion back restores it.
    An object that breaks its schema is converted too, with a warning; `dynamo-hooks validate` finds what else is wrong
    with it. The exit status is 1, without output, if a file cannot be read, or if the API server would refuse a result
    although it takes the object that was written: some objects exist in one version only.
    """
    loaded = load_manifests(files, namespace="")
    faults = [*loaded.unreadable, *(fault for document in loaded.documents for fault in document.faults)]
    if faults:
        refuse(sort_faults(faults))
        return
    results = [_convert(document, version) for document in loaded.documents]
    refused = [fault for _, found in results for fault in found]
    if refused:
        refuse(sort_faults(refused))
        return
    for warning in _find_warnings(loaded):
        click.echo(f"warning: {warning}", err=True)
    if loaded.skipped:
        click.echo(f"left out: {count(loaded.skipped, 'file')} of directories without manifests", err=True)
    if loaded.unchecked:
        click.echo(f"left out: {count(loaded.unchecked, 'object')} of directories without a name", err=True)
    with guard_output():
        click.echo(format_as_given((manifest for manifest, _ in results), output), nl=False)


def _convert(document: Document, version: str) -> tuple[ReadManifest, list[Fault]]:
    """The object in that version and its problems; with its own order of keys if nothing had to be converted."""
    if not is_converted(document, version):
        return document.written, []
    converted, faults = convert_document(document, version)
    return order_keys(converted), faults


def _find_warnings(loaded: Loaded) -> Iterator[Fault]:
    """What the user should know of the result: broken schemas, and words with two meanings."""
    found = {fault for document in loaded.documents for fault in _find_warnings_of(document)}
    yield from sort_faults(found)


def _find_warnings_of(document: Document) -> Iterator[Fault]:
    yield from check_document(document)
    yield from (document.place_written(warning) for warning in find_two_meanings(document))
