"""One run on a real control plane with a real Metacontroller: the graphs are created, become ready, and rest."""

import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import requests

from bench.cluster.api_calls import count, count_child_changes, count_first_writes, describe_statuses, find_refused
from bench.cluster.processors import read_memory, read_seconds
from bench.cluster.simulated import NAMESPACE, SERVICES, build_graph, is_ready, name_namespace
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller import install_files
from tests import third_party
from tests.cluster import binaries
from tests.cluster.acting_hooks import grant_reads
from tests.cluster.audit_log import ApiCall, AuditLog
from tests.cluster.control_plane import METACONTROLLER, ControlPlane, control_plane
from tests.cluster.dynamo import DYNAMO, GRAPH, running_these
from tests.cluster.processes import running
from tests.cluster.programs import HttpServer, hooks_server, metacontroller_server
from tests.ports import free_port
from tests.waiting import wait_for

_HERE = Path(__file__).parent
_QUIET_SECONDS = 2.0
_TIMERS_SECONDS = 12.0
"""Before rest: the hooks ask for a sync some seconds after the first status, as some failures cause no event."""
_PATIENCE_PER_GRAPH = 5.0
_OTHERS = "others"
_POD: Manifest = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "main", "image": "other"}]}}
_WARM_UP = 99_999
"""Number of a graph that exists before the measurement, so that rules are compiled and watches are open."""
_CALLS = re.compile(
    r'^metacontroller_(\w+?)_requests_total{[^}]*controller_name="dynamo-([^"]*)"[^}]*} (\S+)$', re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """What was done until a moment; `calls` by hook and `api_calls` are Metacontroller's, `child_changes` everybody's.

    `seconds` lead to the last write of Metacontroller, `wall` to the end.
    """

    seconds: float
    wall: float
    processor_seconds: Mapping[str, float]
    calls: Mapping[str, int]
    api_calls: Mapping[str, int]
    child_changes: int

    @property
    def total_processor_seconds(self) -> float:
        return sum(self.processor_seconds.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Until all children exist, until all graphs are ready (both from the beginning), and rest; MiB by program.

    `foreign` is what happens while pods of somebody else come and go, `beside` while they only exist.

    `first_writes` are the status writes by resource before all children of their own graph existed. `refused` are
    Metacontroller's API calls that were refused: a server whose answers cause many of them is not measured fairly.
    """

    graphs: int
    children: Phase
    ready: Phase
    rest: Phase
    foreign: Phase
    beside: Phase
    first_writes: Mapping[str, int]
    refused: Mapping[str, int]
    memory: Mapping[str, float]
    statuses: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a run does: so many graphs in so many namespaces, seconds of rest, and pods of somebody else.

    `with_statuses` logs status writes, and the API server's time counts for less.
    """

    graphs: int
    namespaces: int = 1
    rest_seconds: float = 10.0
    foreign_pods: int = 0
    with_statuses: bool = False


def run(server: str, load: Load, *, beside: Path | None = None) -> Run:
    """Measure the `hooks`, the `floor`, or with `before` the hooks of the checkout `beside`.

    Raises:
        RuntimeError: the graphs do not become ready in time.
    """
    policy = _HERE / f"audit_policy{'_statuses' if load.with_statuses else ''}.yaml"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-cluster-")))
        plane = stack.enter_context(control_plane(binaries.found(), folder, crds(), audit_policy=policy))
        grant_reads(plane.client())
        hooks, metacontroller = _server(server, folder, plane, beside), metacontroller_server(plane, folder)
        stack.enter_context(running(hooks))
        stack.enter_context(running(metacontroller))
        stack.enter_context(running_these(plane.client(), _without_resync(install_files.controllers(hooks.url))))
        return _Measurement(plane, metacontroller, load).measure()


def crds() -> list[Manifest]:
    """The definitions of Metacontroller and of the project."""
    theirs = [crd for crd in third_party.crds() if crd["spec"]["group"] == "metacontroller.k8s.io"]
    return [*theirs, *install_files.crds()]


def _without_resync(controllers: Iterable[Manifest]) -> Iterator[Manifest]:
    """The same, but no resync falls into a run: what one costs is another bench's question."""
    for controller in controllers:
        yield {**controller, "spec": {**controller["spec"], "resyncPeriodSeconds": 86_400}}


def _server(name: str, folder: Path, plane: ControlPlane, beside: Path | None) -> HttpServer:
    port = free_port()
    if name == "hooks":
        return hooks_server(folder, port, plane=plane)
    url = f"http://127.0.0.1:{port}"
    if name == "before":
        # Without a control plane, as that of a version which may read nothing; -P: not the modules of this folder.
        command = [
            "env",
            f"PYTHONPATH={beside}",
            sys.executable,
            "-P",
            "-m",
            "hooks",
            "serve",
            f"--bind=127.0.0.1:{port}",
        ]
        return HttpServer("before", command, folder, url=url, health=f"{url}/readyz")
    command = [sys.executable, "-m", "bench.cluster.floor", f"127.0.0.1:{port}", "2"]
    return HttpServer("floor", command, folder, url=url, health=f"{url}/readyz")


class _Measurement:
    """Reads the audit log and the counters of one run as it goes on."""

    def __init__(self, plane: ControlPlane, metacontroller: HttpServer, load: Load) -> None:
        self._api = plane.client()
        self._load = load
        self._log = AuditLog(plane.audit_log)
        self._metacontroller = metacontroller
        self._seen: list[ApiCall] = []
        self._begin()

    def measure(self) -> Run:
        graphs, namespaces, rest_seconds = self._load.graphs, self._load.namespaces, self._load.rest_seconds
        for name in sorted({name_namespace(number, namespaces) for number in (*range(graphs), _WARM_UP)}):
            self._api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self._api.create(build_graph(_WARM_UP, namespaces))
        wait_for(lambda: self._count_ready() == 1, "the first graph is ready")
        self._wait_for_silence()
        deadline = time.monotonic() + 60 + _PATIENCE_PER_GRAPH * graphs
        self._begin()
        self._create(graphs, deadline)
        children = self._phase()
        self._wait_until_ready(graphs, deadline)
        ready, seen = self._phase(), self._seen
        memory = read_memory()
        if rest_seconds:
            time.sleep(_TIMERS_SECONDS)
            self._read()
        self._begin()
        time.sleep(rest_seconds)
        self._read()
        rest = self._phase()
        foreign, beside = self._come_and_go()
        return Run(
            graphs=graphs,
            children=children,
            ready=ready,
            rest=rest,
            foreign=foreign,
            beside=beside,
            first_writes=count_first_writes(seen),
            refused=find_refused([*seen, *self._seen]),
            memory=memory,
            statuses=tuple(describe_statuses(seen)),
        )

    def _come_and_go(self) -> tuple[Phase, Phase]:
        """What pods of somebody else cost, in a namespace of their own: as they come and go, and as they stand."""
        others, number = self._api.within(_OTHERS), self._load.foreign_pods
        others.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _OTHERS}})
        self._begin()
        for index in range(number):
            others.create({**_POD, "metadata": {"name": f"other-{index}"}})
        self._wait_for_silence()
        coming = self._phase()
        self._begin()
        time.sleep(self._load.rest_seconds)
        self._read()
        beside = self._phase()
        self._begin()
        for index in range(number):
            others.delete("v1", "Pod", f"other-{index}")
        self._wait_for_silence()
        return _join(coming, self._phase()), beside

    def _begin(self) -> None:
        self._seen, self._child_changes, self._started = [], 0, time.time()
        self._seconds, self._calls = read_seconds(), self._hook_calls()

    def _phase(self) -> Phase:
        after, calls = read_seconds(), self._hook_calls()
        last = max((one.time for one in self._seen if one.is_write), default=self._started)
        return Phase(
            seconds=last - self._started,
            wall=time.time() - self._started,
            processor_seconds={name: after[name] - self._seconds.get(name, 0) for name in after},
            calls={name: calls[name] - self._calls.get(name, 0) for name in sorted(calls)},
            api_calls=count(self._seen),
            child_changes=self._child_changes,
        )

    def _create(self, graphs: int, deadline: float) -> None:
        """Create the graphs, and wait until Metacontroller has created all Deployments."""
        for number in range(graphs):
            self._api.create(build_graph(number, self._load.namespaces))
        while (made := sum(one.title == "create deployments" for one in self._seen)) < SERVICES * graphs:
            _refuse_after(deadline, f"{made} of {SERVICES * graphs} Deployments exist")
            time.sleep(0.1)
            self._read()

    def _wait_until_ready(self, graphs: int, deadline: float) -> None:
        while True:
            self._wait_for_silence()
            ready = self._count_ready() - 1
            if ready == graphs:
                return
            _refuse_after(deadline, f"{ready} of {graphs} graphs are ready")

    def _read(self) -> bool:
        """Read the log; gives whether Metacontroller has written."""
        logged = [one for one in self._log.read() if one.namespace.startswith(NAMESPACE)]
        self._child_changes += count_child_changes(logged)
        new = [one for one in logged if one.user == METACONTROLLER]
        self._seen += new
        return any(one.is_write for one in new)

    def _wait_for_silence(self) -> None:
        """Wait until Metacontroller has written nothing for a while."""
        since = time.monotonic()
        while time.monotonic() - since < _QUIET_SECONDS:
            time.sleep(0.2)
            if self._read():
                since = time.monotonic()

    def _count_ready(self) -> int:
        return sum(is_ready(graph) for graph in self._api.list(DYNAMO, GRAPH))

    def _hook_calls(self) -> Mapping[str, int]:
        """Calls by hook, such as `graph sync`, since Metacontroller started."""
        return read_calls(self._metacontroller)


def read_calls(metacontroller: HttpServer) -> Mapping[str, int]:
    """Calls by hook, such as `graph sync`, since Metacontroller started."""
    text = requests.get(f"{metacontroller.url}/metrics", timeout=30).text
    calls: dict[str, int] = {}
    for stage, controller, number in _CALLS.findall(text):
        calls[f"{controller} {stage}"] = calls.get(f"{controller} {stage}", 0) + int(float(number))
    return calls


def _join(first: Phase, second: Phase) -> Phase:
    """Both phases together, without what was between them."""
    return Phase(
        seconds=first.seconds + second.seconds,
        wall=first.wall + second.wall,
        processor_seconds=dict(Counter(first.processor_seconds) + Counter(second.processor_seconds)),
        calls=dict(Counter(first.calls) + Counter(second.calls)),
        api_calls=dict(Counter(first.api_calls) + Counter(second.api_calls)),
        child_changes=first.child_changes + second.child_changes,
    )


def _refuse_after(deadline: float, state: str) -> None:
    if time.monotonic() > deadline:
        raise RuntimeError(f"it takes too long: {state}")
