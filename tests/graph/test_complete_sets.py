"""The pace of rollouts in complete sets: the arithmetic, and whole rollouts with the Deployment controller's own."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.component.plan.strategy import pace_strategy
from hooks.graph.change.complete_sets import Budget, WorkerPods, find_behind, find_pace, is_canary_ready
from hooks.ground.k8s.quantities import scale_amount
from hooks.ground.k8s.workloads import rolling_update
from hooks.wire.policy.rollout_pace import RolloutPace, read_pace
from hooks.wire.policy.rollout_wishes import RolloutWishes

Rule = Callable[[Mapping[str, WorkerPods], bool], dict[str, RolloutPace]]


def rule(roles: Mapping[str, WorkerPods], is_crowded: bool) -> dict[str, RolloutPace]:
    return find_pace(roles, Budget(is_crowded=is_crowded))


PACES = {
    "nothing is ready": ({"p": (1, 0, 1), "d": (1, 0, 1)}, {"p": (1, 2), "d": (1, 2)}, ("d", "p")),
    "one role is ready": ({"p": (1, 1, 1), "d": (1, 0, 1)}, {"p": (1, 2), "d": (1, 2)}, ("d",)),
    "all are ready": ({"p": (1, 1, 1), "d": (1, 1, 1)}, {}, ()),
    "a third of each": ({"p": (2, 1, 2), "d": (3, 1, 3)}, {"p": (2, 3), "d": (2, 4)}, ("d",)),
    "half of each": ({"p": (2, 1, 2), "d": (4, 2, 4)}, {"p": (1, 3), "d": (2, 6)}, ("d", "p")),
    "more than wanted": ({"p": (1, 3, 1), "d": (2, 1, 2)}, {"p": (1, 2), "d": (1, 3)}, ("d",)),
    "a role without pods": ({"p": (0, 0, 0), "d": (2, 1, 2)}, {"p": (0, 0), "d": (1, 3)}, ("d",)),
    "room was made before": ({"p": (2, 0, 1), "d": (2, 0, 2)}, {"p": (1, 2), "d": (2, 3)}, ("d", "p")),
    "the last set was evicted": ({"p": (1, 0, 0), "d": (1, 0, 1)}, {"p": (1, 1), "d": (1, 2)}, ("d", "p")),
    "no role": ({}, {}, ()),
}


@pytest.mark.parametrize(("roles", "paces", "behind"), PACES.values(), ids=PACES)
def test_old_pods_stay_until_every_role_has_its_share(
    roles: dict[str, tuple[int, int, int]], paces: dict[str, tuple[int, int]], behind: tuple[str, ...]
) -> None:
    found = {name: WorkerPods(wanted=wanted, ready=ready, old=old) for name, (wanted, ready, old) in roles.items()}
    assert find_pace(found) == {name: RolloutPace(kept=kept, most=most) for name, (kept, most) in paces.items()}
    assert find_behind(found) == behind


def test_pods_may_be_missing_from_the_beginning_where_that_is_asked() -> None:
    roles = {"p": WorkerPods(wanted=4, ready=0, old=4, spare=1), "d": WorkerPods(wanted=2, ready=0, old=2, surge=2)}
    assert find_pace(roles) == {"p": RolloutPace(kept=3, most=5), "d": RolloutPace(kept=2, most=4)}


def test_nothing_ends_while_pods_are_not_known() -> None:
    roles = {"p": WorkerPods(wanted=2, ready=0), "d": WorkerPods(wanted=1, ready=1, old=1)}
    assert find_pace(roles) == {"p": RolloutPace(kept=2, most=3), "d": RolloutPace(kept=1, most=2)}


ROOM = {
    "one set": ({"p": 1, "d": 1}, {"p": (1, 2), "d": (1, 2)}),
    "two sets": ({"p": 2, "d": 2}, {"p": (1, 2), "d": (1, 2)}),
    "a ratio": ({"p": 2, "d": 7}, {"p": (1, 2), "d": (4, 7)}),
    "one prefill, many decode": ({"p": 1, "d": 8}, {"p": (1, 2), "d": (6, 8)}),
}


@pytest.mark.parametrize(("wanted", "paces"), ROOM.values(), ids=ROOM)
def test_one_set_makes_room_while_there_are_several(wanted: dict[str, int], paces: dict[str, tuple[int, int]]) -> None:
    roles = {name: WorkerPods(wanted=count, ready=0, old=count) for name, count in wanted.items()}
    found = find_pace(roles, Budget(is_crowded=True))
    assert found == {name: RolloutPace(kept=kept, most=most) for name, (kept, most) in paces.items()}


CANARIES = {
    "one set of one stays beside the old one": (
        "1",
        {"p": (1, 0, 1), "d": (1, 0, 1)},
        {"p": (1, 2), "d": (1, 2)},
        False,
    ),
    "it is ready": ("1", {"p": (1, 1, 1), "d": (1, 1, 1)}, {"p": (1, 2), "d": (1, 2)}, True),
    "one of two": ("1", {"p": (2, 1, 2), "d": (4, 2, 4)}, {"p": (1, 2), "d": (2, 4)}, True),
    "a percentage is rounded up": ("25%", {"p": (2, 0, 2), "d": (3, 0, 3)}, {"p": (2, 3), "d": (3, 4)}, False),
    "as many as it asks, no more": ("2", {"w": (5, 2, 3)}, {"w": (3, 5)}, True),
    "one old set stays": ("5", {"w": (4, 4, 1)}, {"w": (1, 5)}, True),
    "it came when more were ready": ("1", {"w": (5, 3, 2)}, {"w": (4, 3)}, True),
    "none at the beginning": ("1", {"w": (3, 0, 3)}, {"w": (3, 4)}, False),
}


@pytest.mark.parametrize(("canary", "roles", "paces", "is_ready"), CANARIES.values(), ids=CANARIES)
def test_canary_gets_as_many_sets_as_are_asked_and_waits(
    canary: str, roles: dict[str, tuple[int, int, int]], paces: dict[str, tuple[int, int]], is_ready: bool
) -> None:
    found = {name: WorkerPods(wanted=wanted, ready=ready, old=old) for name, (wanted, ready, old) in roles.items()}
    wishes = RolloutWishes(canary=canary)
    assert find_pace(found, Budget(wishes=wishes)) == {
        name: RolloutPace(kept=kept, most=most) for name, (kept, most) in paces.items()
    }
    assert is_canary_ready(found, wishes) is is_ready


USELESS: dict[str, tuple[WorkerPods, Fraction | None, bool, int]] = {
    "all serve": (WorkerPods(wanted=3, ready=0, old=3, intact=3), Fraction(1), False, 3),
    "one is broken": (WorkerPods(wanted=3, ready=0, old=3, intact=2), Fraction(2, 3), False, 2),
    "all are broken": (WorkerPods(wanted=3, ready=0, old=3, intact=0), Fraction(0), False, 0),
    "other roles are broken": (WorkerPods(wanted=3, ready=0, old=3, intact=3), Fraction(0), False, 3),
    "others are broken, and there is no room": (
        WorkerPods(wanted=3, ready=0, old=3, intact=3),
        Fraction(0),
        True,
        0,
    ),
    "a third is whole, and there is no room": (WorkerPods(wanted=3, ready=0, old=3, intact=3), Fraction(1, 3), True, 1),
    "places are not chosen": (
        WorkerPods(wanted=3, ready=0, old=3, intact=1, is_numbered=True),
        Fraction(1, 3),
        False,
        3,
    ),
}


@pytest.mark.parametrize(("role", "complete", "is_crowded", "kept"), USELESS.values(), ids=USELESS)
def test_old_pods_that_serve_nobody_are_not_kept(
    role: WorkerPods, complete: Fraction | None, is_crowded: bool, kept: int
) -> None:
    budget = Budget(is_crowded=is_crowded, complete=complete)
    assert find_pace({"d": role, "p": replace(role)}, budget)["d"].kept == kept


def groups(ready: int, old: int, *, wanted: int, settled: int = 0) -> WorkerPods:
    surplus = ready - settled
    return WorkerPods(wanted=wanted, ready=ready, old=old, is_numbered=True, surplus=surplus, settled=settled)


PLACES = {
    "a new one comes beside the only one": (groups(0, 1, wanted=1), False, (1, 2)),
    "it is ready, and the old one is replaced": (groups(1, 1, wanted=1), False, (0, 2)),
    "the old one is gone, and its place empty": (groups(1, 0, wanted=1), False, (0, 2)),
    "the first of two": (groups(1, 2, wanted=2), False, (1, 3)),
    "one in its place": (groups(2, 1, wanted=2, settled=1), False, (0, 3)),
    "no room for one more": (groups(0, 2, wanted=2), True, (1, 2)),
    "no room any more, and a later one serves": (groups(1, 1, wanted=2), True, (0, 3)),
}


@pytest.mark.parametrize(("role", "is_crowded", "pace"), PLACES.values(), ids=PLACES)
def test_groups_are_replaced_in_their_places(role: WorkerPods, is_crowded: bool, pace: tuple[int, int]) -> None:
    kept, most = pace
    assert find_pace({"w": role}, Budget(is_crowded=is_crowded)) == {"w": RolloutPace(kept=kept, most=most)}


def test_groups_are_over_once_the_new_ones_have_their_places() -> None:
    over, moving = groups(2, 0, wanted=1, settled=1), groups(1, 0, wanted=1)
    assert find_pace({"w": over}) == {}
    assert find_behind({"w": moving}) == ("w",)


@pytest.mark.parametrize("text", ["", "2", "-1/3", "2/3 ", "2/", "²/3", f"{10**9}/3"])
def test_what_is_no_pace_is_none(text: str) -> None:
    assert read_pace(str(RolloutPace(kept=2, most=3))) == RolloutPace(kept=2, most=3)
    assert read_pace(text) is None


# Whole rollouts


@dataclass(frozen=True)
class Deployment:
    """The ReplicaSets of one role: old pods, new ones, those of these that are ready, and its strategy."""

    wanted: int
    surge: int
    old: int
    new: int = 0
    ready: int = 0


def reconcile(one: Deployment, pace: RolloutPace | None) -> Deployment:
    """One sync of the Deployment controller, for which no new pod is available while there is a pace.

    Source: Kubernetes, pkg/controller/deployment/rolling.go.
    """
    strategy = rolling_update(max_surge=one.surge, max_unavailable="25%")
    rolling = (pace_strategy(strategy, one.wanted, kept=pace.kept, most=pace.most) if pace else strategy)[
        "rollingUpdate"
    ]
    least = one.wanted - scale_amount(rolling["maxUnavailable"], one.wanted, up=False)
    room = one.wanted + rolling["maxSurge"] - one.old - one.new
    if room > 0 and one.new < one.wanted:
        return replace(one, new=one.new + min(room, one.wanted - one.new))
    available = one.old + (0 if pace else one.ready)
    if one.old + one.new - least - (one.new - available + one.old) <= 0:
        return one
    return replace(one, old=one.old - min(one.old, available - least))


class Broken(AssertionError):
    """An invariant of the rollout does not hold."""


def roll(roles: Mapping[str, Deployment], rng: Random, rule: Rule, *, room: int | None = None) -> int:
    """Roll all roles to the end in any order; gives the steps that it took. `room`: pods that the cluster has room for.

    Raises:
        Broken: a set too many is missing, an old pod ended too early, or nothing goes on any more.
    """
    world, fewest = dict(roles), min(one.wanted for one in roles.values())
    paces = rule(observe(world), False)
    budget = max(Fraction(1, fewest), Fraction(1, 4)) if room is not None and fewest > 1 else Fraction(0)
    budget = Fraction(1, 4) if room is not None and fewest == 1 else budget
    for step in range(1_000):
        if all(not one.old and one.ready == one.wanted for one in world.values()):
            return step
        is_crowded = room is not None and sum(one.old + one.new for one in world.values()) > room
        if rng.random() < 0.7:
            paces = rule(observe(world), is_crowded)
        before = world
        for name in rng.sample(sorted(world), rng.randint(1, len(world))):
            world = {**world, name: reconcile(world[name], paces.get(name))}
        check(before, world, budget)
        world = become_ready(world, rng, room)
    raise Broken(f"it does not end: {world}")


def observe(world: Mapping[str, Deployment]) -> dict[str, WorkerPods]:
    return {name: WorkerPods(wanted=one.wanted, ready=one.ready, old=one.old) for name, one in world.items()}


def become_ready(world: Mapping[str, Deployment], rng: Random, room: int | None) -> dict[str, Deployment]:
    """Some new pods that have room become ready."""
    found = dict(world)
    for name in rng.sample(sorted(found), len(found)):
        one = found[name]
        running = sum(other.old + other.ready for other in found.values())
        if one.ready < one.new and rng.random() < 0.6 and (room is None or running < room):
            found[name] = replace(one, ready=one.ready + 1)
    return found


def check(before: Mapping[str, Deployment], world: Mapping[str, Deployment], budget: Fraction) -> None:
    """As many complete sets serve as are wanted, but for the budget; no old pod ends before each role has a new one."""
    old = min(Fraction(one.old, one.wanted) for one in world.values())
    new = min(Fraction(one.ready, one.wanted) for one in world.values())
    if old + new < 1 - budget:
        raise Broken(f"only {old} and {new} of the sets serve: {world}")
    if not budget and not new and any(one.old < before[name].old for name, one in world.items()):
        raise Broken(f"an old pod ended before every role has a new one: {world}")
    if not old and not new:
        raise Broken(f"no generation is complete: {world}")


role = st.builds(lambda wanted, surge: Deployment(wanted, surge, wanted), st.integers(1, 9), st.integers(1, 4))
seeds = st.integers(0, 1_000_000).map(Random)
several = st.dictionaries(st.sampled_from(["decode", "encode", "prefill"]), role, min_size=2)


@given(several, seeds)
def test_every_rollout_keeps_its_sets_and_ends(roles: dict[str, Deployment], rng: Random) -> None:
    roll(roles, rng, rule)


@given(several, seeds)
def test_rollout_without_a_free_place_gives_up_one_set_if_there_are_several(
    roles: dict[str, Deployment], rng: Random
) -> None:
    room = sum(one.wanted for one in roles.values())
    fewest = min(one.wanted for one in roles.values())
    if fewest > 1:
        roll(roles, rng, rule, room=room)
    elif all(one.wanted < 4 for one in roles.values()):
        with pytest.raises(Broken, match="does not end"):
            roll(roles, rng, rule, room=room)


def each_for_itself(roles: Mapping[str, WorkerPods], _crowded: bool) -> dict[str, RolloutPace]:
    return {name: RolloutPace(kept=one.wanted - one.ready, most=99) for name, one in roles.items()}


def rounded_up(roles: Mapping[str, WorkerPods], is_crowded: bool) -> dict[str, RolloutPace]:
    return {name: replace(one, kept=max(0, one.kept - 1)) for name, one in rule(roles, is_crowded).items()}


def without_end(roles: Mapping[str, WorkerPods], _crowded: bool) -> dict[str, RolloutPace]:
    return {name: RolloutPace(kept=one.wanted, most=99) for name, one in roles.items()}


def greedy(roles: Mapping[str, WorkerPods], is_crowded: bool) -> dict[str, RolloutPace]:
    return {name: replace(one, most=99) for name, one in rule(roles, is_crowded).items()}


WRONG: dict[str, tuple[Rule, str, int | None]] = {
    "each for itself": (each_for_itself, "ended before|of the sets serve", None),
    "one pod less": (rounded_up, "of the sets serve", None),
    "never": (without_end, "does not end", None),
    "one role takes the room of others": (greedy, "does not end", 5),
}


@pytest.mark.parametrize(("wrong", "why", "room"), WRONG.values(), ids=WRONG)
def test_a_wrong_pace_is_seen(wrong: Rule, why: str, room: int | None) -> None:
    roles = {"prefill": Deployment(2, 1, 2), "decode": Deployment(3, 2, 3)}
    said = []
    for seed in range(50):
        roll(roles, Random(seed), rule, room=room)
        try:
            roll(roles, Random(seed), wrong, room=room)
        except Broken as error:
            said.append(str(error))
    assert [text for text in said if re.search(why, text)]
