"""Timers that reconcile Jobs without a change: their deadlines, and the ends of their back-offs."""

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, controller_of
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.store import Ref, Store, StoreChange, ref_of
from hooks.tools.offline.simulator.timers import Timers
from hooks.tools.offline.simulator.workloads.jobs import next_due


class JobTimers:
    """The time at which each Job is due next, in seconds of the clock."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._due: Timers[Ref] = Timers()

    def observe(self, change: StoreChange) -> None:
        """Reset the timer of a Job when it or one of its pods changes."""
        kind = GroupVersionKind.of(change.current["apiVersion"], change.current["kind"])
        owner = controller_of(change.current) if kind == kinds.POD else None
        if kind == kinds.JOB:
            self._set(change.ref)
        elif owner is not None and owner["kind"] == kinds.JOB.kind:
            self._set(Ref(kinds.JOB.group, kinds.JOB.kind, change.ref.namespace, owner["name"]))

    def next_time(self) -> float | None:
        """When the next Job is due, None if there is none."""
        return self._due.next_time()

    def take_due(self) -> list[Ref]:
        """Take the Jobs that are due now; each timer fires once."""
        found = sorted(self._due.due(self._clock.seconds))
        for ref in found:
            self._due.drop(ref)
        return found

    def _set(self, ref: Ref) -> None:
        job, moment = self._store.get(ref), None
        if job is not None:
            pods = self._store.list_controlled(kinds.POD, ref.namespace, job["metadata"]["uid"])
            moment = next_due(job, pods)
        if job is None or moment is None:
            self._due.drop(ref)
        else:
            self._due.set(ref_of(job), self._clock.seconds_at(moment))
