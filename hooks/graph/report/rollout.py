"""The rollout of a graph's workers from one generation to the next, in figures and words of the status.

It lasts from the change until the last pod of the old generation is gone; for so long the status names the old Dynamo
namespace. All workers of a graph go on together, as their clients expect.

Source: Dynamo operator 1.5, internal/controller/dgd_worker_rollout_reconciler.go and internal/dynamo/grove.go.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from hooks.graph.change.pacing import RolloutInSets
from hooks.graph.change.shares import REGISTERS_IN, Share
from hooks.ground import contract
from hooks.ground.k8s.conditions import format_time
from hooks.ground.k8s.types import Json

ROLLING_UPDATE = "rollingUpdate"
IN_PROGRESS = "InProgress"


def name_namespaces(shares: Mapping[str, Share]) -> dict[str, Mapping[str, Json]]:
    """By service the Dynamo namespace to report meanwhile: the same for all workers."""
    old = min((one.namespace for one in shares.values() if one.namespace), default="")
    return {service: {REGISTERS_IN: one.namespace or old} for service, one in shares.items()}


def report_rollout(
    shares: Mapping[str, Share], rollout: RolloutInSets, before: Mapping[str, Json], now: datetime
) -> dict[str, Json]:
    """`status.rollingUpdate`, {} if nothing rolls: a planner scales nothing while it has a phase."""
    if not shares and not rollout.paces:
        return {}
    last = before.get(ROLLING_UPDATE)
    began = last.get("startTime") if isinstance(last, Mapping) else None
    done = sorted(service for service, one in shares.items() if not one.namespace and one.new >= one.wanted)
    return {
        ROLLING_UPDATE: {
            "phase": IN_PROGRESS,
            "startTime": began if isinstance(began, str) else format_time(now),
            **({"updatedServices": done} if done else {}),
            **({"message": _describe_sets(rollout)} if rollout.paces else {}),
        }
    }


def describe_rollout(shares: Mapping[str, Share], rollout: RolloutInSets) -> Iterator[str]:
    """`new generation: 3 of 8 ready; old: 5`, and what old pods wait for; nothing if nothing rolls."""
    if shares:
        new, wanted, old = (sum(getattr(one, field) for one in shares.values()) for field in ("new", "wanted", "old"))
        yield f"new generation: {new} of {wanted} ready; old: {old}"
    if rollout.paces:
        yield _describe_sets(rollout)


def _describe_sets(rollout: RolloutInSets) -> str:
    """Which old pods stay, what they wait for, and what a person can do if the new ones find no room."""
    kept = ", ".join(f"{pace.kept} of {service}" for service, pace in sorted(rollout.paces.items()))
    if rollout.unread:
        why = ", ".join(sorted(set(rollout.unread.values())))
        return f"old pods stay ({kept}) until those of {', '.join(sorted(rollout.unread))} are known: {why}"
    next_ = ", ".join(f"{one} ({rollout.roles[one].ready} of {rollout.roles[one].wanted})" for one in rollout.behind)
    waits = f"old pods stay ({kept}) until more new ones are ready: {next_}"
    if not rollout.crowded:
        return waits
    return (
        f"{waits}; new pods of {', '.join(rollout.crowded)} find no room, and the old ones serve meanwhile: "
        f"add nodes or raise the quota, or set the annotation {contract.ANNOTATION_DEPLOYMENT_STRATEGY} of the service "
        "to Recreate, which interrupts it for the time of a start"
    )
