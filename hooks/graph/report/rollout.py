"""The rollout of a graph's workers from one generation to the next, in figures and words of the status.

It lasts from the change until the last pod of the old generation is gone; for so long the status names the old Dynamo
namespace. All workers of a graph go on together, as their clients expect.

Source: Dynamo operator 1.5, internal/controller/dgd_worker_rollout_reconciler.go and internal/dynamo/grove.go.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import assert_never

from hooks.graph.change.complete_sets import count_sets
from hooks.graph.change.pacing import GOES_BACK, PROGRESS, ROLLING_UPDATE, RolloutInSets, RolloutState, WayBack
from hooks.graph.change.shares import REGISTERS_IN, Share
from hooks.graph.report.rollout_reasons import ROLLOUT, RolloutReason
from hooks.ground import contract
from hooks.ground.k8s.conditions import Condition, find_condition, format_time
from hooks.ground.k8s.types import Json

IN_PROGRESS = "InProgress"
_PAUSED, _CANARY = contract.ANNOTATION_ROLLOUT_PAUSED, contract.ANNOTATION_ROLLOUT_CANARY


_REASONS = {
    RolloutState.PAUSED: RolloutReason.PAUSED,
    RolloutState.CANARY: RolloutReason.CANARY_READY,
    RolloutState.NO_ROOM: RolloutReason.NO_ROOM,
    RolloutState.STALLED: RolloutReason.STALLED,
}


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
            **({PROGRESS: rollout.progress} if rollout.paces and rollout.progress and _is_timed(rollout) else {}),
            **({GOES_BACK: rollout.way_back.revision} if rollout.way_back and rollout.way_back.revision else {}),
        }
    }


def _is_timed(rollout: RolloutInSets) -> bool:
    """Whether standing still counts: not while it is meant, or no room is left."""
    return rollout.state not in {RolloutState.PAUSED, RolloutState.CANARY, RolloutState.NO_ROOM}


def judge_rollout(
    shares: Mapping[str, Share], rollout: RolloutInSets, before: Mapping[str, Json]
) -> tuple[Condition, ...]:
    """The condition about a rollout, which a graph has only while one goes on.

    While pods cannot be read it stays what it was: nothing is known, and nothing changes.
    """
    if not shares and not rollout.paces:
        return ()
    last = find_condition(before.get("conditions") or (), ROLLOUT)
    reason = _REASONS.get(rollout.state, RolloutReason.IN_PROGRESS).value
    if rollout.state is RolloutState.UNKNOWN and last is not None:
        reason = str(last.get("reason") or reason)
    message = "; ".join(describe_rollout(shares, rollout))
    return (Condition(type=ROLLOUT, status="True", reason=reason, message=message),)


def describe_rollout(shares: Mapping[str, Share], rollout: RolloutInSets) -> Iterator[str]:
    """`new generation: 3 of 8 ready; old: 5`, and what old pods wait for; nothing if nothing rolls."""
    if shares:
        new, wanted, old = (sum(getattr(one, field) for one in shares.values()) for field in ("new", "wanted", "old"))
        yield f"new generation: {new} of {wanted} ready; old: {old}"
    if rollout.paces:
        yield _describe_sets(rollout)


def _describe_sets(rollout: RolloutInSets) -> str:
    """Which old pods stay, what they wait for, and what a person can do about it."""
    kept = ", ".join(f"{pace.kept} of {service}" for service, pace in sorted(rollout.paces.items()))
    next_ = ", ".join(f"{one} ({rollout.roles[one].ready} of {rollout.roles[one].wanted})" for one in rollout.behind)
    waits = f"old pods stay ({kept}) until more new ones are ready: {next_}"
    if rollout.is_unrouted:
        waits = f"old pods stay ({kept}) until every frontend routes to the new generation"
    match rollout.state:
        case RolloutState.PAUSED:
            return f"the rollout is paused: pods stay as they are until the annotation {_PAUSED} of the graph goes"
        case RolloutState.UNKNOWN:
            why = ", ".join(sorted(set(rollout.unread.values())))
            return f"old pods stay ({kept}) until those of {', '.join(sorted(rollout.unread))} are known: {why}"
        case RolloutState.CANARY:
            sets = count_sets(rollout.roles)
            count = rollout.wishes.count_canary(sets)
            return (
                f"{count} of {sets} new sets {'is' if count == 1 else 'are'} ready, as the annotation {_CANARY} of "
                f"the graph asks: old pods stay ({kept}) until it goes"
            )
        case RolloutState.NO_ROOM:
            return f"{waits}; {_describe_shortage(rollout)}"
        case RolloutState.STALLED:
            stalled = f"the rollout is stalled: no new pod became ready since {rollout.stands_since}; {waits}"
            return f"{stalled}: {_describe_way_back(rollout.way_back)}"
        case RolloutState.ROLLING | RolloutState.AT_REST:
            return f"{waits}; {_describe_shortage(rollout)}" if rollout.crowded else waits
        case _:
            assert_never(rollout.state)


def _describe_way_back(way_back: WayBack | None) -> str:
    """What happens to a stalled rollout."""
    if way_back is None:
        return "repair them, or take the change back"
    if way_back.revision:
        return f"it goes back to the spec of revision {way_back.number} ({way_back.revision}) now"
    return f"it does not go back by itself, because {way_back.lacks}: repair them, or take the change back"


def _describe_shortage(rollout: RolloutInSets) -> str:
    """Which new pods find no room, how many GPUs they lack, and what a person can do."""
    gpus = rollout.shortage.gpus
    each = ", ".join(f"{count} of {service}" for service, count in sorted(gpus.items()))
    total = sum(gpus.values())
    lacking = f"the next set lacks {total} GPU{'s' if total > 1 else ''} ({each}): " if total else ""
    return (
        f"new pods of {', '.join(rollout.crowded)} find no room, and the old ones serve meanwhile: {lacking}"
        f"add nodes or raise the quota, or set the annotation {contract.ANNOTATION_DEPLOYMENT_STRATEGY} of the service "
        "to Recreate, which interrupts it for the time of a start"
    )
