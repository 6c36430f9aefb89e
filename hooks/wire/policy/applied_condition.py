"""The condition Applied: whether every wanted child exists as wanted, and if not, why not.

A deviation is normal for a moment, and needs a reason if it lasts. `hooks.wire.policy.deviation_age` decides for how
long, by the condition as it was last written.

| status | reason | since |
|---|---|---|
| True | `AsWanted` | every wanted child exists as wanted |
| Unknown | `Progressing` | a child deviates; for at most `GRACE_SECONDS` this is normal, or pods are still to come |
| Unknown | `Changed` | the same, and another writer changed the child |
| Unknown | `Restored` | that child stands as wanted again, for less than `SETTLING_SECONDS` |
| False | `Overridden` | another writer changed a child again before this time was over |
| Unknown | `Overridden` | the child stands as wanted again, for less than this time; the parent is not ready |
| False | `NotAdopted`, `NameTaken`, `Missing`, `Differs` | a deviation has lasted longer; the worst reason of all |
| False | `ReadFailed` | the same of a child that is not seen, and it could not be looked at whether it exists |
| False | `Waiting` | another object must be deleted first |
| False | any other | the spec is invalid, and the children are not those of the spec |

A new generation begins with Unknown again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from hooks.ground import contract
from hooks.ground.k8s.conditions import Condition, find_condition
from hooks.ground.k8s.deadlines import seconds_left
from hooks.ground.k8s.not_ready import Explanation, NotReadyReason, choose_worst
from hooks.ground.k8s.types import Json, name_of
from hooks.wire.metacontroller.effects import Event, ObjectReference
from hooks.wire.metacontroller.protocol import ObjectQuery, SyncRequest
from hooks.wire.policy.conditions import change_of, find_change
from hooks.wire.policy.deviation_age import GRACE_SECONDS, LASTING, AppliedReason, DeviationVerdict, judge_by_age
from hooks.wire.policy.deviations import DELETED, NO_OWNER, Deviance, Deviation, OrphanedBy
from hooks.wire.policy.overriding import explain_override, explain_policy, find_writer_of

APPLIED = "Applied"
_MEMORIES = frozenset({AppliedReason.CHANGED, AppliedReason.RESTORED, AppliedReason.OVERRIDDEN})


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
        """`Progressing: wait (not found)`: the cause, then what is seen."""
        return f"{self.explanation} ({self.what})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The condition, the children that deviate, and the seconds until the next sync; 0 if only a change needs one.

    `contested` is a sentence about children that stand as wanted now, and that another writer changes again and again;
    empty if there are none.
    """

    condition: Condition
    judged: tuple[Judged, ...]
    resync_after_seconds: float
    contested: str = ""

    def find(self, kind: str, name: str) -> Judged | None:
        """How this child deviates; None if it does not."""
        return next((one for one in self.judged if (one.deviation.kind.kind, one.deviation.name) == (kind, name)), None)


def build_applied_event(
    about: ObjectReference, before: Mapping[str, Json], after: Mapping[str, Json]
) -> tuple[Event, ...]:
    """The Warning that children lastingly deviate: when the condition becomes False for that, or changes its reason."""
    changed = find_change(before, after, APPLIED)
    if changed is None or changed["status"] != "False" or changed["reason"] not in _TOLD:
        return ()
    if changed["reason"] == AppliedReason.OVERRIDDEN and _reason_of(before) == AppliedReason.OVERRIDDEN:
        return ()  # it goes on
    reason = NotReadyReason.DIFFERS if changed["reason"] == AppliedReason.OVERRIDDEN else str(changed["reason"])
    occasion = change_of(before, APPLIED)
    return (Event(about=about, type="Warning", reason=reason, message=str(changed["message"]), occasion=occasion),)


_TOLD = LASTING - {NotReadyReason.READ_FAILED} | {AppliedReason.OVERRIDDEN}


def _reason_of(status: Mapping[str, Json]) -> str:
    return str((find_condition(status.get("conditions") or (), APPLIED) or {}).get("reason") or "")


def judge_deviations(
    request: SyncRequest, deviations: Iterable[Deviation], now: datetime, *, is_coming_up: bool = False
) -> Applied:
    """Judge the deviations of a parent's children by the condition in the parent's status.

    `is_coming_up`: the pods are still to be created.
    """
    found = sorted(deviations, key=lambda one: (one.kind.kind, one.name))
    previous = find_condition(request.status.get("conditions") or (), APPLIED) or {}
    verdict = judge_by_age(found, previous, request.generation, now)
    judged = tuple(_explain(one, request, verdict) for one in found)
    seconds, truth = verdict.seconds, verdict.truth
    if is_coming_up and truth != "False" and (left := _seconds_to_come_up(request, previous, now)):
        # One status instead of one for each child that appears; the status that shows the first pods says the rest.
        condition = Condition(
            type=APPLIED, status="Unknown", reason=NotReadyReason.PROGRESSING, message="The objects are being applied"
        )
        return Applied(condition=condition, judged=judged, resync_after_seconds=seconds or left)
    worst = choose_worst(one.explanation for one in judged)
    reason = verdict.reason or (worst.reason if worst else "")
    contested = ""
    if truth == "Unknown" and reason == AppliedReason.OVERRIDDEN:
        contested = str(previous.get("message") or "")  # who changes it is not recorded any more
    message = contested or "; ".join(f"{one.deviation.title}: {one}" for one in judged) or _AS_WANTED[str(reason)]
    condition = Condition(type=APPLIED, status=truth, reason=reason, message=message)
    return Applied(condition=condition, judged=judged, resync_after_seconds=seconds, contested=contested)


_AS_WANTED: Mapping[str, str] = {
    AppliedReason.AS_WANTED: "Every object is stored as wanted; Ready says whether pods run",
    AppliedReason.RESTORED: "Every object is stored as wanted again, for less than 30 seconds",
}


def _seconds_to_come_up(request: SyncRequest, previous: Mapping[str, Json], now: datetime) -> float:
    """The rest of the time in which children of a parent without pods may still be on their way."""
    if not request.status.get("conditions"):
        return GRACE_SECONDS
    if previous.get("status") != "Unknown" or previous.get("reason") in _MEMORIES:
        return 0.0
    return seconds_left(previous.get("lastTransitionTime", ""), GRACE_SECONDS, now)


def _explain(deviation: Deviation, request: SyncRequest, verdict: DeviationVerdict) -> Judged:
    what, explanation = _describe(deviation), Explanation(reason=NotReadyReason.PROGRESSING)
    is_lasting = deviation.state in verdict.lasting and deviation.state is not Deviance.WITHHELD
    if (deviation.holder or deviation.ending) and not is_lasting:
        # It may be on its way out, as the object of a graph that was deleted and is created again.
        what = _describe_holder(deviation)
    if is_lasting:
        explanation = _explain_lasting(deviation, request)
        if explanation.reason is NotReadyReason.READ_FAILED:
            what = "Metacontroller does not see it"
        if verdict.reason is AppliedReason.OVERRIDDEN:
            what, explanation = f"last seen: {what}", explain_override(deviation, request)
    return Judged(deviation=deviation, what=what, explanation=explanation)


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


def _describe_holder(deviation: Deviation) -> str:
    whose = "has no owner" if deviation.holder == NO_OWNER else f"belongs to {deviation.holder}"
    said = [*([whose] if deviation.holder else ()), *([deviation.ending] if deviation.ending else ())]
    return f"the {deviation.title} that exists {' and '.join(one.removeprefix('it ') for one in said)}"


def _explain_orphan(deviation: Deviation, orphaned_by: OrphanedBy, request: SyncRequest) -> Explanation:
    parent, label = request.parent, contract.LABEL_CONTROLLER_UID
    namespace, uid = parent["metadata"]["namespace"], parent["metadata"].get("uid", "")
    give = f"-n {namespace} {label}={uid} --overwrite"
    match orphaned_by:
        case OrphanedBy.GO_OPERATOR:
            finding, remedy = "was left by the Go operator", f"dynamo-hooks migrate -n {namespace} --apply"
        case OrphanedBy.UNLABELLED:
            which = f"{deviation.kind.kind.lower()} {deviation.name}"
            finding, remedy = f"lost its label {label}", f"give it back: kubectl label {which} {give}"
        case OrphanedBy.DELETED:
            # All that it left has its uid; other kinds are not looked for, and are only missing.
            every = f"kubectl label {','.join(request.children.resources())} -l {label}={deviation.former} {give}"
            finding = f"was left by a deleted {parent['kind']} of this name"
            remedy = f"let all that it left be adopted: {every}"
        case unknown:
            assert_never(unknown)
    finding = f"the {deviation.title} that exists {finding}"
    return Explanation(reason=NotReadyReason.NOT_ADOPTED, finding=finding, remedy=remedy)


def _explain_lasting(deviation: Deviation, request: SyncRequest) -> Explanation:
    parent, namespace = request.parent, request.parent["metadata"]["namespace"]
    refused = f"kubectl describe {parent['kind'].lower()} {name_of(parent)} -n {namespace}"
    live = f"kubectl get {deviation.kind.kind.lower()} {deviation.name} -n {namespace} -o yaml"
    if deviation.orphaned_by is not None and not deviation.ending:
        return _explain_orphan(deviation, deviation.orphaned_by, request)
    if deviation.holder or deviation.ending:
        # What another owner has is in use there: another graph's component, for example.
        remedy = "rename one of the two"
        remedy += ", or delete that object if it is not needed" if deviation.holder == NO_OWNER else ""
        if deviation.ending or deviation.holder.startswith(DELETED):
            remedy = deviation.remedy or "wait until Kubernetes deletes it with its owner"
        return Explanation(reason=NotReadyReason.NAME_TAKEN, finding=_describe_holder(deviation), remedy=remedy)
    if deviation.state is Deviance.MISSING:
        remedy = (
            f"if the API server refuses it, {refused} shows the Event SyncError; if an object of another owner has its "
            f"name, {live} shows the owner"
        )
        fault = request.answered.get(ObjectQuery(deviation.kind, namespace, deviation.name), "")
        finding = f"it could not be looked at whether it exists, because {fault}" if fault else ""
        reason = NotReadyReason.READ_FAILED if fault else NotReadyReason.MISSING
        return Explanation(reason=reason, finding=finding, remedy=remedy)
    if not deviation.is_updated:
        finding, remedy = "it is never updated", "delete it, then it is created again"
        return Explanation(reason=NotReadyReason.DIFFERS, finding=finding, remedy=remedy)
    if deviation.state is Deviance.BEING_APPLIED:
        finding = "the change could not be written so far"
        remedy = f"{refused} shows the Event SyncError with the reason; if there is none, see Metacontroller's log"
        return Explanation(reason=NotReadyReason.DIFFERS, finding=finding, remedy=remedy)
    remedy = (
        f"if the API server refuses the change, {refused} shows the Event SyncError; otherwise {live} "
        "--show-managed-fields shows who writes the field"
    )
    writer = find_writer_of(deviation, request)
    finding = f"{writer} wrote what is not wanted" if writer else "something refuses or overrides what is wanted"
    return explain_policy(deviation, writer) or Explanation(
        reason=NotReadyReason.DIFFERS, finding=finding, remedy=remedy
    )
