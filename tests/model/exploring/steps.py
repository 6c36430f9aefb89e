"""The steps that a world can take, each with a name, and whether it leads towards the end that the spec asks for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer
from tests.model.exploring import world as worlds
from tests.model.exploring.world import GONE, LOST, Engine, Stored, World

Act = Callable[[World], Iterator[str]]
"""Changes a world, and yields what is wrong then."""


@dataclass(frozen=True, slots=True)
class Step:
    """`helps`: it happens by itself some time. A change of the spec, a fault or another holder need not happen."""

    name: str
    act: Act
    helps: bool = True


def _doing(act: Callable[[World], None]) -> Act:
    def do(world: World) -> Iterator[str]:
        act(world)
        return iter(())

    return do


def find_steps(world: World) -> Iterator[Step]:
    """All steps that are possible now."""
    yield from _syncs(world)
    yield from _probers_steps(world)
    yield from _engine_steps(world)
    yield from _answers(world)
    yield from _changes(world)
    yield from _takeovers(world)
    yield from _faults(world)


def _syncs(world: World) -> Iterator[Step]:
    if world.cached != world.live:
        yield Step("the cache catches up", _doing(lambda w: setattr(w, "cached", w.live)))
    for number in range(len(world.probers)):
        yield Step(f"a sync reaches prober {number}", partial(worlds.asks, prober=number, is_written=True))
        if world.faults < world.bounds.faults:

            def lose(w: World, n: int = number) -> Iterator[str]:
                w.faults += 1
                return worlds.asks(w, n, is_written=False)

            yield Step(f"a sync reaches prober {number}, and its status is lost", lose, helps=False)


def _probers_steps(world: World) -> Iterator[Step]:
    for number, prober in enumerate(world.probers):
        due = prober.next_due(world.now)
        if due is None:
            continue

        def send(w: World, n: int = number, due: float = due) -> Iterator[str]:
            w.now = max(w.now, due)
            return worlds.sends(w, n)

        yield Step(f"prober {number} calls", send)


def _engine_steps(world: World) -> Iterator[Step]:
    for index in range(len(world.engine.unloads)):
        yield Step(f"the engine unloads ({index})", _doing(partial(_unload, index=index)))
    if world.engine.loads:
        yield Step(
            f"the engine loads {world.engine.loads[0].uri}", _doing(lambda w: worlds.serves(w, w.engine.loads[0]))
        )


def _unload(world: World, index: int) -> None:
    worlds.serves(world, world.engine.unloads[index])


def _arrive(world: World, index: int, given: EngineAnswer) -> None:
    worlds.arrives(world, world.calls[index], given)


def _answers(world: World) -> Iterator[Step]:
    for index, one in enumerate(world.calls):
        if one.answer is None:
            continue
        what = f"the answer to {one.call.action} reaches prober {one.prober}"
        yield Step(what, _doing(partial(_arrive, index=index, given=one.answer)))
        now = EngineAnswer(outcome=CallOutcome.OK, names=worlds.names_of(world.engine))
        if one.call.action is EngineAction.LIST and one.answer not in (now, GONE):
            yield Step(f"{what}, of now", _doing(partial(_arrive, index=index, given=now)))


def _changes(world: World) -> Iterator[Step]:
    if world.changes >= world.bounds.changes:
        return
    for source in world.bounds.sources:
        if source == world.live.source:
            continue

        def change(w: World, source: str = source) -> None:
            w.changes += 1
            w.cached, w.live = w.live, Stored(w.live.generation + 1, source, w.live.status)

        yield Step(f"the spec asks for {source}", _doing(change), helps=False)


def _takeovers(world: World) -> Iterator[Step]:
    if world.holder < 0:
        for number in range(len(world.probers)):
            yield Step(f"prober {number} takes the Lease", _doing(partial(worlds.takes, prober=number)))
        return
    if world.takeovers >= world.bounds.takeovers:
        return

    def stop(w: World) -> None:
        w.takeovers += 1
        worlds.stops(w)

    yield Step("the holder gives the Lease up", _doing(stop), helps=False)


def _faults(world: World) -> Iterator[Step]:
    if world.faults >= world.bounds.faults:
        return

    def restart(w: World) -> None:
        w.faults += 1
        w.engine = Engine()
        for one in w.calls:
            one.answer = GONE

    yield Step("the engine restarts", _doing(restart), helps=False)
    for index, one in enumerate(world.calls):
        if one.call.action is not EngineAction.LOAD:
            continue

        def lose(w: World, i: int = index) -> None:
            w.faults += 1
            worlds.arrives(w, w.calls[i], LOST)

        yield Step(f"prober {one.prober} gets no answer to its load", _doing(lose), helps=False)


def take(world: World, step: Step) -> tuple[World, list[str]]:
    """The world after a step, and what is wrong then."""
    after = world.copy()
    after.now += 0.001
    wrong = list(step.act(after))
    return after, [*wrong, *worlds.judge_ready(after, after.live)]
