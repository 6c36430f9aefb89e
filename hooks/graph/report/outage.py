"""Whether a graph that was ready no longer serves: an outage, which a slow start is not.

Only stored objects are read, for the metrics of all graphs.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum

from hooks.component.spec.subject import ComponentType
from hooks.graph.report.serving_reasons import MOST_LISTED, SERVING, SERVING_FIELD, ServingReason
from hooks.ground.k8s.conditions import READY, find_condition, is_true
from hooks.ground.k8s.deadlines import seconds_since
from hooks.ground.k8s.types import Json, ReadManifest, is_deleting

_FIRST_STATUS_SECONDS = 60.0
"""A graph gets its first status, which is not ready, within this time; a later change to it means that it was ready."""


class Part(StrEnum):
    """A part of a graph without which nothing is served."""

    FRONTEND = "frontend"
    ENGINES = "engines"
    REQUESTS = "requests"
    """Frontends and engines have ready replicas, and requests are not answered all the same."""


def find_outages(graph: ReadManifest) -> frozenset[Part]:
    """What fails of a graph that was ready since its creation: parts without a ready replica, or requests.

    Where the condition Serving knows whether requests are answered, it decides; otherwise the replicas do.
    """
    serves = _find_serving(graph)
    if is_deleting(graph) or serves is True:
        return frozenset()
    lost = _find_lost(graph) if _was_ready(graph) else frozenset()
    if serves is False and not lost and (_was_ready(graph) or _is_ready(graph)):
        return frozenset({Part.REQUESTS})
    return lost


def find_served(graph: ReadManifest) -> Mapping[str, bool]:
    """By model whether every frontend routes it; only {"": False} if nothing is routed, {} if that is not known."""
    serves = _find_serving(graph)
    if is_deleting(graph) or serves is None:
        return {}
    field = (graph.get("status") or {}).get(SERVING_FIELD)
    listed = field.get("models") if isinstance(field, dict) else None
    entries = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    found = {str(one.get("name")): serves or _is_whole(str(one.get("frontends"))) for one in entries[:MOST_LISTED]}
    return found or {"": serves}


def _is_whole(count: str) -> bool:
    """Whether all of the frontends route it: `2/2`."""
    routing, _, asked = count.partition("/")
    return routing == asked


def _find_serving(graph: ReadManifest) -> bool | None:
    """What the condition Serving says; None if it knows nothing, or nothing is to be served."""
    found = find_condition((graph.get("status") or {}).get("conditions") or (), SERVING) or {}
    if found.get("reason") == ServingReason.SCALED_TO_ZERO.value:
        return None
    return {"True": True, "False": False}.get(str(found.get("status")))


def _is_ready(graph: ReadManifest) -> bool:
    return is_true((graph.get("status") or {}).get("conditions") or (), READY)


def _find_lost(graph: ReadManifest) -> frozenset[Part]:
    """The parts of which no replica is ready though some are wanted."""
    wanted: dict[Part, int] = {}
    for part, replicas, has in _count(graph):
        if replicas:
            wanted[part] = wanted.get(part, 0) + has
    return frozenset(part for part, has in wanted.items() if not has)


def _was_ready(graph: ReadManifest) -> bool:
    """Whether Ready is False, and was True before: a condition's time is that of its last change."""
    ready = find_condition((graph.get("status") or {}).get("conditions") or (), READY)
    since, created = (ready or {}).get("lastTransitionTime"), graph["metadata"].get("creationTimestamp")
    if ready is None or ready.get("status") != "False" or not since or not created:
        return False
    return seconds_since(str(created), datetime.fromisoformat(str(since))) > _FIRST_STATUS_SECONDS


def _count(graph: ReadManifest) -> Iterator[tuple[Part, int, int]]:
    """For each frontend and engine: its part, the wanted replicas, and those that are ready."""
    said: Mapping[str, Mapping[str, Json]] = (graph.get("status") or {}).get("services") or {}
    services: Mapping[str, Mapping[str, Json]] = (graph.get("spec") or {}).get("services") or {}
    for name, spec in services.items():
        type_, entry = ComponentType.of(str(spec.get("componentType"))), said.get(name) or {}
        part = Part.FRONTEND if type_ is ComponentType.FRONTEND else Part.ENGINES if type_.is_worker else None
        if part is None:
            continue
        replicas = spec.get("replicas")
        wanted = 1 if replicas is None else replicas
        if (spec.get("scalingAdapter") or {}).get("enabled"):  # its replicas are those of the adapter
            wanted = entry.get("replicas") or 0
        yield part, int(wanted), int(entry.get("readyReplicas", entry.get("availableReplicas")) or 0)
