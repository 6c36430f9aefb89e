"""`kubectl dynamo status`: a graph as it is."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from time import sleep

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.types import name_of
from hooks.server.clients.api_server import Refused
from hooks.tools.cli.cluster_options import Connection, connection_options
from hooks.tools.cli.console import SafeConsole
from hooks.tools.cli.kubectl.age import age_of
from hooks.tools.cli.kubectl.suggesting import complete_graphs
from hooks.tools.cli.kubectl.target import Target, find_graph, namespace_of_graph, open_graph
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.offline.simulation.trees import build_tree, describe_restart, describe_rollout, is_ready
from hooks.tools.operating.live_tree import LiveTree, describe_live, read_tree, time_of
from hooks.tools.operating.serving import describe_serving, find_serving

_SECONDS = 2.0
_INTERRUPTED = 130
_WIDTH = 200
_LONGEST = 400


@click.command(
    epilog="""\b
Examples:
  kubectl dynamo status                         all graphs of the namespace; -A of all namespaces
  kubectl dynamo status llm
  kubectl dynamo status llm -n inference --watch
  kubectl dynamo status -A -o json | jq '.[] | select(.ready | not)'"""
)
@click.argument("name", metavar="[GRAPH]", default="", shell_complete=complete_graphs)
@namespace_of_graph
@connection_options
@click.option("-A", "--all-namespaces", "is_everywhere", is_flag=True, help="List the graphs of all namespaces.")
@click.option("-w", "--watch", "watches", is_flag=True, help="Show a graph again when it changes, until Ctrl-C.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["wide", "json", "yaml"]),
    help="How to print it: `wide` is the list with more columns.",
)
def status(
    *,
    name: str,
    namespace: str,
    connection: Connection,
    is_everywhere: bool,
    watches: bool,
    output: str | None,
) -> None:
    """List graphs, or show one as it is: the tree of its objects, why it is not ready, a restart under way, Events.

    The list says of each graph whether it is ready, the reason if not, its GPUs, and restarts that wait or go on: one
    that was asked for, and new defaults that wait for the next change. The models that a graph serves are shown below
    it. Nothing in the cluster is changed. What your account may not read is named, and left out.
    """
    if name and (is_everywhere or output == "wide"):
        raise click.UsageError("-A and -o wide are for the list; leave GRAPH out")
    if watches and (output or not name):
        raise click.UsageError("--watch is for one GRAPH, without -o")
    if not name or output:
        from hooks.tools.cli.kubectl.listing import list_graphs, print_graph  # noqa: PLC0415 - a tree needs none of it

        if name:
            print_graph(connection, namespace, name, str(output))
        else:
            list_graphs(connection, namespace, output or "", is_everywhere=is_everywhere)
        return
    with open_graph(connection, namespace, name) as target, guard_output():
        if watches:
            _watch(target)
        else:
            _print(target)


def build_view(found: LiveTree, now: datetime | None = None) -> RenderableType:
    """Everything that is shown; Events with their age, or without `now` with their time."""
    state = Text("Ready", style="green") if is_ready(found.graph) else Text("not ready", style="yellow")
    namespace = found.graph["metadata"].get("namespace", "")
    serving = describe_serving(found.graph)
    restart, rollout = describe_restart(found.graph), describe_rollout(found.graph, found.objects)
    parts: list[RenderableType] = [
        Text.assemble(f"graph {name_of(found.graph)} in namespace {namespace}: ", state),
        *([Text(f"serving {find_serving(found.graph)}: {serving}")] if serving else ()),
        *([Text(f"restart {restart}")] if restart else ()),
        *([Text(f"rollout {rollout}")] if rollout else ()),
        *_titled("Reasons", found.reasons),
        Text(""),
        *(build_tree(root, found.objects, describe_live) for root in (found.graph, *found.models)),
        *_titled("Pods that belong to no workload of the graph", found.unmanaged),
        *_titled("Events", tuple(_describe_events(found, now))),
        *_titled("Not shown", found.unread),
    ]
    return Group(*parts)


def _titled(title: str, lines: tuple[str, ...]) -> Iterator[RenderableType]:
    if lines:
        yield Text(f"\n{title}", style="bold")
        yield from (Text(f"  {line}") for line in lines)


def _describe_events(found: LiveTree, now: datetime | None) -> Iterator[str]:
    for event in found.events:
        subject = event.get("involvedObject") or {}
        said = one_line(str(event.get("message") or ""), _LONGEST)
        when = time_of(event) if now is None else age_of(time_of(event), now)
        who = f"{subject.get('kind')} {subject.get('name')}"
        yield " ".join(filter(None, (when, event.get("type"), event.get("reason"), f"{who}: {said}")))


def _print(target: Target) -> None:
    now = datetime.now(UTC)
    console = SafeConsole() if sys.stdout.isatty() else SafeConsole(width=_WIDTH)
    console.print(build_view(read_tree(target.cluster, target.graph, now), now), soft_wrap=True)


def _watch(target: Target) -> None:
    """Show the graph until Ctrl-C, or until it is gone: on a terminal in place, elsewhere again after each change."""
    try:
        if sys.stdout.isatty():
            with Live(console=SafeConsole(), auto_refresh=False) as live:
                for view in _views(target, with_ages=True):
                    live.update(view, refresh=True)
        else:
            _print_changes(target)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _print_changes(target: Target) -> None:
    console, last = SafeConsole(width=_WIDTH), ""
    for view in _views(target, with_ages=False):
        with console.capture() as captured:
            console.print(view, soft_wrap=True)
        if captured.get() != last:
            last = captured.get()
            click.echo(last)


def _views(target: Target, *, with_ages: bool) -> Iterator[RenderableType]:
    """The graph again and again; while the API server does not answer, why not.

    Raises:
        NotPossible: the graph is gone.
    """
    while True:
        now = datetime.now(UTC)
        try:
            found = find_graph(target.cluster, target.namespace, target.name)
            yield build_view(read_tree(found.cluster, found.graph, now), now if with_ages else None)
        except Refused as refused:
            yield Text(str(refused), style="red")
        sleep(_SECONDS)
