"""All that can happen between a model's spec, Metacontroller, several probers and one engine, step by step.

The probers and the hook are the code's own: `Reconciler`, and the functions of `hooks.model.sync`. A world is copied
before each step, so that every order of steps can be tried. Time only orders events: each step takes a moment, and a
prober that waits for a time waits until it has come.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar

import msgspec
import orjson

from hooks.ground.errors import LeaveAlone
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.model import sync as hook
from hooks.model.prober.call_queue import CallQueue
from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer, EngineCall
from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import LoadReport, LoadRequest, Term
from hooks.model.prober.reconciler import NO_TERM, NotNow, Reconciler
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.prober.messages import read_message, write_message
from tests import make
from tests.model import parts

T = TypeVar("T")
EVER = float("inf")
LIMITS = Limits(mandate=EVER, load_timeout=EVER)
TERM_SECONDS = 1e9
NAME, BROKEN = "a", "s3://b/broken"
"""The adapter, and a source that no engine can load."""
FACTS = make.facts(engine_addresses="routable")
LOST = EngineAnswer(outcome=CallOutcome.TIMEOUT, message="no answer")
GONE = EngineAnswer(outcome=CallOutcome.UNREACHABLE, message="the engine restarted")


@dataclass(frozen=True, slots=True)
class Stored:
    """The model as the API server, or Metacontroller's cache, has it; `status` as JSON."""

    generation: int
    source: str
    status: bytes = b"{}"

    @property
    def is_ready(self) -> bool:
        """Whether its status says that this generation is ready."""
        return _says_ready(self.status, self.generation)


@cache
def _says_ready(written: bytes, generation: int) -> bool:
    status = orjson.loads(written)
    condition = find_condition(status.get("conditions") or (), READY)
    is_current = status.get("observedGeneration") == generation
    return is_current and condition is not None and condition["status"] == "True"


@dataclass(slots=True)
class Engine:
    """`held` is the source of the adapter, empty for none. Loads of a name run one after the other, unloads at once."""

    held: str = ""
    loads: tuple[EngineCall, ...] = ()
    unloads: tuple[EngineCall, ...] = ()


@dataclass(slots=True)
class UnderWay:
    """A call that a prober waits for: `answer` once the engine has answered, which has not arrived yet."""

    prober: int
    call: EngineCall
    answer: EngineAnswer | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may happen: `sources` of the spec, and how many changes of it, faults, and takeovers by a prober."""

    probers: int = 2
    sources: tuple[str, ...] = ("s3://b/a", "s3://b/b")
    changes: int = 3
    faults: int = 0
    takeovers: int = 0


@dataclass(slots=True)
class World:
    """One state of everything."""

    bounds: Bounds
    live: Stored
    cached: Stored
    probers: list[Reconciler]
    engine: Engine = field(default_factory=Engine)
    calls: list[UnderWay] = field(default_factory=list)
    holder: int = 0
    """Which prober has the Lease; -1 for none."""
    is_lapsed: bool = False
    """Whether the holder could not renew the Lease, so that it does not act."""
    number: int = 1
    now: float = 0.0
    changes: int = 0
    faults: int = 0
    takeovers: int = 0
    asked: Stored | None = None
    """The newest generation that a prober was asked for."""
    posts: int = 0
    """How many loads were sent since then."""

    def copy(self) -> "World":
        """A copy that shares only values."""
        return replace(
            self,
            probers=[_copy_prober(one) for one in self.probers],
            engine=copy.copy(self.engine),
            calls=[copy.copy(one) for one in self.calls],
        )

    @property
    def has_disturbance(self) -> bool:
        """Whether a load may be sent twice."""
        return bool(self.faults or self.takeovers)

    @property
    def is_settled(self) -> bool:
        """Whether all is as the spec wants it, and the status says so."""
        if self.live != self.cached or self.engine.loads or self.engine.unloads:
            return False
        if self.live.source == BROKEN:
            status = orjson.loads(self.live.status)
            is_said = status.get("observedGeneration") == self.live.generation
            return is_said and not self.engine.held and status["endpoints"][0]["phase"] == "Failed"
        return self.live.is_ready and self.engine.held == self.live.source


def begin(bounds: Bounds) -> World:
    """A new model, one engine, and probers of which the first acts."""
    first = Stored(generation=1, source=bounds.sources[0])
    probers = [Reconciler(LIMITS, NO_TERM) for _ in range(bounds.probers)]
    probers[0].set_term(Term(number=1, until=TERM_SECONDS))
    return World(bounds=bounds, live=first, cached=first, probers=probers)


def _alike(value: T, **changed: Any) -> T:
    """An object of the same type and attributes, apart from the changed ones; faster than the module copy."""
    made = object.__new__(type(value))
    made.__dict__.update(value.__dict__, **changed)
    return made


def _copy_prober(prober: Reconciler) -> Reconciler:
    if not prober._term.until:
        return _alike(prober)  # nothing changes it before it begins another term, and then it starts again
    return _alike(
        prober,
        _models={key: replace(one) for key, one in prober._models.items()},
        _engines={
            key: replace(one, adapters=dict(one.adapters), listing=one.listing) for key, one in prober._engines.items()
        },
        _calls=_alike(
            prober._calls,
            _lists=_copy_queue(prober._calls._lists),
            _changes=_copy_queue(prober._calls._changes),
            _reloads=_copy_queue(prober._calls._reloads),
        ),
    )


def _copy_queue(queue: CallQueue[EngineCall]) -> CallQueue[EngineCall]:
    waiting, running = queue.waiting, queue.running
    return _alike(
        queue,
        waiting=_alike(waiting, _times=dict(waiting._times), _heap=list(waiting._heap)),
        running=_alike(running, _calls=dict(running._calls)),
    )


def _write_request(stored: Stored) -> SyncRequest:
    parent = parts.model(adapter=NAME, uri=stored.source, generation=stored.generation, uid="u")
    status = orjson.loads(stored.status)
    return parts.request({**parent, **({"status": status} if status else {})}, parts.pods(1))


@cache
def plan(stored: Stored) -> LoadRequest:
    """What the hook asks of the prober about this object."""
    request = hook.plan_request(hook.ModelCall(request=_write_request(stored), facts=FACTS, finalizing=False))
    assert request is not None
    return request


@cache
def answer(stored: Stored, report: bytes) -> bytes | None:
    """The status that the hook writes for this object and report; None if it leaves the object alone."""
    call = hook.ModelCall(request=_write_request(stored), facts=FACTS, finalizing=False)
    try:
        return orjson.dumps(hook.sync(call, read_message(report, LoadReport)).status, option=orjson.OPT_SORT_KEYS)
    except LeaveAlone:
        return None


def _fingerprint_state(state: Any, listing: Any) -> tuple[Any, ...]:
    tries = state.tries
    return (
        *(state.wanted, state.phase, state.last_error, state.source, state.accepted, state.is_terminal),
        *(state.late_loads.sources, state.late_loads.is_over, state.known_names, listing.sent < state.changed_at),
        *(min(tries.attempts, 3), min(tries.failures, 1), min(tries.losses, 2)),
    )


def fingerprint_prober(prober: Reconciler, now: float) -> tuple[Any, ...]:
    """All that a prober's further behaviour depends on, apart from the times themselves."""
    engines = []
    for address, engine in sorted(prober._engines.items()):
        running = prober._calls._lists.running.get(address)
        newest = max((state.changed_at for state in engine.adapters.values()), default=0.0)
        engines.append(
            (
                *(address, engine.pod, engine.listing.result, engine.listing.names, engine.has_listed),
                tuple(_fingerprint_state(state, engine.listing) for _, state in sorted(engine.adapters.items())),
                None if running is None else running.started < newest,
                *(queue.waiting._times.get(address) is not None for queue in prober._calls._queues),
            )
        )
    models = tuple((key, known.request) for key, known in sorted(prober._models.items()))
    return prober._term.number, prober._term.until == 0, prober.is_acting(now), tuple(engines), models


def fingerprint(world: World) -> tuple[Any, ...]:
    """The state of the world as a key: two worlds with one key go on in the same ways."""

    def of_call(call: EngineCall) -> tuple[Any, ...]:
        return call.action, call.adapter, call.uri

    waiting = [
        (one.prober, of_call(one.call), one.answer, [call is one.call for call in world.engine.loads].count(True))
        for one in world.calls
    ]
    return (
        *(world.live, world.cached, world.engine.held, world.holder, world.is_lapsed, world.number),
        tuple(of_call(call) for call in world.engine.loads),
        tuple(of_call(call) for call in world.engine.unloads),
        tuple(sorted(waiting, key=repr)),
        tuple(fingerprint_prober(prober, world.now) for prober in world.probers),
        *(world.changes, world.faults, world.takeovers, world.asked, min(world.posts, 2)),
    )


def bare_report(report: LoadReport) -> bytes:
    """The report without ages, which only tell times."""
    entries = tuple(msgspec.structs.replace(entry, age=0.0) for entry in report.endpoints)
    return write_message(msgspec.structs.replace(report, endpoints=entries))


def names_of(engine: Engine) -> frozenset[str]:
    """What the engine lists."""
    return frozenset({NAME} if engine.held else ())


def asks(world: World, prober: int, *, is_written: bool) -> Iterator[str]:
    """A sync that reaches this prober, and what is wrong with its answer."""
    request = plan(world.cached)
    try:
        report = world.probers[prober].ask(request, world.now)
    except NotNow:
        return
    if world.asked is None or world.cached.generation > world.asked.generation:
        world.asked, world.posts = replace(world.cached, status=b""), 0
    status = answer(world.cached, bare_report(report))
    if status is None:
        return
    said = replace(world.cached, status=status)
    yield from judge_ready(world, said)
    written = replace(world.live, status=status)
    if is_written and written != world.live:
        world.cached, world.live = world.live, written


def judge_ready(world: World, said: Stored) -> Iterator[str]:
    """What is wrong if a status says Ready: the engine has another source, or nothing although nothing disturbed it."""
    if not said.is_ready or world.engine.held == said.source:
        return
    if world.engine.held or not world.has_disturbance:
        yield f"the status says Ready of {said.source}, and the engine has {world.engine.held or 'nothing'}"


def sends(world: World, prober: int) -> Iterator[str]:
    """The prober makes the calls that are due; what is wrong with them."""
    for call in world.probers[prober].due(world.now):
        under_way = UnderWay(prober, call)
        world.calls.append(under_way)
        match call.action:
            case EngineAction.LIST:
                under_way.answer = EngineAnswer(outcome=CallOutcome.OK, names=names_of(world.engine))
            case EngineAction.UNLOAD:
                world.engine.unloads += (call,)
            case EngineAction.LOAD:
                world.engine.loads += (call,)
                yield from _judge_load(world, call)


def _judge_load(world: World, call: EngineCall) -> Iterator[str]:
    world.posts += 1
    assert world.asked is not None
    if call.uri != world.asked.source:
        yield f"a load of {call.uri} after {world.asked.source} was asked for"
    if world.posts > 1 and not world.has_disturbance:
        yield f"{call.uri} was loaded {world.posts} times"


def serves(world: World, call: EngineCall) -> None:
    """The engine carries a load or unload out; its answer is on its way."""
    engine, result = world.engine, CallOutcome.OK
    if call.action is EngineAction.UNLOAD:
        result = CallOutcome.OK if engine.held else CallOutcome.FAILED
        engine.held = ""
        engine.unloads = tuple(one for one in engine.unloads if one is not call)
    else:
        engine.loads = tuple(one for one in engine.loads if one is not call)
        if call.uri == BROKEN and not engine.held:
            result = CallOutcome.TERMINAL
        else:
            engine.held = engine.held or call.uri  # a second load of a name keeps the first source
    for one in world.calls:
        if one.call is call:
            one.answer = EngineAnswer(outcome=result, message="" if result is CallOutcome.OK else "HTTP 404")


def arrives(world: World, under_way: UnderWay, given: EngineAnswer) -> None:
    """An answer reaches its prober."""
    world.calls.remove(under_way)
    world.probers[under_way.prober].finish(under_way.call, given, world.now, 0.0)


def stops(world: World) -> None:
    """The holder's prober stops and forgets; what it sent is still on its way to the engine."""
    world.probers[world.holder].set_term(Term(number=world.number))
    world.calls = [one for one in world.calls if one.prober != world.holder]
    world.holder, world.is_lapsed = -1, False


def takes(world: World, prober: int) -> None:
    """Another prober, or the same one again, begins to act."""
    world.number += 1
    world.holder = prober
    world.calls = [one for one in world.calls if one.prober != prober]
    world.probers[prober].set_term(Term(number=world.number, until=world.now + TERM_SECONDS))
