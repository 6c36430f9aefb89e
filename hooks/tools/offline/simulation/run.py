"""One simulation: applies objects to an in-memory cluster and watches them until all Dynamo objects are ready."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Protocol

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, gvk_of, labels_of
from hooks.ground.problems import join_texts
from hooks.language.crds import apply_defaults, build_crds, find_faults, prune
from hooks.tools.offline.manifests.document import Document
from hooks.tools.offline.pod_starts import find_override, find_trouble
from hooks.tools.offline.pod_troubles import Trouble
from hooks.tools.offline.simulation.processes import Servers, find_free_port, run_servers
from hooks.tools.offline.simulation.progress import ObjectProgress, has_ended, measure_progress
from hooks.tools.offline.simulation.trees import ObjectTree, is_ready
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.engines import Engines, reserve_port, run_engines
from hooks.tools.offline.simulator.loopback_http import run_listeners
from hooks.tools.offline.simulator.metacontroller.hook_client import connect_hook
from hooks.tools.offline.simulator.metacontroller.webhook import Hook
from hooks.tools.offline.simulator.queries import ClusterReader
from hooks.tools.offline.simulator.resources import UnknownKind
from hooks.tools.offline.simulator.store import ApiError, Ref, ref_of
from hooks.tools.offline.simulator.workloads.kubelet import PodJudges
from hooks.tools.offline.simulator.workloads.pods import PodFault, pod_address
from hooks.tools.offline.simulator.workloads.pods import is_ready as is_pod_ready
from hooks.tools.offline.simulator.workloads.profiler import Profiler
from hooks.wire.metacontroller import install_files
from hooks.wire.metacontroller.controllers import OUR_KINDS

SNAPSHOT_SECONDS = 0.1
"""Real seconds between two snapshots."""
LONGEST_TURN_SECONDS = 0.5
"""Real seconds that count between two snapshots: where more pass, the machine is busy and the prober late too."""
STUCK_SECONDS = 15.0
"""Seconds of the cluster after which nothing more is expected of pods that only wait for missing objects."""
_ENDED = frozenset({"Succeeded", "Failed"})

_LOOPBACK_ENGINES = "engine_addresses=any"
"""The simulated engines listen on loopback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationPlan:
    """The options of a simulation; times are seconds of the cluster, `speed` of them pass in a real second.

    `given` are globs of `Kind/name`: claims, Secrets and ConfigMaps that count as there although no document has them.
    `profiler_output` is the output of every profiler; if it is empty, the simulated profiler generates a graph.
    """

    documents: tuple[Document, ...]
    installed: frozenset[str]
    timeout: float
    speed: float
    held: tuple[str, ...]
    broken: Mapping[str, PodFault]
    given: tuple[str, ...] = ()
    profiler_output: str = ""

    @property
    def has_models(self) -> bool:
        """Whether there is a DynamoModel, which needs a prober and engines."""
        return any(gvk_of(document.object) == contract.MODEL for document in self.documents if document.is_ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state at one moment; `seconds` of the cluster's time have passed."""

    seconds: float
    progress: tuple[ObjectProgress, ...]
    roots: tuple[Manifest, ...]
    tree: ObjectTree

    @property
    def ready(self) -> bool:
        """Whether every Dynamo object is ready."""
        return all(found.ready for found in self.progress)

    @property
    def is_stuck(self) -> bool:
        """Whether pods wait for missing objects, or never start well, and all others are ready or have ended."""
        pods = [obj for obj in self.tree.by_uid.values() if gvk_of(obj) == kinds.POD]
        never = self.tree.missing.keys() | self.tree.troubles.keys()
        waiting = [pod for pod in pods if pod["metadata"]["uid"] in never]
        return bool(waiting) and all(
            pod in waiting or is_pod_ready(pod) or pod.get("status", {}).get("phase") in _ENDED for pod in pods
        )

    @property
    def over(self) -> bool:
        """Whether every Dynamo object is ready or never will be."""
        return all(found.ready or found.ended for found in self.progress)


class Viewer(Protocol):
    """Shows a running simulation."""

    def say(self, line: str) -> None:
        """Show a line."""

    def show(self, snapshot: Snapshot) -> None:
        """Show a snapshot."""


class DocumentRefused(Exception):
    """The API server refuses a document; the message names file and line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """What runs in real time: the servers and, for models, the engines that the prober calls.

    `reader` is what the hooks read on demand, of the cluster that is built last.
    """

    servers: Servers
    reader: ClusterReader
    engines: Engines | None = None


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
        if not plan.has_models:
            servers = stack.enter_context(run_servers(settings, prober=False, objects_url=url, heed=heed, say=say))
            yield Programs(servers=servers, reader=reader)
            return
        port = stack.enter_context(reserve_port(engine_port))
        engines = stack.enter_context(run_engines(port))
        given = [*settings, f"engine_port={port}", _LOOPBACK_ENGINES]
        servers = stack.enter_context(run_servers(given, prober=True, objects_url=url, heed=heed, say=say))
        yield Programs(servers=servers, reader=reader, engines=engines)


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
        cluster = build_cluster(plan, hook, programs.servers.hooks_url)
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
    waiting = list(roots)

    def is_done() -> bool:
        programs.servers.heed()
        if programs.engines is not None:
            programs.engines.follow(cluster)
        while waiting and _is_over(cluster, waiting[-1]):
            waiting.pop()
        return not waiting and _all_over(cluster, roots)

    end, before, stuck_since = 0.0, time.monotonic(), math.inf
    while True:
        now = time.monotonic()
        end, before = advance(end, now - before, plan), now
        cluster.run_until(is_done, end - cluster.clock.seconds)
        snapshot = take_snapshot(cluster, roots)
        look(snapshot)
        stuck_since = min(stuck_since, snapshot.seconds) if snapshot.is_stuck else math.inf
        if snapshot.over or snapshot.seconds >= plan.timeout or snapshot.seconds - stuck_since >= STUCK_SECONDS:
            return snapshot
        time.sleep(SNAPSHOT_SECONDS)


def advance(seconds: float, passed: float, plan: SimulationPlan) -> float:
    """The simulated seconds by now; `passed` are the real ones since the last time.

    A turn counts no longer than it would on a machine that is not busy, so nothing times out for lack of a processor.
    """
    return min(seconds + min(passed, LONGEST_TURN_SECONDS) * plan.speed, plan.timeout)


def _all_over(cluster: SimulatedCluster, roots: Iterable[Ref]) -> bool:
    """Whether all applied objects are ready, with the scaling adapters that the hooks made, or never will be."""
    if not all(_is_over(cluster, ref) for ref in roots):
        return False
    return all(map(is_ready, cluster.reader.list_kind(contract.SCALING_ADAPTER)))


def _is_over(cluster: SimulatedCluster, ref: Ref) -> bool:
    found = cluster.reader.get(ref)
    return found is None or is_ready(found) or has_ended(found)


def build_cluster(plan: SimulationPlan, hook: Hook, hooks_url: str) -> SimulatedCluster:
    """Build the cluster with the Dynamo CRDs and controllers, the wanted optional kinds, and the rules for its pods."""
    namespaces = {document.object["metadata"].get("namespace") or "default" for document in plan.documents}
    setup = Setup(
        hook=hook,
        controllers=install_files.controllers(hooks_url, plan.installed),
        crds=build_crds(),
        optional=plan.installed,
        admit=admit_custom,
        namespaces=sorted({"default", *namespaces, *_target_namespaces(plan.documents)}),
        profiler=Profiler(output=plan.profiler_output),
        judges=PodJudges(
            troubled=_find_trouble,
            given=lambda found, _: any(fnmatchcase(f"{found.kind.kind}/{found.name}", glob) for glob in plan.given),
        ),
    )
    cluster = SimulatedCluster(setup, Clock(datetime.now(UTC)))
    for glob in plan.held:
        cluster.hold(glob)
    for glob, fault in plan.broken.items():
        cluster.break_pods(glob, fault)
    return cluster


def _find_trouble(pod: Manifest, owners: list[Manifest]) -> Trouble | None:
    override = find_override(owners, labels_of(pod).get(contract.LABEL_COMPONENT, ""))
    return find_trouble(pod["spec"], override, pod_address(pod))


def _target_namespaces(documents: Iterable[Document]) -> Iterator[str]:
    """Namespaces that requests want their graphs in."""
    for document in documents:
        if document.is_ours and gvk_of(document.object) == contract.GRAPH_REQUEST:
            overrides = document.object.get("spec", {}).get("deploymentOverrides") or {}
            yield overrides.get("namespace") or "default"


def admit_custom(obj: Manifest) -> Manifest:
    """A custom resource as the API server stores it; kinds of other API groups stay unchanged.

    The rules that a real server evaluates in CEL (`hooks.language.cel.kinds`) are not checked here: the hooks
    check them too.

    Raises:
        ApiError: 422, the schema does not allow it.
    """
    if GroupVersionKind.of(obj["apiVersion"], obj["kind"]) not in OUR_KINDS:
        return obj
    stored = apply_defaults(prune(obj))
    faults = find_faults(stored)
    if faults:
        raise ApiError(422, "Invalid", f"{obj['kind']} {obj['metadata']['name']}: {join_texts(faults)}")
    return stored


def apply_documents(cluster: SimulatedCluster, documents: Iterable[Document], say: Callable[[str], None]) -> list[Ref]:
    """Apply every document of a served kind and return the Dynamo objects; `say` gets a line for each one left out.

    Raises:
        DocumentRefused: the API server refuses a document.
    """
    roots = []
    for document in documents:
        obj = document.object
        try:
            resource = cluster.catalogue.of(obj["apiVersion"], obj["kind"])
        except UnknownKind as unknown:
            say(f"{document.where}: left out: the simulated cluster has {unknown}")
            continue
        if not obj["metadata"].get("name"):
            say(f"{document.where}: left out: it has no metadata.name")
            continue
        obj = _with_namespace(obj, is_namespaced=resource.namespaced)
        try:
            cluster.apply(obj)
        except ApiError as error:
            raise DocumentRefused(f"{document.where}: {error}") from error
        if document.is_ours:
            roots.append(ref_of(obj))
    return roots


def _with_namespace(obj: Manifest, *, is_namespaced: bool) -> Manifest:
    """The object, in the namespace `default` if it needs a namespace and names none."""
    metadata = obj["metadata"]
    if metadata.get("namespace"):
        return obj
    named = {key: value for key, value in metadata.items() if key != "namespace"}
    return {**obj, "metadata": {**named, "namespace": "default"} if is_namespaced else named}


def take_snapshot(cluster: SimulatedCluster, roots: Iterable[Ref]) -> Snapshot:
    """Take a snapshot of the cluster."""
    everything = cluster.everything()
    waiting = ((obj, cluster.kubelet.missing(obj)) for obj in everything if gvk_of(obj) == kinds.POD)
    missing = {pod["metadata"]["uid"]: found for pod, found in waiting if found is not None and not is_pod_ready(pod)}
    troubles = {
        pod["metadata"]["uid"]: trouble
        for pod in everything
        if gvk_of(pod) == kinds.POD and not is_pod_ready(pod) and (trouble := cluster.kubelet.trouble(pod)) is not None
    }
    tree = ObjectTree(everything, missing, troubles)
    found = {ref_of(obj): obj for obj in tree.by_uid.values()}
    present = tuple(found[ref] for ref in roots if ref in found)
    return Snapshot(
        seconds=cluster.clock.seconds,
        progress=tuple(measure_progress(tree, root, cluster.events) for root in present),
        roots=present,
        tree=tree,
    )
