"""The Events of a component, from changes of its conditions Ready and Applied.

| Ready | Event |
|---|---|
| is set for the first time | Normal `Reconciling`, once for an object |
| becomes True | Normal `Update` |
| becomes `ValidationFailed`, at each generation | Warning `ValidationFailed` |
| becomes `NoOrchestratorAvailable`, at each generation | Warning `ReconcileError` |
| becomes False for a reason that needs a user's action | Warning with that reason |
| Applied becomes False: children are missing or not as wanted | Warning with its reason |
| becomes False for another reason, after it was True | Warning with that reason |

Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go. It also writes Events when nothing
changes; we do not.
"""

from collections.abc import Iterator, Mapping

from hooks.component.report.reasons import ComponentReason
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.not_ready import NEEDS_ACTION
from hooks.ground.k8s.types import Json, is_deleting
from hooks.wire.metacontroller.effects import Event, ObjectReference
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.applied_condition import build_applied_event
from hooks.wire.policy.conditions import change_of, find_change, of_generation, reference_of, was_true
from hooks.wire.policy.deviation_age import LASTING

_REFUSALS = frozenset({ComponentReason.VALIDATION_FAILED, ComponentReason.NO_ORCHESTRATOR_AVAILABLE})


def build_change_events(request: SyncRequest, status: Mapping[str, Json]) -> tuple[Event, ...]:
    """The Events about the change from the request's status to `status`; none about the component's end."""
    if is_deleting(request.parent):
        return ()
    about = reference_of(request.parent)
    return (*_build_events(about, request.status, status), *build_applied_event(about, request.status, status))


def _build_events(about: ObjectReference, before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Event]:
    ready = find_condition(after.get("conditions") or (), READY)
    if ready is not None and not before.get("conditions"):
        text = "Starting to reconcile DynamoComponentDeployment"
        yield Event(about=about, type="Normal", reason="Reconciling", message=text, occasion=change_of(before, READY))
    is_refused = ready is not None and ready["reason"] in _REFUSALS
    changed = find_change(before, after, READY, by_generation=is_refused)
    if changed is None:
        return
    reason, message = str(changed["reason"]), str(changed["message"])
    if changed["status"] == "True":
        if not was_true(before, READY):
            text, occasion = "All resources updated!", change_of(before, READY)
            yield Event(about=about, type="Normal", reason="Update", message=text, occasion=occasion)
    elif reason == ComponentReason.VALIDATION_FAILED:
        yield Event(about=about, type="Warning", reason=reason, message=message, occasion=of_generation(changed))
    elif reason == ComponentReason.NO_ORCHESTRATOR_AVAILABLE:
        text = f"Failed to reconcile DynamoComponentDeployment: {message}"
        yield Event(about=about, type="Warning", reason="ReconcileError", message=text, occasion=of_generation(changed))
    elif reason not in LASTING and (reason in NEEDS_ACTION or was_true(before, READY)):
        # Applied has the Events of lasting deviations.
        yield Event(about=about, type="Warning", reason=reason, message=message, occasion=change_of(before, READY))
