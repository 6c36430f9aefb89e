"""Which changes of a graph become Events.

| what changes | Event |
|---|---|
| Ready becomes `ValidationFailed`, at each generation | Warning `ValidationFailed` |
| Ready becomes `failed_to_reconcile_the_resources`, at each generation | Warning with that reason |
| Ready becomes `NoOrchestratorAvailable`, at each generation | Warning `NoOrchestratorAvailable` |
| Ready becomes True | Normal with its reason |
| Ready was True and becomes False | Warning with its reason |
| Applied becomes False: children are missing or not as wanted | Warning with its reason |
| the reason why a service under Grove is not ready changes to one that needs action | Warning with that reason |
| a rollout of workers begins, is paused, stands still with a canary, goes on, ends | Normal with its reason |
| a rollout of workers finds no room, or is stalled | Warning with its reason |
| Serving becomes True, from Unknown only if the graph was not ready | Normal `Serving` |
| Serving becomes False after it was True | Warning `NotServing`; Normal if it is scaled to zero |
| workers begin to be shared by two graphs | Warning `SharedByPrefix` |
| the scaling adapter of a removed service is deleted | Normal `AdapterDeleted` |

A component has Events of its own about why it is not ready; under Grove there are no components, so the graph has them.

Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from hooks.graph.report.rollout_reasons import ROLLOUT, RolloutReason
from hooks.graph.report.serving_reasons import SERVING, ServingReason
from hooks.graph.report.sharing import SHARED
from hooks.graph.report.status import NOT_READY_REASONS, GraphReason
from hooks.ground import contract
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.not_ready import NEEDS_ACTION, Explanation, NotReadyReason
from hooks.ground.k8s.types import Json, ReadManifest, is_deleting, name_of
from hooks.wire.metacontroller.effects import Event, ObjectReference
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.applied_condition import build_applied_event
from hooks.wire.policy.conditions import change_of, find_change, of_generation, reference_of, was_true

_REFUSALS = frozenset({GraphReason.INVALID.value, GraphReason.FAILED.value, GraphReason.NO_ORCHESTRATOR.value})

_STANDS_STILL = frozenset({RolloutReason.NO_ROOM.value, RolloutReason.STALLED.value})


def plan_transition_events(
    request: SyncRequest, status: Mapping[str, Json], explained: Mapping[str, Explanation]
) -> tuple[Event, ...]:
    """Events about the change of the graph's status to this one; `explained` says by service why it is not ready.

    There are none about the end of a graph: whoever deletes it knows of it.
    """
    if is_deleting(request.parent):
        return ()
    about, before = reference_of(request.parent), request.status
    return (
        *_ready_events(about, before, status),
        *build_applied_event(about, before, status),
        *_service_events(about, before, status, explained),
        *_rollout_events(about, before, status),
        *_serving_events(about, before, status),
        *_sharing_events(about, before, status),
    )


def plan_adapter_events(request: SyncRequest, services: Iterable[str]) -> tuple[Event, ...]:
    """Events about the deleted scaling adapters: those of services that are not given."""
    return tuple(_adapter_events(reference_of(request.parent), request, frozenset(services)))


def _ready_events(about: ObjectReference, before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Event]:
    ready = find_condition(after.get("conditions") or (), READY)
    is_refused = ready is not None and ready["reason"] in _REFUSALS
    changed = find_change(before, after, READY, by_generation=is_refused)
    if changed is None:
        return
    reason, message = str(changed["reason"]), str(changed["message"])
    if is_refused:
        yield Event(about=about, type="Warning", reason=reason, message=message, occasion=of_generation(changed))
    elif (changed["status"] == "True") is not was_true(before, READY):
        kind: Literal["Normal", "Warning"] = "Normal" if changed["status"] == "True" else "Warning"
        yield Event(about=about, type=kind, reason=reason, message=message, occasion=change_of(before, READY))


def _service_events(
    about: ObjectReference, before: Mapping[str, Json], after: Mapping[str, Json], explained: Mapping[str, Explanation]
) -> Iterator[Event]:
    """One Event for each service whose reason changes to one that needs action.

    Only reasons are compared, because counts and names of pods in an explanation's text change all the time.
    """
    ready = find_condition(after.get("conditions") or (), READY)
    if ready is None:
        return
    earlier = before.get(NOT_READY_REASONS) or {}
    for service, explanation in sorted(explained.items()):
        if explanation.reason in NEEDS_ACTION and earlier.get(service) != explanation.reason:
            message = f"{service}: {explanation}"
            reason = explanation.reason.value
            yield Event(about=about, type="Warning", reason=reason, message=message, occasion=change_of(before, READY))


def _rollout_events(about: ObjectReference, before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Event]:
    """An Event for each change of what a rollout does; it has ended when its condition is gone.

    A refused graph has no such condition, and its rollout may go on: nothing is said of it then.
    """
    ready = find_condition(after.get("conditions") or (), READY)
    if ready is None or ready["reason"] in _REFUSALS:
        return
    changed, occasion = find_change(before, after, ROLLOUT), change_of(before, ROLLOUT)
    if changed is not None:
        reason, message = str(changed["reason"]), str(changed["message"])
        kind: Literal["Normal", "Warning"] = "Warning" if reason in _STANDS_STILL else "Normal"
        since = f"{of_generation(changed)}, {occasion}"
        yield Event(about=about, type=kind, reason=reason, message=message, occasion=since)
    elif was_true(before, ROLLOUT) and find_condition(after.get("conditions") or (), ROLLOUT) is None:
        reason = RolloutReason.COMPLETED.value
        message = "All pods of workers are of one generation, and no other is left"
        yield Event(about=about, type="Normal", reason=reason, message=message, occasion=occasion)


def _serving_events(about: ObjectReference, before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Event]:
    """An Event when requests begin to be answered, or are no longer; none of what cannot be known for a while.

    True after Unknown is told only of a graph that was not ready: one that was ready was served before.
    """
    changed = find_change(before, after, SERVING)
    last = find_condition(before.get("conditions") or (), SERVING)
    if changed is None or (last or {}).get("status") == changed["status"]:
        return
    message, occasion = str(changed["message"]), change_of(before, SERVING)
    if changed["status"] == "True" and ((last or {}).get("status") == "False" or not was_true(before, READY)):
        yield Event(about=about, type="Normal", reason=SERVING, message=message, occasion=occasion)
    elif changed["status"] == "False" and was_true(before, SERVING):
        reason = NotReadyReason.NOT_SERVING.value
        is_meant = changed["reason"] == ServingReason.SCALED_TO_ZERO.value
        yield Event(
            about=about, type="Normal" if is_meant else "Warning", reason=reason, message=message, occasion=occasion
        )


def _sharing_events(about: ObjectReference, before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Event]:
    if (changed := find_change(before, after, SHARED)) is not None:
        reason, message, since = (str(changed[key]) for key in ("reason", "message", "lastTransitionTime"))
        yield Event(about=about, type="Warning", reason=reason, message=message, occasion=since)


def _adapter_events(about: ObjectReference, request: SyncRequest, services: frozenset[str]) -> Iterator[Event]:
    for adapter in request.children.of(contract.SCALING_ADAPTER):
        service = _service_of(adapter)
        if service not in services and not is_deleting(adapter):
            text = f"Deleted orphaned scaling adapter {name_of(adapter)} for removed service {service}"
            uid = str(adapter["metadata"].get("uid") or "")
            yield Event(about=about, type="Normal", reason="AdapterDeleted", message=text, occasion=uid)


def _service_of(adapter: ReadManifest) -> str:
    return str(((adapter.get("spec") or {}).get("dgdRef") or {}).get("serviceName") or "")
