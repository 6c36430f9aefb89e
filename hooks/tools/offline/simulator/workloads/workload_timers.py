"""Timers that reconcile workloads without a change: the deadlines and back-offs of Jobs, and what Grove waits for."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove import LABEL_PART_OF
from hooks.ground.k8s.types import GroupVersionKind, controller_of, labels_of
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.store import Ref, Store, StoreChange
from hooks.tools.offline.simulator.timers import Timers
from hooks.tools.offline.simulator.workloads.grove_gangs import parts_of, termination_of
from hooks.tools.offline.simulator.workloads.jobs import next_due

_PARTS = frozenset({kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP})
_AGAIN = timedelta(seconds=5)
"""So long after pods were refused Grove tries again."""


class WorkloadTimers:
    """The time at which each Job, PodClique and PodCliqueSet is due next, in seconds of the clock."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._due: Timers[Ref] = Timers()

    def observe(self, change: StoreChange) -> None:
        """Reset the timers of what changes: a Job or its pod, a part of a PodCliqueSet or the set."""
        for ref in self._find_timed(change):
            moment = self._find_due(ref)
            if moment is None:
                self._due.drop(ref)
            else:
                self._due.set(ref, self._clock.seconds_at(moment))

    def next_time(self) -> float | None:
        """When the next of them is due, None if there is none."""
        return self._due.next_time()

    def take_due(self) -> list[Ref]:
        """Take those that are due now; each timer fires once."""
        found = sorted(self._due.due(self._clock.seconds))
        for ref in found:
            self._due.drop(ref)
        return found

    def _find_timed(self, change: StoreChange) -> Iterator[Ref]:
        kind = GroupVersionKind.of(change.current["apiVersion"], change.current["kind"])
        owner = controller_of(change.current) if kind == kinds.POD else None
        if kind in {kinds.JOB, kinds.POD_CLIQUE_SET, kinds.POD_CLIQUE}:
            yield change.ref
        if owner is not None and owner["kind"] == kinds.JOB.kind:
            yield Ref(kinds.JOB.group, kinds.JOB.kind, change.ref.namespace, owner["name"])
        if kind in _PARTS and (name := labels_of(change.current).get(LABEL_PART_OF)):
            yield Ref(kinds.POD_CLIQUE_SET.group, kinds.POD_CLIQUE_SET.kind, change.ref.namespace, name)

    def _find_due(self, ref: Ref) -> datetime | None:
        found = self._store.get(ref)
        if found is None:
            return None
        if ref.kind == kinds.JOB.kind:
            return next_due(found, self._store.list_controlled(kinds.POD, ref.namespace, found["metadata"]["uid"]))
        if ref.kind == kinds.POD_CLIQUE_SET.kind:
            return termination_of(found, parts_of(self._store, found))
        errors = found.get("status", {}).get("lastErrors") or ()
        return datetime.fromisoformat(errors[0]["observedAt"]) + _AGAIN if errors else None
