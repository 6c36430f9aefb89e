"""`dynamo-hooks diff`: what a change of manifests will do, before it is applied."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import click
import orjson

from hooks.cli.cluster_options import Connection, connect, connection_options
from hooks.cli.git_revisions import GitFailed, load_revision
from hooks.cli.machines import InvalidNodes, read_machines, read_machines_file
from hooks.cli.options import (
    read_offline_settings,
    settings_option,
    with_option,
)
from hooks.cli.render import load_together
from hooks.cli.values import parse_namespace
from hooks.clients.api_server import Refused
from hooks.clients.cluster import Cluster
from hooks.diff.as_json import write_json
from hooks.diff.comparing import compare_manifests, compare_with_cluster
from hooks.diff.fitting import Machines, judge_fit
from hooks.diff.markdown import write_markdown
from hooks.diff.plan import Difference
from hooks.diff.text import write_text
from hooks.facts import Facts
from hooks.manifests.reading import Loaded, ManifestFaults
from hooks.manifests.writing import guard_output
from hooks.migration.reading import read_objects
from hooks.settings import Settings

_FAILED = 2
"""The exit status for what is no comparison, as of `kubectl diff` and `git diff`, where 1 says that there is one."""


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks diff old.yaml new.yaml
  dynamo-hooks diff --from-git origin/main manifests/ what the branch changes
  dynamo-hooks diff --from-cluster graph.yaml         what applying it will do to what runs
  dynamo-hooks diff --from-cluster --fit graph.yaml   and whether its pods find nodes
  dynamo-hooks diff -o markdown --exit-code old/ new/"""
)
@click.argument("files", nargs=-1, required=True, metavar="[OLD] NEW…")
@click.option("--from-cluster", "is_live", is_flag=True, help="Compare with what is live; then only NEW is given.")
@click.option(
    "--from-git",
    "revision",
    default="",
    metavar="REVISION",
    help="Compare with the same files at a revision of git; then one or more NEW are given.",
)
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
@click.option(
    "--fit", "fits", is_flag=True, help="Estimate whether the pods find nodes; with --from-cluster or --nodes."
)
@click.option(
    "--nodes",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="For --fit: the output of `kubectl get nodes -o yaml`, or of `kubectl get nodes,pods -A -o yaml`, so that the "
    "pods that run count too.",
)
@click.option("--exit-code", "tells", is_flag=True, help="End with status 1 if there is a difference, with 0 if none.")
@connection_options
def diff(  # noqa: PLR0913 - one for each option
    *,
    files: tuple[str, ...],
    is_live: bool,
    revision: str,
    namespace: str,
    installed: frozenset[str],
    set_values: tuple[str, ...],
    output: str,
    fits: bool,
    nodes: Path | None,
    tells: bool,
    connection: Connection,
) -> None:
    """Say what will change if NEW is applied: objects and fields, which pods restart and why, GPUs, what is gone.

    OLD and NEW are files, directories or - for standard input. Objects that only OLD has count as removed; with
    --from-cluster nothing is removed, as kubectl apply removes nothing. Values of Secrets are never shown. The peak of
    the resources counts all rollouts at the same time, and no pods that are stopping. The exit status is 2 if the two
    cannot be compared, otherwise 0; with --exit-code it is 1 if they differ.

    --fit plays the rollouts on the nodes: GPUs, CPU and memory in the shape that a pod needs, nodeSelector, required
    node affinity, taints, and what runs there. It says which pods would stay Pending, and why. It is an estimate: it
    knows no preemption, no affinity between pods, no spread or topology constraints, no volumes, no devices of claims,
    no autoscaler of nodes, and no pods of others that wait for a node too.
    """
    _check_usage(files, is_live=is_live, revision=revision, installed=installed)
    _check_fit(fits=fits, is_live=is_live, nodes=nodes)
    settings = read_offline_settings(set_values)
    try:
        machines = read_machines_file(nodes) if nodes else None
        if is_live:
            with connect(connection) as cluster:
                found = _compare_live(cluster, files[0], namespace or cluster.namespace, settings)
                machines = _read_live_machines(cluster, found) if fits and machines is None else machines
        else:
            old, new = _load(files, revision, namespace or "default")
            found = compare_manifests(old, new, settings, installed)
    except ManifestFaults as error:
        _fail(map(str, error.faults))
    except (Refused, GitFailed, InvalidNodes) as refused:
        _fail([str(refused)])
    if machines is not None:
        found = replace(found, fit=judge_fit(found.pods, machines))
    with guard_output():
        click.echo(_write(found, output), nl=False)
    if tells and not found.is_empty:
        sys.exit(1)


def _check_usage(files: tuple[str, ...], *, is_live: bool, revision: str, installed: frozenset[str]) -> None:
    if is_live and revision:
        raise click.UsageError("--from-cluster and --from-git both say what OLD is; give one of them")
    if is_live and len(files) != 1:
        raise click.UsageError("--from-cluster takes one argument, NEW; what is live is the other side")
    if revision and "-" in files:
        raise click.UsageError("--from-git takes files and directories; git does not have standard input")
    if not is_live and not revision and len(files) != 2:
        raise click.UsageError("give OLD and NEW, two files or directories, or one with --from-cluster or --from-git")
    if files == ("-", "-"):
        raise click.UsageError("only one of OLD and NEW can be standard input")
    if is_live and installed:
        raise click.UsageError("--with contradicts --from-cluster, which asks the cluster for its kinds")


def _load(files: Sequence[str], revision: str, namespace: str) -> tuple[Loaded, Loaded]:
    if revision:
        sides = load_revision(revision, files, namespace)
        return sides.old, sides.new
    old, new = (load_together([path], namespace) for path in files)
    return old, new


def _read_live_machines(cluster: Cluster, found: Difference) -> Machines:
    return read_machines(cluster, sorted({one.set.workload.namespace for one in found.pods}))


def _check_fit(*, fits: bool, is_live: bool, nodes: Path | None) -> None:
    if fits and not is_live and nodes is None:
        raise click.UsageError("--fit needs nodes; give --nodes FILE or --from-cluster")
    if nodes is not None and not fits:
        raise click.UsageError("--nodes is for --fit; give both")


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


def _fail(lines: Iterable[str]) -> NoReturn:
    for line in lines:
        click.echo(line, err=True)
    sys.exit(_FAILED)
