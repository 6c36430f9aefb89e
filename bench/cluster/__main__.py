"""`python -m bench.cluster [GRAPHS]`: the hooks beside the floor: a table, and bench/results/cluster-<time>.json."""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench.cluster.run import Load, Phase, Run, run
from bench.cluster.simulated import SERVICES, simulate
from bench.server import count_processors
from tests.cluster import binaries
from tests.cluster.programs import find_metacontroller

RESULTS = Path(__file__).parents[1] / "results"
_REFUSED_A_GRAPH = 0.5
"""API calls that may be refused in a fair run: Metacontroller creates again what its cache does not show yet."""

_FLOORS_REST_SECONDS = 10.0
"""The floor rests no longer, because its rest says nothing about the hooks."""


@click.command()
@click.argument("graphs", default=10)
@click.option(
    "--rest-seconds",
    default=10.0,
    show_default=True,
    help=f"How long to count calls of the hooks once all is ready; of the floor at most {_FLOORS_REST_SECONDS:.0f} s.",
)
@click.option(
    "--foreign-pods",
    default=2000,
    show_default=True,
    help="So many pods of somebody else come and go at the end, which should cost Metacontroller nothing.",
)
@click.option("--namespaces", default=1, show_default=True, help="So many namespaces that the graphs are spread over.")
@click.option(
    "--beside",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A checkout of another version, whose hooks are measured too, in the same run.",
)
@click.option("--floor/--no-floor", default=True, show_default=True, help="Measure the floor too.")
@click.option("--statuses", is_flag=True, help="Only the hooks: print what each status write changed.")
def main(  # noqa: PLR0913 - one parameter for each option
    *,
    graphs: int,
    rest_seconds: float,
    foreign_pods: int,
    namespaces: int,
    beside: Path | None,
    floor: bool,
    statuses: bool,
) -> None:
    """Bring GRAPHS graphs of four services to Ready on a real control plane, and measure what that costs.

    Needs the programs of the cluster tests, and Metacontroller on PATH or in $METACONTROLLER. Without it, the
    simulator's controller shows calls and writes, and nothing else.
    """
    program = find_metacontroller()
    lacking = binaries.missing() or ("" if program else "no metacontroller on PATH or in $METACONTROLLER")
    if lacking:
        click.echo(f"with the simulator's controller: {lacking}")
        _show_simulation(graphs)
        return
    binaries.build(click.echo)
    click.echo(f"with the real Metacontroller {program}, on {count_processors()} processors")
    if statuses:
        load = Load(graphs=graphs, namespaces=namespaces, rest_seconds=rest_seconds, with_statuses=True)
        click.echo("\n".join(run("hooks", load).statuses))
        return
    rests = {
        **({"floor": min(rest_seconds, _FLOORS_REST_SECONDS)} if floor else {}),
        **({"before": rest_seconds} if beside else {}),
        "hooks": rest_seconds,
    }
    load = Load(graphs=graphs, namespaces=namespaces, foreign_pods=foreign_pods)
    runs = {
        server: run(server, replace(load, rest_seconds=seconds), beside=beside) for server, seconds in rests.items()
    }
    _show(runs, rests)
    _refuse_unfair(runs)
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"cluster-{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    result = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "processors": count_processors(),
        "graphs": graphs,
        "namespaces": namespaces,
        "services": SERVICES,
        "foreign_pods": foreign_pods,
        **{server: asdict(found) for server, found in runs.items()},
    }
    file.write_text(json.dumps(result, indent=2) + "\n")
    click.echo(f"written to {file}")


def _refuse_unfair(runs: Mapping[str, Run]) -> None:
    """Say which API calls were refused. A few conflicts come from caches that are a moment old; more spoil a run.

    Raises:
        click.ClickException: a server's answers made Metacontroller ask for what the API server refuses.
    """
    for server, found in runs.items():
        if found.refused:
            click.echo(f"{server}: refused API calls: {', '.join(f'{n} {what}' for what, n in found.refused.items())}")
        refused = sum(found.refused.values())
        if refused > _REFUSED_A_GRAPH * found.graphs:
            raise click.ClickException(f"{server}: {refused} API calls were refused, so its figures say nothing")


def _show_simulation(graphs: int) -> None:
    recorder, writes = simulate(graphs)
    table = Table("per graph of 4 services, to Ready", "number")
    for title, number in (*sorted(recorder.calls.items()), *writes.items()):
        table.add_row(title, f"{number / graphs:.2f}")
    Console(width=120).print(table)


def _show(runs: Mapping[str, Run], rests: Mapping[str, float]) -> None:
    console = Console(width=140)
    rest = ", ".join(f"{name} {seconds:g} s" for name, seconds in rests.items())
    for title, phase in (
        ("until all children exist", "children"),
        ("until all graphs are ready", "ready"),
        (f"rest ({rest})", "rest"),
        ("pods of somebody else come and go", "foreign"),
        (f"rest beside these pods ({rest})", "beside"),
    ):
        console.print(_compare(title, {server: getattr(found, phase) for server, found in runs.items()}, runs))
    table = Table("status writes until all children of their graph exist", *runs)
    for name in runs["hooks"].first_writes:
        table.add_row(
            f"{name}, a graph", *(f"{one.first_writes.get(name, 0) / one.graphs:.2f}" for one in runs.values())
        )
    console.print(table)
    table = Table("largest process, MiB", *runs)
    for name in runs["hooks"].memory:
        table.add_row(name, *(f"{found.memory.get(name, 0):.0f}" for found in runs.values()))
    console.print(table)


def _compare(title: str, phases: Mapping[str, Phase], runs: Mapping[str, Run]) -> Table:
    graphs = runs["hooks"].graphs
    table = Table(title, *phases, f"times the {next(iter(phases))}")

    def add(name: str, values: list[float], unit: float = 1.0) -> None:
        floor, found = values[0], values[-1]
        ratio = f"{found / floor:.2f}" if floor > 0 else ""
        table.add_row(name, *(f"{value / unit:.2f}" for value in values), ratio)

    found = list(phases.values())
    add("seconds", [one.seconds for one in found])
    add("processor seconds, all", [one.total_processor_seconds for one in found])
    for program in sorted(found[-1].processor_seconds):
        add(f"  {program}", [one.processor_seconds.get(program, 0) for one in found])
    add("hook calls a graph", [sum(one.calls.values()) for one in found], graphs)
    for name in _join(one.calls for one in found):
        add(f"  {name}", [one.calls.get(name, 0) for one in found], graphs)
    add("changes of children a graph", [one.child_changes for one in found], graphs)
    add("API calls a graph", [sum(one.api_calls.values()) for one in found], graphs)
    for name in _join(one.api_calls for one in found):
        add(f"  {name}", [one.api_calls.get(name, 0) for one in found], graphs)
    return table


def _join(counts: Iterable[Mapping[str, int]]) -> list[str]:
    """The names in all of them, in order."""
    return list({name: None for one in reversed([*counts]) for name in one})


if __name__ == "__main__":
    sys.exit(main())
