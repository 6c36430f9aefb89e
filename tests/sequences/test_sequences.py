"""Sequences of events in seeded random order, with all invariants asked after every step.

`pytest tests/sequences --steps N` takes more steps than the usual ones.
"""

from hooks.ground.k8s.hashing import canonical_json
from tests.sequences.disturbances import DISTURBANCES
from tests.sequences.sequence import Temper, run_sequence

SEEDS_OF_SLICE = 1_000_000


def test_invariants_hold_in_any_order_of_events(sequence_slice: tuple[str, int], steps_of_slice: int) -> None:
    road, number = sequence_slice
    seed, taken = number * SEEDS_OF_SLICE, 0
    while taken < steps_of_slice:
        taken += run_sequence(road, seed).number
        seed += 1


def test_invariants_hold_in_sequence_taken_again(sequence: tuple[str, int]) -> None:
    run_sequence(*sequence)


def test_sequence_follows_from_its_seed_alone() -> None:
    first, second = run_sequence("components", 3), run_sequence("components", 3)
    assert list(map(str, first.trace)) == list(map(str, second.trace))
    assert first.cluster.writes == second.cluster.writes
    assert canonical_json(first.cluster.everything()) == canonical_json(second.cluster.everything())


def test_every_disturbance_and_every_disorder_happens() -> None:
    temper = Temper(names=tuple(DISTURBANCES), weights=(1,) * len(DISTURBANCES), chance=0.3)
    worlds = [run_sequence(road, 4, temper=temper) for road in ("components", "lws", "gangs", "grove")]
    assert set(DISTURBANCES) - {name for world in worlds for name in world.counts} == set()
    codes = {write.code for world in worlds for write in world.cluster.writes if write.actor == "metacontroller"}
    assert {200, 201, 403, 404, 409} <= codes
    failed = [event.message for world in worlds for event in world.cluster.events]
    assert any("503" in message for message in failed)
    assert any("504" in message for message in failed)
