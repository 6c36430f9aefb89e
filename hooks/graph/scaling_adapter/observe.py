"""The graph that an adapter names, read once into a frozen value; decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks import contract, identity
from hooks.api.component_spec import Multinode
from hooks.api.scaling_adapter import GraphScalingAdapter
from hooks.component.subject import ComponentType
from hooks.k8s.types import Json, ReadManifest, is_deleting, name_of
from hooks.protocol import SyncRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service of the graph, as spec and status of the graph tell.

    `own_replicas` are those of the graph's spec, `running` those that its status counts: None before it counts any.
    `adapter` is the name that the graph gives to the adapter of this service; None where the service enables none.
    """

    own_replicas: int
    running: int | None
    is_multinode: bool
    adapter: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The graph that an adapter names; `service` is None where the graph has no service of that name."""

    uid: str
    is_going: bool
    has_planner: bool
    service: Service | None


def observe_graph(request: SyncRequest, adapter: GraphScalingAdapter) -> Graph | None:
    """Read the graph among the related objects; None where there is none of that name."""
    found = request.related.get(contract.GRAPH, adapter.spec.dgd_ref.name, adapter.metadata.namespace)
    if found is None:
        return None
    services = _services(found.get("spec"))
    kinds = {ComponentType.of(str(spec.get("componentType") or "")) for spec in services.values()}
    return Graph(
        uid=str(found["metadata"].get("uid", "")),
        is_going=is_deleting(found),
        has_planner=ComponentType.PLANNER in kinds,
        service=_observe_service(found, services, adapter.spec.dgd_ref.service_name),
    )


def _observe_service(graph: ReadManifest, services: Mapping[str, Mapping[str, Json]], name: str) -> Service | None:
    if name not in services:
        return None
    spec, running = services[name], _services(graph.get("status")).get(name, {}).get("replicas")
    is_enabled = (spec.get("scalingAdapter") or {}).get("enabled") is True
    return Service(
        own_replicas=int(spec.get("replicas", 1)),
        running=None if running is None else int(running),
        is_multinode=spec.get("multinode") is not None and Multinode.model_validate(spec["multinode"]).node_count > 1,
        adapter=identity.component_name(name_of(graph), name) if is_enabled else None,
    )


def _services(part: Json) -> Mapping[str, Mapping[str, Json]]:
    """`services` of the graph's spec or status; the API server has seen to their shape, nulls apart."""
    return {name: found or {} for name, found in ((part or {}).get("services") or {}).items()}
