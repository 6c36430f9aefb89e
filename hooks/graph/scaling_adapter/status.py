"""A scaling adapter's status: what autoscalers read, and the condition Ready.

Source: Dynamo operator, internal/controller/dynamographdeploymentscalingadapter_controller.go; the condition is ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from hooks import contract
from hooks.api.scaling_adapter import GraphScalingAdapter
from hooks.component.placement import Role
from hooks.graph.scaling_adapter.observe import Graph, Service
from hooks.k8s.conditions import MAX_MESSAGE, READY, Condition, format_time, merge_conditions
from hooks.k8s.types import Json
from hooks.problems import Problem, join_texts


class Reason(StrEnum):
    """Reasons of the condition Ready."""

    SCALED = "Scaled"
    SCALING = "Scaling"
    NOT_READY = "ReplicasNotReady"
    GRAPH_NOT_FOUND = "GraphNotFound"
    GRAPH_DELETING = "GraphDeleting"
    GRAPH_NOT_RENDERED = "GraphNotRendered"
    SERVICE_NOT_FOUND = "ServiceNotFound"
    DISABLED = "AdapterDisabled"
    NOT_IN_FORCE = "AdapterNotInForce"
    INVALID = "ValidationFailed"


_IN_FORCE = frozenset({Reason.SCALED, Reason.SCALING, Reason.NOT_READY, Reason.GRAPH_NOT_RENDERED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether an adapter is in force and the replicas that it asks for serve, and why."""

    reason: Reason
    message: str

    @property
    def is_in_force(self) -> bool:
        """Whether the graph takes the service's replicas from this adapter, whenever its spec can be rendered."""
        return self.reason in _IN_FORCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """The status as last written, the adapter's generation, and now."""

    status: Mapping[str, Json]
    generation: int
    now: datetime

    @property
    def is_rescaled(self) -> bool:
        """Whether the spec is another than that of the last status; there is little in it but replicas."""
        last = self.status.get("observedGeneration") or 0
        return last not in {0, self.generation}

    @property
    def desired_replicas(self) -> int | None:
        """The replicas that the spec of the last status asked for; upstream writes them to `replicas`."""
        desired: int | None = self.status.get("desiredReplicas", self.status.get("replicas"))
        return desired


def judge(adapter: GraphScalingAdapter, graph: Graph | None) -> Verdict:
    """Say how an adapter stands towards the graph that it names."""
    reference = adapter.spec.dgd_ref
    if graph is None:
        where = f"graph {reference.name} not found in namespace {adapter.metadata.namespace}"
        return Verdict(reason=Reason.GRAPH_NOT_FOUND, message=f"{where}; create it, or delete the adapter")
    if graph.is_going:
        message = f"graph {reference.name} is being deleted and takes no replicas from its adapters any more"
        return Verdict(reason=Reason.GRAPH_DELETING, message=message)
    if graph.service is None:
        where = f"service {reference.service_name} not found in graph {reference.name}"
        return Verdict(reason=Reason.SERVICE_NOT_FOUND, message=f"{where}; see its spec.services")
    named = f"service {reference.service_name} of graph {reference.name}"
    verdict = (
        _find_obstacle(adapter, graph, graph.service)
        or _find_freeze(graph)
        or _compare(graph.service, adapter.spec.replicas)
    )
    return replace(verdict, message=f"{named} {verdict.message}")


def _find_obstacle(adapter: GraphScalingAdapter, graph: Graph, service: Service) -> Verdict | None:
    """Why the graph does not take the service's replicas from this adapter, as the end of a sentence."""
    if service.adapter is None:
        message = "keeps its own replicas; set scalingAdapter.enabled there to have it scaled"
        return Verdict(reason=Reason.DISABLED, message=message)
    if service.adapter != adapter.metadata.name:
        message = f"is scaled by the adapter {service.adapter}, which the graph makes; delete this one"
        return Verdict(reason=Reason.NOT_IN_FORCE, message=message)
    if not _is_controlled(adapter, graph):
        message = "is not scaled by this adapter, which the graph did not make; delete it, and the graph makes its own"
        return Verdict(reason=Reason.NOT_IN_FORCE, message=message)
    return None


def _find_freeze(graph: Graph) -> Verdict | None:
    """Why the graph's children stay as they are, as the end of a sentence; its counts are no news then."""
    if not graph.is_frozen:
        return None
    message = "stays as last applied until the spec of the graph can be rendered"
    return Verdict(
        reason=Reason.GRAPH_NOT_RENDERED, message=": ".join(part for part in (message, graph.message) if part)
    )


def _compare(service: Service, asked: int) -> Verdict:
    """Whether just the replicas asked for run, none of a former template, and all serve; as the end of a sentence."""
    if service.running != asked:
        return Verdict(reason=Reason.SCALING, message=f"has {service.running} replicas, {asked} are asked for")
    for word, count in (("up to date", service.updated), ("ready", service.serving)):
        if count < asked:
            message = f"has the {asked} replicas asked for, of which {count} are {word}"
            return Verdict(reason=Reason.NOT_READY, message=message)
    return Verdict(reason=Reason.SCALED, message=f"has the {asked} replicas asked for")


def report(
    adapter: GraphScalingAdapter, graph: Graph | None, verdict: Verdict, *, remark: str, previous: Previous
) -> dict[str, Json]:
    """Write the status: replicas that run and that are asked for, and the selector by which autoscalers find the pods.

    Upstream writes the replicas asked for; an autoscaler that multiplies by those would overshoot while pods come up.
    """
    service, is_scaled = graph.service if graph else None, previous.is_rescaled and verdict.is_in_force
    last_scale = format_time(previous.now) if is_scaled else previous.status.get("lastScaleTime")
    return {
        "replicas": service.running if service else 0,
        "desiredReplicas": adapter.spec.replicas,
        "selector": _selector(adapter, is_multinode=service is not None and service.is_multinode),
        **({"lastScaleTime": last_scale} if last_scale else {}),
        **_judged(verdict, remark, previous),
    }


def report_problems(problems: tuple[Problem, ...], previous: Previous) -> dict[str, Json]:
    """The status of an adapter whose spec cannot be read; what autoscalers read stays as it was."""
    verdict = Verdict(reason=Reason.INVALID, message=f"Validation failed: {join_texts(problems)}")
    return {**previous.status, **_judged(verdict, "", previous)}


def _judged(verdict: Verdict, remark: str, previous: Previous) -> dict[str, Json]:
    message = "; ".join(part for part in (verdict.message, remark) if part)[:MAX_MESSAGE]
    ready = Condition(
        type=READY,
        status="True" if verdict.reason is Reason.SCALED else "False",
        reason=verdict.reason.value,
        message=message,
    )
    before = previous.status.get("conditions") or ()
    conditions = merge_conditions(before, [ready], now=previous.now, generation=previous.generation)
    return {"conditions": conditions, "observedGeneration": previous.generation}


def _selector(adapter: GraphScalingAdapter, *, is_multinode: bool) -> str:
    """Labels of one pod for each replica of the service, on every path, and of no pod of another service or graph.

    The autoscaler of Kubernetes takes the number of pods for that of replicas, so of several nodes it sees the leaders;
    upstream shows it all of them.

    Source: Kubernetes, pkg/controller/podautoscaler/replica_calculator.go.
    """
    reference = adapter.spec.dgd_ref
    labels = {contract.LABEL_GRAPH: reference.name, contract.LABEL_COMPONENT: reference.service_name}
    leaders = {contract.LABEL_ROLE: Role.LEADER.value} if is_multinode else {}
    return ",".join(f"{key}={value}" for key, value in {**labels, **leaders}.items())


def _is_controlled(adapter: GraphScalingAdapter, graph: Graph) -> bool:
    owners = adapter.metadata.owner_references
    return any(owner.get("uid") == graph.uid and owner.get("controller") for owner in owners)
