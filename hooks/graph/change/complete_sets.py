"""How many old pods of each worker stay, and how many new ones there may be, while workers roll to the next generation.

Requests need a prefill and a decode worker of one generation. So workers are replaced in complete sets: an old pod of
one role ends only when the new generation has ready pods of every role for its share, and no role takes the room that
another one needs for the same set. This module is arithmetic alone: the answer follows from the pods that are there
now, and from nothing that was decided before. A pod of a worker over several nodes is a group of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from hooks.wire.policy.rollout_pace import RolloutPace
from hooks.wire.policy.rollout_wishes import NO_WISHES, RolloutWishes


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPods:
    """The pods of one worker: `wanted`, `ready` ones of the newest generation, and `old` ones, None if that is unknown.

    `intact` are the old ones that serve, or have not served for a moment only; None if that is unknown.
    `spare` pods may be missing and `surge` be too many at any time, as the user asks; None if nothing is asked.
    `is_numbered`: each has a place of its own, and the new ones in the first `wanted` places replace old ones, the
    highest first. `surplus` are ready new ones in later places, `settled` those in the first `wanted` ones.
    """

    wanted: int
    ready: int
    old: int | None = None
    intact: int | None = None
    spare: int | None = None
    surge: int = 0
    is_numbered: bool = False
    surplus: int = 0
    settled: int = 0

    @property
    def is_done(self) -> bool:
        """Whether all its new pods are ready, and stand where they will stay."""
        return (self.settled if self.is_numbered else self.ready) >= self.wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What old pods may be given up for: `is_crowded` if new pods find no room, as asked by a person in `wishes`.

    `complete` is the part of the wanted sets that old generations still have whole; None if that is not known.
    """

    is_crowded: bool = False
    wishes: RolloutWishes = NO_WISHES
    complete: Fraction | None = None


NO_BUDGET = Budget()


def find_pace(roles: Mapping[str, WorkerPods], budget: Budget = NO_BUDGET) -> dict[str, RolloutPace]:
    """By role its pace, {} once every role has all its new ones, and is to have them.

    The part of the new generation that is complete is that of the role that is furthest behind. So many old pods of
    each role may end, rounded down: old and new sets together are never fewer than wanted, but for spare pods.
    """
    if not budget.wishes.canary and all(one.is_done for one in roles.values()):
        return {}
    done, sets = find_done(roles), count_sets(roles)
    share = Fraction(budget.wishes.count_canary(sets), max(1, sets))
    return {name: _pace(role, done, sets, share=share, budget=budget) for name, role in roles.items()}


def count_sets(roles: Mapping[str, WorkerPods]) -> int:
    """How many complete sets are wanted: as many as of the role of which there are fewest."""
    return min((one.wanted for one in roles.values() if one.wanted), default=0)


def _pace(role: WorkerPods, part: Fraction, sets: int, *, share: Fraction, budget: Budget) -> RolloutPace:
    """The pace of a role of whose wanted pods that part belongs to complete new sets, and that share may be new.

    Where room was made once, it stays for new pods: an old one would not come back.
    """
    done, one_set = int(part * role.wanted), _one_set(role, sets)
    kept = max(0, role.wanted - done - (role.spare or 0))
    old = kept if role.old is None else role.old
    if role.spare is None:
        least = max(0, kept - one_set)
        kept = least if budget.is_crowded else max(least, min(kept, old))
    kept = min(kept, _find_useful(role, budget))
    fresh = done + max(1, one_set, role.surge)
    if budget.wishes.canary:
        most_new = ceil(share * role.wanted)
        # A Deployment fills up what is missing of the wanted pods with new ones.
        kept, fresh = max(kept, role.wanted - most_new, ceil(Fraction(role.wanted, max(1, sets)))), min(fresh, most_new)
        kept = min(role.wanted, old) if role.is_numbered and not budget.is_crowded else min(role.wanted, kept)
    if role.is_numbered:
        return RolloutPace(kept=kept, most=max(fresh + min(kept, old), role.wanted + role.surplus))
    return RolloutPace(kept=kept, most=min(fresh, role.wanted) + min(kept, old))


def _one_set(role: WorkerPods, sets: int) -> int:
    """So many pods of a role at once make room for others, or come beside the old ones."""
    return max(role.wanted // 4, role.wanted // sets if sets > 1 else 0)


def _find_useful(role: WorkerPods, budget: Budget) -> int:
    """How many old pods there is a reason to keep: those that serve, and in need of room those of complete sets.

    Which of numbered ones end is not free, so they stay as long as any of them is of use.
    """
    useful = role.wanted if role.intact is None or (role.is_numbered and role.intact) else role.intact
    if not budget.is_crowded or budget.complete is None or (role.is_numbered and budget.complete):
        return useful
    return min(useful, ceil(budget.complete * role.wanted))


def find_done(roles: Mapping[str, WorkerPods]) -> Fraction:
    """The part of the wanted sets that is ready in the new generation, 0 to 1; a role without pods does not count."""
    parts = (Fraction(min(one.ready, one.wanted), one.wanted) for one in roles.values() if one.wanted)
    return min(parts, default=Fraction(1))


def is_canary_ready(roles: Mapping[str, WorkerPods], wishes: RolloutWishes) -> bool:
    """Whether the new generation has as many complete sets as are asked for."""
    sets = count_sets(roles)
    return bool(wishes.canary) and find_done(roles) >= Fraction(wishes.count_canary(sets), max(1, sets))


def find_behind(roles: Mapping[str, WorkerPods]) -> tuple[str, ...]:
    """The roles for whose next ready pod the others wait, by name; () once every role has all its new pods."""
    done = find_done(roles)
    if done == 1:
        return tuple(sorted(name for name, one in roles.items() if not one.is_done))
    return tuple(sorted(name for name, one in roles.items() if one.wanted and one.ready <= done * one.wanted))
