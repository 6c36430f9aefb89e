"""`python -m bench.cluster.events`: what an event of a related kind costs Metacontroller, by who has a rule for it.

Metacontroller looks at each event of a kind that any rule names whether the object is related to a parent. The objects
of these events are related to none.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench.cluster.processors import read_seconds
from bench.cluster.run import crds, read_calls
from bench.cluster.simulated import build_graph
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from tests.cluster import binaries
from tests.cluster.acting_hooks import grant_reads
from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import control_plane
from tests.cluster.dynamo import DYNAMO, running_controllers
from tests.cluster.processes import running
from tests.cluster.programs import HttpServer, hooks_server, metacontroller_server
from tests.ports import free_port

RESULTS = Path(__file__).parents[1] / "results"
_NAMESPACE, _OTHERS = "bench", "others"
_QUIET_SECONDS, _IDLE_SECONDS = 6.0, 5.0
_OF_NOBODY = {contract.LABEL_INSTALLATION: "nobody"}
"""Labels of a graph that no controller looks after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Parents that have a rule for the kind of an event, and what causes an event; it gets a number."""

    title: str
    parents: Sequence[Manifest]
    cause: Callable[[ApiClient, int], None]


@click.command()
@click.option("--events", default=1000, show_default=True, help="Events of each case.")
def main(*, events: int) -> None:
    """Measure Metacontroller's processor milliseconds of an event, with and without parents that have a rule."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-events-")))
        plane = stack.enter_context(control_plane(binaries.found(), folder, crds()))
        admin = plane.client()
        grant_reads(admin)
        hooks, metacontroller = hooks_server(folder, free_port(), plane=plane), metacontroller_server(plane, folder)
        stack.enter_context(running(hooks))
        stack.enter_context(running(metacontroller))
        stack.enter_context(running_controllers(admin, hooks.url))
        for name in (_NAMESPACE, _OTHERS):
            admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        others = admin.within(_OTHERS)
        others.create(_strange_graph())
        bench = _Bench(admin.within(_NAMESPACE), others, metacontroller, events)
        found = {case.title: bench.measure(case) for case in _cases()}
    table = Table("parents with a rule, and event", "ms of Metacontroller an event", "calls of hooks an event")
    for title, (milliseconds, calls) in found.items():
        table.add_row(title, f"{milliseconds:.3f}", f"{calls:.2f}")
    Console(width=120).print(table)
    RESULTS.mkdir(exist_ok=True)
    result = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "events": events, "costs": found}
    file = RESULTS / f"events-{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    file.write_text(json.dumps(result, indent=2) + "\n")
    click.echo(f"written to {file}")


@dataclass(frozen=True, slots=True)
class _Bench:
    """What a case is measured with; `events` are caused in the namespace of `others`."""

    own: ApiClient
    others: ApiClient
    metacontroller: HttpServer
    events: int

    def measure(self, case: Case) -> tuple[float, float]:
        """Metacontroller's milliseconds of an event, and calls of hooks."""
        for parent in case.parents:
            self.own.create(parent)
        calls = self._wait_for_rest()
        started, before = time.monotonic(), read_seconds()["metacontroller"]
        for number in range(self.events):
            case.cause(self.others, number)
        time.sleep(1)
        spent, lasted = read_seconds()["metacontroller"] - before, time.monotonic() - started
        after = self._count_calls()
        before = read_seconds()["metacontroller"]
        time.sleep(_IDLE_SECONDS)
        idle = (read_seconds()["metacontroller"] - before) / _IDLE_SECONDS
        return 1000 * (spent - idle * lasted) / self.events, (after - calls) / self.events

    def _wait_for_rest(self) -> int:
        """Wait until no hook is called; gives how many calls there were."""
        last, since = self._count_calls(), time.monotonic()
        while time.monotonic() - since < _QUIET_SECONDS:
            time.sleep(0.5)
            if (now := self._count_calls()) != last:
                last, since = now, time.monotonic()
        return last

    def _count_calls(self) -> int:
        return sum(read_calls(self.metacontroller).values())


def _cases() -> Iterator[Case]:
    yield Case(title="none, EndpointSlice", parents=(), cause=_create_slice)
    yield Case(title="none, graph", parents=(), cause=_write_status)
    yield Case(title="10 models, EndpointSlice", parents=[_model(n) for n in range(10)], cause=_create_slice)
    yield Case(title="100 models, EndpointSlice", parents=[_model(n) for n in range(10, 100)], cause=_create_slice)
    yield Case(title="20 requests, graph", parents=[_request(n) for n in range(20)], cause=_write_status)
    yield Case(title="100 adapters too, graph", parents=[_adapter(n) for n in range(100)], cause=_write_status)
    yield Case(title="400 adapters too, graph", parents=[_adapter(n) for n in range(100, 400)], cause=_write_status)


def _create_slice(others: ApiClient, number: int) -> None:
    """A slice of a Service of somebody else, which is no engine's."""
    others.create(
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"generateName": f"other-{number}-", "labels": {"kubernetes.io/service-name": "other"}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.9.9.9"]}],
        }
    )


def _write_status(others: ApiClient, number: int) -> None:
    """The status of a graph that none of the parents names."""
    others.patch(
        DYNAMO,
        "DynamoGraphDeployment",
        "strange",
        {"status": {"state": f"state-{time.time_ns()}-{number}"}},
        sub="status",
    )


def _strange_graph() -> Manifest:
    graph = build_graph(0)
    return {**graph, "metadata": {"name": "strange", "labels": _OF_NOBODY}}


def _model(number: int) -> Manifest:
    spec = {"modelName": f"model-{number}", "baseModelName": f"org/model-{number}", "modelType": "base"}
    return {"apiVersion": DYNAMO, "kind": "DynamoModel", "metadata": {"name": f"model-{number}"}, "spec": spec}


def _request(number: int) -> Manifest:
    spec = {
        "model": "org/model",
        "backend": "vllm",
        "profilingConfig": {"profilerImage": "i", "config": {"sla": {"isl": 3000, "osl": 150, "ttft": 200, "itl": 20}}},
    }
    name = f"request-{number}"
    return {"apiVersion": DYNAMO, "kind": "DynamoGraphDeploymentRequest", "metadata": {"name": name}, "spec": spec}


def _adapter(number: int) -> Manifest:
    spec = {"replicas": 1, "dgdRef": {"name": f"graph-{number}", "serviceName": "Worker"}}
    name = f"adapter-{number}"
    return {"apiVersion": DYNAMO, "kind": contract.SCALING_ADAPTER.kind, "metadata": {"name": name}, "spec": spec}


if __name__ == "__main__":
    sys.exit(main())
