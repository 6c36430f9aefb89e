"""What a fault of a real control plane is, and what came of one that was played."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.faults.cluster.stage import Stage, sleep_through
from tests.faults.fault import RESYNC_SECONDS, Verdict

Act = Callable[[Stage], None]
Lasting = Callable[[Stage, float], None]


def nothing(_stage: Stage) -> None:
    """Do nothing."""


def wait(_stage: Stage, seconds: float) -> None:
    """Let time pass."""
    sleep_through(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFault:
    """Something that goes wrong on a control plane with graphs at rest.

    `name`, `what` and `holds` are as those of the faults in memory. `begin` starts it, `lasting` spends `seconds` in
    it, or `short` where only a sample is tried, and `end` ends it; `tidy` removes what is left of it. With `is_heard`,
    hooks, Metacontroller and API server work meanwhile, so the status of each graph must tell of it. `is_long` are
    those that a sample leaves out.
    """

    name: str
    what: str
    begin: Act
    lasting: Lasting = wait
    end: Act = nothing
    tidy: Act = nothing
    seconds: float = 0.0
    short: float = 0.0
    is_heard: bool = False
    is_long: bool = False
    holds: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOutcome:
    """What came of a fault.

    `seen` are the reasons of the target's condition Ready, and of Applied while it was False, in order; `events` are
    reasons of Warnings. `taken` counts pods that the fault took away. `wrongs` are sentences: pods that were replaced
    unasked, changed pod templates, objects that are lost, untrue statuses, writes that nobody needed. `children`,
    `statuses` and `refused` count Metacontroller's writes. `recovery` is in seconds since the fault's end, None if
    `play.PATIENCE` was not enough.
    """

    seen: tuple[str, ...]
    events: tuple[str, ...]
    taken: int
    wrongs: tuple[str, ...]
    children: int
    statuses: int
    refused: int
    recovery: float | None

    @property
    def verdict(self) -> Verdict:
        """Failed: something is wrong, or it never recovered; Degraded: a resync was not enough."""
        if self.recovery is None or self.wrongs:
            return Verdict.FAILED
        return Verdict.DEGRADED if self.recovery > RESYNC_SECONDS else Verdict.RESILIENT
