"""`python -m bench.model`: syncs of a LoRA model on many engines, with a real prober, compared with an echo."""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import orjson

from bench.bodies import Case
from bench.comparison import LoadRun, describe_times, measure
from bench.load import NEW_EACH_TIME
from bench.prober import ENGINES_ON_LOOPBACK, run_slow_engines
from bench.server import run_server
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.tools.offline.simulation.processes import run_servers
from hooks.wire.policy import identity

RATE = 20.0
"""Syncs a second at which times are compared."""
TARGET_MS = 20.0
"""The most milliseconds that the hook's p99 may lie above the echo's."""

_BASE = "Qwen/Qwen3-0.6B"
_SLICE = 100
"""Endpoints of one EndpointSlice, as in Kubernetes."""
_PATIENCE = 60.0


@click.command()
@click.option("--endpoints", default=1000, show_default=True, help="Engines with the adapter.")
@click.option("--rate", default=RATE, show_default=True, help="Requests a second where their times are compared.")
@click.option("--seconds", default=2.0, show_default=True, help="Length of one run.")
@click.option("--rounds", default=4, show_default=True, help="Runs of hook and echo.")
@click.option("--connections", default=2, show_default=True, help="Requests at the same time.")
def main(*, endpoints: int, rate: float, seconds: float, rounds: int, connections: int) -> None:
    """Measure `/model/sync` with every adapter loaded; exit status 1 if the target is missed."""
    with run_slow_engines(endpoints, 0.0) as targets, run_servers([ENGINES_ON_LOOPBACK], prober=True) as servers:
        address = targets[0].address
        settings = [
            f"prober_url=http://127.0.0.1:{servers.running[0].port}",
            f"engine_port={address.rpartition(':')[2]}",
            ENGINES_ON_LOOPBACK,
        ]
        case = build_case([target.pod for target in targets], settings)
        command = ["bench.echo_app", "ADDRESS", "2", "4", *settings]
        with run_server(command, case.body, case.path) as server, tempfile.TemporaryDirectory() as directory:
            body = Path(directory) / "body.json"
            load = LoadRun(port=server.port, connections=connections, seconds=seconds, body=body)
            result, *_ = measure([case], load, rounds=rounds, rate=rate)
    over = result["p99_over_echo_ms"]
    verdict = "reached" if over <= TARGET_MS else "missed "
    click.echo(
        f"{verdict}  p99 of a sync with {endpoints} endpoints above the echo's: {over:.2f} ms, target at most "
        f"{TARGET_MS:g} ms ({describe_times(result)})"
    )
    sys.exit(0 if over <= TARGET_MS else 1)


def build_case(hosts: Sequence[str], settings: Sequence[str], clock: Callable[[], float] = time.monotonic) -> Case:
    """The sync of a model whose adapter is loaded on every engine, once the prober reports so.

    Raises:
        RuntimeError: that takes too long.
    """
    app = create_app(parse_settings({}, dict(pair.split("=", 1) for pair in settings)), lambda: datetime.now(UTC))
    client, deadline = app.test_client(), clock() + _PATIENCE
    status: Manifest = {}
    while status.get("readyEndpoints") != len(hosts):
        if clock() > deadline:
            raise RuntimeError(f"{status.get('readyEndpoints')} of {len(hosts)} engines are loaded")
        answer = client.post("/model/sync", data=_write(hosts, status))
        status = orjson.loads(answer.data)["status"] if answer.status_code == 200 else status
        time.sleep(0.2)
    name = f"model, {len(hosts)} endpoints"
    return Case(name=name, path="/model/sync", body=_write(hosts, status), children=0)


def _write(hosts: Sequence[str], status: Manifest) -> bytes:
    slices = {f"bench/{number}": _write_slice(hosts, number) for number in range(0, len(hosts), _SLICE)}
    metadata = {
        "name": "m",
        "namespace": "bench",
        "uid": "u",
        "resourceVersion": NEW_EACH_TIME,
        "generation": 1,
        "finalizers": ["bench/finalizer"],
    }
    spec = {"modelName": "org/a", "baseModelName": _BASE, "modelType": "lora", "source": {"uri": "s3://bucket/a"}}
    parent = {"apiVersion": contract.MODEL.api_version, "kind": contract.MODEL.kind, "metadata": metadata, "spec": spec}
    request: dict[str, Any] = {
        "object": {**parent, "status": status},
        "attachments": {},
        "related": {kinds.ENDPOINT_SLICE.key: slices, contract.MODEL.key: {}},
        "finalizing": False,
    }
    return orjson.dumps(request)


def _write_slice(hosts: Sequence[str], first: int) -> Manifest:
    labels = {contract.LABEL_MODEL_HASH: identity.model_hash(_BASE), "kubernetes.io/service-name": "s"}
    return {
        "apiVersion": kinds.ENDPOINT_SLICE.api_version,
        "kind": kinds.ENDPOINT_SLICE.kind,
        "metadata": {"name": f"s-{first}", "namespace": "bench", "labels": labels},
        "addressType": "IPv4",
        "endpoints": [
            {"addresses": [host], "targetRef": {"kind": "Pod", "name": host}, "conditions": {"ready": True}}
            for host in hosts[first : first + _SLICE]
        ],
    }


if __name__ == "__main__":
    main()
