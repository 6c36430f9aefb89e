"""Which changes of a model's conditions are Events, and what the end of its unloading leaves to say.

| what changes | Event |
|---|---|
| EndpointsReady becomes `NoEndpoints` | Warning `NoEndpointsFound` |
| EndpointsReady becomes `EndpointsDiscovered` | Normal `EndpointsDiscovered` |
| EndpointsReady becomes `AllEndpointsReady` | Normal `EndpointsReady` |
| EndpointsReady becomes `NotReady` | Warning `NotReady` |
| Ready becomes `LoadFailed` | Warning `PartialEndpointFailure` |
| Ready becomes `InvalidSpec`, at each generation | Warning `ValidationFailed` |
| a deleted model is let go | Normal `LoRAUnloaded` or Warning `LoRAUnloadFailed` |

Source: Dynamo operator, internal/controller/dynamo_model_controller.go. `EndpointDiscoveryFailed` and `CleanupFailed`
do not occur: Metacontroller lists the EndpointSlices.
"""

from collections.abc import Iterator, Mapping

from hooks.effects import Event, Reference
from hooks.facts import Facts
from hooks.k8s.conditions import find_condition
from hooks.k8s.types import Json
from hooks.model.status import ENDPOINTS_READY, INVALID, LOAD_FAILED, READY
from hooks.protocol import SyncRequest
from hooks.settings import Switch
from hooks.transitions import Kind, build_event, find_change, of_generation, reference_of, since

_UNLOADED, _UNLOAD_FAILED = "LoRAUnloaded", "LoRAUnloadFailed"


def tell_transitions(
    request: SyncRequest, status: Mapping[str, Json], facts: Facts, *, base_model: str
) -> tuple[Event, ...]:
    """Events about the change from the model's status to that one; none where they are switched off."""
    if facts.settings.effect_events is Switch.OFF:
        return ()
    about, before = reference_of(request.parent), request.status
    return (*_tell_endpoints(about, before, status, base_model), *_tell_ready(about, before, status))


def tell_unloaded(request: SyncRequest, facts: Facts, *, count: int) -> tuple[Event, ...]:
    """The Event of a model that `count` engines hold no more."""
    return _tell_end(request, facts, "Normal", (_UNLOADED, f"Unloaded LoRA from {count} endpoint(s)"))


def tell_given_up(request: SyncRequest, facts: Facts, *, why: str) -> tuple[Event, ...]:
    """The Event of a model that was let go although some engines may still hold it; `why` names them."""
    return _tell_end(request, facts, "Warning", (_UNLOAD_FAILED, f"Failed to unload LoRA from some endpoints: {why}"))


def _tell_end(request: SyncRequest, facts: Facts, kind: Kind, words: tuple[str, str]) -> tuple[Event, ...]:
    """An Event whose occasion is the deletion, of which there is one, or the unloading of a model that stays."""
    if facts.settings.effect_events is Switch.OFF:
        return ()
    ready = find_condition(request.status.get("conditions") or (), READY)
    occasion = request.parent["metadata"].get("deletionTimestamp") or (since(ready) if ready else "")
    return (build_event(reference_of(request.parent), kind, *words, occasion=str(occasion)),)


def _tell_endpoints(
    about: Reference, before: Mapping[str, Json], after: Mapping[str, Json], base_model: str
) -> Iterator[Event]:
    changed = find_change(before, after, ENDPOINTS_READY)
    if changed is None:
        return
    ready, total = after.get("readyEndpoints", 0), after.get("totalEndpoints", 0)
    occasion = since(changed)
    match changed["reason"]:
        case "NoEndpoints":
            yield build_event(about, "Warning", "NoEndpointsFound", str(changed["message"]), occasion=occasion)
        case "EndpointsDiscovered":
            text = f"Discovered {total} endpoints for base model {base_model}"
            yield build_event(about, "Normal", "EndpointsDiscovered", text, occasion=occasion)
        case "AllEndpointsReady":
            text = f"All {ready} endpoints ready for base model {base_model}"
            yield build_event(about, "Normal", "EndpointsReady", text, occasion=occasion)
        case "NotReady":
            supported = total - after.get("unsupportedEndpoints", 0)
            text = f"Only {ready} of {supported} endpoints ready for base model {base_model}"
            yield build_event(about, "Warning", "NotReady", text, occasion=occasion)


def _tell_ready(about: Reference, before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Event]:
    ready = find_condition(after.get("conditions") or (), READY)
    is_refused = ready is not None and ready["reason"] == INVALID
    changed = find_change(before, after, READY, by_generation=is_refused)
    if changed is None:
        return
    message = str(changed["message"])
    if is_refused:
        text = f"Validation failed: {message}"
        yield build_event(about, "Warning", "ValidationFailed", text, occasion=of_generation(changed))
    elif changed["reason"] == LOAD_FAILED:
        text = f"Some endpoints failed to load LoRA: {message}"
        yield build_event(about, "Warning", "PartialEndpointFailure", text, occasion=since(changed))
