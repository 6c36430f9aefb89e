"""Status conditions; the transition time changes only when the status does.

Source: Kubernetes, metav1.Condition, and its SetStatusCondition.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from hooks.ground.k8s.types import Json, ReadManifest

READY = "Ready"
"""Type of the condition that says whether the object runs as its newest spec wants it."""
MAX_MESSAGE = 32_768
"""The longest message that the schema of a condition allows; `merge_conditions` cuts longer ones."""
_JUST_CREATED_SECONDS = 3.0

Truth = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition without its times; `reason` is one word for programs, `message` is for a person."""

    type: str
    status: Truth
    reason: str
    message: str = ""


def format_time(moment: datetime) -> str:
    """Write a time as Kubernetes does: UTC, whole seconds, `2026-01-31T09:30:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def merge_conditions(
    previous: Iterable[Mapping[str, Json]],
    current: Iterable[Condition],
    *,
    now: datetime,
    generation: int,
) -> list[dict[str, Json]]:
    """The `current` conditions as JSON, in their order; one whose status is unchanged keeps its transition time.

    Previous conditions that are not in `current` are dropped. `generation` becomes the `observedGeneration` of each.
    """
    before = {str(condition["type"]): condition for condition in previous}
    return [_write(condition, before.get(condition.type), now, generation) for condition in current]


def find_beginning(parent: ReadManifest, now: datetime) -> datetime:
    """The time at which a condition begins that has no previous one: now, or the creation of an object just created.

    Metacontroller may ask again before it sees the first status that it wrote. With the time of the creation the second
    answer is the same, and needs no write.
    """
    if (parent.get("status") or {}).get("conditions"):
        return now
    created = parent["metadata"].get("creationTimestamp")
    age = (now - datetime.fromisoformat(created)).total_seconds() if created else -1
    return datetime.fromisoformat(created) if created and 0 <= age <= _JUST_CREATED_SECONDS else now


def _write(condition: Condition, before: Mapping[str, Json] | None, now: datetime, generation: int) -> dict[str, Json]:
    unchanged = before is not None and before.get("status") == condition.status
    since = before.get("lastTransitionTime") if before is not None and unchanged else None
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": str(condition.reason),
        "message": condition.message[:MAX_MESSAGE],
        "lastTransitionTime": since or format_time(now),
        "observedGeneration": generation,
    }


def find_condition(conditions: Iterable[Mapping[str, Json]], condition_type: str) -> Mapping[str, Json] | None:
    """The condition of that type, or None."""
    for condition in conditions:  # several times faster than a generator, and called some 20 times in each sync
        if condition.get("type") == condition_type:
            return condition
    return None


def is_true(conditions: Iterable[Mapping[str, Json]], condition_type: str) -> bool:
    """Whether the condition of that type exists and is `True`."""
    condition = find_condition(conditions, condition_type)
    return condition is not None and condition.get("status") == "True"


def is_pod_ready(pod: ReadManifest) -> bool:
    """Whether a pod's condition Ready is `True`."""
    return is_true((pod.get("status") or {}).get("conditions") or (), READY)
