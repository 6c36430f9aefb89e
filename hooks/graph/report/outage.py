"""Whether a graph that was ready no longer serves: an outage, which a slow start is not.

Only stored objects are read, for the metrics of all graphs.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum

from hooks.component.spec.subject import ComponentType
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.deadlines import seconds_since
from hooks.ground.k8s.types import Json, ReadManifest, is_deleting

_FIRST_STATUS_SECONDS = 60.0
"""A graph gets its first status, which is not ready, within this time; a later change to it means that it was ready."""


class Part(StrEnum):
    """A part of a graph without which nothing is served."""

    FRONTEND = "frontend"
    ENGINES = "engines"


def find_outages(graph: ReadManifest) -> frozenset[Part]:
    """The parts of which no replica is ready though some are wanted, in a graph that was ready since its creation."""
    if is_deleting(graph) or not _was_ready(graph):
        return frozenset()
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
