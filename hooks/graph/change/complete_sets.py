"""How many old pods of each worker stay, and how many new ones there may be, while workers roll to the next generation.

Requests need a prefill and a decode worker of one generation. So workers are replaced in complete sets: an old pod of
one role ends only when the new generation has ready pods of every role for its share, and no role takes the room that
another one needs for the same set. This module is arithmetic alone: the answer follows from the pods that are there
now, and from nothing that was decided before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from hooks.wire.policy.rollout_pace import RolloutPace


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPods:
    """The pods of one worker: `wanted`, `ready` ones of the newest generation, and `old` ones, None if that is unknown.

    `spare` pods may be missing and `surge` be too many at any time, as the user asks; None if nothing is asked.
    """

    wanted: int
    ready: int
    old: int | None = None
    spare: int | None = None
    surge: int = 0


def find_pace(roles: Mapping[str, WorkerPods], *, is_crowded: bool = False) -> dict[str, RolloutPace]:
    """By role its pace, {} once every role has all its new ones. `is_crowded`: new pods find no room.

    The part of the new generation that is complete is that of the role that is furthest behind. So many old pods of
    each role may end, rounded down: old and new sets together are never fewer than wanted, but for spare pods.
    """
    done = find_done(roles)
    if done == 1:
        return {}
    fewest = min(one.wanted for one in roles.values() if one.wanted)
    return {name: _pace(role, int(done * role.wanted), fewest, is_crowded=is_crowded) for name, role in roles.items()}


def _pace(role: WorkerPods, done: int, fewest: int, *, is_crowded: bool) -> RolloutPace:
    """The pace of a role of which so many pods belong to complete new sets.

    Where room was made once, it stays for new pods: an old one would not come back.
    """
    one_set = max(role.wanted // 4, role.wanted // fewest if fewest > 1 else 0)
    kept = max(0, role.wanted - done - (role.spare or 0))
    old = kept if role.old is None else role.old
    if role.spare is None:
        least = max(0, kept - one_set)
        kept = least if is_crowded else max(least, min(kept, old))
    return RolloutPace(kept=kept, most=done + max(1, one_set, role.surge) + min(kept, old))


def find_done(roles: Mapping[str, WorkerPods]) -> Fraction:
    """The part of the wanted sets that is ready in the new generation, 0 to 1; a role without pods does not count."""
    parts = (Fraction(min(one.ready, one.wanted), one.wanted) for one in roles.values() if one.wanted)
    return min(parts, default=Fraction(1))


def find_behind(roles: Mapping[str, WorkerPods]) -> tuple[str, ...]:
    """The roles for whose next ready pod the others wait, by name; () once every role has all its new pods."""
    done = find_done(roles)
    if done == 1:
        return ()
    return tuple(sorted(name for name, one in roles.items() if one.wanted and one.ready <= done * one.wanted))
