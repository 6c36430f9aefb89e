"""`python -m bench.conversion`: what the conversion of a large graph costs, and how much longer it takes than an echo.

That nothing is converted while nobody asks is shown on a real API server, by `tests/cluster/test_conversion.py`.
"""

import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import click
import orjson
from flask import Flask, Response

from bench.admission import load_app
from bench.bodies import Case, write_graph
from bench.comparison import LoadRun, describe_times, measure
from bench.load import NEW_EACH_TIME, renew
from bench.server import run_server
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.language.versions import convert
from hooks.server.admission.conversion import PATH
from hooks.server.serving.memory import freeze_memory

RATE = 50.0
"""Conversions a second at which times are compared: some fifty planners that poll, or a watch while graphs come up."""
TARGET_MS = 5.0
"""The most milliseconds that the p99 may lie above the echo's."""
TARGET_PROCESSOR_MS = 2.0
"""The most milliseconds of processor time of a conversion; the median counts.

Most conversions are of a graph that is read again: a planner polls, a watch sees a new status. The target is the same
for a graph of which all components changed.
"""


@click.command()
@click.option("--services", default=25, show_default=True, help="Services of the graph.")
@click.option("--rate", default=RATE, show_default=True, help="Requests a second where their times are compared.")
@click.option("--seconds", default=2.0, show_default=True, help="Length of one run.")
@click.option("--rounds", default=4, show_default=True, help="Runs of each body against the conversion and echo.")
@click.option("--connections", default=2, show_default=True, help="Requests at the same time.")
@click.option("--calls", default=300, show_default=True, help="Conversions whose processor time is measured.")
def main(*, services: int, rate: float, seconds: float, rounds: int, connections: int, calls: int) -> None:
    """Measure conversions, compared with an echo of the same body; exit status 1 if a target is missed."""
    cases = build_cases(services)
    app = load_app(lambda: False)
    freeze_memory()  # as the server does before it answers
    spent = {case.name: measure_processor_time(app, case, calls) for case in cases}
    command = ["bench.admission", "--serve", "ADDRESS"]
    with run_server(command, cases[0].body, cases[0].path) as server, tempfile.TemporaryDirectory() as directory:
        load = LoadRun(port=server.port, connections=connections, seconds=seconds, body=Path(directory) / "body.json")
        results = measure(cases, load, rounds=rounds, rate=rate)
    for result in results:
        click.echo(describe(result, spent[result["name"]]))
    sys.exit(1 if any(_misses(result, spent[result["name"]]) for result in results) else 0)


def describe(result: Mapping[str, Any], processor_ms: float) -> str:
    """The result of one kind of conversion, in one line."""
    return (
        f"{'missed ' if _misses(result, processor_ms) else 'reached'}  {result['name']}: "
        f"{processor_ms:.2f} ms of processor time, target at most {TARGET_PROCESSOR_MS:g} ms; "
        f"p99 {result['p99_over_echo_ms']:+.2f} ms above the echo's, target at most {TARGET_MS:g} ms "
        f"({describe_times(result)})"
    )


def _misses(result: Mapping[str, Any], processor_ms: float) -> bool:
    return processor_ms > TARGET_PROCESSOR_MS or bool(result["p99_over_echo_ms"] > TARGET_MS)


def measure_processor_time(app: Flask, case: Case, calls: int) -> float:
    """The median of the milliseconds of processor time from the body of a review to that of the answer.

    Raises:
        RuntimeError: a review is not answered by a converted object.
    """
    view, spent, numbers = app.view_functions["convert"], [], count(1)
    for _ in range(calls):
        body = renew(case.body, next(numbers))
        with app.test_request_context(case.path, method="POST", data=body):
            app.preprocess_request()
            before = time.thread_time_ns()
            answer = view()
            spent.append((time.thread_time_ns() - before) / 1e6)
        if not isinstance(answer, Response) or not orjson.loads(answer.data)["response"]["convertedObjects"]:
            raise RuntimeError(f"{case.name} is not converted")
    return median(spent)


def build_cases(services: int) -> list[Case]:
    """Reviews of one graph for both versions: read again, when its status changed, and with changed components."""
    again, changed = _write_stored(services, "same"), _write_stored(services, NEW_EACH_TIME)
    return [
        Case(
            name=f"to {version}, {services} services, {what}",
            path=PATH,
            body=write_review(
                graph if version == contract.BETA_VERSION else convert(graph, contract.BETA_VERSION), version
            ),
            children=0,
        )
        for version in (contract.BETA_VERSION, contract.VERSION)
        for what, graph in (("read again", again), ("all changed", changed))
    ]


def write_review(graph: Manifest, version: str) -> bytes:
    """The body that the API server posts."""
    request = {
        "uid": "00000000-0000-4000-8000-000000000000",
        "desiredAPIVersion": f"{contract.GROUP}/{version}",
        "objects": [graph],
    }
    return orjson.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})


def _write_stored(services: int, text: str) -> Manifest:
    """A graph whose components all differ, with a status; `text` is in each of them."""
    graph = write_graph(services)
    listed = {
        name: {**service, "envs": [*service.get("envs", ()), {"name": "NUMBER", "value": f"{name}-{text}"}]}
        for name, service in graph["spec"]["services"].items()
    }
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 2)
    observed = {
        name: {"componentKind": "Deployment", "componentName": f"g-{name.lower()}", **counts} for name in listed
    }
    return {
        **graph,
        "metadata": {**graph["metadata"], "namespace": "bench", "uid": "u", "resourceVersion": NEW_EACH_TIME},
        "spec": {**graph["spec"], "services": listed},
        "status": {"observedGeneration": 1, "state": "successful", "services": observed},
    }


if __name__ == "__main__":
    main()
