"""Which changes of a graph are Events.

| what changes | Event |
|---|---|
| Ready becomes `ValidationFailed`, at each generation | Warning `ValidationFailed` |
| Ready becomes `failed_to_reconcile_the_resources`, at each generation | Warning with that reason |
| Ready becomes True | Normal with its reason |
| Ready was True and becomes False | Warning with its reason |
| the scaling adapter of a service that is no more goes | Normal `AdapterDeleted` |

What keeps a component from being ready is told by that component.

Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from hooks import contract
from hooks.effects import Event, Reference
from hooks.graph.status import READY, Reason
from hooks.k8s.conditions import find_condition
from hooks.k8s.types import Json, ReadManifest, is_deleting, name_of
from hooks.protocol import SyncRequest
from hooks.transitions import find_change, of_generation, reference_of, since, was_true

_REFUSALS = frozenset({Reason.INVALID.value, Reason.FAILED.value})


def tell_transitions(
    request: SyncRequest, status: Mapping[str, Json], services: Iterable[str] | None = None
) -> tuple[Event, ...]:
    """Events about the change from the graph's status to that one.

    `services` are those that the graph has now; None where its children are left as they are.
    """
    about = reference_of(request.parent)
    gone = () if services is None else _tell_adapters(about, request, frozenset(services))
    return (*_tell_ready(about, request.status, status), *gone)


def _tell_ready(about: Reference, before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Event]:
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
        yield Event(about=about, type=kind, reason=reason, message=message, occasion=since(changed))


def _tell_adapters(about: Reference, request: SyncRequest, services: frozenset[str]) -> Iterator[Event]:
    for adapter in request.children.of(contract.SCALING_ADAPTER):
        service = _service_of(adapter)
        if service not in services and not is_deleting(adapter):
            text = f"Deleted orphaned scaling adapter {name_of(adapter)} for removed service {service}"
            uid = str(adapter["metadata"].get("uid") or "")
            yield Event(about=about, type="Normal", reason="AdapterDeleted", message=text, occasion=uid)


def _service_of(adapter: ReadManifest) -> str:
    return str(((adapter.get("spec") or {}).get("dgdRef") or {}).get("serviceName") or "")
