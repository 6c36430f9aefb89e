"""What `kubectl dynamo status` prints of graphs in a line each, and as JSON or YAML."""

from collections.abc import Sequence
from datetime import UTC, datetime

import click
import orjson

from hooks.ground import contract
from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.types import Json
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.cli.kubectl import target as targets
from hooks.tools.cli.kubectl.age import age_of
from hooks.tools.offline.manifests.writing import format_value, guard_output
from hooks.tools.operating.graph_rows import GraphRow, build_row, read_rows
from hooks.tools.operating.live_tree import read_tree

_LONGEST = 120


def list_graphs(connection: Connection, namespace: str, output: str, *, is_everywhere: bool) -> None:
    """Print the graphs of a namespace, or of all; if they cannot be read, ends with a sentence and status 1."""
    now = datetime.now(UTC)
    with targets.open_cluster(connection) as cluster:
        where = "" if is_everywhere else namespace or cluster.namespace
        found = read_rows(cluster, where, now)
        if not found.rows:
            targets.check_kind(cluster)
    for sentence in found.unread:
        click.echo(f"not shown: {sentence}", err=True)
    if not found.rows and output not in {"json", "yaml"}:
        there = f"in namespace {where}; -A lists those of all namespaces" if where else "in this cluster"
        click.echo(f"there is no graph {there}", err=True)
        return
    with guard_output():
        if output in {"json", "yaml"}:
            click.echo(_format([row.as_json() for row in found.rows], output), nl=False)
        else:
            click.echo(write_table(found.rows, now, is_wide=output == "wide", is_everywhere=is_everywhere), nl=False)


def print_graph(connection: Connection, namespace: str, name: str, output: str) -> None:
    """Print one graph as JSON or YAML: its line, all reasons, and what was not read."""
    now = datetime.now(UTC)
    with targets.open_graph(connection, namespace, name) as target:
        tree = read_tree(target.cluster, target.graph, now)
    components = [one for one in tree.objects.descendants(tree.graph) if one["kind"] == contract.COMPONENT.kind]
    row = build_row(tree.graph, components, now)
    with guard_output():
        click.echo(
            _format({**row.as_json(), "reasons": list(tree.reasons), "unread": list(tree.unread)}, output), nl=False
        )


def write_table(rows: Sequence[GraphRow], now: datetime, *, is_wide: bool, is_everywhere: bool) -> str:
    """The graphs in columns, as kubectl writes them; ends with a newline."""
    head = ["NAME", "READY", "SERVING", "REASON", "GPUS", "WAITING RESTARTS", "AGE", *(_WIDE if is_wide else ())]
    lines = [head, *(_write_row(row, now, is_wide=is_wide) for row in rows)]
    if is_everywhere:
        places = ["NAMESPACE", *(row.namespace for row in rows)]
        lines = [[place, *line] for place, line in zip(places, lines, strict=True)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    padded = ("   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "".join(f"{line.rstrip()}\n" for line in padded)


_WIDE = ("RUN BY", "SERVICES", "MESSAGE")


def _write_row(row: GraphRow, now: datetime, *, is_wide: bool) -> list[str]:
    wide = (row.run_by or "-", f"{row.services_ready}/{row.services}", one_line(row.message, _LONGEST) or "-")
    return [
        row.name,
        str(row.is_ready),
        row.serving or "-",
        row.reason or "-",
        "?" if row.gpus is None else str(row.gpus),
        ", ".join(row.waiting) or "-",
        age_of(row.created, now) or "?",
        *(wide if is_wide else ()),
    ]


def _format(value: Json, output: str) -> str:
    if output == "yaml":
        return format_value(value)
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n"
