"""`kubectl dynamo rollout`: where the rollout of a graph's workers stands, and the commands that steer it."""

import sys
from datetime import UTC, datetime
from time import monotonic, sleep

import click

from hooks.server.clients.api_server import Refused
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.cli.kubectl.restart import warn_if_nobody_acts
from hooks.tools.cli.kubectl.steering import Steered, pause_rollout, resume_rollout, try_canary
from hooks.tools.cli.kubectl.target import Target, find_graph, graph_options, open_graph
from hooks.tools.cli.kubectl.undoing import describe_steering, list_history, show_revision, undo_rollout
from hooks.tools.cli.refusals import describe_refusal
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.operating.live_tree import read_tree
from hooks.tools.operating.rollout_position import RolloutPosition, Standing, find_position
from hooks.wire.policy.rollout_wishes import is_canary

_SECONDS = 2.0
_INTERRUPTED = 130
_ENDED = frozenset({Standing.DONE, Standing.STALLED, Standing.FAILED})


@click.group(
    epilog="""\b
Examples:
  kubectl dynamo rollout status llm --watch
  kubectl dynamo rollout canary llm --pods 1    before or after the change
  kubectl dynamo rollout resume llm
  kubectl dynamo rollout undo llm               back to the spec before"""
)
@click.pass_context
def rollout(called: click.Context) -> None:
    """Steer how a graph's workers go from one generation to the next: watch it, hold it, try it on a part.

    `pause`, `resume` and `canary` write annotations of the graph, which a manifest in Git can have as well.
    """
    values = called.default_map or {}
    called.default_map = dict.fromkeys(rollout.commands, values)


@rollout.command()
@graph_options
@click.option("-w", "--watch", "watches", is_flag=True, help="Follow it until it ends.")
@click.option(
    "--wait-seconds",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=0.0,
    help="With --watch: give up after so long, with status 1; 0 never does.",
)
def status(*, name: str, namespace: str, connection: Connection, watches: bool, wait_seconds: float) -> None:
    """Say where the rollout stands: the generations, their ready pods, and what old pods wait for.

    The exit status is 1 if it stalls, if it failed, or if it has not ended after --wait-seconds; otherwise 0. --watch
    also follows a rollout that is paused, or that has its canary. Nothing in the cluster is changed.
    """
    if wait_seconds and not watches:
        raise click.UsageError("--wait-seconds is for --watch")
    with open_graph(connection, namespace, name) as target, guard_output():
        if not watches:
            position = _find(target)
            click.echo(position.text)
            sys.exit(0 if position.standing in {Standing.DONE, Standing.UNDER_WAY} else 1)
        try:
            sys.exit(_follow(target, wait_seconds))
        except KeyboardInterrupt:
            sys.exit(_INTERRUPTED)


@rollout.command()
@graph_options
def pause(*, name: str, namespace: str, connection: Connection) -> None:
    """Hold a rollout: the pods of each generation of workers stay as many as they are.

    What serves goes on serving, also the new generation. Before a change, the rollout waits from its beginning.
    """
    with open_graph(connection, namespace, name) as target:
        _tell(pause_rollout(target))


@rollout.command()
@graph_options
def resume(*, name: str, namespace: str, connection: Connection) -> None:
    """Go on with a rollout that is paused, or that has its canary: both annotations are removed."""
    with open_graph(connection, namespace, name) as target:
        _tell(resume_rollout(target))


@rollout.command()
@graph_options
@click.option(
    "--pods",
    metavar="N|N%",
    required=True,
    help="How many complete sets: a number, or a percentage of those that are wanted.",
)
def canary(*, name: str, namespace: str, connection: Connection, pods: str) -> None:
    """Give the new generation so many complete sets of workers, and let it wait there.

    A set is a pod of each worker, in the ratio of their replicas. It serves beside the old generation. `resume` goes on
    with the rollout.
    """
    if not is_canary(pods):
        raise click.BadParameter(f"{pods!r} is neither a number from 1 nor a percentage to 100%", param_hint="--pods")
    with open_graph(connection, namespace, name) as target:
        _tell(try_canary(target, pods))


@rollout.command()
@graph_options
@click.option("--revision", metavar="N", type=click.IntRange(min=1), help="Show the spec of this revision.")
def history(*, name: str, namespace: str, connection: Connection, revision: int | None) -> None:
    """List the specs that the graph had: number, since when, the generation of its workers, changed fields.

    Restarts, and changes of replicas or of scaling adapters alone, are no revision. Nothing in the cluster is changed.
    """
    with open_graph(connection, namespace, name) as target, guard_output():
        click.echo(show_revision(target, revision) if revision else list_history(target))


@rollout.command()
@graph_options
@click.option("--to-revision", metavar="N", type=click.IntRange(min=1), help="Default: the one before the present.")
@click.option("-y", "--yes", "is_sure", is_flag=True, help="Ask no question.")
def undo(*, name: str, namespace: str, connection: Connection, to_revision: int | None, is_sure: bool) -> None:
    """Write an earlier spec of the graph back, as `history` lists them.

    Replicas, scaling adapters and spec.restart stay as they are. Workers go back in complete sets, as with any change.
    A pause and a canary would hold them, so these are removed, after a question.
    """
    with open_graph(connection, namespace, name) as target:
        question = describe_steering(target)
        if question and not is_sure:
            click.confirm(question, abort=True)
        _tell(undo_rollout(target, to_revision))
        warn_if_nobody_acts(target)


def _tell(steered: Steered) -> None:
    for sentence in steered.done:
        click.echo(sentence)
    for warning in steered.warnings:
        click.echo(f"warning: {warning}", err=True)


def _find(target: Target) -> RolloutPosition:
    now = datetime.now(UTC)
    tree = read_tree(target.cluster, target.graph, now)
    return find_position(tree.graph, tree.objects, now)


def _follow(target: Target, seconds: float) -> int:
    """Print the position whenever it changes, until the rollout ends; returns the exit status.

    Raises:
        NotPossible: the graph is gone.
    """
    deadline, last = monotonic() + seconds if seconds else None, ""
    while True:
        try:
            position = _find(find_graph(target.cluster, target.namespace, target.name))
            text, standing = position.text, position.standing
        except Refused as refused:
            text, standing = describe_refusal(refused), Standing.UNDER_WAY
        if text != last:
            last = text
            click.echo(text)
        if standing in _ENDED:
            return 0 if standing is Standing.DONE else 1
        if deadline is not None and monotonic() > deadline:
            click.echo(f"not done within {seconds:g} seconds", err=True)
            return 1
        sleep(_SECONDS)
