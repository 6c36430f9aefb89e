"""`dynamo-hooks diff`: what a change of manifests will do, before it is applied."""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime

import click
import orjson

from hooks.cli.cluster_options import Connection, connect, connection_options
from hooks.cli.options import (
    parse_namespace,
    read_offline_settings,
    settings_option,
    with_option,
)
from hooks.cli.render import load_together
from hooks.clients.api_server import Refused
from hooks.clients.cluster import Cluster
from hooks.diff.as_json import write_json
from hooks.diff.comparing import compare_manifests, compare_with_cluster
from hooks.diff.markdown import write_markdown
from hooks.diff.plan import Difference
from hooks.diff.text import write_text
from hooks.facts import Facts
from hooks.manifests.reading import ManifestFaults
from hooks.manifests.writing import guard_output
from hooks.migration.reading import read_objects
from hooks.settings import Settings

_FAILED = 2
"""The exit status for what is no comparison, as of `kubectl diff` and `git diff`, where 1 says that there is one."""


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks diff old.yaml new.yaml
  git show main:graph.yaml | dynamo-hooks diff - graph.yaml
  dynamo-hooks diff --from-cluster graph.yaml         what applying it will do to what runs
  dynamo-hooks diff -o markdown --exit-code old/ new/"""
)
@click.argument("files", nargs=-1, required=True, metavar="[OLD] NEW")
@click.option("--from-cluster", "is_live", is_flag=True, help="Compare with what is live; then only NEW is given.")
@click.option(
    "-n",
    "--namespace",
    metavar="NAMESPACE",
    callback=lambda context, parameter, name: parse_namespace(context, parameter, name) if name else "",
    help="Namespace of objects that name none. Default: default, or that of the kubeconfig's context.",
)
@with_option
@settings_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    help="The form of the output.",
)
@click.option("--exit-code", "tells", is_flag=True, help="End with status 1 if there is a difference, with 0 if none.")
@connection_options
def diff(  # noqa: PLR0913 - one for each option
    *,
    files: tuple[str, ...],
    is_live: bool,
    namespace: str,
    installed: frozenset[str],
    set_values: tuple[str, ...],
    output: str,
    tells: bool,
    connection: Connection,
) -> None:
    """Say what will change if NEW is applied: objects and fields, which pods restart and why, GPUs, what is gone.

    OLD and NEW are files, directories or - for standard input. Objects that only OLD has count as removed; with
    --from-cluster nothing is removed, as kubectl apply removes nothing. Values of Secrets are never shown. The peak of
    the resources counts all rollouts at the same time, and no pods that are stopping. The exit status is 2 if the two
    cannot be compared, otherwise 0; with --exit-code it is 1 if they differ.
    """
    _check_usage(files, is_live=is_live, installed=installed)
    settings = read_offline_settings(set_values)
    try:
        if is_live:
            with connect(connection) as cluster:
                found = _compare_live(cluster, files[0], namespace or cluster.namespace, settings)
        else:
            before, after = (load_together([path], namespace or "default") for path in files)
            found = compare_manifests(before, after, settings, installed)
    except ManifestFaults as error:
        _fail(map(str, error.faults))
    except Refused as refused:
        _fail([str(refused)])
    with guard_output():
        click.echo(_write(found, output), nl=False)
    if tells and not found.is_empty:
        sys.exit(1)


def _check_usage(files: tuple[str, ...], *, is_live: bool, installed: frozenset[str]) -> None:
    if is_live and len(files) != 1:
        raise click.UsageError("--from-cluster takes one argument, NEW; what is live is the other side")
    if not is_live and len(files) != 2:
        raise click.UsageError("give OLD and NEW, two files or directories, or --from-cluster and NEW")
    if files == ("-", "-"):
        raise click.UsageError("only one of OLD and NEW can be standard input")
    if is_live and installed:
        raise click.UsageError("--with contradicts --from-cluster, which asks the cluster for its kinds")


def _compare_live(cluster: Cluster, new: str, namespace: str, settings: Settings) -> Difference:
    facts = Facts(now=datetime.now(UTC), settings=settings)
    loaded = load_together([new], namespace)
    places = {str(one.object["metadata"].get("namespace") or namespace) for one in loaded.documents if one.is_ours}
    found = read_objects(cluster, sorted(places), facts)
    return compare_with_cluster(found, loaded, facts)


def _write(difference: Difference, output: str) -> str:
    match output:
        case "json":
            return orjson.dumps(write_json(difference), option=orjson.OPT_INDENT_2).decode() + "\n"
        case "markdown":
            return write_markdown(difference)
        case _:
            return write_text(difference, _colour)


def _colour(text: str, colour: str) -> str:
    return click.style(text, bold=True) if colour == "bold" else click.style(text, fg=colour)


def _fail(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line, err=True)
    sys.exit(_FAILED)
