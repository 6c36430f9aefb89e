"""`dynamo-hooks diff`: what a change of manifests will do, before it is applied."""

import sys
from pathlib import Path

import click

from hooks.tools.cli.cluster_options import Connection, connection_options
from hooks.tools.cli.diff_options import (
    Asked,
    OldSide,
    Reading,
    Waiting,
    answer_options,
    old_side_options,
    reading_options,
    wait_options,
)


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
@reading_options
@answer_options
@wait_options
@connection_options
def diff(
    *,
    files: tuple[str, ...],
    old: OldSide,
    reading: Reading,
    answer: Asked,
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
        is_alone = not (files or old.revision or answer.fits or answer.tells)
        _wait(waiting.plan, waiting.seconds, connection, is_alone=is_alone)
    else:
        old.check(files, reading)
        answer.check(old)
        _compare(files, old, reading=reading, answer=answer, connection=connection)


def _compare(files: tuple[str, ...], old: OldSide, *, reading: Reading, answer: Asked, connection: Connection) -> None:
    from hooks.tools.cli.comparison import compare, show  # noqa: PLC0415 - loads all that renders, `--help` needs none
    from hooks.tools.cli.sides import ComparedSides  # noqa: PLC0415

    found = compare(ComparedSides(files=files, old=old, reading=reading, answer=answer, connection=connection))
    show(found, answer.output, shows_values=answer.shows_values)
    if answer.tells and not found.is_empty:
        sys.exit(1)


def _wait(plan: Path, seconds: float, connection: Connection, *, is_alone: bool) -> None:
    if not is_alone:
        raise click.UsageError("--wait FILE stands alone: FILE says what was compared")
    from hooks.tools.cli.waiting import wait_and_compare  # noqa: PLC0415 - loads what talks to a cluster

    wait_and_compare(plan, seconds, connection)
