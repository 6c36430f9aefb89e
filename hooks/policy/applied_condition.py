"""The condition Applied: whether every wanted child exists as wanted, and if not, why not.

A deviation is normal for a moment, and needs a reason if it lasts. Hooks remember nothing, so the condition itself is
the memory: its transition time says since when.

| status | reason | since |
|---|---|---|
| True | `AsWanted` | every wanted child exists as wanted |
| Unknown | `Progressing` | a child deviates; for at most `GRACE_SECONDS` this is normal, or pods are still to come |
| False | `NotAdopted`, `NameTaken`, `Missing` or `Differs` | it has lasted longer; the worst reason of all children |
| False | `Waiting` | another object must be deleted first |
| False | any other | the spec is invalid, and the children are not those of the spec |

A new generation begins with Unknown again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hooks.k8s.conditions import Condition, Truth, find_condition
from hooks.k8s.deadlines import seconds_left, seconds_since
from hooks.k8s.not_ready import Explanation, NotReadyReason, choose_worst
from hooks.k8s.types import Json, name_of
from hooks.metacontroller.effects import Event, ObjectReference
from hooks.metacontroller.protocol import SyncRequest
from hooks.policy.condition_events import change_of, find_change
from hooks.policy.deviations import NO_OWNER, Deviance, Deviation

APPLIED = "Applied"
LASTING = frozenset(
    {NotReadyReason.NOT_ADOPTED, NotReadyReason.NAME_TAKEN, NotReadyReason.MISSING, NotReadyReason.DIFFERS}
)
"""Reasons of a deviation that is more than a change on its way."""
GRACE_SECONDS = 10.0
_RETRY_SECONDS = 5.0
"""Some failures cause no event: a child created while another one of its name is being deleted is not created."""
_LONGEST_RETRY_SECONDS = 300.0


class AppliedReason(StrEnum):
    """Reasons of the condition; the others are `NotReadyReason`s."""

    AS_WANTED = "AsWanted"
    WAITING = "Waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A child that deviates: `what` is half a sentence, `explanation` says why and what to do."""

    deviation: Deviation
    what: str
    explanation: Explanation

    @property
    def is_lasting(self) -> bool:
        """Whether it is more than a change on its way."""
        return self.explanation.reason in LASTING

    @property
    def is_being_created(self) -> bool:
        """Whether it is missing for the moment only."""
        return self.deviation.state is Deviance.MISSING and not self.is_lasting

    def __str__(self) -> str:
        """`not found (Progressing: wait)`."""
        return f"{self.what} ({self.explanation})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The condition, the children that deviate, and the seconds until the next sync; 0 if only a change needs one."""

    condition: Condition
    judged: tuple[Judged, ...]
    resync_after_seconds: float

    def find(self, kind: str, name: str) -> Judged | None:
        """How this child deviates; None if it does not."""
        return next((one for one in self.judged if (one.deviation.kind.kind, one.deviation.name) == (kind, name)), None)


def build_applied_event(
    about: ObjectReference, before: Mapping[str, Json], after: Mapping[str, Json]
) -> tuple[Event, ...]:
    """The Warning that children lastingly deviate: when the condition becomes False for that, or changes its reason."""
    changed = find_change(before, after, APPLIED)
    if changed is None or changed["reason"] not in LASTING:
        return ()
    reason, message = str(changed["reason"]), str(changed["message"])
    return (Event(about=about, type="Warning", reason=reason, message=message, occasion=change_of(before, APPLIED)),)


def judge_deviations(
    request: SyncRequest, deviations: Iterable[Deviation], now: datetime, *, is_coming_up: bool = False
) -> Applied:
    """Judge the deviations of a parent's children by the condition in the parent's status.

    `is_coming_up`: the pods are still to be created.
    """
    found = sorted(deviations, key=lambda one: (one.kind.kind, one.name))
    previous = find_condition(request.status.get("conditions") or (), APPLIED) or {}
    truth, is_lasting, seconds = _judge(found, previous, request.generation, now)
    judged = tuple(_explain(one, request, is_lasting=is_lasting) for one in found)
    if is_coming_up and truth != "False" and (left := _seconds_to_come_up(request, previous, now)):
        # One status instead of one for each child that appears; the status that shows the first pods says the rest.
        condition = Condition(
            type=APPLIED, status="Unknown", reason=NotReadyReason.PROGRESSING, message="The objects are being applied"
        )
        return Applied(condition=condition, judged=judged, resync_after_seconds=seconds or left)
    if not judged:
        message = "Every object is in the cluster as wanted"
        condition = Condition(type=APPLIED, status="True", reason=AppliedReason.AS_WANTED, message=message)
        return Applied(condition=condition, judged=(), resync_after_seconds=0)
    worst = choose_worst(one.explanation for one in judged)
    reason = AppliedReason.WAITING if truth == "False" and not is_lasting else worst.reason if worst else ""
    message = "; ".join(f"{one.deviation.title}: {one}" for one in judged)
    condition = Condition(type=APPLIED, status=truth, reason=reason, message=message)
    return Applied(condition=condition, judged=judged, resync_after_seconds=seconds)


def _judge(
    found: list[Deviation], previous: Mapping[str, Json], generation: int, now: datetime
) -> tuple[Truth, bool, float]:
    """The status, whether the deviations have lasted too long, and the seconds until the next sync."""
    if not found:
        return "True", False, 0
    status, is_known = previous.get("status"), previous.get("observedGeneration") == generation
    beginning = previous.get("lastTransitionTime", "")
    if all(one.state is Deviance.WITHHELD for one in found):
        return "False", False, _back_off(beginning, now) if status == "False" else _RETRY_SECONDS
    if status == "False" and is_known and previous.get("reason") in LASTING:
        return "False", True, _back_off(beginning, now)
    if status != "Unknown":
        return "Unknown", False, _RETRY_SECONDS
    left = seconds_left(beginning, GRACE_SECONDS, now)
    if left or not is_known:
        return "Unknown", False, min(left, _RETRY_SECONDS) or _RETRY_SECONDS
    return "False", True, _RETRY_SECONDS


def _seconds_to_come_up(request: SyncRequest, previous: Mapping[str, Json], now: datetime) -> float:
    """The rest of the time in which children of a parent without pods may still be on their way."""
    if not request.status.get("conditions"):
        return GRACE_SECONDS
    if previous.get("status") != "Unknown":
        return 0.0
    return seconds_left(previous.get("lastTransitionTime", ""), GRACE_SECONDS, now)


def _back_off(beginning: str, now: datetime) -> float:
    """The next sync comes when the condition is twice as old as now."""
    return min(max(seconds_since(beginning, now), _RETRY_SECONDS), _LONGEST_RETRY_SECONDS)


def _explain(deviation: Deviation, request: SyncRequest, *, is_lasting: bool) -> Judged:
    what = _describe(deviation)
    if not is_lasting or deviation.state is Deviance.WITHHELD:
        return Judged(deviation=deviation, what=what, explanation=Explanation(reason=NotReadyReason.PROGRESSING))
    return Judged(deviation=deviation, what=what, explanation=_explain_lasting(deviation, request))


def _describe(deviation: Deviation) -> str:
    match deviation.state:
        case Deviance.MISSING:
            return "not found"
        case Deviance.WITHHELD:
            return deviation.why
        case Deviance.BEING_APPLIED:
            return f"not yet applied, {deviation.difference}" if deviation.difference else "not yet applied"
        case Deviance.CHANGED:
            return str(deviation.difference)


def _explain_lasting(deviation: Deviation, request: SyncRequest) -> Explanation:
    parent, namespace = request.parent, request.parent["metadata"]["namespace"]
    refused = f"kubectl describe {parent['kind'].lower()} {name_of(parent)} -n {namespace}"
    live = f"kubectl get {deviation.kind.kind.lower()} {deviation.name} -n {namespace} -o yaml"
    if deviation.is_left_behind:
        return Explanation(
            reason=NotReadyReason.NOT_ADOPTED,
            finding=f"the {deviation.title} that exists was left by the Go operator",
            remedy=f"dynamo-hooks migrate -n {namespace} --apply",
        )
    if deviation.holder:
        is_free = deviation.holder == NO_OWNER
        finding = "has no owner" if is_free else f"belongs to {deviation.holder}"
        # What somebody else owns is in use there: another graph's component, for example.
        remedy = "rename one of the two" + (", or delete that object if nobody needs it" if is_free else "")
        return Explanation(
            reason=NotReadyReason.NAME_TAKEN,
            finding=f"the {deviation.title} that exists {finding}",
            remedy=remedy,
        )
    if deviation.state is Deviance.MISSING:
        remedy = (
            f"if the API server refuses it, {refused} shows the Event SyncError; if an object of somebody else has its "
            f"name, {live} shows the owner"
        )
        return Explanation(reason=NotReadyReason.MISSING, remedy=remedy)
    if not deviation.is_updated:
        finding, remedy = "it is never updated", "delete it, then it is created again"
        return Explanation(reason=NotReadyReason.DIFFERS, finding=finding, remedy=remedy)
    remedy = (
        f"if the API server refuses the change, {refused} shows the Event SyncError; otherwise {live} "
        "--show-managed-fields shows who writes the field"
    )
    return Explanation(
        reason=NotReadyReason.DIFFERS, finding="something refuses or overrides what is wanted", remedy=remedy
    )
