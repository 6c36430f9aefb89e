"""The graph that an adapter names, read once into a frozen value; decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks import contract, identity
from hooks.api.component_spec import Multinode
from hooks.api.scaling_adapter import GraphScalingAdapter
from hooks.component.subject import ComponentType
from hooks.graph.status import GraphState
from hooks.k8s.conditions import READY, find_condition
from hooks.k8s.types import Json, ReadManifest, is_deleting, name_of
from hooks.metacontroller.protocol import SyncRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service of the graph, as spec and status of the graph tell.

    `own_replicas` are those of the graph's spec. `running` are those that its status counts, of which `updated` are of
    the present template and `serving` ready; each 0 where the status does not tell.
    `adapter` is the name that the graph gives to the adapter of this service; None where the service enables none.
    """

    own_replicas: int
    running: int
    updated: int
    serving: int
    is_multinode: bool
    adapter: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The graph that an adapter names; `service` is None where the graph has no service of that name.

    `is_frozen` says that its spec could not be rendered, so that its children and the counts in its status are as they
    were; `message` is that of its condition Ready, empty where there is none.
    """

    uid: str
    is_going: bool
    is_frozen: bool
    message: str
    has_planner: bool
    service: Service | None


def observe_graph(request: SyncRequest, adapter: GraphScalingAdapter) -> Graph | None:
    """Read the graph among the related objects; None where there is none of that name."""
    found = request.related.get(contract.GRAPH, adapter.spec.dgd_ref.name, adapter.metadata.namespace)
    if found is None:
        return None
    services, status = _services(found.get("spec")), found.get("status") or {}
    kinds = {ComponentType.of(str(spec.get("componentType") or "")) for spec in services.values()}
    return Graph(
        uid=str(found["metadata"].get("uid", "")),
        is_going=is_deleting(found),
        is_frozen=status.get("state") == GraphState.FAILED,
        message=str((find_condition(status.get("conditions") or (), READY) or {}).get("message") or ""),
        has_planner=ComponentType.PLANNER in kinds,
        service=_observe_service(found, services, adapter.spec.dgd_ref.service_name),
    )


def _observe_service(graph: ReadManifest, services: Mapping[str, Mapping[str, Json]], name: str) -> Service | None:
    if name not in services:
        return None
    spec, counts = services[name], _services(graph.get("status")).get(name, {})
    is_enabled = (spec.get("scalingAdapter") or {}).get("enabled") is True
    return Service(
        own_replicas=int(spec.get("replicas", 1)),
        running=int(counts.get("replicas") or 0),
        updated=int(counts.get("updatedReplicas") or 0),
        serving=int(counts.get(_serving_field(counts)) or 0),
        is_multinode=spec.get("multinode") is not None and Multinode.model_validate(spec["multinode"]).node_count > 1,
        adapter=identity.component_name(name_of(graph), name) if is_enabled else None,
    )


def _serving_field(counts: Mapping[str, Json]) -> str:
    """A PodCliqueScalingGroup tells how many are available, and not how many are ready."""
    return "readyReplicas" if counts.get("readyReplicas") is not None else "availableReplicas"


def _services(part: Json) -> Mapping[str, Mapping[str, Json]]:
    """`services` of the graph's spec or status; the API server has seen to their shape, nulls apart."""
    return {name: found or {} for name, found in ((part or {}).get("services") or {}).items()}
