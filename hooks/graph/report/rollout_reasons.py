"""The condition about a rollout of a graph's workers: its reasons, and what a stored graph says with it.

Commands and metrics read it too, and load none of what decides about rollouts.
"""

from enum import StrEnum

from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import ReadManifest

ROLLOUT = "Rollout"
"""The condition's type."""


class RolloutReason(StrEnum):
    """A rollout of a graph's workers.

    There is no condition once it is over, so `COMPLETED` is the reason of an Event alone.
    """

    IN_PROGRESS = "RolloutInProgress"
    PAUSED = "RolloutPaused"
    CANARY_READY = "RolloutCanaryReady"
    NO_ROOM = "RolloutWithoutRoom"
    STALLED = "RolloutStalled"
    COMPLETED = "RolloutCompleted"


def find_rollout_reason(graph: ReadManifest) -> str:
    """What the rollout of a stored graph does, as its condition says it; empty without one."""
    found = find_condition((graph.get("status") or {}).get("conditions") or (), ROLLOUT)
    return "" if found is None else str(found.get("reason") or "")
