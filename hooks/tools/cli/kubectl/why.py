"""`kubectl dynamo why`: in one sentence, why a graph is not ready."""

from datetime import UTC, datetime

import click

from hooks.ground.k8s.messages import one_line
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.cli.kubectl.target import Target, graph_options, open_graph
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.operating.graph_rows import build_row
from hooks.tools.operating.live_tree import LiveTree, read_tree
from hooks.tools.operating.reasons import find_first_cause
from hooks.tools.operating.serving import describe_serving, find_serving

_LONGEST = 500


@click.command(
    epilog="""\b
Example:
  kubectl dynamo why llm"""
)
@graph_options
def why(*, name: str, namespace: str, connection: Connection) -> None:
    """Say in one sentence why a graph is not ready, and what to do; or that it is.

    `status` shows all reasons.
    """
    now = datetime.now(UTC)
    with open_graph(connection, namespace, name) as target:
        sentence = describe_cause(target, read_tree(target.cluster, target.graph, now), now)
    with guard_output():
        click.echo(sentence)


def describe_cause(target: Target, tree: LiveTree, now: datetime) -> str:
    """The sentence."""
    below = tree.objects.descendants(tree.graph)
    if is_ready({"status": {}, **tree.graph}):
        row = build_row(tree.graph, below, now)
        waiting = f"; {row.message}" if row.message else ""
        waiting += f"; waiting: {', '.join(row.waiting)}" if row.waiting else ""
        said = describe_serving(tree.graph)
        if said and find_serving(tree.graph) == "Unknown":
            said = f"whether requests are answered is not known: {said}"
        return f"graph {target.name} is ready, all {row.services} services{f'; {said}' if said else ''}{waiting}"
    cause = find_first_cause(tree.graph, below, now)
    if cause is None:
        look = f"kubectl dynamo status {target.name} -n {target.namespace}"
        return f"graph {target.name} is not ready, and no object of it says why; {look} shows them"
    said = cause.text if cause.obj is tree.graph else str(cause)
    return f"graph {target.name} is not ready: {one_line(said, _LONGEST)}"
