"""`dynamo-hooks graph`: pictures of graphs, from manifests or from a cluster."""

from pathlib import Path

import click

from hooks.server.commands.kind_options import known_kinds_option
from hooks.server.commands.settings_options import read_settings, settings_option
from hooks.tools.cli.build_options import build_options
from hooks.tools.cli.cluster_options import Connection, connection_options
from hooks.tools.cli.options import read_offline_settings
from hooks.tools.cli.values import parse_namespace
from hooks.tools.offline.manifests.built.building import Building

_FORMS = ("mermaid", "dot")
_ENDINGS = {".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot"}


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks graph graph.yaml                            Mermaid, to paste into Markdown
  dynamo-hooks graph --output-file graph.mmd graph.yaml
  dynamo-hooks graph -o dot manifests/ | dot -Tsvg > graphs.svg
  dynamo-hooks graph -n inference --from-cluster llm -o dot | dot -Tpdf > llm.pdf"""
)
@click.argument("files", nargs=-1, metavar="[FILE]…")
@click.option(
    "--from-cluster",
    "graphs",
    multiple=True,
    metavar="GRAPH",
    help="Draw this graph of a cluster, with how ready its parts are; can be given several times.",
)
@click.option(
    "-n",
    "--namespace",
    metavar="NAMESPACE",
    callback=lambda context, parameter, name: parse_namespace(context, parameter, name) if name else "",
    help="Namespace of objects that name none, by default `default`; with --from-cluster that of the graph, by default "
    "that of the kubeconfig's context.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(_FORMS),
    help="The form. Default: what the ending of --output-file says; mermaid on standard output.",
)
@click.option(
    "--output-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write into this file instead of standard output.",
)
@known_kinds_option
@settings_option
@build_options
@connection_options
def graph(  # noqa: PLR0913 - one for each option
    *,
    files: tuple[str, ...],
    graphs: tuple[str, ...],
    namespace: str,
    output: str | None,
    output_file: Path | None,
    installed: frozenset[str] | None,
    set_values: tuple[str, ...],
    building: Building,
    connection: Connection,
) -> None:
    """Draw graphs: services with replicas, nodes and GPUs, the ways of requests and of the KV cache, models, entries.

    FILE is a file, a directory (read recursively) or - for standard input. Each graph is drawn with the models of the
    same files. Without --with, all optional kinds count as installed, Grove only where nothing else can run a graph.
    Mermaid is drawn by GitHub, GitLab and editors, DOT by Graphviz. If a manifest is refused, the exit status is 1.
    """
    if bool(files) == bool(graphs):
        raise click.UsageError("give either FILE or --from-cluster GRAPH")
    form = output or _form_of(output_file)
    # Loads all that renders: not for `--help`.
    from hooks.tools.cli.drawing import draw_loaded, write_pictures  # noqa: PLC0415
    from hooks.tools.offline.manifests.inputs import Selection  # noqa: PLC0415
    from hooks.tools.offline.manifests.together import load_together  # noqa: PLC0415

    if files:
        loaded = load_together(files, namespace or "default", Selection(building=building))
        pictures = draw_loaded(loaded, read_offline_settings(set_values), installed)
    elif installed is not None:
        raise click.UsageError("--with does not go with --from-cluster, which asks the cluster")
    else:
        from hooks.tools.cli.live_graphs import draw_live  # noqa: PLC0415 - files alone need no client of the API server

        pictures = draw_live(graphs, namespace, read_settings(set_values), connection)
    write_pictures(pictures, form, output_file)


def _form_of(path: Path | None) -> str:
    if path is None:
        return "mermaid"
    form = _ENDINGS.get(path.suffix.lower())
    if form is None:
        endings = ", ".join(_ENDINGS)
        raise click.UsageError(f"{path.name} does not end with one of {endings}; say the form with -o")
    return form
