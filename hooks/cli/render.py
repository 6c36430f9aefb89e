"""`dynamo-hooks render`: every child of every manifest, without a cluster."""

import click

from hooks.cli.judging import place, render_all
from hooks.cli.manifests import Document, ManifestFaults
from hooks.cli.options import namespace_option, read_offline_settings, settings_option, with_option
from hooks.cli.output import format_documents
from hooks.cli.validate import load_checked, refuse
from hooks.rendering import Rendered, every_child
from hooks.settings import Settings


def render_checked(documents: list[Document], settings: Settings, installed: frozenset[str]) -> list[Rendered]:
    """Render documents that passed their schemas, with the API server's defaults.

    Raises:
        ManifestFaults: specs that cannot be rendered, each problem at its field.
    """
    rendered = render_all(documents, settings, installed)
    faults = [
        place(document, problem) for document, one in zip(documents, rendered, strict=True) for problem in one.problems
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
