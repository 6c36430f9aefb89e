"""For how long children have deviated, or stood as wanted since another writer changed one.

Hooks remember nothing: status, reason and time of the condition Applied, as it was last written, are the memory. Its
time is that of the last change of its status alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hooks.ground.k8s.conditions import Truth
from hooks.ground.k8s.deadlines import seconds_left, seconds_since
from hooks.ground.k8s.not_ready import NotReadyReason
from hooks.ground.k8s.types import Json
from hooks.wire.policy.deviations import Deviance, Deviation

LASTING = frozenset(
    {NotReadyReason.NOT_ADOPTED, NotReadyReason.NAME_TAKEN, NotReadyReason.MISSING, NotReadyReason.DIFFERS}
    | {NotReadyReason.READ_FAILED}
)
"""Reasons of a deviation that is more than a change on its way."""
GRACE_SECONDS = 10.0
SETTLING_SECONDS = 30.0
"""So long all children must stand as wanted after another writer changed one; an autoscaler acts each 15 seconds."""
_RETRY_SECONDS = 5.0
"""Some failures cause no event: a child created while another one of its name is being deleted is not created."""
_LONGEST_RETRY_SECONDS = 300.0


class AppliedReason(StrEnum):
    """Reasons of the condition; the others are `NotReadyReason`s."""

    AS_WANTED = "AsWanted"
    WAITING = "Waiting"
    CHANGED = "Changed"
    RESTORED = "Restored"
    OVERRIDDEN = "Overridden"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviationVerdict:
    """The status of the condition, and the seconds until the next sync.

    `reason` is None for the worst reason of the children that deviate. `lasting` are the states in which a deviation is
    more than a change on its way.
    """

    truth: Truth
    reason: AppliedReason | None = None
    lasting: frozenset[Deviance] = frozenset()
    seconds: float = 0


_AS_WANTED = DeviationVerdict(truth="True", reason=AppliedReason.AS_WANTED)
_EVERY = frozenset(Deviance)
_CHANGED = frozenset({Deviance.CHANGED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """The condition as it was last written; `is_known`: of the present generation."""

    status: str
    reason: str
    since: str
    is_known: bool

    @property
    def is_overridden(self) -> bool:
        """Whether another writer changed a child again and again, at this spec."""
        return self.is_known and self.reason == AppliedReason.OVERRIDDEN

    @property
    def remembers(self) -> bool:
        """Whether it says that another writer changed a child."""
        if self.status == "False":
            return self.reason in {AppliedReason.OVERRIDDEN, NotReadyReason.DIFFERS}
        reasons = {AppliedReason.CHANGED, AppliedReason.RESTORED, AppliedReason.OVERRIDDEN}
        return self.status == "Unknown" and self.reason in reasons


def judge_by_age(
    found: Iterable[Deviation], previous: Mapping[str, Json], generation: int, now: datetime
) -> DeviationVerdict:
    """How a parent's children stand that deviate like this, after the condition as it was last written."""
    deviations = tuple(found)
    before = _Before(
        status=str(previous.get("status") or ""),
        reason=str(previous.get("reason") or ""),
        since=str(previous.get("lastTransitionTime") or ""),
        is_known=previous.get("observedGeneration") == generation,
    )
    if deviations and all(one.state is Deviance.WITHHELD for one in deviations):
        seconds = _back_off(before, now) if before.status == "False" else _RETRY_SECONDS
        return DeviationVerdict(truth="False", reason=AppliedReason.WAITING, seconds=seconds)
    is_changed = any(one.state is Deviance.CHANGED and one.is_updated for one in deviations)
    recalled = _recall(before, now, is_changed=is_changed, is_deviating=bool(deviations)) if before.remembers else None
    if recalled is not None:
        return recalled
    return _wait(before, now, is_changed=is_changed) if deviations else _AS_WANTED


def _recall(before: _Before, now: datetime, *, is_changed: bool, is_deviating: bool) -> DeviationVerdict | None:
    """What follows from the memory that another writer changed a child; None if nothing does."""
    if is_changed:
        if before.reason not in {AppliedReason.RESTORED, AppliedReason.OVERRIDDEN}:
            return None  # it is the same change still
        seconds = _back_off(before, now) if before.status == "False" else _RETRY_SECONDS
        return DeviationVerdict(truth="False", reason=AppliedReason.OVERRIDDEN, lasting=_CHANGED, seconds=seconds)
    reason = AppliedReason.OVERRIDDEN if before.is_overridden else AppliedReason.RESTORED
    if before.status == "False":
        if is_deviating and before.reason == NotReadyReason.DIFFERS:
            return None
        return DeviationVerdict(
            truth="Unknown", reason=reason, seconds=_RETRY_SECONDS if is_deviating else SETTLING_SECONDS
        )
    # The time does not say when a further deviation began, so that one has its own time after the end of this.
    left = seconds_left(before.since, SETTLING_SECONDS + (GRACE_SECONDS if is_deviating else 0), now)
    if left:
        return DeviationVerdict(
            truth="Unknown", reason=reason, seconds=min(left, _RETRY_SECONDS) if is_deviating else left
        )
    return DeviationVerdict(truth="False", lasting=_EVERY, seconds=_RETRY_SECONDS) if is_deviating else None


def _wait(before: _Before, now: datetime, *, is_changed: bool) -> DeviationVerdict:
    """Children deviate: normal for a moment, then lasting."""
    if before.status == "False" and before.is_known and before.reason in LASTING:
        return DeviationVerdict(truth="False", lasting=_EVERY, seconds=_back_off(before, now))
    reason = AppliedReason.CHANGED if is_changed else None
    if before.status != "Unknown":
        return DeviationVerdict(truth="Unknown", reason=reason, seconds=_RETRY_SECONDS)
    left = seconds_left(before.since, GRACE_SECONDS, now)
    if left or not before.is_known:
        return DeviationVerdict(truth="Unknown", reason=reason, seconds=min(left, _RETRY_SECONDS) or _RETRY_SECONDS)
    return DeviationVerdict(truth="False", lasting=_EVERY, seconds=_RETRY_SECONDS)


def _back_off(before: _Before, now: datetime) -> float:
    """The next sync comes when the condition is twice as old as now."""
    return min(max(seconds_since(before.since, now), _RETRY_SECONDS), _LONGEST_RETRY_SECONDS)
