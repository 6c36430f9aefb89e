"""What a fault is, and what came of one that was played."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tests.faults.stage import Stage

Act = Callable[[Stage], None]


def nothing(_stage: Stage) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that goes wrong while a graph is Ready.

    `name` is that of the list of operator-chaos or ours, `what` a few words for the table. `begin` starts it and `end`
    ends it, `seconds` of the cluster's time later. With `user_acts`, a user scales a service up in between. `holds` is
    what is true throughout, half a sentence. With `by_person`, `end` is what a person must do. `roads` are the ways
    from graph to pods on which it can be played.
    """

    name: str
    what: str
    begin: Act
    end: Act = nothing
    seconds: float = 0.0
    user_acts: bool = False
    holds: str
    by_person: bool = False
    roads: tuple[str, ...] = ("components", "lws", "grove")


class Verdict(StrEnum):
    """Words of operator-chaos."""

    RESILIENT = "Resilient"
    DEGRADED = "Degraded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a fault on one road.

    `seen` are the reasons of the graph's condition Ready, and of Applied while it was False, from the fault's begin
    until recovery, in order. `events` are reasons of Metacontroller's Warnings. `taken` counts pods that the fault took
    away, `unasked` those that were replaced although neither user nor fault asked for it; `lost` are objects that are
    gone. `recovery` is in seconds of the cluster since the fault's end, None if `play.PATIENCE` was not enough.
    """

    seen: tuple[str, ...]
    events: tuple[str, ...]
    taken: int
    unasked: int
    lost: tuple[str, ...]
    recovery: float | None
    by_person: bool = False

    @property
    def verdict(self) -> Verdict:
        """Failed: something was lost, restarted unasked or never recovered; Degraded: a resync was not enough."""
        if self.recovery is None or self.unasked or self.lost:
            return Verdict.FAILED
        is_slow = self.recovery > RESYNC_SECONDS
        return Verdict.DEGRADED if is_slow or self.by_person else Verdict.RESILIENT


RESYNC_SECONDS = 180.0
"""The controllers' period: whatever nobody noticed is found after it at the latest."""
