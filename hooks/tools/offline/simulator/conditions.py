"""Status conditions as Kubernetes' own controllers write them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WorkloadCondition:
    """A condition without its times; reason and message may be empty."""

    type: str
    status: bool
    reason: str = ""
    message: str = ""


def build_conditions(
    old: Iterable[Mapping[str, Any]], conditions: Iterable[WorkloadCondition], now: str, *, update_time: bool = True
) -> list[dict[str, Any]]:
    """Conditions as JSON; the transition time moves with the status, the update time with any change."""
    known = {condition["type"]: condition for condition in old}
    return [_build(known.get(condition.type, {}), condition, now, update_time) for condition in conditions]


def _build(old: Mapping[str, Any], new: WorkloadCondition, now: str, update_time: bool) -> dict[str, Any]:
    status = "True" if new.status else "False"
    texts = {key: text for key, text in (("reason", new.reason), ("message", new.message)) if text}
    built = {"type": new.type, "status": status, **texts}
    changed = any(old.get(key) != built.get(key) for key in ("status", "reason", "message"))
    built["lastTransitionTime"] = old["lastTransitionTime"] if old.get("status") == status else now
    if update_time:
        built["lastUpdateTime"] = now if changed else old["lastUpdateTime"]
    return built
