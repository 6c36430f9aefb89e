"""Where the rollout of a graph's workers stands, as its status, its annotations and its pods say."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hooks.graph.report.rollout_reasons import ROLLOUT, RolloutReason, find_rollout_reason
from hooks.ground import contract
from hooks.ground.k8s.conditions import READY, find_condition, is_pod_ready
from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, annotations_of, name_of
from hooks.tools.offline.simulation.trees import ObjectTree, describe_rollout, find_generations, is_ready
from hooks.wire.metacontroller.processing import find_unprocessed
from hooks.wire.policy.rollout_wishes import read_wishes

_LONGEST = 500
_LOST = frozenset({contract.VALIDATION_FAILED, contract.NO_ORCHESTRATOR, "failed_to_reconcile_the_resources"})
"""Reasons of `Ready` with which nothing goes on before the spec changes."""


class Standing(StrEnum):
    """How a rollout stands."""

    DONE = "done"
    UNDER_WAY = "under way"
    STALLED = "stalled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutPosition:
    """How the rollout stands, and the same in lines."""

    standing: Standing
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)


def find_position(graph: Manifest, objects: ObjectTree, now: datetime) -> RolloutPosition:
    """The position of the graph's rollout, or that of none if nothing rolls."""
    unprocessed = find_unprocessed(graph, now)
    if unprocessed:
        first = f"graph {name_of(graph)}: not begun: {unprocessed}"
        return RolloutPosition(standing=Standing.UNDER_WAY, lines=(first, *_describe_steering(graph)))
    standing = _judge({"status": {}, **graph})
    lines = (f"graph {name_of(graph)}: {_describe(graph, objects, standing)}", *_describe_steering(graph))
    return RolloutPosition(standing=standing, lines=(*lines, *_describe_ready(graph, standing)))


def _judge(graph: Manifest) -> Standing:
    status, rolling = graph["status"], _rolling(graph)
    ready = find_condition(status.get("conditions") or (), READY) or {}
    if rolling.get("phase") == "Failed" or ready.get("reason") in _LOST:
        return Standing.FAILED
    if find_rollout_reason(graph) == RolloutReason.STALLED:
        return Standing.STALLED
    return Standing.DONE if not is_rolling(graph) and is_ready(graph) else Standing.UNDER_WAY


def is_rolling(graph: ReadManifest) -> bool:
    """Whether its status names a rollout that is not over."""
    return _rolling(graph).get("phase") not in {None, "", "Completed"}


def _rolling(graph: ReadManifest) -> Mapping[str, Json]:
    found = (graph.get("status") or {}).get("rollingUpdate")
    return found if isinstance(found, Mapping) else {}


def _describe(graph: Manifest, objects: ObjectTree, standing: Standing) -> str:
    """The generations with their pods, and since when they roll."""
    rolling = _rolling(graph)
    if is_rolling(graph):
        since = f" since {rolling['startTime']}" if rolling.get("startTime") else ""
        message = one_line(str(rolling.get("message") or ""), _LONGEST)
        shown = describe_rollout(graph, objects).removeprefix(f"{rolling['phase']}: ")
        said = find_rollout_reason(graph).removeprefix(ROLLOUT) or rolling["phase"]
        return f"rollout {said}{since}: {shown or 'no pods of workers'}" + (f"; {message}" if message else "")
    pods = ", ".join(
        f"generation {suffix or 'without a name'} {sum(map(is_pod_ready, found))}/{len(found)} pods ready"
        for suffix, found in sorted(find_generations(graph, objects).items())
    )
    said = "no rollout is under way" if standing is Standing.DONE else "no workers roll, and it is not ready"
    return f"{said}; {pods}" if pods else said


def _describe_steering(graph: ReadManifest) -> Iterator[str]:
    wishes = read_wishes(annotations_of(graph))
    if wishes.is_paused:
        yield f"  paused by the annotation {contract.ANNOTATION_ROLLOUT_PAUSED}"
    if wishes.canary:
        yield f"  canary: {wishes.canary} of the new generation, by the annotation {contract.ANNOTATION_ROLLOUT_CANARY}"


def _describe_ready(graph: Manifest, standing: Standing) -> Iterator[str]:
    condition = find_condition((graph.get("status") or {}).get("conditions") or (), READY) or {}
    if standing is not Standing.DONE:
        reason = condition.get("reason") or "it has no condition Ready yet"
        message = one_line(str(condition.get("message") or ""), _LONGEST)
        yield f"  Ready is {condition.get('status') or 'Unknown'}, {reason}" + (f": {message}" if message else "")
