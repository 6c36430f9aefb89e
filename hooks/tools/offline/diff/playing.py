"""Rollouts played to their end, all at once: each step new pods come where they may, then old ones end.

A new pod that has found a place is ready in the next step.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hooks.tools.offline.diff.moving import Ground, Moving, set_pace
from hooks.tools.offline.diff.nodes import Milli, add
from hooks.tools.offline.diff.pods import PodSet
from hooks.tools.offline.diff.rollouts import PodChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The pods of a set at one moment: old ones, new ones that have a place, and those of them that are ready."""

    old: int
    new: int
    ready: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """How it went: the sets as they are in the end, and at each moment the counts of all sets in the same order."""

    moving: tuple[Moving, ...]
    moments: tuple[tuple[Count, ...], ...]


@dataclass(slots=True, kw_only=True)
class Endless:
    """Room for every pod."""

    def place(self, pod_set: PodSet, need: Milli) -> str:  # noqa: ARG002 - as a `Ground`
        """Always the same place."""
        return "anywhere"

    def leave(self, node: str, need: Milli) -> None:
        """Nothing to give back."""

    def explain(self, pod_set: PodSet, need: Milli) -> str:  # noqa: ARG002 - as a `Ground`
        """No pod lacks room."""
        return ""


@dataclass(slots=True, kw_only=True)
class Full:
    """A cluster of which no GPU, and no other device, is free; what old pods give up is all that there is."""

    free: dict[str, int] = field(default_factory=dict)

    def place(self, pod_set: PodSet, need: Milli) -> str:  # noqa: ARG002 - as a `Ground`
        """A place, if old pods gave up as many devices as the pod needs."""
        asked = _devices(need)
        if any(self.free.get(name, 0) < amount for name, amount in asked.items()):
            return ""
        self.free = add(self.free, asked, -1)
        return "anywhere"

    def leave(self, node: str, need: Milli) -> None:  # noqa: ARG002 - as a `Ground`
        """The devices are free."""
        self.free = add(self.free, _devices(need))

    def explain(self, pod_set: PodSet, need: Milli) -> str:  # noqa: ARG002 - as a `Ground`
        """Always the same reason."""
        return f"no {', '.join(_devices(need))} is free"


def _devices(need: Milli) -> dict[str, int]:
    return {name: amount for name, amount in need.items() if "/" in name}


def play_alone(changes: Iterable[PodChange], ground: Ground) -> Played:
    """The changes played where nothing else is."""
    return play([begin(one, ["anywhere"] * one.before) for one in changes], ground)


def begin(change: PodChange, olds: list[str]) -> Moving:
    """A set before its rollout, with the places of its old pods."""
    stays = change.rollout.old and change.rollout.new and not change.rollout.restarts
    return Moving(change=change, olds=olds, kept=min(change.before, change.after) if stays else 0)


def play(sets: Sequence[Moving], ground: Ground) -> Played:
    """All changes, until nothing moves any more. The sets are changed, those that come first choose first."""
    moments = [_count(sets)]
    for one in sets:
        if not one.rolls:  # old pods beyond those that stay go at once
            one.end_old(ground, one.kept)
    first, before = True, None
    while before != (before := [one.state for one in sets]):
        moments.append(_count(sets))
        for one in sets:
            one.ready = len(one.placed)
        set_pace(sets)
        for one in sets:
            if not _waits_for_its_turn(one, sets):
                one.add_new(ground, first=first)
        moments.append(_count(sets))
        for one in sets:
            if one.rolls and not _waits_for_its_turn(one, sets):
                one.end_old(ground, one.stays)
        first = False
    return Played(moving=tuple(sets), moments=tuple(dict.fromkeys(moments)))


def _count(sets: Iterable[Moving]) -> tuple[Count, ...]:
    return tuple(Count(old=len(one.olds), new=len(one.placed), ready=one.ready) for one in sets)


def _waits_for_its_turn(one: Moving, sets: Iterable[Moving]) -> bool:
    turn = one.change.rollout.in_turn
    if not turn or one.is_done:
        return False
    unfinished = (other for other in sets if other.change.rollout.in_turn == turn and not other.is_done)
    return next(unfinished, one) is not one
