"""Every order in which pods check the probers' Lease, while it is deleted, clocks jump and terms arrive late.

The checks are the code's own (`SharedLease.keep`), and the terms are taken by the prober's own `Reconciler`. A world is
copied before each step. Its fingerprint has only differences of times and numbers, so few worlds differ.
"""

import copy
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, cast

from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.k8s.types import GroupVersionKind
from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import Term
from hooks.model.prober.reconciler import NO_TERM, NotNow, Reconciler
from hooks.server.clients.api_server import ApiServer, ServerAnswer
from hooks.server.clients.prober_client import ProberClient
from hooks.server.clients.prober_lease import LEASE_SECONDS, TERM_ANNOTATION, TICK_SECONDS, LeaseState, SharedLease

STEP_SECONDS = 5.0
JUMPS = {"back": -timedelta(days=20_000), "forward": timedelta(days=20_000)}
"""How the time of day changes, of a machine on which it was right."""
_START = datetime(2026, 3, 1, tzinfo=UTC)
_FAIR_ROUNDS = 40
"""Rounds after which some prober acts if nothing further happens: two Leases of 15 s, and some."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How often the Lease is deleted, a clock jumps, a term arrives late, and a pod is about to end."""

    pods: int = 2
    processes: int = 1
    deletions: int = 0
    jumps: int = 0
    delays: int = 0
    drains: int = 0


@dataclass(slots=True)
class Process:
    """What one process of a pod remembers."""

    seen: tuple[object, float] = (object, 0.0)
    lease_state: LeaseState = field(default_factory=LeaseState)


@dataclass(slots=True)
class Pod:
    """`late` is a term that has not arrived yet; `is_stale`: the prober remembers what another one changed since."""

    processes: list[Process]
    term: Term = NO_TERM
    late: Term | None = None
    has_memory: bool = False
    is_stale: bool = False
    clock: timedelta = timedelta()


@dataclass(slots=True)
class World:
    """One state: the Lease (None if it is not there), the pods, and what is left to happen."""

    pods: list[Pod]
    left: Bounds
    lease: dict[str, Any] | None = None
    version: int = 0
    seconds: float = 1000.0

    def copy(self) -> "World":
        """A copy that shares only values; a Lease is replaced, never changed."""
        pods = [replace(one, processes=[copy.copy(process) for process in one.processes]) for one in self.pods]
        return replace(self, pods=pods)

    @property
    def acting(self) -> list[int]:
        """The pods whose probers act."""
        return [number for number, pod in enumerate(self.pods) if self.seconds < pod.term.until]


@dataclass(slots=True)
class _Server:
    """The API server of a world, which has one object."""

    world: World

    @contextmanager
    def converse(self, _seconds: float) -> Iterator["_Server"]:
        yield self

    def find(self, _path: str, _kind: GroupVersionKind) -> Mapping[str, Any] | None:
        return self.world.lease

    def ask(self, method: str, _path: str, body: dict[str, Any], *, also: tuple[HTTPStatus, ...]) -> ServerAnswer:
        assert HTTPStatus.CONFLICT in also
        assert (method == "PUT") == (self.world.lease is not None)
        assert body["spec"].get("leaseTransitions", 0) < 2**31, "it is an int32"
        self.world.version += 1
        metadata = {**body["metadata"], "resourceVersion": str(self.world.version)}
        self.world.lease = {**body, "metadata": metadata}
        return ServerAnswer(status=200, body={})


@dataclass(slots=True)
class _Prober:
    """A pod's prober; with `is_late` a new term arrives some time after the hooks have stopped waiting."""

    pod: Pod
    is_late: bool = False

    def read_term(self) -> Term:
        return self.pod.term

    def check(self) -> None:
        """It works."""

    def set_term(self, term: Term) -> None:
        if self.is_late:
            self.pod.late = term
            raise ProberUnavailable("the prober did not answer")
        arrive(self.pod, term)


def arrive(pod: Pod, term: Term) -> None:
    """A term reaches the prober.

    Raises:
        LeaveAlone: the prober refuses it.
    """
    reconciler = Reconciler(Limits(), pod.term)
    reconciler._models = {"a model": cast("Any", None)} if pod.has_memory else {}
    try:
        reconciler.set_term(term)
    except NotNow as refusal:
        raise LeaveAlone(str(refusal), retry_after=1) from refusal
    pod.term, pod.has_memory = reconciler.term, bool(reconciler._models)
    pod.is_stale = pod.is_stale and pod.has_memory


def check(world: World, kind: type[SharedLease], pod: int, process: int, **how: bool) -> Iterator[str]:
    """One process checks the Lease; what is wrong then."""
    one = world.pods[pod]
    remembered = one.processes[process]
    lease = kind(
        server=cast("ApiServer", _Server(world)),
        prober=cast("ProberClient", _Prober(one, is_late=how.get("is_late", False))),
        namespace="dynamo-system",
        name="dynamo-hooks-prober",
        holder=f"pod-{pod} http://10.0.0.{pod + 1}:8080",
        clock=lambda: world.seconds,
        now=lambda: _START + one.clock + timedelta(seconds=world.seconds),
    )
    lease._seen, lease._state = remembered.seen, remembered.lease_state
    lease.renew(lambda: how.get("drains", False))
    remembered.seen, remembered.lease_state = lease._seen, lease.find_state()
    if lease.find_state() == LeaseState(is_own=True) and pod not in world.acting:
        yield f"pod {pod} says that its prober acts, and it does not"


@dataclass(frozen=True, slots=True)
class Step:
    """Changes a world, and yields what is wrong then."""

    name: str
    act: Callable[[World], Iterator[str]]


def find_steps(world: World, kind: type[SharedLease]) -> Iterator[Step]:
    """All steps that are possible now."""

    def checking(pod: int, process: int, spends: str = "", **how: bool) -> Callable[[World], Iterator[str]]:
        def act(after: World) -> Iterator[str]:
            after.left = _spend(after.left, spends)
            return check(after, kind, pod, process, **how)

        return act

    yield Step("time passes", lambda after: _pass_time(after, STEP_SECONDS))
    for number, pod in enumerate(world.pods):
        for process in range(len(pod.processes)):
            name = f"process {process} of pod {number} checks"
            yield Step(name, checking(number, process))
            if world.left.delays and pod.late is None:
                yield Step(f"{name}, a term comes late", checking(number, process, "delays", is_late=True))
            if world.left.drains:
                yield Step(f"{name}, and the pod ends", checking(number, process, "drains", drains=True))
        if pod.late is not None:
            yield Step(f"the late term reaches pod {number}", lambda after, n=number: _arrive_late(after.pods[n]))  # type: ignore[misc]
    yield from _disturbances(world)


def _disturbances(world: World) -> Iterator[Step]:
    if world.left.deletions and world.lease is not None:
        yield Step("the Lease is deleted", _delete)
    if world.left.jumps:
        for number in range(len(world.pods)):
            for name, jump in JUMPS.items():
                yield Step(f"the clock of pod {number} goes {name}", lambda w, n=number, j=jump: _jump(w, n, j))  # type: ignore[misc]


def _spend(left: Bounds, what: str) -> Bounds:
    return replace(left, **{what: getattr(left, what) - 1}) if what else left


def _pass_time(world: World, seconds: float) -> Iterator[str]:
    world.seconds += seconds
    return iter(())


def _arrive_late(pod: Pod) -> Iterator[str]:
    term, pod.late = cast("Term", pod.late), None
    try:
        arrive(pod, term)
    except LeaveAlone:
        return iter(())
    return iter(())


def _delete(world: World) -> Iterator[str]:
    world.lease, world.left = None, _spend(world.left, "deletions")
    return iter(())


def _jump(world: World, pod: int, jump: timedelta) -> Iterator[str]:
    world.pods[pod].clock, world.left = jump, _spend(world.left, "jumps")
    return iter(())


def judge(world: World) -> Iterator[str]:
    """What is wrong in a state, whatever led to it; notes what the acting prober makes untrue for the others."""
    acting = world.acting
    if len(acting) > 1:
        yield f"the probers of pods {acting} act at the same time"
    for number in acting:
        if world.pods[number].is_stale:
            yield f"the prober of pod {number} acts by what it learnt before another one acted"
        world.pods[number].has_memory = True
        for other, pod in enumerate(world.pods):
            pod.is_stale |= other != number and pod.has_memory


def recovers(world: World, kind: type[SharedLease], good: set[tuple[Any, ...]]) -> bool:
    """Whether some prober acts in the end if all processes check the Lease in time, and nothing else happens.

    `good` are the fingerprints of worlds that do; more are added.
    """
    after, passed = world.copy(), []
    for _ in range(_FAIR_ROUNDS):
        passed.append(fingerprint(after))
        if passed[-1] in good:
            break
        after.seconds += TICK_SECONDS
        for pod in range(len(after.pods)):
            for process in range(len(after.pods[pod].processes)):
                for _wrong in check(after, kind, pod, process):
                    return False
    else:
        if len(after.acting) != 1:
            return False
    good.update(passed)
    return True


def fingerprint(world: World) -> tuple[Any, ...]:
    """What the further behaviour depends on."""
    lease, now = world.lease, world.seconds
    holder, number, version = None, 0, None
    if lease is not None:
        holder = lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]
        number = int(lease["metadata"].get("annotations", {}).get(TERM_ANNOTATION) or 0)
        version = lease["metadata"]["resourceVersion"]
    pods = []
    for index, pod in enumerate(world.pods):
        is_own = holder is not None and holder[0].startswith(f"pod-{index} ")
        late = pod.late
        processes = [
            (
                one.seen[0] == version,
                min(now - one.seen[1], LEASE_SECONDS),
                one.lease_state.is_own,
                bool(one.lease_state.fault),
            )
            for one in pod.processes
        ]
        pods.append(
            (
                *(number - pod.term.number if is_own else None, max(pod.term.until - now, -1), not pod.term.until),
                None
                if late is None
                else (max(late.number - pod.term.number, -1), max(late.until - now, -1), not late.until),
                *(pod.has_memory, pod.is_stale, pod.clock, tuple(processes)),
            )
        )
    return holder, tuple(pods), world.left


def explore(bounds: Bounds, kind: type[SharedLease] = SharedLease, most: int = 100_000) -> tuple[int, list[str]]:
    """How many states there are, and the first thing that is wrong, with the way to it; at most so many states."""
    pods = [Pod([Process() for _ in range(bounds.processes)]) for _ in range(bounds.pods)]
    first = World(pods=pods, left=bounds)
    known, good = {fingerprint(first)}, set[tuple[Any, ...]]()
    waiting: deque[tuple[World, tuple[str, ...]]] = deque([(first, ())])
    while waiting:
        world, way = waiting.popleft()
        for step in find_steps(world, kind):
            after = world.copy()
            wrong = [*step.act(after), *judge(after)]
            if not wrong and (key := fingerprint(after)) in known:
                continue
            if not wrong and not recovers(after, kind, good):
                wrong = ["no prober acts in the end, or one is said to act that does not"]
            if wrong:
                return len(known), [*way, step.name, *wrong]
            known.add(key)
            if len(known) > most:
                raise AssertionError(f"more than {most} states")
            waiting.append((after, (*way, step.name)))
    return len(known), []
