"""`dynamo-hooks diff`: what a change of manifests will do, before it is applied."""

import sys
from pathlib import Path

import click

from hooks.server.commands.kind_options import with_option
from hooks.server.commands.settings_options import settings_option
from hooks.tools.cli.build_options import build_options
from hooks.tools.cli.cluster_options import Connection, connection_options
from hooks.tools.cli.diff_options import Fitting, OldSide, Waiting, fit_options, old_side_options, wait_options
from hooks.tools.cli.options import origin_option
from hooks.tools.cli.values import parse_namespace
from hooks.tools.offline.manifests.built.building import Building


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks diff old.yaml new.yaml
  dynamo-hooks diff --from-git origin/main manifests/ what the branch changes
  dynamo-hooks diff --from-cluster graph.yaml         what applying it will do to what runs
  dynamo-hooks diff --from-cluster charts/llm --values production.yaml
  dynamo-hooks diff --from-cluster --fit graph.yaml   and whether its pods find nodes
  dynamo-hooks diff --from-cluster -o json graph.yaml > plan.json
  kubectl apply -f graph.yaml && dynamo-hooks diff --wait plan.json
  dynamo-hooks diff -o markdown --exit-code old/ new/"""
)
@click.argument("files", nargs=-1, metavar="[OLD] NEW…")
@old_side_options
@click.option(
    "-n",
    "--namespace",
    metavar="NAMESPACE",
    callback=lambda context, parameter, name: parse_namespace(context, parameter, name) if name else "",
    help="Namespace of objects that name none. Default: default; with --from-cluster the namespace of the kubeconfig's "
    "context.",
)
@with_option
@settings_option
@build_options
@origin_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    help="How to print the result.",
)
@fit_options
@click.option("--show-values", "shows_values", is_flag=True, help="Show the values of environment variables too.")
@click.option(
    "--exit-code",
    "tells",
    is_flag=True,
    help="End with status 1 if there is a difference, and with 0 if there is none.",
)
@click.option(
    "--admission/--no-admission",
    default=None,
    help="Whether webhooks of this operator judge changes. Default: with --from-cluster what the cluster says, else "
    "unknown.",
)
@click.option(
    "--server-side",
    "is_tried",
    is_flag=True,
    help="With --from-cluster: let the API server try all objects in a dry run, with webhooks and quotas of others.",
)
@wait_options
@connection_options
def diff(  # noqa: PLR0913 - one for each option
    *,
    files: tuple[str, ...],
    old: OldSide,
    namespace: str,
    installed: frozenset[str],
    set_values: tuple[str, ...],
    building: Building,
    origin: str,
    output: str,
    fitting: Fitting,
    shows_values: bool,
    tells: bool,
    admission: bool | None,
    is_tried: bool,
    waiting: Waiting,
    connection: Connection,
) -> None:
    """Show what applying NEW will change: objects, fields, restarts of pods with the reason, GPUs, lost data and names.

    OLD and NEW are files, directories or - for standard input. Objects that are only in OLD count as removed; with
    --from-cluster nothing is removed, because kubectl apply removes nothing. Values of Secrets are never shown, values
    of environment variables only with --show-values. The highest use of resources assumes that all rollouts run at the
    same time; pods that are stopping are not counted. The exit status is 2 if the two cannot be compared; with
    --exit-code it is 1 if they differ; in all other cases it is 0.

    A change that the API server or admission refuses is listed as refused; one that only breaks a rule of the hooks is
    stored. --server-side lets the API server try the objects, the children that they lead to, and one pod of each set
    that starts, with the rights of the user: so webhooks, policies and quotas of others have their say.

    --wait ends with status 0 if all pods did what was said, and with 1 if not, or if that takes longer.

    --fit simulates the rollouts on the nodes, with GPUs, CPU, memory, nodeSelector, required node affinity, taints and
    the pods that run there, and shows which pods would stay Pending and why. It is an estimate: it ignores preemption,
    affinity between pods, spread and topology constraints, volumes, devices of claims, node autoscalers, and other pods
    that wait for a node.
    """
    if waiting.plan is not None:
        is_alone = not (files or old.revision or fitting.is_wanted or tells)
        _wait(waiting.plan, waiting.seconds, connection, is_alone=is_alone)
        return
    old.check(files, installed)
    fitting.check(old)
    _check_cluster(old, is_tried=is_tried, origin=origin)
    from hooks.tools.cli.comparison import compare, show  # noqa: PLC0415 - loads all that renders, `--help` needs none
    from hooks.tools.cli.sides import ComparedSides  # noqa: PLC0415

    sides = ComparedSides(
        files=files,
        revision=old.revision,
        cluster=connection if old.is_live else None,
        namespace=namespace,
        installed=installed,
        set_values=set_values,
        building=building,
        origin=origin,
        fits=fitting.is_wanted,
        nodes=fitting.nodes,
        admission=admission,
        is_tried=is_tried,
        keeps_state=output == "json",
    )
    found = compare(sides)
    show(found, output, shows_values=shows_values)
    if tells and not found.is_empty:
        sys.exit(1)


def _wait(plan: Path, seconds: float, connection: Connection, *, is_alone: bool) -> None:
    if not is_alone:
        raise click.UsageError("--wait FILE stands alone: FILE says what was compared")
    from hooks.tools.cli.waiting import wait_and_compare  # noqa: PLC0415 - loads what talks to a cluster

    wait_and_compare(plan, seconds, connection)


def _check_cluster(old: OldSide, *, is_tried: bool, origin: str) -> None:
    """Raise UsageError for an option that only, or never, is one of a cluster."""
    if is_tried and not old.is_live:
        raise click.UsageError("--server-side asks a cluster's API server; give --from-cluster too")
    if origin and old.is_live:
        raise click.UsageError("--origin contradicts --from-cluster, where what runs shows how its graph began")
