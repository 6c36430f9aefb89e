"""One simulation: the objects applied to an in-memory cluster and watched until all of ours are ready."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from hooks import contract
from hooks.crds import apply_defaults, find_faults, prune
from hooks.k8s.types import GroupVersionKind, Manifest
from hooks.manifests.object_header import OUR_KINDS
from hooks.manifests.reading import Document
from hooks.metacontroller import install_files
from hooks.problems import join_texts
from hooks.simulation.processes import Servers, run_servers
from hooks.simulation.progress import Family, Progress, has_ended, is_ready, kind_of, measure_progress
from hooks.simulator.clock import Clock
from hooks.simulator.cluster import Setup, SimulatedCluster
from hooks.simulator.engines import Engines, reserve_port, run_engines
from hooks.simulator.metacontroller.hook_client import connect_hook
from hooks.simulator.metacontroller.webhook import Hook
from hooks.simulator.resources import UnknownKind
from hooks.simulator.store import ApiError, Ref, ref_of
from hooks.simulator.workloads.pods import Fault
from hooks.simulator.workloads.profiler import Profiler

FRAME_SECONDS = 0.1
"""Real seconds between two looks at the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a user asked for; times are seconds of the cluster, `speed` of them pass in a real second.

    `profiler_output` is what profilers leave behind; empty for graphs made up.
    """

    documents: tuple[Document, ...]
    installed: frozenset[str]
    timeout: float
    speed: float
    held: tuple[str, ...]
    broken: Mapping[str, Fault]
    profiler_output: str = ""

    @property
    def has_models(self) -> bool:
        """Whether there is a DynamoModel, which needs a prober and engines."""
        return any(kind_of(document.object) == contract.MODEL for document in self.documents if document.is_ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The state at one moment; `seconds` of the cluster's time have passed."""

    seconds: float
    progress: tuple[Progress, ...]
    roots: tuple[Manifest, ...]
    family: Family

    @property
    def ready(self) -> bool:
        """Whether every object of ours is ready."""
        return all(found.ready for found in self.progress)

    @property
    def over(self) -> bool:
        """Whether every object of ours is ready or never will be."""
        return all(found.ready or found.ended for found in self.progress)


class Viewer(Protocol):
    """Who looks on."""

    def say(self, line: str) -> None:
        """Take a remark."""

    def show(self, frame: Frame) -> None:
        """Take a frame."""


class Refused(Exception):
    """The API server would not take a document; the message names file and line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """What runs outside the cluster's time: the servers, and with models the engines that the prober calls."""

    servers: Servers
    engines: Engines | None = None


@contextmanager
def run_programs(plan: Plan, settings: Sequence[str], *, engine_port: int) -> Iterator[Programs]:
    """Run the programs that a plan needs; engines get another port where theirs is taken on this machine.

    Raises:
        ServerFailed: a server does not come up.
        EngineFailed: no engine can listen on loopback.
    """
    if not plan.has_models:
        with run_servers(settings, prober=False) as servers:
            yield Programs(servers=servers)
        return
    with (
        reserve_port(engine_port) as port,
        run_engines(port) as engines,
        run_servers([*settings, f"engine_port={port}"], prober=True) as servers,
    ):
        yield Programs(servers=servers, engines=engines)


def run_simulation(plan: Plan, programs: Programs, viewer: Viewer) -> Frame:
    """Run until everything is ready or never will be, or the time is up; the viewer is shown every frame.

    Raises:
        Refused: a document that an API server would refuse.
        ServerFailed: a server died.
        EngineFailed: an engine cannot listen at its pod's address.
    """
    with connect_hook(programs.servers.hooks_url) as hook:
        cluster = build_cluster(plan, hook, programs.servers.hooks_url)
        roots = apply_documents(cluster, plan.documents, viewer.say)

        def look(frame: Frame) -> None:
            viewer.show(frame)
            programs.servers.check()

        return _watch(cluster, roots, plan, look, engines=programs.engines)


def _watch(
    cluster: SimulatedCluster,
    roots: Sequence[Ref],
    plan: Plan,
    look: Callable[[Frame], None],
    *,
    engines: Engines | None,
) -> Frame:
    def is_done() -> bool:
        if engines is not None:
            engines.follow(cluster)
        return _all_over(cluster, roots)

    begin = time.monotonic()
    while True:
        real = (time.monotonic() - begin) * plan.speed
        cluster.run_until(is_done, min(real, plan.timeout) - cluster.clock.seconds)
        frame = take_frame(cluster, roots)
        look(frame)
        if frame.over or frame.seconds >= plan.timeout:
            return frame
        time.sleep(FRAME_SECONDS)


def _all_over(cluster: SimulatedCluster, roots: Iterable[Ref]) -> bool:
    found = (cluster.get(GroupVersionKind(ref.group, "", ref.kind), ref.name, ref.namespace) for ref in roots)
    return all(obj is None or is_ready(obj) or has_ended(obj) for obj in found)


def build_cluster(plan: Plan, hook: Hook, hooks_url: str) -> SimulatedCluster:
    """The cluster with our CRDs and controllers, the optional kinds asked for, and the rules for its pods."""
    namespaces = {document.object["metadata"].get("namespace") or "default" for document in plan.documents}
    setup = Setup(
        hook=hook,
        controllers=install_files.controllers(hooks_url, plan.installed),
        crds=install_files.crds(),
        optional=plan.installed,
        admit=admit_custom,
        namespaces=sorted({"default", *namespaces, *_target_namespaces(plan.documents)}),
        profiler=Profiler(output=plan.profiler_output),
    )
    cluster = SimulatedCluster(setup, Clock(datetime.now(UTC)))
    for glob in plan.held:
        cluster.hold(glob)
    for glob, fault in plan.broken.items():
        cluster.break_pods(glob, fault)
    return cluster


def _target_namespaces(documents: Iterable[Document]) -> Iterator[str]:
    """Namespaces that requests want their graphs in."""
    for document in documents:
        if document.is_ours and kind_of(document.object) == contract.GRAPH_REQUEST:
            overrides = document.object.get("spec", {}).get("deploymentOverrides") or {}
            yield overrides.get("namespace") or "default"


def admit_custom(obj: Manifest) -> Manifest:
    """A custom resource as the API server stores it; kinds that are not ours pass as they are.

    The rules that a real server evaluates in CEL (`hooks.crds.cel_rules`) are not asked here: the hooks say the same of
    a graph or component that was let in.

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
    """Create every document of a served kind, and give back where those of our kinds are; `say` hears of the others.

    Raises:
        Refused: the API server refuses a document.
    """
    roots = []
    for document in documents:
        obj = document.object
        try:
            resource = cluster.catalogue.of(obj["apiVersion"], obj["kind"])
        except UnknownKind as unknown:
            say(f"{document.file}:{document.line}: left out, the simulated cluster has {unknown}")
            continue
        if not obj["metadata"].get("name"):
            say(f"{document.file}:{document.line}: left out, it has no metadata.name")
            continue
        obj = _settle(obj, is_namespaced=resource.namespaced)
        try:
            cluster.apply(obj)
        except ApiError as error:
            raise Refused(f"{document.file}:{document.line}: {error}") from error
        if document.is_ours:
            roots.append(ref_of(obj))
    return roots


def _settle(obj: Manifest, *, is_namespaced: bool) -> Manifest:
    """The object in the namespace `default` where it needs one and names none."""
    metadata = obj["metadata"]
    if metadata.get("namespace"):
        return obj
    named = {key: value for key, value in metadata.items() if key != "namespace"}
    return {**obj, "metadata": {**named, "namespace": "default"} if is_namespaced else named}


def take_frame(cluster: SimulatedCluster, roots: Iterable[Ref]) -> Frame:
    """Look at the cluster as it is now."""
    family = Family(cluster.everything())
    found = {ref_of(obj): obj for obj in family.by_uid.values()}
    present = tuple(found[ref] for ref in roots if ref in found)
    return Frame(
        seconds=cluster.clock.seconds,
        progress=tuple(measure_progress(family, root, cluster.events) for root in present),
        roots=present,
        family=family,
    )
