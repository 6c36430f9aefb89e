"""The simulated cluster as a user has it: objects, faults, controllers, and time.

It does one piece of work at a time. Its only time is its clock; nothing happens between two steps. `settle` works until
nothing is left to do; `run_for` and `run_until` also let time pass until retries and resyncs are due.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from hooks.ground.k8s.types import GroupVersionKind, Json, Manifest
from hooks.tools.offline.simulator.admission import admit_built_in
from hooks.tools.offline.simulator.client import Client, LoggedWrite, Policy, allow_all
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.control_plane import Choose, ControlPlane
from hooks.tools.offline.simulator.effects import carry_out
from hooks.tools.offline.simulator.metacontroller.controller import RecordedEvent
from hooks.tools.offline.simulator.metacontroller.informer import ObjectReader
from hooks.tools.offline.simulator.metacontroller.process import Metacontroller
from hooks.tools.offline.simulator.metacontroller.webhook import Hook
from hooks.tools.offline.simulator.resources import OPTIONAL, Catalogue, Resource
from hooks.tools.offline.simulator.store import (
    Identify,
    Propagation,
    Ref,
    Store,
    StoreChange,
    copy_json,
    number_uid,
    ref_of,
)
from hooks.tools.offline.simulator.workloads.controllers import WEBHOOKS
from hooks.tools.offline.simulator.workloads.job_pods import JobPods
from hooks.tools.offline.simulator.workloads.kubelet import Kubelet, PodJudges, PodPace
from hooks.tools.offline.simulator.workloads.pods import PodFault
from hooks.tools.offline.simulator.workloads.profiler import Profiler
from hooks.wire.metacontroller.effects import Effect

AdmitCustom = Callable[[Manifest], Manifest]
"""A custom resource as the API server stores it, with defaults and without unknown fields; raises ApiError."""

FIELD_MANAGER = "user"


class NeverSettles(Exception):
    """Work never ends while no time passes: a hot loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The parts of a cluster; all but the hook have defaults.

    `optional` names the installed third-party kinds, as in `resources.OPTIONAL`. `choose` decides the order of work
    that could be done at the same time, by default the oldest first. Metacontroller sees a change of a `late` kind only
    after a separate piece of work, and uses the old object until then; it sees other changes at once. `identify`
    chooses the uid of a new object. `judges` decide about pods.
    """

    hook: Hook
    controllers: Iterable[Manifest] = ()
    crds: Iterable[Manifest] = ()
    optional: frozenset[str] = frozenset()
    admit: AdmitCustom = copy_json
    pace: PodPace | None = None
    profiler: Profiler = field(default_factory=Profiler)
    choose: Choose = lambda _count: 0
    namespaces: Iterable[str] = ("default",)
    late: Collection[GroupVersionKind] = ()
    policy: Policy = allow_all
    identify: Identify = number_uid
    judges: PodJudges | None = None


class SimulatedCluster:
    """An API server with Metacontroller, garbage collector, workload controllers and a kubelet."""

    def __init__(self, setup: Setup, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.writes: list[LoggedWrite] = []
        self._setup = setup
        self.catalogue = Catalogue()
        for crd in setup.crds:
            self.catalogue.add_crd(crd)
        for resource in (found for name in sorted(setup.optional) for found in OPTIONAL[name]):
            self.catalogue.add(resource)
        self._store = Store(self.catalogue, self.clock, self._admit, setup.identify)
        self._user = self._client(FIELD_MANAGER)
        job_pods = JobPods(self._store, self._client("output-copier"), self.clock, setup.profiler)
        self.kubelet = Kubelet(
            self._store, self._client("kubelet"), self.clock, job_pods=job_pods, pace=setup.pace, judges=setup.judges
        )
        self._metacontroller = Metacontroller(
            self._store,
            self.clock,
            setup.hook,
            late=setup.late,
            build_client=lambda: self._client("metacontroller"),
        )
        self._control_plane = ControlPlane(
            self._store,
            self.clock,
            self.kubelet,
            self._metacontroller,
            build_client=self._client,
            choose=setup.choose,
        )
        for name in setup.namespaces:
            self.create_namespace(name)
        for controller in setup.controllers:
            self.start_controller(controller)

    def create_namespace(self, name: str) -> None:
        """Create a namespace unless it exists."""
        if self._store.get(Ref("", "Namespace", "", name)) is None:
            labels = {"kubernetes.io/metadata.name": name}
            self._store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})

    def apply(self, obj: Manifest) -> Manifest:
        """Create the object, or merge its fields into the existing one; raises ApiError."""
        live = self._store.get(ref_of(obj))
        return self._user.create(obj) if live is None else self._user.patch(ref_of(obj), obj)

    def create(self, obj: Manifest) -> Manifest:
        """Create an object; raises ApiError."""
        return self._user.create(obj)

    def restore(self, obj: Manifest) -> Manifest:
        """Store an object exactly as given, with its uid, generation and status; raises ApiError."""
        return self._store.restore(copy_json(obj))

    def replace(self, obj: Manifest) -> Manifest:
        """Replace the existing object; raises ApiError."""
        return self._user.update(obj)

    def get(self, kind: GroupVersionKind, name: str, namespace: str = "") -> Manifest | None:
        """A copy of one object, None if it does not exist."""
        return self._user.get(Ref(kind.group, kind.kind, namespace, name))

    def list_kind(self, kind: GroupVersionKind, namespace: str = "") -> list[Manifest]:
        """Copies of all objects of a kind, in one namespace or (empty) in all."""
        return self._user.list_kind(kind, namespace)

    @property
    def reader(self) -> ObjectReader:
        """The objects themselves, which must not be changed."""
        return self._store

    def everything(self) -> list[Manifest]:
        """Copies of all objects, sorted by kind, namespace and name."""
        return [copy_json(obj) for obj in self._store.everything()]

    def patch(self, kind: GroupVersionKind, name: str, change: Json, namespace: str = "") -> Manifest:
        """Apply a JSON merge patch; raises ApiError."""
        return self._user.patch(Ref(kind.group, kind.kind, namespace, name), change)

    def patch_status(self, kind: GroupVersionKind, name: str, change: Json, namespace: str = "") -> Manifest:
        """Apply a JSON merge patch, `{"status": …}`, to the status; raises ApiError."""
        return self._user.patch(Ref(kind.group, kind.kind, namespace, name), change, "status")

    def delete(
        self, kind: GroupVersionKind, name: str, namespace: str = "", propagation: Propagation = "Background"
    ) -> None:
        """Delete an object; raises ApiError."""
        self._user.delete(Ref(kind.group, kind.kind, namespace, name), propagation)

    def carry_out(self, effects: tuple[Effect, ...]) -> None:
        """Carry out effects like the real client: only on objects that exist and differ. Events are dropped."""
        carry_out(self._client("dynamo-hooks"), effects)

    def block(self, glob: str) -> None:
        """Keep matching pods from becoming ready (see `Kubelet` for what matches)."""
        self.kubelet.block(glob)

    def break_pods(self, glob: str, fault: PodFault) -> None:
        """Give matching pods a fault."""
        self.kubelet.break_pods(glob, fault)

    def release(self, glob: str) -> None:
        """Remove holds and faults of this glob."""
        self.kubelet.release(glob)

    def start_controller(self, manifest: Manifest, hook: Hook | None = None) -> None:
        """Start a Composite- or DecoratorController; raises ControllerNotStarted."""
        self.dispatch()
        self._metacontroller.start(manifest, hook)

    def stop_controller(self, name: str) -> None:
        """Stop a controller; its finalizers stay on its parents, as in a real cluster."""
        self._metacontroller.stop(name)

    def restart_metacontroller(self) -> None:
        """Restart all controllers: with empty caches they list everything and sync every parent."""
        self.dispatch()
        self._metacontroller.restart()

    def break_watches(self) -> None:
        """Break and renew Metacontroller's watches: of several pending changes of an object only the last arrives."""
        self.dispatch()
        self._metacontroller.break_watches()

    def delay_news(self, *late: GroupVersionKind) -> None:
        """From now on keep changes of these late kinds from Metacontroller, and of no others."""
        self._metacontroller.delay_news(late)

    def sync_again(self) -> None:
        """Enqueue every parent, like an event without a change."""
        self._metacontroller.sync_again()

    def sync_now(self, parent: Manifest) -> None:
        """Sync one parent at once, by each controller of its kind; nothing else in the cluster notices a change.

        Raises:
            SyncFailed, ApiError: the hook failed, or a write was refused.
            TooManyRequests: the hook answered 429.
        """
        self._metacontroller.sync_now(parent)

    @property
    def events(self) -> list[RecordedEvent]:
        """All events that controllers recorded, oldest first."""
        return self._metacontroller.events

    @property
    def has_retries(self) -> bool:
        """Whether a sync failed and has not succeeded since."""
        return self._metacontroller.has_retries

    def dispatch(self) -> list[StoreChange]:
        """Notify everything that watches of the changes since the last call, and return them."""
        return self._control_plane.dispatch()

    def step(self) -> str:
        """Do one piece of work and return its label; empty if there is none."""
        return self._control_plane.step()

    def next_time(self) -> float | None:
        """When the next pod, Job, retry or resync is due, in seconds of the clock; None if there is none."""
        return self._control_plane.next_time()

    def settle(self, max_steps: int = 20_000) -> None:
        """Work until pods are up and nothing is left to do but retries and resyncs.

        Raises:
            NeverSettles: there was still work after so many steps.
        """
        for _ in range(max_steps):
            if self.step():
                continue
            due = self.kubelet.next_time()
            if due is None:
                return
            self.clock.advance_to(due)
        raise NeverSettles(f"still busy after {max_steps} steps; last write: {self.writes[-1:]}")

    def run_for(self, seconds: float) -> None:
        """Let so many seconds pass, and do all work that is due in them."""
        end = self.clock.seconds + seconds
        self.run_until(lambda: False, end - self.clock.seconds)

    def run_until(self, condition: Callable[[], bool], seconds: float, max_steps: int = 200_000) -> bool:
        """Work until the condition holds (True) or so many seconds have passed (False).

        Raises:
            NeverSettles: a hot loop.
        """
        end = self.clock.seconds + seconds
        for _ in range(max_steps):
            if condition():
                return True
            if self.step():
                continue
            due = self.next_time()
            if due is None or due > end:
                self.clock.advance_to(end)
                return condition()
            self.clock.advance_to(due)
        raise NeverSettles(f"still busy after {max_steps} steps; last write: {self.writes[-1:]}")

    def _client(self, actor: str) -> Client:
        return Client(self._store, actor, self.writes, lambda: self.clock.seconds, policy=self._setup.policy)

    def _admit(self, resource: Resource, new: Manifest, old: Manifest | None) -> Manifest:
        if resource.custom:
            webhook = WEBHOOKS.get(resource.kind)
            return self._setup.admit(webhook(new, old) if webhook else new)
        return admit_built_in(resource, new, old)
