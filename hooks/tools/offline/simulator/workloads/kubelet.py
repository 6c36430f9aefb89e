"""The scheduler and kubelet of all nodes: they move pods from stage to stage, and hold or break pods that rules match.

The kubelet here also binds claims. Times are simulated seconds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.pod_troubles import Trouble
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.store import Ref, Store, StoreChange
from hooks.tools.offline.simulator.timers import Timers
from hooks.tools.offline.simulator.workloads.grove_pods import find_start_order
from hooks.tools.offline.simulator.workloads.job_pods import JobPods
from hooks.tools.offline.simulator.workloads.owned import owners_above
from hooks.tools.offline.simulator.workloads.pods import (
    FAULT_STAGE,
    PodFault,
    Stage,
    build_ended_status,
    build_pod_status,
    is_gated,
    pod_address,
    runs_once,
)
from hooks.tools.offline.simulator.workloads.references import Reference, Use, find_missing
from hooks.wire.world.equality import are_equal


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPace:
    """Seconds that a pod spends in each stage.

    A Job's pod works for `working` seconds once it is ready; the output copier beside it ends `ending` seconds later.
    """

    pending: float = 0.5
    pulling: float = 3.0
    starting: float = 5.0
    binding: float = 0.2
    working: float = 10.0
    ending: float = 1.0


_NEXT = {
    Stage.PENDING: Stage.PULLING,
    Stage.PULLING: Stage.STARTING,
    Stage.STARTING: Stage.READY,
    Stage.READY: Stage.ENDING,
    Stage.ENDING: Stage.ENDED,
}
_NEEDED = frozenset({kinds.CONFIG_MAP, kinds.PERSISTENT_VOLUME_CLAIM, kinds.SECRET})
_BEFORE_START, _IN_ORDER = frozenset({Stage.PENDING, Stage.PULLING}), frozenset({Stage.STARTING})
_LAST = {False: Stage.READY, True: Stage.ENDED}
"""The final stage of a pod, by whether it runs once."""


Troubled = Callable[[Manifest, list[Manifest]], Trouble | None]
"""(pod, its owners): what keeps a container of the pod from starting well; None for nothing."""
Given = Callable[[Reference, str], bool]
"""(reference, namespace): whether an object counts as there although the cluster does not have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodJudges:
    """What decides about pods beside the rules: by default every object is given, and nothing is troubled.

    The addresses of pods begin with those of `block`.
    """

    given: Given | None = None
    troubled: Troubled | None = None
    block: int = 0


class Kubelet:
    """The stage of every pod, and the time of its next one.

    The glob of a rule matches a pod's name, the names of its owners, and its label values: `*decode*`, the name of a
    Deployment and the name of a service all work.

    A pod waits for a claim, Secret or ConfigMap that does not exist, unless it is `given`; by default all are. What is
    `troubled` never becomes ready; by default nothing is.
    """

    def __init__(
        self,
        store: Store,
        client: Client,
        clock: Clock,
        *,
        job_pods: JobPods,
        pace: PodPace | None = None,
        judges: PodJudges | None = None,
    ) -> None:
        self._store = store
        self._client = client
        self._job_pods = job_pods
        self._clock = clock
        self._pace = pace or PodPace()
        self._judges = judges or PodJudges()
        self._stages: dict[Ref, Stage] = {}
        self._due: Timers[Ref] = Timers()
        self._held: set[str] = set()
        self._faults: dict[str, PodFault] = {}

    def block(self, glob: str) -> None:
        """Keep matching pods from becoming ready; ready ones stay ready."""
        self._held.add(glob)

    def break_pods(self, glob: str, fault: PodFault) -> None:
        """Give matching pods a fault, including ready ones."""
        self._faults[glob] = fault
        self._revisit(glob)

    def release(self, glob: str) -> None:
        """Remove the holds and faults of exactly this glob."""
        self._held.discard(glob)
        self._faults.pop(glob, None)
        self._revisit(glob)

    def fault_of(self, ref: Ref) -> PodFault | None:
        """The fault that a pod was given."""
        return self._fault(self.names(ref))

    def observe(self, change: StoreChange) -> None:
        """Track pods and claims that are created or deleted, and objects that pods wait for."""
        kind = GroupVersionKind.of(change.current["apiVersion"], change.current["kind"])
        if change.old is None and kind in _NEEDED:
            self._revisit_waiting(change.ref.namespace, _BEFORE_START)
        if kind == kinds.POD_CLIQUE:
            self._revisit_waiting(change.ref.namespace, _IN_ORDER)
        if kind not in {kinds.POD, kinds.PERSISTENT_VOLUME_CLAIM}:
            return
        if change.new is None:
            self._stages.pop(change.ref, None)
            self._due.drop(change.ref)
        elif change.old is not None and kind == kinds.POD and is_gated(change.old) and not is_gated(change.new):
            self._due.set(change.ref, self._clock.seconds)
        elif change.old is None:
            self._stages[change.ref] = Stage.PENDING
            wait = self._pace.pending if kind == kinds.POD else self._pace.binding
            self._due.set(change.ref, self._clock.seconds + wait)
            if kind == kinds.POD:
                self._write(change.ref, Stage.PENDING)

    def missing(self, pod: Manifest) -> Reference | None:
        """The object that a pod waits for, if it waits for one."""
        given, namespace = self._judges.given, pod["metadata"]["namespace"]
        if given is None:
            return None

        def exists(found: Reference) -> bool:
            ref = Ref(found.kind.group, found.kind.kind, namespace, found.name)
            return self._store.get(ref) is not None or given(found, namespace)

        return find_missing(pod, exists)

    def trouble(self, pod: Manifest) -> Trouble | None:
        """What keeps a pod from becoming ready once it is started; a pod of a Job is not looked at."""
        troubled = self._judges.troubled
        if waiting := find_start_order(self._store, pod):
            return waiting
        return None if troubled is None or runs_once(pod) else troubled(pod, list(owners_above(self._store, pod)))

    def due(self) -> list[Ref]:
        """Pods and claims that are due now, the longest waiting first."""
        return self._due.due(self._clock.seconds)

    def next_time(self) -> float | None:
        """When the next pod or claim is due, None if there is none."""
        return self._due.next_time()

    def advance(self, ref: Ref) -> None:
        """Move one pod to its next stage, or bind a claim."""
        self._due.drop(ref)
        if ref.kind == kinds.PERSISTENT_VOLUME_CLAIM.kind:
            self._bind(ref)
            return
        stage = self._stages[ref]
        if self._stops_at(ref, stage):
            self._write(ref, stage)
            return
        stage = _NEXT[stage]
        self._stages[ref] = stage
        if stage in {Stage.ENDING, Stage.ENDED}:
            self._end(ref, stage)
        else:
            self._write(ref, stage)
        if stage is not _LAST[self._runs_once(ref)]:
            self._due.set(ref, self._clock.seconds + self._wait_at(stage))

    def _wait_at(self, stage: Stage) -> float:
        waits = {
            Stage.PULLING: self._pace.pulling,
            Stage.STARTING: self._pace.starting,
            Stage.READY: self._pace.working,
            Stage.ENDING: self._pace.ending,
        }
        return waits[stage]

    def _end(self, ref: Ref, stage: Stage) -> None:
        """End containers of a Job's pod: first the workers, then the copier of a profiler's output."""
        pod = self._client.get(ref)
        if pod is None:
            return
        broken = self._fault(self.names(ref)) is PodFault.CRASH_LOOP
        end = (
            self._job_pods.end_workers(pod, broken=broken) if stage is Stage.ENDING else self._job_pods.end_copier(pod)
        )
        status = build_ended_status(pod, end, self._clock.timestamp)
        if not are_equal(pod.get("status", {}), status):
            self._client.update_status({**pod, "status": status})

    def _runs_once(self, ref: Ref) -> bool:
        pod = self._store.get(ref)
        return pod is not None and runs_once(pod)

    def _stops_at(self, ref: Ref, stage: Stage) -> bool:
        pod = self._store.get(ref)
        if pod is not None and is_gated(pod):
            return True
        if self._blocking_fault(ref, stage) is not None or self._missing_at(ref, stage) is not None:
            return True
        if stage is not Stage.STARTING:
            return False
        if any(fnmatchcase(name, glob) for glob in self._held for name in self.names(ref)):
            return True
        return pod is not None and self.trouble(pod) is not None

    def _blocking_fault(self, ref: Ref, stage: Stage) -> PodFault | None:
        """The fault that keeps a pod at this stage; a crashing pod that runs once ends instead."""
        fault = self._fault(self.names(ref))
        if fault is None or FAULT_STAGE[fault] is not stage:
            return None
        return None if fault is PodFault.CRASH_LOOP and self._runs_once(ref) else fault

    def _missing_at(self, ref: Ref, stage: Stage) -> Reference | None:
        """The object that keeps a pod at this stage: before a node has it for a claim, else before it is started."""
        pod = self._store.get(ref)
        missing = self.missing(pod) if pod is not None and stage in {Stage.PENDING, Stage.PULLING} else None
        if missing is None or (stage is Stage.PENDING and missing.use is not Use.CLAIM):
            return None
        return missing

    def _revisit_waiting(self, namespace: str, stages: frozenset[Stage]) -> None:
        """Revisit the pods of a namespace that may wait for an object that was created, or for other pods."""
        for ref, stage in self._stages.items():
            if ref.kind == kinds.POD.kind and ref.namespace == namespace and stage in stages:
                self._due.set_new(ref, self._clock.seconds)

    def _revisit(self, glob: str) -> None:
        """Revisit every pod that a changed rule matches; move it back to the stage of its fault."""
        for ref, stage in self._stages.items():
            names = self.names(ref)
            has_begun_to_end = stage in {Stage.ENDING, Stage.ENDED}
            if ref.kind == kinds.POD.kind and not has_begun_to_end and any(fnmatchcase(n, glob) for n in names):
                fault = self._fault(names)
                if fault is not None and list(Stage).index(stage) > list(Stage).index(FAULT_STAGE[fault]):
                    self._stages[ref] = FAULT_STAGE[fault]
                if self._stages[ref] is not Stage.READY:
                    self._due.set(ref, self._clock.seconds)

    def _fault(self, names: set[str]) -> PodFault | None:
        matching = (fault for glob, fault in self._faults.items() if any(fnmatchcase(name, glob) for name in names))
        return next(matching, None)

    def names(self, ref: Ref) -> set[str]:
        """What the globs of rules can match: the pod's name, its label values, the names of its owners."""
        obj = self._store.get(ref)
        names = {ref.name}
        for one in (obj, *owners_above(self._store, obj)) if obj is not None else ():
            names |= {*(one["metadata"].get("labels") or {}).values(), one["metadata"]["name"]}
        return names

    def _write(self, ref: Ref, stage: Stage) -> None:
        pod = self._client.get(ref)
        if pod is None:
            return
        if stage is not Stage.PENDING and "nodeName" not in pod["spec"]:
            pod = self._client.update({**pod, "spec": {**pod["spec"], "nodeName": "node-1"}})
        fault = self._blocking_fault(ref, stage)
        missing = None if fault is not None else self._missing_at(ref, stage)
        trouble = self.trouble(pod) if stage is Stage.STARTING and fault is None else None
        now = self._clock.timestamp
        status = build_pod_status(pod, stage, fault, now, missing=missing, trouble=trouble)
        if "hostIP" in status:
            address = pod_address(pod, self._judges.block)
            status |= {"podIP": address, "podIPs": [{"ip": address}]}
        if not are_equal(pod.get("status", {}), status):
            self._client.update_status({**pod, "status": status})

    def _bind(self, ref: Ref) -> None:
        claim = self._client.get(ref)
        if claim is None:
            return
        volume = f"pvc-{claim['metadata']['uid']}"
        bound = self._client.update({**claim, "spec": {"volumeName": volume, **claim["spec"]}})
        capacity = bound["spec"].get("resources", {}).get("requests", {})
        modes = bound["spec"].get("accessModes", [])
        status = {"phase": "Bound", "capacity": capacity, "accessModes": modes}
        self._client.update_status({**bound, "status": status})
