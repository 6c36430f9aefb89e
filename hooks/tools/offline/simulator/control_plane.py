"""What works in the cluster by itself: who is told of a change, and which pieces of work could be done now."""

from collections.abc import Callable, Collection
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from hooks.ground.k8s import kinds
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.garbage import collect_garbage, needs_collecting
from hooks.tools.offline.simulator.metacontroller.controller import Controller
from hooks.tools.offline.simulator.metacontroller.process import Metacontroller
from hooks.tools.offline.simulator.store import Ref, Store, StoreChange
from hooks.tools.offline.simulator.workloads.controllers import find_affected, reconcile
from hooks.tools.offline.simulator.workloads.kubelet import Kubelet
from hooks.tools.offline.simulator.workloads.workload_timers import WorkloadTimers

Choose = Callable[[int], int]
"""Which of n pieces of work is done next, 0 to n-1."""


class Work(NamedTuple):
    """A piece of work that could be done now; `label` describes it in a few words."""

    label: str
    do: Callable[[], Any]


def _sync(name: str, controller: Controller, ref: Ref) -> Work:
    return Work(f"{name} syncs {ref}", partial(controller.sync, ref))


class ControlPlane:
    """The queues of the garbage collector, of workload controllers and Jobs, and what is next in those of others."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        kubelet: Kubelet,
        metacontroller: Metacontroller,
        *,
        build_client: Callable[[str], Client],
        choose: Choose,
    ) -> None:
        self._store, self._clock, self._build_client, self._choose = store, clock, build_client, choose
        self._kubelet, self._metacontroller = kubelet, metacontroller
        self._unreconciled: dict[Ref, None] = {}
        self._unmatched: dict[Ref, None] = {}  # Services whose pods changed
        self._garbage = False
        self._timers = WorkloadTimers(store, clock)

    def dispatch(self) -> list[StoreChange]:
        """Notify everything that watches of the changes since the last call, and return them."""
        dispatched: list[StoreChange] = []
        while changes := self._store.drain():
            dispatched += changes
            for change in changes:
                self._garbage |= needs_collecting(change, self._store)
                for ref in find_affected(self._store, change):
                    (self._unmatched if ref.kind == kinds.SERVICE.kind else self._unreconciled)[ref] = None
                self._kubelet.observe(change)
                self._timers.observe(change)
                self._metacontroller.observe(change)
        return dispatched

    def step(self) -> str:
        """Do one piece of work and return its label; empty if there is none."""
        self.dispatch()
        shelves = self._possible_work()
        count = sum(len(keys) for keys, _ in shelves)
        if not count:
            return ""
        place = self._choose(count)
        for keys, build in shelves:
            if place < len(keys):
                chosen = build(next(islice(keys, place, None)))
                chosen.do()
                return chosen.label
            place -= len(keys)
        raise IndexError(f"there is no work {place}")

    def next_time(self) -> float | None:
        """When the next pod, Job, retry or resync is due, in seconds of the clock; None if there is none."""
        sources = (self._kubelet.next_time(), self._timers.next_time(), self._metacontroller.next_time())
        return min((time for time in sources if time is not None), default=None)

    def _possible_work(self) -> list[tuple[Collection[Any], Callable[[Any], Work]]]:
        """What could be done now, in order: keys, and what is done about one of them.

        All pods that are due are advanced before Services and parents look at them, so that many cost few syncs.
        """

        def reconciling(queue: dict[Ref, None]) -> Callable[[Ref], Work]:
            return lambda ref: Work(f"reconcile {ref}", partial(self._reconcile, ref, queue))

        self._unreconciled |= dict.fromkeys(self._timers.take_due())
        syncs = (
            (controller.ready(), partial(_sync, name, controller))
            for name, controller in self._metacontroller.controllers()
        )
        return [
            (("garbage",) if self._garbage else (), lambda _: Work("collect garbage", self._collect_garbage)),
            (self._unreconciled, reconciling(self._unreconciled)),
            (
                self._metacontroller.pending_kinds(),
                lambda key: Work(f"see a change of a {key[1]}", partial(self._metacontroller.deliver, key)),
            ),
            (self._kubelet.due(), lambda ref: Work(f"advance {ref}", partial(self._kubelet.advance, ref))),
            (self._unmatched, reconciling(self._unmatched)),
            *syncs,
        ]

    def _collect_garbage(self) -> None:
        self._garbage = False
        collect_garbage(self._store, self._build_client("garbage-collector"))

    def _reconcile(self, ref: Ref, queue: dict[Ref, None]) -> None:
        del queue[ref]
        reconcile(self._store, self._build_client("workload-controller"), ref, self._clock.timestamp)
