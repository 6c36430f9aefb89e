"""One sequence: rounds of disturbance and rest, at last the deletion; everything in it follows from road and seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from hooks.ground import contract
from hooks.tools.offline.simulator.store import Propagation
from tests.sequences.disturbances import DISTURBANCES, calm, write_graph
from tests.sequences.invariants import INVARIANTS
from tests.sequences.rest import check_nothing_left, check_rest, come_to_rest
from tests.sequences.wishes import ROADS
from tests.sequences.world import Check, World

ROUNDS = 3
DISTURBED_STEPS = 150
LATE = 3
"""In one sequence of so many Metacontroller hears of the deletion only after all disturbances."""
PROPAGATIONS: tuple[Propagation, ...] = ("Background", "Foreground")


@dataclass(frozen=True, slots=True, kw_only=True)
class Temper:
    """What kinds of disturbance a sequence has, and with which chance one comes before a step.

    Each sequence has some kinds and not others, so that rare combinations are not drowned by frequent ones.
    """

    names: tuple[str, ...]
    weights: tuple[int, ...]
    chance: float


def run_sequence(
    road: str,
    seed: int,
    checks: Sequence[Check] = INVARIANTS,
    *,
    prepare: Callable[[World], None] = lambda _world: None,
    temper: Temper | None = None,
) -> World:
    """Run one sequence to its end and give back its world.

    `prepare` may change it before anything happens; without `temper` it is drawn.

    Raises:
        Violation: an invariant does not hold.
    """
    world = World(ROADS[road], seed, checks)
    prepare(world)
    temper = temper or choose_temper(world.rng)
    world.disturb("edit", write_graph)
    for _ in range(ROUNDS):
        disturb(world, temper, DISTURBED_STEPS)
        calm(world)
        come_to_rest(world)
        check_rest(world)
    disturb(world, temper, world.rng.randrange(DISTURBED_STEPS))
    if seed % LATE == 0:
        world.cluster.delay_news(contract.GRAPH)
    world.disturb("deletion", delete_graph)
    disturb(world, temper, world.rng.randrange(DISTURBED_STEPS // 2), skipped=("edit", "mend", "mistake"))
    world.cluster.delay_news()
    calm(world)
    come_to_rest(world)
    check_nothing_left(world)
    return world


def choose_temper(rng: Random) -> Temper:
    """Draw what a sequence is disturbed by; edits and cures are always among it."""
    always = {"edit", "cure", "mend"}
    names = tuple(name for name in DISTURBANCES if name in always or rng.random() < 0.5)
    weights = tuple(DISTURBANCES[name][1] for name in names)
    return Temper(names=names, weights=weights, chance=rng.choice([0.02, 0.05, 0.1, 0.3]))


def disturb(world: World, temper: Temper, steps: int, skipped: tuple[str, ...] = ()) -> None:
    """Go on for so many steps, with disturbances between them."""
    end = world.number + steps
    while world.number < end:
        if world.rng.random() < temper.chance or not world.step():
            (name,) = world.rng.choices(temper.names, temper.weights)
            if name not in skipped:
                world.disturb(name, DISTURBANCES[name][0])


def delete_graph(world: World) -> str:
    """Delete the graph, and have its children go before or after it."""
    propagation = world.rng.choice(PROPAGATIONS)
    world.delete(propagation)
    return propagation
