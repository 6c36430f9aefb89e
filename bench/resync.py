"""`python -m bench.resync`: what it costs the hooks that Metacontroller syncs many graphs at rest again."""

import json
import math
import random
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from bench.cluster.processors import read_seconds
from bench.cluster.simulated import name_graph
from bench.recorded import record_resync
from bench.server import count_processors, measure_memory, run_server
from hooks.wire.metacontroller.resting import MAX_RESTING_BYTES

RESULTS = Path(__file__).parent / "results"
SHARE = 0.02
"""The most of a processor that the resync may take."""
_CONNECTIONS = 6
Calls = Sequence[tuple[str, bytes]]


@click.command()
@click.option("--graphs", default=1000, show_default=True, help="Graphs of four services at rest.")
@click.option("--passes", default=6, show_default=True, help="How often all of them are synced.")
@click.option("--workers", default=2, show_default=True, help="Processes of the server, which share no memory.")
def main(*, graphs: int, passes: int, workers: int) -> None:
    """Sync all graphs and components again and again, with hooks that remember answers and with some that do not."""
    calls = record_resync()
    forms = {"remembering": (MAX_RESTING_BYTES, passes), "computing": (0, 2)}
    result: dict[str, Any] = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "processors": count_processors(),
        "graphs": graphs,
        "calls": len(calls) * graphs,
        "kilobytes": sum(len(body) for _, body in calls) / 1000,
        "workers": workers,
        **{
            name: _measure(calls, graphs=graphs, workers=workers, size=size, passes=count)
            for name, (size, count) in forms.items()
        },
    }
    _show(result)
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"resync-{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    file.write_text(json.dumps(result, indent=2) + "\n")
    click.echo(f"written to {file}")


def _measure(calls: Calls, *, graphs: int, workers: int, size: int, passes: int) -> dict[str, Any]:
    """Processor seconds of each pass, and the largest worker's memory at the end."""
    path, body = calls[0]
    with run_server(["bench.resync_app", "ADDRESS", str(workers), str(size)], body, path) as server:
        connections = [HTTPConnection("127.0.0.1", server.port) for _ in range(_CONNECTIONS)]
        spent = []
        for number in range(passes):
            before = read_seconds()["hooks"]
            _sync_all(connections, calls, graphs, random.Random(number))  # noqa: S311 - any order will do
            spent.append(read_seconds()["hooks"] - before)
        memory = max(one["rss"] for one in measure_memory(server.process_id))
        for connection in connections:
            connection.close()
        return {"seconds": spent, "mib": memory}


def _sync_all(connections: Sequence[HTTPConnection], calls: Calls, graphs: int, chance: random.Random) -> None:
    """Sync every object once; which process of the server gets a call is chance."""
    template = name_graph(0).encode()
    for number in range(graphs):
        name = name_graph(number).encode()
        for path, body in calls:
            _post(chance.choice(connections), path, body.replace(template, name))


def _post(connection: HTTPConnection, path: str, body: bytes) -> None:
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    if response.status != HTTPStatus.OK:
        raise RuntimeError(f"{path}: {response.status} {answer.decode()}")


def find_period(seconds: float) -> int:
    """The shortest resync, in whole tens of seconds, of which so many processor seconds are no more than `SHARE`."""
    return max(10, math.ceil(seconds / SHARE / 10) * 10)


def _show(result: Mapping[str, Any]) -> None:
    kilobytes, workers = result["kilobytes"], result["workers"]
    click.echo(f"{result['graphs']} graphs, {result['calls']} calls, {kilobytes:.0f} KB a graph, {workers} processes")
    passes = range(1, len(result["remembering"]["seconds"]) + 1)
    table = Table("processor seconds of a pass", *map(str, passes), "MiB")
    for name in ("remembering", "computing"):
        found = result[name]
        seconds = [f"{one:.2f}" for one in found["seconds"]]
        table.add_row(name, *seconds, *[""] * (len(table.columns) - 2 - len(seconds)), f"{found['mib']:.0f}")
    Console(width=120).print(table)
    for name in ("remembering", "computing"):
        period = find_period(result[name]["seconds"][-1])
        click.echo(f"{name}: a resync each {period} s takes at most {SHARE:.0%} of a processor")


if __name__ == "__main__":
    sys.exit(main())
