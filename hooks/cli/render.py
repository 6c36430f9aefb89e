"""`dynamo-hooks render`: every child of every manifest, without a cluster."""

from datetime import UTC, datetime

import click

from hooks.cli.manifests import Document, Fault, ManifestFaults
from hooks.cli.options import namespace_option, read_offline_settings, settings_option, with_option
from hooks.cli.output import format_documents
from hooks.cli.validate import load_checked, refuse
from hooks.crds import apply_defaults
from hooks.facts import Facts
from hooks.rendering import Rendered, every_child
from hooks.rendering import render as render_documents
from hooks.settings import Settings

ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""Nothing that is rendered depends on the time; status does, and is not printed."""


def render_checked(documents: list[Document], settings: Settings, installed: frozenset[str]) -> list[Rendered]:
    """Render documents that passed their schemas, with the API server's defaults.

    Raises:
        ManifestFaults: specs that cannot be rendered, each problem at the document's first line.
    """
    objects = [apply_defaults(document.object) if document.is_ours else document.object for document in documents]
    rendered = render_documents(objects, Facts(now=ANY_TIME, settings=settings), installed=installed)
    faults = [
        Fault(document.file, document.line, "", problem)
        for document, one in zip(documents, rendered, strict=True)
        for problem in one.problems
    ]
    if faults:
        raise ManifestFaults(faults)
    return rendered


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks render graph.yaml
  dynamo-hooks render -n inference --with istio --set ingress_gateway=istio-system/main graph.yaml
  dynamo-hooks render -o json manifests/ | jq '.[].kind'
  dynamo-hooks render graph.yaml | kubectl diff -f -"""
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@namespace_option
@with_option
@settings_option
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="How it is printed.")
def render(
    *, files: tuple[str, ...], namespace: str, installed: frozenset[str], set_values: tuple[str, ...], output: str
) -> None:
    """Print every child of every manifest, recursively: graph, components, Deployments.

    FILE is a file, a directory (read recursively) or - for standard input. Objects of other kinds pass through
    untouched. The same input always gives the same bytes. Exit status 1, and no output, when a manifest is refused.
    """
    settings = read_offline_settings(set_values)
    try:
        rendered = render_checked(load_checked(files, namespace), settings, installed)
    except ManifestFaults as error:
        refuse(error.faults)
        return
    click.echo(format_documents(every_child(rendered), output), nl=False)
