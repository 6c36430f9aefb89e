"""The deletion of a component: its keys in etcd are dropped first; after a deadline they are left there.

The shell calls `wanted_drop` with the component that the API server stores, drops the keys if it is being deleted and
has any, and passes the report to `finalize`. The hook is declared only if processes may discover each other by etcd:
its address is set, and the setting or the annotation of a graph chooses etcd. From the first call on, no children are
returned, and the hook does not wait until they are gone. Processes delete their own keys when they stop. The drop
deletes keys that a process could not delete.

Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go, FinalizeResource, which waits
for etcd for ever.
"""

from datetime import datetime, timedelta

from hooks.component.report.reasons import ComponentReason
from hooks.component.spec.subject import resolve_deleted_subject
from hooks.ground.contract import DISCOVERY_ETCD
from hooks.ground.k8s.conditions import READY, Condition, format_time, merge_conditions
from hooks.ground.k8s.deadlines import seconds_left
from hooks.ground.k8s.types import Json, is_deleting
from hooks.ground.settings import Switch
from hooks.ground.settings.facts import Facts
from hooks.wire.metacontroller.effects import DropReport, EtcdPrefixDrop, Event
from hooks.wire.metacontroller.last_applied import last_applied_children
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from hooks.wire.policy.conditions import reference_of

_TRY_AGAIN_SECONDS = 5.0


def wanted_drop(request: SyncRequest, facts: Facts) -> EtcdPrefixDrop | None:
    """The keys to drop before the component is deleted; None if it has none, or if the settings turn the drop off.

    The spec may be invalid. The prefix ends with a slash, so that the keys of another service whose name begins with
    this one's are kept; upstream drops those too.
    """
    settings = facts.settings
    if not is_deleting(request.parent) or settings.effect_etcd is Switch.OFF or not settings.etcd_address:
        return None
    subject = resolve_deleted_subject(request.parent, settings)
    if subject.discovery != DISCOVERY_ETCD:
        return None
    return EtcdPrefixDrop(prefix=f"/{subject.dynamo_namespace}/components/{subject.service}/")


def finalize(request: SyncRequest, facts: Facts, report: DropReport | None) -> SyncAnswer:
    """The answer to a finalize: finalized once the keys are dropped, or at the deadline.

    `report` is None if there is nothing to drop. A component that is not being deleted passes to another controller,
    and keeps its children.
    """
    if not is_deleting(request.parent):
        kept = last_applied_children(request.children.all(), ())
        return SyncAnswer(
            children=kept, status=dict(request.status), finalized=True, notes=("passes to another controller",)
        )
    if report is None or not report.fault:
        note = f"dropped {report.drop.prefix} in etcd" if report else "nothing to drop in etcd"
        return SyncAnswer(status=dict(request.status), finalized=True, notes=(note,))
    deleted, allowed = request.parent["metadata"]["deletionTimestamp"], facts.settings.etcd_drop_deadline
    left = seconds_left(deleted, allowed, facts.now)
    if not left:
        return _give_up(request, report)
    message = f"keys under {report.drop.prefix} in etcd cannot be dropped ({report.fault})"
    deadline = format_time(datetime.fromisoformat(deleted) + timedelta(seconds=allowed))
    until = f"{message}; this is tried again until {deadline}, then the component is deleted and its keys stay"
    return SyncAnswer(
        status=_waiting(request, until, facts.now),
        resync_after_seconds=max(1.0, min(_TRY_AGAIN_SECONDS, left)),
        notes=(until,),
    )


def _give_up(request: SyncRequest, report: DropReport) -> SyncAnswer:
    message = f"keys under {report.drop.prefix} were left in etcd: {report.fault}; etcdctl del --prefix removes them"
    event = Event(
        about=reference_of(request.parent),
        type="Warning",
        reason=ComponentReason.ETCD_KEYS_NOT_DROPPED,
        message=message,
        occasion=request.parent["metadata"]["deletionTimestamp"],
    )
    return SyncAnswer(status=dict(request.status), finalized=True, effects=(event,), notes=(message,))


def _waiting(request: SyncRequest, message: str, now: datetime) -> dict[str, Json]:
    """The previous status with another condition Ready, which says what the deletion waits for."""
    before = request.status.get("conditions") or []
    ready = Condition(type=READY, status="False", reason=ComponentReason.ETCD_KEYS_NOT_DROPPED, message=message)
    others = [condition for condition in before if condition.get("type") != READY]
    merged = merge_conditions(before, [ready], now=now, generation=request.generation)
    return {**request.status, "conditions": [*others, *merged]}
