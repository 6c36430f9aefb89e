"""One simulation: the programs that it needs, and watching a cluster until all Dynamo objects are ready."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from hooks.graph.report.serving_reasons import SERVING, ServingReason
from hooks.ground import contract
from hooks.ground.k8s.conditions import find_condition
from hooks.tools.offline.simulation.applied_documents import apply_documents
from hooks.tools.offline.simulation.plan import SimulationPlan, build_cluster
from hooks.tools.offline.simulation.processes import Servers, find_free_port, run_servers
from hooks.tools.offline.simulation.progress import has_ended
from hooks.tools.offline.simulation.snapshots import Snapshot, take_snapshot
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.engines import Engines, reserve_block, reserve_port, run_engines
from hooks.tools.offline.simulator.frontends import Frontends
from hooks.tools.offline.simulator.loopback_http import run_listeners
from hooks.tools.offline.simulator.metacontroller.hook_client import connect_hook
from hooks.tools.offline.simulator.queries import ClusterReader
from hooks.tools.offline.simulator.store import Ref

SNAPSHOT_SECONDS = 0.1
"""Real seconds between two snapshots."""
LONGEST_TURN_SECONDS = 0.5
"""Real seconds that count between two snapshots: where more pass, the machine is busy and the prober late too."""
ASKING_SECONDS = 1.0
"""Seconds of the cluster in a turn at most while a graph waits for what the prober hears, in real time."""
STUCK_SECONDS = 15.0
"""Seconds of the cluster after which nothing more is expected of pods that only wait for missing objects."""

_ASKED = frozenset({ServingReason.ASKING, ServingReason.NO_MODEL, ServingReason.NOT_ROUTED})
_LOOPBACK_ENGINES = "engine_addresses=any"
"""The simulated frontends and engines listen on loopback."""


class Viewer(Protocol):
    """Shows a running simulation."""

    def say(self, line: str) -> None:
        """Show a line."""

    def show(self, snapshot: Snapshot) -> None:
        """Show a snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """What runs in real time: the servers and, for graphs and models, the frontends and engines that the prober calls.

    `reader` is what the hooks read on demand, of the cluster that is built last; `block` are the addresses of its pods.
    """

    servers: Servers
    reader: ClusterReader
    engines: Engines | None = None
    frontends: Frontends | None = None
    block: int = 0


@contextmanager
def run_programs(
    plan: SimulationPlan,
    settings: Sequence[str],
    *,
    engine_port: int,
    heed: Callable[[], None],
    say: Callable[[str], None],
) -> Iterator[Programs]:
    """Run the programs that a plan needs; engines get another port if theirs is in use on this machine.

    `heed` is called again and again, also while the simulation runs, and may raise what ends it. `say` gets a line
    where servers take long to start.

    Raises:
        ServerFailed: a server does not start.
        EngineFailed: no engine can listen on loopback.
    """
    reader = ClusterReader()
    with ExitStack() as stack:
        url = stack.enter_context(serve_objects(reader))
        if not plan.needs_prober:
            servers = stack.enter_context(run_servers(settings, prober=False, objects_url=url, heed=heed, say=say))
            yield Programs(servers=servers, reader=reader)
            return
        given, engines = [*settings, _LOOPBACK_ENGINES], None
        if plan.has_models:
            port = stack.enter_context(reserve_port(engine_port))
            engines, given = stack.enter_context(run_engines(port)), [*given, f"engine_port={port}"]
        servers = stack.enter_context(run_servers(given, prober=True, objects_url=url, heed=heed, say=say))
        frontends = Frontends(stack.enter_context(run_listeners()), engines)
        block = stack.enter_context(reserve_block())
        yield Programs(servers=servers, reader=reader, engines=engines, frontends=frontends, block=block)


@contextmanager
def serve_objects(reader: ClusterReader) -> Iterator[str]:
    """Serve a cluster's objects on loopback; yields the URL.

    The hooks read while the simulated Metacontroller waits for their answer, so nothing changes meanwhile.
    """
    with run_listeners() as listeners:
        port = find_free_port()
        listeners.open("127.0.0.1", port, reader.answer)
        yield f"http://127.0.0.1:{port}"


def run_simulation(plan: SimulationPlan, programs: Programs, viewer: Viewer) -> Snapshot:
    """Run until every Dynamo object is ready or never will be, or until the timeout; show the viewer every snapshot.

    It ends earlier if all that is not ready waits for objects that are missing, or cannot start: it never will be.

    Raises:
        DocumentRefused: a document that an API server would refuse.
        ServerFailed: a server died.
        EngineFailed: an engine cannot listen at its pod's address.
    """
    with connect_hook(programs.servers.hooks_url) as hook:
        cluster = build_cluster(plan, hook, programs.servers.hooks_url, programs.block)
        programs.reader.source = cluster.reader
        roots = apply_documents(cluster, plan.documents, viewer.say)

        def look(snapshot: Snapshot) -> None:
            viewer.show(snapshot)
            programs.servers.check()

        return _watch(cluster, roots, plan, look, programs=programs)


def _watch(
    cluster: SimulatedCluster,
    roots: Sequence[Ref],
    plan: SimulationPlan,
    look: Callable[[Snapshot], None],
    *,
    programs: Programs,
) -> Snapshot:
    waiting, looked_at = list(roots), 0.0

    def is_done() -> bool:
        programs.servers.heed()
        if programs.engines is not None:
            programs.engines.follow(cluster)
        if programs.frontends is not None:
            programs.frontends.follow(cluster)
        while waiting and _is_over(cluster, waiting[-1]):
            waiting.pop()
        return not waiting and _all_over(cluster, roots)

    def is_asking() -> bool:
        return any(_is_asking(cluster, ref) and not _is_over(cluster, ref) for ref in roots)

    def is_early() -> bool:
        return cluster.clock.seconds - looked_at >= ASKING_SECONDS and is_asking()

    end, before, stuck_since = 0.0, time.monotonic(), math.inf
    while True:
        now = time.monotonic()
        end, before = advance(end, now - before, plan, is_asking=is_asking()), now
        looked_at = cluster.clock.seconds
        cluster.run_until(lambda: is_done() or is_early(), end - looked_at)
        if is_early():
            end = cluster.clock.seconds
        snapshot = take_snapshot(cluster, roots)
        look(snapshot)
        stuck_since = min(stuck_since, snapshot.seconds) if snapshot.is_stuck else math.inf
        if snapshot.over or snapshot.seconds >= plan.timeout or snapshot.seconds - stuck_since >= STUCK_SECONDS:
            return snapshot
        time.sleep(SNAPSHOT_SECONDS)


def advance(seconds: float, passed: float, plan: SimulationPlan, *, is_asking: bool = False) -> float:
    """The simulated seconds by now; `passed` are the real ones since the last time.

    A turn counts no longer than it would on a machine that is not busy, so nothing times out for lack of a processor,
    and no longer than `ASKING_SECONDS` while a graph waits for what is asked in real time (`is_asking`).
    """
    turn = min(passed, LONGEST_TURN_SECONDS) * plan.speed
    return min(seconds + (min(turn, ASKING_SECONDS) if is_asking else turn), plan.timeout)


def _is_asking(cluster: SimulatedCluster, ref: Ref) -> bool:
    """Whether a graph lacks nothing but what its frontends are still to say."""
    conditions = ((cluster.reader.get(ref) or {}).get("status") or {}).get("conditions") or ()
    return (find_condition(conditions, SERVING) or {}).get("reason") in _ASKED


def _all_over(cluster: SimulatedCluster, roots: Iterable[Ref]) -> bool:
    """Whether all applied objects are ready, with the scaling adapters that the hooks made, or never will be."""
    if not all(_is_over(cluster, ref) for ref in roots):
        return False
    return all(map(is_ready, cluster.reader.list_kind(contract.SCALING_ADAPTER)))


def _is_over(cluster: SimulatedCluster, ref: Ref) -> bool:
    found = cluster.reader.get(ref)
    return found is None or is_ready(found) or has_ended(found)
