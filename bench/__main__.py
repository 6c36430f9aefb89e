"""`python -m bench`: measures the hooks, prints a table, and writes bench/results/<time>.json."""

import json
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from bench.bodies import Case, build_cases
from bench.comparison import ECHO, JSON_ECHO, LoadRun, measure
from bench.server import count_processors, measure_memory, run_server
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app

RESULTS = Path(__file__).parent / "results"
RATE = 100.0
"""Requests a second at which times are compared: what Metacontroller sends while 100 graphs of 4 services come up."""
LEAST = {"ratio": 0.5, "ratio_to_json_echo": 0.6, "ratio_to_json_echo_25": 0.5}
"""Requests per second of the hooks, compared with the echo and with the JSON echo at 4 services, and at 25."""
MOST = {"p99_over_echo_ms": 3.0, "rss_mib": 120.0, "cold_start_ms": 500.0}
"""Milliseconds above the echo's p99 at 4 services; memory of the largest worker; time to the first sync."""
TARGETS = {**LEAST, **MOST}


@click.command()
@click.option("--seconds", default=1.0, show_default=True, help="Length of one run.")
@click.option("--rounds", default=6, show_default=True, help="Runs of each body against hook and echoes.")
@click.option("--rate", default=RATE, show_default=True, help="Requests a second where their times are compared.")
@click.option("--connections", default=4, show_default=True, help="Requests at the same time.")
@click.option("--workers", default=2, show_default=True, help="Processes of the server, as many as `serve` starts.")
@click.option("--threads", default=4, show_default=True, help="Threads of each process.")
def main(*, seconds: float, rounds: int, rate: float, connections: int, workers: int, threads: int) -> None:
    """Measure sync requests of graphs and of a component, compared with two echoes of the same body."""
    app = create_app(parse_settings({}), lambda: datetime.now(UTC))
    cases = build_cases(app.test_client())
    cold = [_measure_cold_start(cases[1]) for _ in range(5)]
    command = ["bench.echo_app", "ADDRESS", str(workers), str(threads)]
    with run_server(command, cases[1].body, cases[1].path) as server, tempfile.TemporaryDirectory() as directory:
        load = LoadRun(port=server.port, connections=connections, seconds=seconds, body=Path(directory) / "body.json")
        measured = measure(cases, load, rounds=rounds, rate=rate, busy_echoes={**ECHO, **JSON_ECHO})
        memory = measure_memory(server.process_id)
    result = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "processors": count_processors(),
            "python": platform.python_version(),
            "system": platform.platform(),
        },
        "options": {
            "seconds": seconds,
            "rounds": rounds,
            "rate": rate,
            "connections": connections,
            "workers": workers,
            "threads": threads,
        },
        "cases": measured,
        "worker_memory_mib": memory,
        "cold_start_ms": {
            "healthy": median(healthy for healthy, _ in cold),
            "first_sync": median(synced for _, synced in cold),
        },
        "targets": TARGETS,
    }
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    file.write_text(json.dumps(result, indent=2) + "\n")
    missed = _print_result(result)
    click.echo(f"written to {file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file}")
    sys.exit(1 if missed else 0)


def _measure_cold_start(case: Case) -> tuple[float, float]:
    """Milliseconds from the start of `dynamo-hooks serve` to its first healthy answer and to its first sync."""
    with run_server(["hooks", "serve", "--bind", "ADDRESS"], case.body, case.path) as server:
        return server.healthy_after, server.synced_after


_TIMES = ("p50 ms", "p99", "echo p50", "p99")
"""Columns of the times at the rate."""


def _print_result(result: dict[str, Any]) -> list[str]:
    """Print the table and return the targets that were missed."""
    table = Table("request", "KB", "req/s", "echo", "ratio", "JSON echo", "ratio", *_TIMES, "p99 +ms")
    for case in result["cases"]:
        hook, echo, json_echo = (f"{case[kind]['requests_per_second']:.0f}" for kind in ("hook", "echo", "json_echo"))
        times = [case["at_rate"][kind][key] for kind in ("hook", "echo") for key in ("p50_ms", "p99_ms")]
        table.add_row(
            case["name"],
            f"{case['body_bytes'] / 1000:.0f}",
            *(hook, echo, f"{case['ratio']:.2f}", json_echo, f"{case['ratio_to_json_echo']:.2f}"),
            *(f"{number:.2f}" for number in times),
            f"{case['p99_over_echo_ms']:+.2f}",
        )
    Console(width=120).print(table)
    found = {
        "ratio": result["cases"][1]["ratio"],
        "ratio_to_json_echo": result["cases"][1]["ratio_to_json_echo"],
        "ratio_to_json_echo_25": result["cases"][2]["ratio_to_json_echo"],
        "p99_over_echo_ms": result["cases"][1]["p99_over_echo_ms"],
        "rss_mib": max(worker["rss"] for worker in result["worker_memory_mib"]),
        "cold_start_ms": result["cold_start_ms"]["first_sync"],
    }
    missed = [key for key, value in found.items() if (value < TARGETS[key] if key in LEAST else value > TARGETS[key])]
    names = {
        "ratio": "requests compared with the echo, 4 services: {0:.2f}, target at least {1:g}",
        "ratio_to_json_echo": "requests compared with the JSON echo, 4 services: {0:.2f}, target at least {1:g}",
        "ratio_to_json_echo_25": "requests compared with the JSON echo, 25 services: {0:.2f}, target at least {1:g}",
        "p99_over_echo_ms": f"p99 above the echo's at {result['options']['rate']:g} requests/s, 4 services: "
        "{0:.2f} ms, target at most {1:g} ms",
        "rss_mib": "memory of the largest worker: {0:.0f} MiB, target at most {1:g} MiB",
        "cold_start_ms": "cold start to the first sync: {0:.0f} ms, target at most {1:g} ms",
    }
    for key, text in names.items():
        click.echo(f"{'missed ' if key in missed else 'reached'}  {text.format(found[key], TARGETS[key])}")
    return missed


if __name__ == "__main__":
    main()
