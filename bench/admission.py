"""`python -m bench.admission`: how much longer a verdict or a patch takes than an echo, for a large graph."""

import copy
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import orjson
from flask import Flask

from bench.bodies import Case, write_graph
from bench.comparison import LoadRun, describe_times, measure
from bench.echo_app import echo
from bench.server import run_server
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, plural_of
from hooks.ground.settings import parse_settings
from hooks.server.serving.logs import set_up_logging
from hooks.server.serving.server import ServerOptions
from hooks.server.serving.server import run_server as serve
from hooks.server.serving.web import ServedBy

RATE = 20.0
"""Reviews a second at which times are compared: more than people and pipelines write graphs."""
TARGET_MS = 5.0
"""The most milliseconds that the p99 may lie above the echo's."""
_PLURAL = plural_of(contract.GRAPH)


@click.command()
@click.option("--services", default=25, show_default=True, help="Services of the graph.")
@click.option("--rate", default=RATE, show_default=True, help="Requests a second where their times are compared.")
@click.option("--seconds", default=2.0, show_default=True, help="Length of one run.")
@click.option("--rounds", default=4, show_default=True, help="Runs of each body against admission and echo.")
@click.option("--connections", default=2, show_default=True, help="Requests at the same time.")
@click.option("--serve", "address", hidden=True, help="Serve at this address instead of measuring.")
def main(*, services: int, rate: float, seconds: float, rounds: int, connections: int, address: str | None) -> None:
    """Measure reviews, compared with an echo of the same body; exit status 1 if the target is missed.

    Both use plain HTTP, as TLS on a kept connection costs both the same.
    """
    if address is not None:
        set_up_logging("info")
        serve(ServerOptions(bind=address, workers=2), load_app)
    cases = build_cases(services)
    command = ["bench.admission", "--serve", "ADDRESS"]
    with run_server(command, cases[0].body, cases[0].path) as server, tempfile.TemporaryDirectory() as directory:
        load = LoadRun(port=server.port, connections=connections, seconds=seconds, body=Path(directory) / "body.json")
        results = measure(cases, load, rounds=rounds, rate=rate)
    for result in results:
        click.echo(describe(result))
    sys.exit(1 if any(result["p99_over_echo_ms"] > TARGET_MS for result in results) else 0)


def describe(result: dict[str, Any]) -> str:
    """The result of one kind of review, in one line."""
    over = result["p99_over_echo_ms"]
    verdict = "reached" if over <= TARGET_MS else "missed "
    return (
        f"{verdict}  {result['name']}: p99 {over:+.2f} ms above the echo's, target at most {TARGET_MS:g} ms "
        f"({describe_times(result)}; "
        f"{result['ratio']:.2f} of the echo's requests)"
    )


def load_app(is_draining: Callable[[], bool]) -> Flask:
    """The admission application with the extra path `POST /echo`."""
    from hooks.server.admission.app import create_admission_app  # noqa: PLC0415 - its metrics look at the environment
    from hooks.server.admission.rules import DEFAULTS, RULES  # noqa: PLC0415 - as above

    app = create_admission_app(parse_settings({}), RULES, DEFAULTS, served_by=ServedBy(is_draining=is_draining))
    app.add_url_rule("/echo", "echo", echo, methods=["POST"])
    return app


def build_cases(services: int) -> list[Case]:
    """Reviews of one graph: validation of its creation and of a change, and defaulting."""
    graph = {**write_graph(services)}
    graph["metadata"] = {**graph["metadata"], "namespace": "bench", "uid": "u", "generation": 1}
    changed = copy.deepcopy(graph)
    next(iter(changed["spec"]["services"].values()))["replicas"] = 3
    bodies = {
        ("validate", "created"): write_review(graph, None),
        ("validate", "changed"): write_review(changed, graph),
        ("mutate", "created"): write_review(graph, None),
    }
    return [
        Case(name=f"{call}, {services} services, {what}", path=f"/admission/{call}/{_PLURAL}", body=body, children=0)
        for (call, what), body in bodies.items()
    ]


def write_review(new: Manifest, old: Manifest | None) -> bytes:
    """The body that the API server posts."""
    request = {
        "uid": "00000000-0000-4000-8000-000000000000",
        "kind": {"group": contract.GROUP, "version": contract.VERSION, "kind": contract.GRAPH.kind},
        "resource": {"group": contract.GROUP, "version": contract.VERSION, "resource": _PLURAL},
        "name": new["metadata"]["name"],
        "namespace": "bench",
        "operation": "CREATE" if old is None else "UPDATE",
        "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
        "object": new,
        "oldObject": old,
        "dryRun": False,
    }
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


if __name__ == "__main__":
    main()
