"""A graph is deleted, and Metacontroller hears of it late: it creates children again, and they go with the others."""

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, controller_of
from hooks.tools.offline.simulator.store import Propagation
from tests.sequences.disturbances import break_graph, repeat_events, write_graph
from tests.sequences.invariants import INVARIANTS
from tests.sequences.rest import check_nothing_left, check_rest, come_to_rest
from tests.sequences.wishes import ROADS
from tests.sequences.world import World

STEPS = 150
"""So long the news is late. The garbage collector and Metacontroller may undo each other's work all the while."""


def at_rest(road: str, mistake: str = "") -> World:
    """A graph that is ready, or has the road's mistake since it was."""
    world = World(ROADS[road], 0, INVARIANTS)
    world.disturb("creation", write_graph)
    come_to_rest(world)
    if mistake:
        assert world.disturb("mistake", lambda broken: break_graph(broken, mistake))
        come_to_rest(world)
    check_rest(world)
    return world


def delete(world: World, propagation: Propagation) -> None:
    """Delete the graph, and hold back the news of that for a while; every parent is synced meanwhile."""
    world.cluster.delay_news(contract.GRAPH)
    world.delete(propagation)
    for number in range(STEPS):
        if number % 10 == 0:
            world.disturb("repeated-events", repeat_events)
        world.work()
    world.cluster.delay_news()


def created_again(world: World, before: int) -> set[str]:
    """Plural kinds of which Metacontroller has created objects since."""
    writes = world.cluster.writes[before:]
    return {write.resource for write in writes if (write.actor, write.code) == ("metacontroller", 201)}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("road", "mistake"),
    [*((road, "") for road in ROADS), ("grove", "cliques"), *((road, "strategy") for road in ROADS)],
)
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_deletion_ends_and_leaves_nothing(road: str, mistake: str, propagation: Propagation) -> None:
    world = at_rest(road, mistake)
    before = len(world.cluster.writes)
    delete(world, propagation)
    is_frozen = mistake == "strategy"
    assert ("rolebindings" in created_again(world, before)) != is_frozen
    come_to_rest(world)
    check_nothing_left(world)


@pytest.mark.parametrize("road", ROADS)
def test_orphans_are_not_touched(road: str) -> None:
    def children() -> dict[str, Manifest]:
        return {obj["metadata"]["uid"]: obj for obj in world.cluster.everything() if obj["kind"] != "Namespace"}

    world = at_rest(road)
    graph = world.graph
    assert graph is not None
    uid, before = graph["metadata"]["uid"], set(children())
    delete(world, "Orphan")
    come_to_rest(world)
    assert set(children()) == before - {uid}
    assert all((controller_of(obj) or {}).get("uid") != uid for obj in children().values())
