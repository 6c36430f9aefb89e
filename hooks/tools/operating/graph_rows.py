"""Graphs of a cluster in a line each: ready, why not, GPUs, and the restarts that wait."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from hooks.graph.report.sharing import REASON as SHARED_BY_PREFIX
from hooks.graph.report.sharing import find_sharing
from hooks.graph.report.status import WORST_NOT_READY
from hooks.ground import contract
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import Json, ReadManifest, name_of
from hooks.tools.offline.simulation.trees import describe_restart, is_ready
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.live_reader import LiveReader, title_of
from hooks.tools.operating.serving import find_serving, list_models
from hooks.wire.metacontroller.processing import find_unprocessed
from hooks.wire.policy.new_defaults import HELD

NOT_PROCESSED = "NotProcessed"
"""The reason of a graph whose newest spec no hook has answered for."""
_ENDED = frozenset({"Completed", "Failed", "Superseded"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRow:
    """A graph; `waiting` are the restarts that wait or go on, in a few words each.

    `reason` and `message` of a ready graph say that it shares workers with another one; else they are empty.
    """

    namespace: str
    name: str
    is_ready: bool
    reason: str
    message: str
    gpus: int | None
    run_by: str
    services_ready: int
    services: int
    waiting: tuple[str, ...]
    created: str
    serving: str = ""
    models: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Json]:
        """The row for a program."""
        return {
            "namespace": self.namespace,
            "name": self.name,
            "ready": self.is_ready,
            "serving": self.serving,
            "models": list(self.models),
            "reason": self.reason,
            "message": self.message,
            "gpus": self.gpus,
            "runBy": self.run_by,
            "services": {"ready": self.services_ready, "total": self.services},
            "waitingRestarts": list(self.waiting),
            "created": self.created,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphList:
    """The graphs, by namespace and name, and sentences about what the user may not read."""

    rows: tuple[GraphRow, ...]
    unread: tuple[str, ...] = ()


def read_rows(cluster: Cluster, namespace: str, now: datetime) -> GraphList:
    """The graphs of a namespace, or of all for "".

    Raises:
        Refused: the API server does not answer, or does not show the graphs.
    """
    graphs = list(cluster.read_all(contract.GRAPH, namespace))
    reader = LiveReader(cluster=cluster)
    components = reader.read_all(title_of(contract.COMPONENT), contract.COMPONENT, namespace) if graphs else ()
    rows = [build_row(graph, components, now) for graph in graphs]
    return GraphList(rows=tuple(sorted(rows, key=lambda one: (one.namespace, one.name))), unread=reader.warnings)


def build_row(graph: ReadManifest, components: Iterable[ReadManifest], now: datetime) -> GraphRow:
    """A graph in a line; `components` may be those of other graphs too."""
    status: Mapping[str, Json] = graph.get("status") or {}
    condition: Mapping[str, Json] = find_condition(status.get("conditions") or (), "Ready") or {}
    ready, unprocessed = is_ready({"status": {}, **graph}), find_unprocessed(graph, now)
    shared = find_sharing(graph.get("status") or {})
    reason = (
        (SHARED_BY_PREFIX if shared else "")
        if ready
        else str(status.get(WORST_NOT_READY) or condition.get("reason") or "")
    )
    services = (graph.get("spec") or {}).get("services") or {}
    own = [one for one in components if _is_of(one, graph)]
    message = shared if ready else str(condition.get("message") or "")
    return GraphRow(
        namespace=str(graph["metadata"].get("namespace") or ""),
        name=name_of(graph),
        is_ready=ready,
        reason=NOT_PROCESSED if unprocessed else reason,
        message=str(unprocessed) if unprocessed else message,
        gpus=status.get("gpus"),
        run_by=str(status.get("path") or ""),
        services_ready=_count_ready(status),
        services=len(services),
        waiting=tuple(_find_waiting(graph, own)),
        created=str(graph["metadata"].get("creationTimestamp") or ""),
        serving=find_serving(graph),
        models=list_models(graph),
    )


def _count_ready(status: Mapping[str, Json]) -> int:
    ready = str(status.get("componentsReady") or "").partition("/")[0]
    return int(ready) if ready.isdigit() else 0


def _is_of(component: ReadManifest, graph: ReadManifest) -> bool:
    metadata = component["metadata"]
    labels = metadata.get("labels") or {}
    return (metadata.get("namespace"), labels.get(contract.LABEL_GRAPH)) == (
        graph["metadata"].get("namespace"),
        name_of(graph),
    )


def _find_waiting(graph: ReadManifest, components: Iterable[ReadManifest]) -> Iterator[str]:
    """A restart that was asked for and has not ended, and new defaults that wait."""
    wanted = ((graph.get("spec") or {}).get("restart") or {}).get("id")
    seen = (graph.get("status") or {}).get("restart") or {}
    if wanted and seen.get("observedID") != wanted:
        yield f"restart {wanted}"
    elif seen.get("phase") and seen.get("phase") not in _ENDED:
        yield f"restart {describe_restart({'status': {'restart': seen}})}"
    if any(_is_held(one) for one in (graph, *components)):
        yield "new defaults"


def _is_held(obj: ReadManifest) -> bool:
    condition = find_condition((obj.get("status") or {}).get("conditions") or (), HELD)
    return condition is not None and condition.get("status") == "True"
