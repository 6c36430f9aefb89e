"""How ready a graph, its services and its models are, by their status in a cluster."""

from collections.abc import Mapping, Sequence

from hooks.component.report.reasons import ComponentReason
from hooks.ground import contract
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.not_ready import NotReadyReason
from hooks.ground.k8s.types import Json, ReadManifest, labels_of
from hooks.language.api.graph import GraphDeployment
from hooks.language.api.model import Model
from hooks.language.api.status import ComponentReplicaStatus
from hooks.tools.offline.picture.parts import Mood, State, clean

_PASSING = frozenset(
    {
        *("", NotReadyReason.READ_FAILED, NotReadyReason.ROLLING_OUT, NotReadyReason.PROGRESSING),
        ComponentReason.COMPONENT_NOT_READY,
        *(ComponentReason.DEPLOYMENT_NOT_READY, ComponentReason.SOME_LEADER_WORKER_SETS_NOT_READY),
    }
)
"""Reasons that waiting resolves."""
_LOADING = frozenset({"", "NoServicesFound", "NoEndpoints", "NotReady"})
"""The same of a model's condition Ready."""


def read_graph_state(graph: GraphDeployment) -> State:
    """The graph's state, by its condition Ready."""
    status = graph.status
    found = find_condition(status.conditions, READY) or {}
    if found.get("status") == "True" and status.observed_generation >= graph.metadata.generation:
        return State(mood=Mood.READY, text="Ready")
    if status.observed_generation < graph.metadata.generation:
        return State(mood=Mood.WAITING, text="not known", why="the status is about an earlier spec")
    is_stuck = status.state == "failed" or status.not_ready_reason not in _PASSING
    message = clean(str(found.get("message") or "")) or "no status yet"
    return State(mood=Mood.UNREADY if is_stuck else Mood.WAITING, text="not ready", why=message)


def read_service_state(wanted: int, status: ComponentReplicaStatus | None, reason: str) -> State:
    """How many of a service's wanted replicas are ready; `reason` is a word that says why not all are."""
    ready = _count_ready(status) if status is not None else 0
    if status is not None and ready >= wanted and not reason:
        return State(mood=Mood.READY, text=f"{ready} of {wanted} ready")
    why = f": {clean(reason)}" if reason else ""
    return State(mood=Mood.WAITING if reason in _PASSING else Mood.UNREADY, text=f"{ready} of {wanted} ready{why}")


def _count_ready(status: ComponentReplicaStatus) -> int:
    """The ready replicas; of a PodCliqueScalingGroup, which does not count them, the available ones."""
    return (status.available_replicas if status.ready_replicas is None else status.ready_replicas) or 0


def read_reasons(graph: GraphDeployment, components: Sequence[ReadManifest]) -> Mapping[str, str]:
    """By service a word that says why it is not ready: the graph's own under Grove, otherwise its component's."""
    of_components = {labels_of(one).get(contract.LABEL_COMPONENT, ""): read_reason(one) for one in components}
    return {
        **{service: reason for service, reason in of_components.items() if reason},
        **graph.status.not_ready_reasons,
    }


def read_reason(component: ReadManifest) -> str:
    """The reason of a component's condition Ready while that does not hold; empty otherwise."""
    status: Mapping[str, Json] = component.get("status") or {}
    found = find_condition(status.get("conditions") or (), READY) or {}
    return "" if found.get("status") in {None, "True"} else str(found.get("reason") or "")


def read_model_state(model: Model) -> State:
    """How many of a model's endpoints are ready; engines that load no adapters do not count."""
    status = model.status
    found = find_condition(status.conditions, READY) or {}
    reason = clean(str(found.get("reason") or ""))
    is_ready = found.get("status") == "True"
    wanted = status.total_endpoints - status.unsupported_endpoints
    text = f"{status.ready_endpoints} of {wanted} endpoints ready" if model.is_lora else f"{wanted} endpoints"
    if is_ready:
        return State(mood=Mood.READY, text=text)
    why = f": {reason}" if reason else ""
    return State(mood=Mood.WAITING if reason in _LOADING else Mood.UNREADY, text=text + why)


def summarize(states: Sequence[State]) -> State:
    """The state of several things together: that of one, or how many are ready and the worst."""
    if len(states) == 1:
        return states[0]
    ready = sum(state.mood is Mood.READY for state in states)
    worst = next((mood for mood in (Mood.UNREADY, Mood.WAITING) if any(s.mood is mood for s in states)), Mood.READY)
    return State(mood=worst, text=f"{ready} of {len(states)} ready")
