"""`dynamo-hooks render`: every child of every manifest, without a cluster."""

import click

from hooks.server.commands.kind_options import with_option
from hooks.server.commands.settings_options import settings_option
from hooks.tools.cli.build_options import build_options
from hooks.tools.cli.options import namespace_option, origin_option, read_offline_settings
from hooks.tools.cli.refusing import refuse
from hooks.tools.offline.manifests.built.building import Building
from hooks.tools.offline.manifests.inputs import Selection
from hooks.tools.offline.manifests.reading import ManifestFaults
from hooks.tools.offline.manifests.together import render_manifests
from hooks.tools.offline.manifests.writing import format_documents, guard_output
from hooks.tools.offline.processes import spread_over_processes
from hooks.tools.offline.rendering import every_child


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
@build_options
@origin_option
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="How to print the result.")
def render(  # noqa: PLR0913 - one for each option
    *,
    files: tuple[str, ...],
    namespace: str,
    installed: frozenset[str],
    set_values: tuple[str, ...],
    building: Building,
    origin: str,
    output: str,
) -> None:
    """Print every child of every manifest, recursively: graph, components, Deployments.

    FILE is a file, a directory (read recursively) or - for standard input. A directory with a Kustomization or a chart
    of Helm is built by its own tool. Objects of other kinds are printed
    unchanged. The same input always gives the same bytes. Warnings are printed to standard error.
    If a manifest is refused, the exit status is 1 and there is no output.
    """
    settings, selection = read_offline_settings(set_values), Selection(building=building, origin=origin)
    try:
        checked = render_manifests(files, namespace, settings, installed, selection=selection)
    except ManifestFaults as error:
        refuse(error.faults)
        return
    for warning in checked.warnings:
        click.echo(f"warning: {warning}", err=True)
    with guard_output():
        click.echo(format_documents(every_child(checked.rendered), output, spread_over_processes), nl=False)
