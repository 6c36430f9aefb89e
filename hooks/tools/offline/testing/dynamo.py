"""The hooks for unit tests: a sync of any of the five kinds, and objects as a cluster holds them.

A sync runs the real Flask app and the simulated Metacontroller once: customize, the children that the parent controls,
the hook, and what Metacontroller then writes. No workload runs and no time passes.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from typing import Any

from flask import Flask

from hooks.ground.k8s.types import Manifest, ReadManifest, gvk_of
from hooks.ground.settings import parse_settings
from hooks.language.crds import build_crds
from hooks.model.prober.messages import AdapterPhase
from hooks.server.app import create_app
from hooks.server.routes import served_hooks
from hooks.tools.offline.simulation.applied_documents import admit_custom
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.queries import ClusterReader
from hooks.tools.offline.simulator.resources import OPTIONAL
from hooks.tools.offline.simulator.workloads.pods import PodFault
from hooks.tools.offline.testing import builders
from hooks.tools.offline.testing.answer import Answer
from hooks.tools.offline.testing.hook import JsonClient, RecordingHook, keep_effects
from hooks.tools.offline.testing.pool import as_stored, choose_uid
from hooks.tools.offline.testing.prober import Prober, believe_addresses, report_phase
from hooks.tools.offline.testing.syncing import sync_tree
from hooks.wire.metacontroller import install_files
from hooks.wire.metacontroller.controllers import OUR_KINDS
from hooks.wire.metacontroller.effects import Effect
from hooks.wire.metacontroller.queries import ObjectSource

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALL_LOADED = report_phase(AdapterPhase.LOADED)
_URL = "http://dynamo-hooks.test"


@dataclass(frozen=True)
class Dynamo:
    """The hooks with some settings, in a cluster with some optional kinds (names as for `--with`), at one time.

    `prober` reports on adapters instead of a real one; by default all are loaded.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    installed: frozenset[str] = frozenset()
    now: datetime = NOW
    prober: Prober = ALL_LOADED

    def configured(
        self,
        *,
        installed: Iterable[str] | None = None,
        now: datetime | None = None,
        prober: Prober | None = None,
        **settings: str,
    ) -> "Dynamo":
        """The same hooks with other settings, optional kinds, time or prober."""
        return replace(
            self,
            settings={**self.settings, **settings},
            installed=self.installed if installed is None else frozenset(installed),
            now=now or self.now,
            prober=prober or self.prober,
        )

    @cached_property
    def client(self) -> JsonClient:
        """Flask's client of the app, for calls by hand: `client.post("/graph/sync", json=…)`; faults are JSON."""
        app = self._build_app(lambda: self.now, [], ClusterReader())
        app.test_client_class = JsonClient
        client: JsonClient = app.test_client()  # type: ignore[assignment] # Flask's type is that of its own client
        return client

    def sync(self, parent: ReadManifest, children: Iterable[Any] = (), related: Iterable[Any] = ()) -> Answer:
        """Sync one parent and, below it, every child that has a hook too.

        `children` are objects that exist: those of `Answer.objects`, of the builders, or written by hand. Lists in them
        are taken apart. An object that nothing controls becomes a child of the parent that wants one of its kind and
        name. `related` are further objects, which hooks find by name or label. Of two objects of the same name the last
        counts. A parent without status and uid is what a user applies; else it is the object as it is stored. An object
        of v1beta1 is stored as v1alpha1, as an API server does it, and the answer has it so.

        Raises:
            ApiError: the API server would refuse the parent.
            HookFailed: a hook answers with another status than 200.
            SyncFailed: Metacontroller cannot apply an answer.
            LookupError: an object is of a kind that the cluster does not have, or no parent wants it as a child.
        """
        return sync_tree(self._start, as_stored(parent), children, related)

    def go_on(self, answer: Answer, change: Callable[[Manifest], Iterable[Manifest]] | None = None) -> Answer:
        """Sync again with the objects of an answer; `change` replaces each workload, as the builders do."""
        if answer.parent is None:
            raise LookupError("the parent is gone, so there is nothing to sync again")
        changed = [change(workload) for workload in answer.workloads()] if change is not None else []
        return self.sync(answer.parent, [answer.objects, changed])

    def as_ready(self, obj: ReadManifest, beside: Iterable[Any] = ()) -> list[Manifest]:
        """The object and all below it once it is ready.

        `obj` is one of the five kinds, a workload (Deployment, LeaderWorkerSet, PodCliqueSet, PodClique, Job) or a
        claim. `beside` are objects that its hooks need.

        Raises:
            AssertionError: one of the five kinds does not become ready; the message says why.
        """
        stored = as_stored(obj)
        return builders.build_ready(self._start_before(stored, builders.READY_SECONDS), stored, beside)

    def as_crashing(self, obj: ReadManifest, pods: str = "*", beside: Iterable[Any] = ()) -> list[Manifest]:
        """The object and all below it while containers crash again and again.

        `pods` is a glob of the pods that crash: it matches a pod's name, its owners' names and its label values.
        """
        return self.as_broken(obj, PodFault.CRASH_LOOP, pods, beside)

    def as_broken(
        self, obj: ReadManifest, fault: PodFault | str, pods: str = "*", beside: Iterable[Any] = ()
    ) -> list[Manifest]:
        """As `as_crashing`, with another fault: Unschedulable, ImagePullBackOff, ProbeFailing."""
        stored = as_stored(obj)
        cluster = self._start_before(stored, builders.BROKEN_SECONDS)
        return builders.build_broken(cluster, stored, {pods: PodFault(fault)}, beside)

    def as_scaled_by_hand(self, obj: ReadManifest, replicas: int, part: str = "") -> list[Manifest]:
        """The object and all below it after its replicas were set, and Metacontroller has not changed it back.

        `obj` is a component, Deployment, LeaderWorkerSet, PodClique, PodCliqueScalingGroup or PodCliqueSet. Of a
        PodCliqueSet, `part` is the name of the clique or scaling group in its template that is scaled.
        """
        stored = as_stored(obj)
        return builders.build_scaled(self._start_before(stored, 2 * builders.SCALED_SECONDS), stored, replicas, part)

    def _start(self) -> tuple[SimulatedCluster, RecordingHook]:
        """An empty cluster at this time with all controllers, and a record of their calls."""
        clock, effects, reader = Clock(self.now), list[Effect](), ClusterReader()
        hook = RecordingHook(self._build_app(lambda: clock.now, effects, reader), effects)
        cluster = self._build_cluster(clock, hook, self.installed, self._controllers())
        reader.source = cluster.reader
        return cluster, hook

    def _start_before(self, obj: ReadManifest, seconds: float) -> SimulatedCluster:
        """An empty cluster that begins before this time; it has controllers if the object is one of the five kinds."""
        clock, effects, reader = Clock(self.now - timedelta(seconds=seconds)), list[Effect](), ClusterReader()
        hook = RecordingHook(self._build_app(lambda: clock.now, effects, reader), effects)
        is_ours = gvk_of(obj) in OUR_KINDS
        installed = self.installed if is_ours else frozenset(OPTIONAL)
        cluster = self._build_cluster(clock, hook, installed, self._controllers() if is_ours else [])
        reader.source = cluster.reader
        return cluster

    def _build_app(self, clock: Callable[[], datetime], effects: list[Effect], reader: ClusterReader) -> Flask:
        settings = parse_settings({}, self.settings)
        return create_app(
            settings,
            clock,
            carry_out=lambda found, _source: keep_effects(effects, found),
            hooks=served_hooks(
                settings,
                lambda wanted, _origin: self.prober(wanted),
                check=believe_addresses,
                source=ObjectSource(read=reader.read, is_free=True),
            ),
        )

    def _controllers(self) -> list[Manifest]:
        may_use_etcd = self.settings.get("discovery_backend") == "etcd" or bool(self.settings.get("etcd_address"))
        installation = self.settings.get("installation", "")
        return install_files.controllers(_URL, self.installed, etcd_finalize=may_use_etcd, installation=installation)

    def _build_cluster(
        self, clock: Clock, hook: RecordingHook, installed: frozenset[str], controllers: Iterable[Manifest]
    ) -> SimulatedCluster:
        setup = Setup(
            hook=hook,
            controllers=controllers,
            crds=_crds(),
            optional=installed,
            admit=admit_custom,
            identify=choose_uid,
        )
        return SimulatedCluster(setup, clock)


@cache
def _crds() -> tuple[Manifest, ...]:
    """The CRDs, built once in a process: they are large, and nothing changes them."""
    return tuple(build_crds())
