"""The Events of a DynamoModel: about changes of its conditions, and about the end of its unloading.

| change | Event |
|---|---|
| EndpointsReady becomes `NoEndpoints` | Warning `NoEndpointsFound` |
| EndpointsReady becomes `EndpointsDiscovered` | Normal `EndpointsDiscovered` |
| EndpointsReady becomes `AllEndpointsReady` | Normal `EndpointsReady` |
| EndpointsReady becomes `NotReady` | Warning `NotReady` |
| Ready becomes `LoadFailed` | Warning `PartialEndpointFailure` |
| Ready becomes `InvalidSpec`, at each generation | Warning `ValidationFailed` |
| a deleted model's finalizer is removed | Normal `LoRAUnloaded` or Warning `LoRAUnloadFailed` |

Source: Dynamo operator, internal/controller/dynamo_model_controller.go. `EndpointDiscoveryFailed` and `CleanupFailed`
do not occur, because Metacontroller lists the EndpointSlices.
"""

from collections.abc import Iterator, Mapping

from hooks.ground import contract
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.types import Json
from hooks.model.report.status import ENDPOINTS_READY, ModelReason
from hooks.wire.metacontroller.effects import Event, ObjectReference
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.conditions import change_of, find_change, of_generation, reference_of


def build_change_events(request: SyncRequest, status: Mapping[str, Json], base_model: str) -> tuple[Event, ...]:
    """The Events about the change from the request's status to `status`."""
    about, before = reference_of(request.parent), request.status
    return (*_build_endpoint_events(about, before, status, base_model), *_build_ready_events(about, before, status))


def build_unloaded_event(request: SyncRequest, count: int) -> Event:
    """The Event of a model whose adapters are unloaded from `count` engines."""
    return Event(
        about=reference_of(request.parent),
        type="Normal",
        reason="LoRAUnloaded",
        message=f"Unloaded LoRA from {count} endpoint(s)",
        occasion=_end_of(request),
    )


def build_unload_failed_event(request: SyncRequest, why: str) -> Event:
    """The Event of a deleted model whose adapters may still be loaded; `why` names the engines."""
    return Event(
        about=reference_of(request.parent),
        type="Warning",
        reason="LoRAUnloadFailed",
        message=f"Failed to unload LoRA from some endpoints: {why}",
        occasion=_end_of(request),
    )


def _end_of(request: SyncRequest) -> str:
    """The occasion: the deletion, or when the unloading of a model that is not deleted began."""
    return str(request.parent["metadata"].get("deletionTimestamp") or change_of(request.status, READY))


def _build_endpoint_events(
    about: ObjectReference, before: Mapping[str, Json], after: Mapping[str, Json], base_model: str
) -> Iterator[Event]:
    changed = find_change(before, after, ENDPOINTS_READY)
    if changed is None:
        return
    ready, total = after.get("readyEndpoints", 0), after.get("totalEndpoints", 0)
    occasion = change_of(before, ENDPOINTS_READY)
    match changed["reason"]:
        case "NoEndpoints":
            yield Event(
                about=about,
                type="Warning",
                reason="NoEndpointsFound",
                message=str(changed["message"]),
                occasion=occasion,
            )
        case "EndpointsDiscovered":
            text = f"Discovered {total} endpoints for base model {base_model}"
            yield Event(about=about, type="Normal", reason="EndpointsDiscovered", message=text, occasion=occasion)
        case "AllEndpointsReady":
            text = f"All {ready} endpoints ready for base model {base_model}"
            yield Event(about=about, type="Normal", reason="EndpointsReady", message=text, occasion=occasion)
        case "NotReady":
            supported = total - after.get("unsupportedEndpoints", 0)
            text = f"Only {ready} of {supported} endpoints ready for base model {base_model}"
            yield Event(about=about, type="Warning", reason="NotReady", message=text, occasion=occasion)


def _build_ready_events(
    about: ObjectReference, before: Mapping[str, Json], after: Mapping[str, Json]
) -> Iterator[Event]:
    ready = find_condition(after.get("conditions") or (), READY)
    is_refused = ready is not None and ready["reason"] == ModelReason.INVALID
    changed = find_change(before, after, READY, by_generation=is_refused)
    if changed is None:
        return
    message = str(changed["message"])
    if is_refused:
        text = f"Validation failed: {message}"
        yield Event(
            about=about,
            type="Warning",
            reason=contract.VALIDATION_FAILED,
            message=text,
            occasion=of_generation(changed),
        )
    elif changed["reason"] == ModelReason.LOAD_FAILED:
        text, occasion = f"Some endpoints failed to load LoRA: {message}", change_of(before, READY)
        yield Event(about=about, type="Warning", reason="PartialEndpointFailure", message=text, occasion=occasion)
