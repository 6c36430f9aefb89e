"""Reads the graph that an adapter names into a frozen value; decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.component.spec.subject import ComponentType
from hooks.graph.report.status import GraphState
from hooks.ground import contract
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.types import Json, ReadManifest, is_deleting, name_of
from hooks.language.api.component_spec import Multinode
from hooks.language.api.scaling_adapter import GraphScalingAdapter
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy import identity


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledService:
    """A service of the graph, from the graph's spec and status.

    `spec_replicas` are those of the graph's spec; `running`, `updated` (of the current template) and `ready` are counts
    of its status, 0 if absent. `adapter` is the name of the adapter that the graph creates for this service;
    None if the service enables none.
    """

    spec_replicas: int
    running: int
    updated: int
    ready: int
    is_multinode: bool
    adapter: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledGraph:
    """The graph that an adapter names; `service` is None if the graph has no service of that name.

    `is_frozen` says that its spec cannot be rendered, so its children and the counts of its status stay as they were.
    `outdated` says in half a sentence that the counts belong to an older generation; empty if they do not.
    `message` is that of its condition Ready, empty if there is none.
    """

    uid: str
    is_deleting: bool
    is_frozen: bool
    outdated: str
    message: str
    has_planner: bool
    service: ScaledService | None


def observe_graph(request: SyncRequest, adapter: GraphScalingAdapter) -> ScaledGraph | None:
    """Read the graph from the related objects; None if it does not exist."""
    found = request.related.get(contract.GRAPH, adapter.spec.dgd_ref.name, adapter.metadata.namespace)
    if found is None:
        return None
    services, status = _services(found.get("spec")), found.get("status") or {}
    kinds = {ComponentType.of(str(spec.get("componentType") or "")) for spec in services.values()}
    return ScaledGraph(
        uid=str(found["metadata"].get("uid", "")),
        is_deleting=is_deleting(found),
        is_frozen=status.get("state") == GraphState.FAILED,
        outdated=_why_outdated(found),
        message=str((find_condition(status.get("conditions") or (), READY) or {}).get("message") or ""),
        has_planner=ComponentType.PLANNER in kinds,
        service=_observe_service(found, services, adapter.spec.dgd_ref.service_name),
    )


def _why_outdated(graph: ReadManifest) -> str:
    generation = int(graph["metadata"].get("generation", 0))
    observed = int((graph.get("status") or {}).get("observedGeneration", 0))
    return "" if observed >= generation else f"generation {generation} is not processed yet, only {observed}"


def _observe_service(
    graph: ReadManifest, services: Mapping[str, Mapping[str, Json]], name: str
) -> ScaledService | None:
    if name not in services:
        return None
    spec, counts = services[name], _services(graph.get("status")).get(name, {})
    is_enabled = (spec.get("scalingAdapter") or {}).get("enabled") is True
    return ScaledService(
        spec_replicas=int(spec.get("replicas", 1)),
        running=int(counts.get("replicas") or 0),
        updated=int(counts.get("updatedReplicas") or 0),
        ready=int(counts.get(_ready_field(counts)) or 0),
        is_multinode=spec.get("multinode") is not None and Multinode.model_validate(spec["multinode"]).node_count > 1,
        adapter=identity.component_name(name_of(graph), name) if is_enabled else None,
    )


def _ready_field(counts: Mapping[str, Json]) -> str:
    """A PodCliqueScalingGroup counts available replicas only, not ready ones."""
    return "readyReplicas" if counts.get("readyReplicas") is not None else "availableReplicas"


def _services(part: Json) -> Mapping[str, Mapping[str, Json]]:
    """`services` of the graph's spec or status; the API server has validated their types, but may keep nulls."""
    return {name: found or {} for name, found in ((part or {}).get("services") or {}).items()}
