"""`python -m bench.prober`: how fast the prober loads adapters, and what it costs to keep them verified.

The prober runs in its own process, the engines in this one, on loopback addresses.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click

from bench.server import measure_memory
from hooks.model.prober.messages import Adapter, AdapterPhase, EngineTarget, LoadRequest
from hooks.server.clients.prober_client import ProberClient
from hooks.tools.offline.simulation.processes import run_servers
from hooks.tools.offline.simulator.engines import LoraSupport, SimulatedEngine, reserve_port
from hooks.tools.offline.simulator.loopback_http import Answer, Request, Response, run_listeners

ENGINES_ON_LOOPBACK = "engine_addresses=any"
CONCURRENCY = 10
LOAD_SLACK, MAX_PROCESSOR, MAX_MEMORY = 1.1, 0.2, 200.0
"""The longest time to load, compared with the best that the concurrency allows; the largest share of one processor, and
the most MiB, while verifying."""
_PATIENCE = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A measured number and the most that it may be."""

    name: str
    value: float
    target: float
    unit: str

    @property
    def line(self) -> str:
        """The result in one line."""
        verdict = "reached" if self.value <= self.target else "missed "
        return f"{verdict}  {self.name}: {self.value:.2f} {self.unit}, target at most {self.target:g} {self.unit}"


@click.command()
@click.option("--endpoints", default=100, show_default=True, help="Engines that load one adapter each.")
@click.option("--load-seconds", default=1.0, show_default=True, help="Seconds that each load takes.")
@click.option("--pairs", nargs=2, default=(50, 20), show_default=True, help="Engines and adapters to keep verified.")
@click.option("--seconds", default=15.0, show_default=True, help="Seconds for which verifying is measured.")
def main(*, endpoints: int, load_seconds: float, pairs: tuple[int, int], seconds: float) -> None:
    """Measure the prober against engines on loopback; exit status 1 if a target is missed."""
    findings = [measure_loading(endpoints, load_seconds), *measure_verifying(*pairs, seconds)]
    for finding in findings:
        click.echo(finding.line)
    sys.exit(0 if all(finding.value <= finding.target for finding in findings) else 1)


def measure_loading(endpoints: int, load_seconds: float) -> Finding:
    """Seconds until one adapter is loaded on all engines."""
    with run_prober() as (prober, _), run_slow_engines(endpoints, load_seconds) as targets:
        started = time.perf_counter()
        wait_until_loaded(prober, build_requests(targets, 1))
        spent = time.perf_counter() - started
    best = -(-endpoints // CONCURRENCY) * load_seconds
    name = f"{endpoints} engines that take {load_seconds:g} s each, {CONCURRENCY} at a time"
    return Finding(name=name, value=spent, target=best * LOAD_SLACK, unit="s")


def measure_verifying(endpoints: int, adapters: int, seconds: float) -> list[Finding]:
    """Processor time and memory of the prober while it keeps all adapters verified on all engines."""
    with run_prober() as (prober, process_id), run_slow_engines(endpoints, 0.0) as targets:
        wanted = build_requests(targets, adapters)
        wait_until_loaded(prober, wanted)
        before, started = read_processor_seconds(process_id), time.perf_counter()
        time.sleep(seconds)
        share = (read_processor_seconds(process_id) - before) / (time.perf_counter() - started)
        memory = sum(worker["rss"] for worker in measure_memory(process_id))
        wait_until_loaded(prober, wanted)
    name = f"{endpoints} engines x {adapters} adapters verified"
    return [
        Finding(name=name, value=100 * share, target=100 * MAX_PROCESSOR, unit="% of a processor"),
        Finding(name=name, value=memory, target=MAX_MEMORY, unit="MiB"),
    ]


@contextmanager
def run_prober() -> Iterator[tuple[ProberClient, int]]:
    """A client of a running prober with default settings, and the id of the prober's first process."""
    with run_servers([f"lora_concurrency={CONCURRENCY}", ENGINES_ON_LOOPBACK], prober=True) as servers:
        server = servers.running[0]
        yield ProberClient(f"http://127.0.0.1:{server.port}"), server.process.pid


@contextmanager
def run_slow_engines(count: int, load_seconds: float) -> Iterator[list[EngineTarget]]:
    """Engines, each at its own address; a load takes `load_seconds`."""
    with reserve_port(0) as port, run_listeners() as listeners:
        hosts = [f"127.64.{number // 250}.{number % 250 + 1}" for number in range(count)]
        for host in hosts:
            listeners.open(host, port, _slowed(SimulatedEngine(LoraSupport.LOADS).answer, load_seconds))
        yield [EngineTarget(address=f"http://{host}:{port}", pod=host) for host in hosts]


def _slowed(answer: Answer, seconds: float) -> Answer:
    def slow(request: Request) -> Response:
        return replace(answer(request), seconds=seconds if request.method == "POST" else 0.0)

    return slow


def build_requests(targets: Sequence[EngineTarget], adapters: int) -> list[LoadRequest]:
    """One request for each adapter, on all targets."""
    return [
        LoadRequest(
            namespace="bench",
            name=f"model-{number}",
            adapter=Adapter(name=f"org/adapter-{number}", uri=f"s3://bucket/{number}"),
            targets=tuple(targets),
        )
        for number in range(adapters)
    ]


def wait_until_loaded(
    prober: ProberClient, wanted: Sequence[LoadRequest], clock: Callable[[], float] = time.monotonic
) -> None:
    """Ask until every adapter is verified on every target.

    Raises:
        RuntimeError: it takes too long.
    """
    deadline = clock() + _PATIENCE
    for request in wanted:
        while not all(entry.phase is AdapterPhase.LOADED for entry in prober.ask(request).endpoints):
            if clock() > deadline:
                raise RuntimeError(f"{request.key} is not loaded after {_PATIENCE:g} s")
            time.sleep(0.05)


def read_processor_seconds(process_id: int) -> float:
    """Processor seconds that a process and its children have used so far, in user and kernel mode."""
    children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()
    ticks = sum(_read_ticks(pid) for pid in [process_id, *map(int, children)])
    return ticks / os.sysconf("SC_CLK_TCK")


def _read_ticks(process_id: int) -> int:
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


if __name__ == "__main__":
    main()
