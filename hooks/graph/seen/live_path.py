"""The path on which a graph runs already, Grove or components, as its objects or its status show it."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, ReadManifest, is_deleting

_GROVES_KINDS = frozenset({kinds.POD_CLIQUE.kind, kinds.POD_CLIQUE_SCALING_GROUP.kind})


class GraphPath(StrEnum):
    """How a graph runs: by one PodCliqueSet, or by one component for each service."""

    GROVE = "Grove"
    COMPONENTS = "components"


def find_live_path(components: Sequence[ReadManifest], sets: Sequence[ReadManifest], status: Json) -> GraphPath | None:
    """The path of the graph's components and PodCliqueSets; None if it runs on neither.

    With objects of both paths, those that are being deleted do not count, and after that the status decides. It also
    decides without any object, because all of them may have been deleted. A graph that has both, and a status that
    says nothing, runs under Grove.
    """
    if components and sets:
        components, sets = _without_deleted(components, sets)
    if bool(components) is not bool(sets):
        return GraphPath.GROVE if sets else GraphPath.COMPONENTS
    return read_reported_path(status) or (GraphPath.GROVE if sets else None)


def read_reported_path(status: Json) -> GraphPath | None:
    """The path that `status.services` shows by the kind of each service's workload; None if it shows none."""
    services = status.get("services") if isinstance(status, Mapping) else None
    entries = services.values() if isinstance(services, Mapping) else ()
    said = (entry.get("componentKind") for entry in entries if isinstance(entry, Mapping))
    found = {kind for kind in said if isinstance(kind, str) and kind}
    if not found:
        return None
    return GraphPath.GROVE if found & _GROVES_KINDS else GraphPath.COMPONENTS


def _without_deleted(*groups: Sequence[ReadManifest]) -> list[Sequence[ReadManifest]]:
    """The objects that are not being deleted; all of them if each one is."""
    kept = [[found for found in group if not is_deleting(found)] for group in groups]
    return list(kept) if any(kept) else list(groups)
