"""`dynamo-hooks graph`: pictures of graphs, from manifests or from a cluster."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from hooks.cli.cluster_options import Connection, connect, connection_options
from hooks.cli.live_graphs import draw_live_graph
from hooks.cli.options import (
    known_kinds_option,
    read_offline_settings,
    read_settings,
    settings_option,
)
from hooks.cli.render import check_whole, load_together
from hooks.cli.validate import refuse
from hooks.cli.values import parse_namespace
from hooks.clients.api_server import Refused
from hooks.errors import InvalidSpec
from hooks.manifests.checking import Checked
from hooks.manifests.reading import ManifestFaults
from hooks.manifests.writing import guard_output
from hooks.metacontroller.optional_kinds import OPTIONAL_KINDS
from hooks.picture.dot import write_dot
from hooks.picture.mermaid import write_mermaid
from hooks.picture.objects import Drawn, draw_rendered
from hooks.picture.page import write_page
from hooks.picture.parts import Picture
from hooks.picture.plan import Surroundings
from hooks.picture.svg import write_svg
from hooks.rendering import declared_kinds
from hooks.settings import Settings

_FORMS: dict[str, Callable[[Sequence[Picture]], str]] = {
    "mermaid": write_mermaid,
    "dot": write_dot,
    "svg": write_svg,
    "html": write_page,
}
_GROVE = "grove"
_ENDINGS = {".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg", ".html": "html"}


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks graph graph.yaml                            Mermaid, to paste into Markdown
  dynamo-hooks graph --output-file graph.html graph.yaml
  dynamo-hooks graph -o dot manifests/ | dot -Tpdf > graphs.pdf
  dynamo-hooks graph -n inference --from-cluster llm --output-file llm.svg"""
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
    type=click.Choice(list(_FORMS)),
    help="The form. Default: by the ending of --output-file, otherwise mermaid.",
)
@click.option(
    "--output-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write into this file instead of standard output.",
)
@known_kinds_option
@settings_option
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
    connection: Connection,
) -> None:
    """Draw graphs: services with replicas, nodes and GPUs, the ways of requests and of the KV cache, models, entries.

    FILE is a file, a directory (read recursively) or - for standard input. Each graph is drawn with the models of the
    same files. Without --with, all optional kinds count as installed, Grove only where nothing else can run a graph.
    Nothing of a picture needs a network or a script. If a manifest is refused, the exit status is 1.
    """
    if bool(files) == bool(graphs):
        raise click.UsageError("give either FILE or --from-cluster GRAPH")
    form = output or _form_of(output_file)
    if files:
        pictures = _draw_files(files, namespace or "default", read_offline_settings(set_values), installed)
    elif installed is not None:
        raise click.UsageError("--with does not go with --from-cluster, which asks the cluster")
    else:
        pictures = _draw_live(graphs, namespace, read_settings(set_values), connection)
    _write(_FORMS[form](pictures), output_file)


def _form_of(path: Path | None) -> str:
    if path is None:
        return "mermaid"
    form = _ENDINGS.get(path.suffix.lower())
    if form is None:
        endings = ", ".join(_ENDINGS)
        raise click.UsageError(f"{path.name} does not end with one of {endings}; say the form with -o")
    return form


def _draw_files(
    files: Sequence[str], namespace: str, settings: Settings, installed: frozenset[str] | None
) -> Sequence[Picture]:
    try:
        drawn = _draw_given(files, namespace, settings, installed)
    except ManifestFaults as error:
        refuse(error.faults)
        return ()
    for remark in drawn.remarks:
        click.echo(remark, err=True)
    if not drawn.pictures:
        click.echo("there is no graph and no component to draw", err=True)
        sys.exit(1)
    return drawn.pictures


def _draw_given(files: Sequence[str], namespace: str, settings: Settings, installed: frozenset[str] | None) -> Drawn:
    """Draw the manifests of files.

    Raises:
        ManifestFaults: every problem of every file.
    """
    loaded = load_together(files, namespace)
    if installed is not None:
        return _draw(check_whole(loaded, settings, installed), settings, installed)
    without = frozenset(OPTIONAL_KINDS) - {_GROVE}
    try:
        return _draw(check_whole(loaded, settings, without), settings, without)
    except ManifestFaults as refused:
        # A picture does not show in which form a version of Grove reads constraints.
        chosen = (
            settings.model_copy(update={"grove_topology": "pack"}) if settings.grove_topology == "off" else settings
        )
        try:
            return _draw(check_whole(loaded, chosen, without | {_GROVE}), chosen, without, spare=frozenset({_GROVE}))
        except ManifestFaults as again:
            raise ManifestFaults(set(refused.faults) & set(again.faults) or again.faults) from again


def _draw(
    checked: Checked, settings: Settings, installed: frozenset[str], *, spare: frozenset[str] = frozenset()
) -> Drawn:
    around = Surroundings(settings=settings, declared=tuple(declared_kinds(installed)))
    return draw_rendered(checked.rendered, around, spare=spare)


def _draw_live(graphs: Sequence[str], namespace: str, settings: Settings, connection: Connection) -> Sequence[Picture]:
    pictures: list[Picture] = []
    try:
        with connect(connection) as cluster:
            where = namespace or cluster.namespace
            for name in graphs:
                found = draw_live_graph(cluster, name, where, settings)
                if found is None:
                    click.echo(f"there is no graph {name} in namespace {where}", err=True)
                    sys.exit(1)
                for sentence in found.unread:
                    click.echo(f"not shown: {sentence}", err=True)
                pictures.append(found.picture)
    except (Refused, InvalidSpec) as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    return pictures


def _write(text: str, path: Path | None) -> None:
    if path is None:
        with guard_output():
            click.echo(text, nl=False)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}") from error
