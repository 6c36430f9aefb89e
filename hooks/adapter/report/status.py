"""A scaling adapter's status: the fields for autoscalers, and the condition Ready.

Source: Dynamo operator, internal/controller/dynamographdeploymentscalingadapter_controller.go; the condition is ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from hooks.adapter.seen.observe import ScaledGraph, ScaledService
from hooks.component.pod.placement import Role
from hooks.ground import contract
from hooks.ground.k8s.conditions import READY, Condition, format_time, merge_conditions
from hooks.ground.k8s.json_values import clean_json
from hooks.ground.k8s.types import Json
from hooks.ground.problems import Problem, join_texts
from hooks.language.api.scaling_adapter import GraphScalingAdapter
from hooks.wire.policy.conditions import judge_spec


class AdapterReason(StrEnum):
    """Why an adapter is ready, or is not."""

    SCALED = "Scaled"
    SCALING = "Scaling"
    NOT_READY = "ReplicasNotReady"
    GRAPH_NOT_FOUND = "GraphNotFound"
    GRAPH_DELETING = "GraphDeleting"
    GRAPH_NOT_RENDERED = "GraphNotRendered"
    SERVICE_NOT_FOUND = "ServiceNotFound"
    DISABLED = "AdapterDisabled"
    NOT_IN_FORCE = "AdapterNotInForce"
    INVALID = contract.VALIDATION_FAILED


_CONTROLLING = frozenset(
    {AdapterReason.SCALED, AdapterReason.SCALING, AdapterReason.NOT_READY, AdapterReason.GRAPH_NOT_RENDERED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingAdapterState:
    """Whether an adapter controls the replicas of its service and all are ready; if not, why."""

    reason: AdapterReason
    message: str

    @property
    def controls_replicas(self) -> bool:
        """Whether the graph takes the service's replicas from this adapter, or will once its spec can be rendered."""
        return self.reason in _CONTROLLING


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousAdapterStatus:
    """The status as last written, the adapter's generation, and now."""

    status: Mapping[str, Json]
    generation: int
    now: datetime

    @property
    def is_rescaled(self) -> bool:
        """Whether the spec changed since the last status; most changes are of replicas."""
        last = self.status.get("observedGeneration") or 0
        return last not in {0, self.generation}

    @property
    def desired_replicas(self) -> int | None:
        """The replicas of the spec at the last status; upstream writes them to `replicas`."""
        desired: int | None = self.status.get("desiredReplicas", self.status.get("replicas"))
        return desired


def find_state(adapter: GraphScalingAdapter, graph: ScaledGraph | None) -> ScalingAdapterState:
    """The state of an adapter, from the graph that it names."""
    reference = adapter.spec.dgd_ref
    if graph is None:
        where = f"graph {reference.name} not found in namespace {adapter.metadata.namespace}"
        return ScalingAdapterState(
            reason=AdapterReason.GRAPH_NOT_FOUND, message=f"{where}; create it, or delete the adapter"
        )
    if graph.is_deleting:
        message = f"graph {reference.name} is being deleted and no longer takes replicas from its adapters"
        return ScalingAdapterState(reason=AdapterReason.GRAPH_DELETING, message=message)
    if graph.service is None:
        where = f"service {reference.service_name} not found in graph {reference.name}"
        return ScalingAdapterState(reason=AdapterReason.SERVICE_NOT_FOUND, message=f"{where}; see its spec.services")
    named = f"service {reference.service_name} of graph {reference.name}"
    state = (
        _find_conflict(adapter, graph, graph.service)
        or _find_freeze(graph)
        or _compare_replicas(graph.service, adapter.spec.replicas, graph.message)
        or _find_delay(graph)
        or _scaled(adapter.spec.replicas)
    )
    return replace(state, message=f"{named} {state.message}")


def _find_conflict(
    adapter: GraphScalingAdapter, graph: ScaledGraph, service: ScaledService
) -> ScalingAdapterState | None:
    """Why the graph does not take the service's replicas from this adapter, as the end of a sentence."""
    if service.adapter is None:
        message = "keeps the replicas of the graph's spec; set its scalingAdapter.enabled to true to scale it"
        return ScalingAdapterState(reason=AdapterReason.DISABLED, message=message)
    if service.adapter != adapter.metadata.name:
        message = f"is scaled by adapter {service.adapter}, which the graph created; delete this one"
        return ScalingAdapterState(reason=AdapterReason.NOT_IN_FORCE, message=message)
    if not _is_controlled(adapter, graph):
        message = (
            "is not scaled by this adapter, which the graph did not create; delete it, and the graph creates its own"
        )
        return ScalingAdapterState(reason=AdapterReason.NOT_IN_FORCE, message=message)
    return None


def _find_freeze(graph: ScaledGraph) -> ScalingAdapterState | None:
    """Why the graph changes nothing, as the end of a sentence; the counts of a frozen graph are outdated."""
    if not graph.is_frozen:
        return None
    message = "keeps its last applied replicas until the graph's spec can be rendered"
    return ScalingAdapterState(
        reason=AdapterReason.GRAPH_NOT_RENDERED, message=": ".join(part for part in (message, graph.message) if part)
    )


def _find_delay(graph: ScaledGraph) -> ScalingAdapterState | None:
    """Why the counts do not describe the graph's newest spec, as the end of a sentence."""
    if not graph.outdated:
        return None
    message = f"waits until the graph's newest spec is processed: {graph.outdated}"
    return ScalingAdapterState(reason=AdapterReason.SCALING, message=message)


def _compare_replicas(service: ScaledService, wanted: int, of_graph: str) -> ScalingAdapterState | None:
    """Why not exactly the wanted replicas run, all of the current template and ready; as the end of a sentence."""
    if service.running != wanted:
        held = f"wanted={wanted}: {contract.SCALED_IN_LATER}"
        why = f": {contract.SCALED_IN_LATER}" if held in of_graph and service.running > wanted else ""
        message = f"has {service.running} replicas, {wanted} wanted{why}"
        return ScalingAdapterState(reason=AdapterReason.SCALING, message=message)
    for word, count in (("up to date", service.updated), ("ready", service.ready)):
        if count < wanted:
            message = f"has the {wanted} wanted replicas, {count} of them {word}"
            return ScalingAdapterState(reason=AdapterReason.NOT_READY, message=message)
    return None


def _scaled(wanted: int) -> ScalingAdapterState:
    return ScalingAdapterState(reason=AdapterReason.SCALED, message=f"has the {wanted} wanted replicas")


def report(
    adapter: GraphScalingAdapter,
    graph: ScaledGraph | None,
    state: ScalingAdapterState,
    *,
    remark: str,
    previous: PreviousAdapterStatus,
) -> dict[str, Json]:
    """Write the status: running and wanted replicas, and the selector by which autoscalers find the pods.

    Upstream writes the wanted replicas; an autoscaler that multiplies by them would overshoot while pods start.
    """
    service, is_scaled = graph.service if graph else None, previous.is_rescaled and state.controls_replicas
    last_scale = format_time(previous.now) if is_scaled else previous.status.get("lastScaleTime")
    return {
        "replicas": service.running if service else 0,
        "desiredReplicas": adapter.spec.replicas,
        "selector": _selector(adapter, is_multinode=service is not None and service.is_multinode),
        **({"lastScaleTime": last_scale} if last_scale else {}),
        **_build_conditions(state, remark, (), previous),
    }


def report_problems(problems: tuple[Problem, ...], previous: PreviousAdapterStatus) -> dict[str, Json]:
    """The status of an adapter whose spec cannot be read; the fields for autoscalers stay as they were."""
    state = ScalingAdapterState(reason=AdapterReason.INVALID, message=f"Validation failed: {join_texts(problems)}")
    return {**clean_json(dict(previous.status)), **_build_conditions(state, "", problems, previous)}


def _build_conditions(
    state: ScalingAdapterState, remark: str, problems: tuple[Problem, ...], previous: PreviousAdapterStatus
) -> dict[str, Json]:
    message = "; ".join(part for part in (state.message, remark) if part)
    ready = Condition(
        type=READY,
        status="True" if state.reason is AdapterReason.SCALED else "False",
        reason=state.reason.value,
        message=message,
    )
    before, current = previous.status.get("conditions") or (), (ready, judge_spec(problems))
    conditions = merge_conditions(before, current, now=previous.now, generation=previous.generation)
    return {"conditions": conditions, "observedGeneration": previous.generation}


def _selector(adapter: GraphScalingAdapter, *, is_multinode: bool) -> str:
    """Labels that select exactly one pod for each replica of the service, on every path.

    Kubernetes' autoscaler counts each selected pod as a replica; of a multinode replica only the leader is selected.
    Upstream selects all of its pods.

    Source: Kubernetes, pkg/controller/podautoscaler/replica_calculator.go.
    """
    reference = adapter.spec.dgd_ref
    labels = {contract.LABEL_GRAPH: reference.name, contract.LABEL_COMPONENT: reference.service_name}
    leaders = {contract.LABEL_ROLE: Role.LEADER.value} if is_multinode else {}
    return ",".join(f"{key}={value}" for key, value in {**labels, **leaders}.items())


def _is_controlled(adapter: GraphScalingAdapter, graph: ScaledGraph) -> bool:
    owners = adapter.metadata.owner_references
    return any(owner.get("uid") == graph.uid and owner.get("controller") for owner in owners)
