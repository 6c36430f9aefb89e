"""Every order in which pods check the probers' Lease, while it is deleted, clocks jump and terms arrive late.

The checks are the code's own (`SharedLease.renew`), and the prober's own `Reconciler` takes the terms. A world is
copied before each step. Its fingerprint has only differences of times and numbers, so few worlds differ.

A slow check waits before each write, and for each answer, while all else may happen. To go on, it is run again from
its beginning: what it learnt before is told to it again, so that nothing is done twice (`_Course`).
"""

import copy
from collections import deque
from collections.abc import Callable, Iterator
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
from hooks.server.clients.api_server import ApiServer, Refused, ServerAnswer
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
    """How often the Lease is deleted, a clock jumps, a term or the API server is late, and a pod is about to end."""

    pods: int = 2
    processes: int = 1
    deletions: int = 0
    jumps: int = 0
    delays: int = 0
    drains: int = 0
    slow: int = 0


@dataclass(slots=True)
class Process:
    """What one process of a pod remembers; `waits` is what its slow check has learnt so far."""

    seen: tuple[object, float] = (object, 0.0)
    lease_state: LeaseState = field(default_factory=LeaseState)
    written: tuple[Any, float] | None = None
    waits: tuple[Any, ...] | None = None


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


class _Waiting(BaseException):
    """A slow check waits: nothing else of it happens now."""


_SENT = "sent"
"""Stands before the outcome of a write that is on its way to the API server."""


@dataclass(slots=True)
class _Course:
    """What a check learns, in order; `told` is what it learnt before, and is told again.

    `is_slow`: it waits before each write, and for each answer. `is_lost`: the next answer never comes.
    """

    told: list[Any] = field(default_factory=list)
    learnt: list[Any] = field(default_factory=list)
    is_slow: bool = False
    is_lost: bool = False

    def learn(self, act: Callable[[], Any]) -> Any:
        """The outcome of something that is done at once."""
        outcome = self.told.pop(0) if self.told else _attempt(act)
        self.learnt.append(outcome)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def ask(self, act: Callable[[], Any], *, is_write: bool = False) -> Any:
        """The API server's answer to a request."""
        if not self.is_slow:
            return self.learn(act)
        if is_write:
            self._wait(_SENT)
        if not self.told:
            self._lose()
            self._wait(_attempt(act))
        if len(self.told) == 1:
            self._lose()
        return self.learn(act)

    def _wait(self, outcome: Any) -> None:
        if self.told:
            assert self.told.pop(0) == outcome
            self.learnt.append(outcome)
            return
        self.learnt.append(outcome)
        raise _Waiting

    def _lose(self) -> None:
        if self.is_lost:
            raise Refused("the API server did not answer within 5 s")


def _attempt(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except (LeaveAlone, ProberUnavailable) as error:
        return error


@dataclass(slots=True)
class _Server:
    """The API server of a world, which has one object."""

    world: World
    course: _Course

    @contextmanager
    def converse(self, _seconds: float, _each: float) -> Iterator["_Server"]:
        yield self

    def find(self, _path: str, _kind: GroupVersionKind) -> Any:
        return self.course.ask(lambda: self.world.lease)

    def ask(self, method: str, _path: str, body: dict[str, Any], *, also: tuple[HTTPStatus, ...]) -> Any:
        answer = self.course.ask(lambda: self._write(method, body), is_write=True)
        assert answer.status == HTTPStatus.OK or answer.status in also
        return answer

    def _write(self, method: str, body: dict[str, Any]) -> ServerAnswer:
        assert body["spec"].get("leaseTransitions", 0) < 2**31, "it is an int32"
        stored = None if self.world.lease is None else self.world.lease["metadata"]["resourceVersion"]
        if method == "PUT" and stored is None:
            return ServerAnswer(status=HTTPStatus.NOT_FOUND, body={})
        if body["metadata"].get("resourceVersion") != stored:
            return ServerAnswer(status=HTTPStatus.CONFLICT, body={})
        self.world.version += 1
        metadata = {**body["metadata"], "resourceVersion": str(self.world.version)}
        self.world.lease = {**body, "metadata": metadata}
        return ServerAnswer(status=HTTPStatus.OK, body=self.world.lease)


@dataclass(slots=True)
class _Prober:
    """A pod's prober; with `is_late` a new term arrives some time after the hooks have stopped waiting."""

    pod: Pod
    course: _Course
    is_late: bool = False

    def read_term(self) -> Any:
        return self.course.learn(lambda: self.pod.term)

    def set_term(self, term: Term) -> None:
        self.course.learn(lambda: self._take(term))

    def _take(self, term: Term) -> None:
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
    """One process checks the Lease, or goes on with a slow check; what is wrong then."""
    one = world.pods[pod]
    remembered = one.processes[process]
    course = _Course(
        told=list(remembered.waits or ()),
        is_slow=remembered.waits is not None or how.get("is_slow", False),
        is_lost=how.get("is_lost", False),
    )
    lease = kind(
        server=cast("ApiServer", _Server(world, course)),
        prober=cast("ProberClient", _Prober(one, course, is_late=how.get("is_late", False))),
        namespace="dynamo-system",
        name="dynamo-hooks-prober",
        holder=f"pod-{pod} http://10.0.0.{pod + 1}:8080",
        clock=lambda: cast("float", course.learn(lambda: world.seconds)),
        now=lambda: _START + one.clock + timedelta(seconds=world.seconds),
    )
    lease._seen, lease._state, lease._written = remembered.seen, remembered.lease_state, remembered.written
    try:
        lease.renew(lambda: how.get("drains", False))
    except _Waiting:
        remembered.waits = tuple(course.learnt)
        return
    remembered.waits = None
    remembered.seen, remembered.lease_state, remembered.written = lease._seen, lease.find_state(), lease._written
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
            if pod.processes[process].waits is not None:
                yield Step(f"what process {process} of pod {number} waits for comes", checking(number, process))
                lost = f"process {process} of pod {number} waits in vain"
                yield Step(lost, checking(number, process, is_lost=True))
                continue
            yield Step(name, checking(number, process))
            if world.left.slow:
                yield Step(f"{name} slowly", checking(number, process, "slow", is_slow=True))
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
    if any(_end_slow_checks(after, kind)):
        return False
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


def _end_slow_checks(world: World, kind: type[SharedLease]) -> Iterator[str]:
    """All that slow checks wait for comes; what is wrong then."""
    for number, pod in enumerate(world.pods):
        for process, one in enumerate(pod.processes):
            while one.waits is not None:
                yield from check(world, kind, number, process)


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
                one.written and (_relate(one.written[0], world, pod), max(one.written[1] - now, -1)),
                None if one.waits is None else tuple(_relate(learnt, world, pod) for learnt in one.waits),
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


def _relate(learnt: Any, world: World, pod: Pod) -> Any:
    """What a check has learnt, as far as its further behaviour depends on it."""
    if isinstance(learnt, float):
        return max(learnt - world.seconds, -LEASE_SECONDS - 1.0)
    if isinstance(learnt, Term):
        return (
            learnt.number - pod.term.number,
            max(learnt.until - world.seconds, -LEASE_SECONDS - 1.0),
            not learnt.until,
        )
    if isinstance(learnt, ServerAnswer):
        return learnt.status, _relate(learnt.body, world, pod)
    if isinstance(learnt, dict) and learnt:
        number = int(learnt["metadata"].get("annotations", {}).get(TERM_ANNOTATION) or 0)
        is_stored = world.lease is not None and world.lease["metadata"]["resourceVersion"]
        version = learnt["metadata"]["resourceVersion"]
        return learnt["spec"]["holderIdentity"], number - pod.term.number, version == is_stored
    return str(learnt)


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
