"""A graph's status: state, the condition Ready, and the replicas of each service.

Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hooks import contract
from hooks.component.explain import explain_rollout
from hooks.graph.applied import is_applied
from hooks.graph.components import ComponentPlan, clean_json
from hooks.graph.grove.status import (
    find_remarks,
    find_unready_grove_services,
    report_grove_services,
    why_grove_unready,
)
from hooks.graph.observe import Observed, ObservedComponent
from hooks.graph.plan import GraphPlan
from hooks.graph.restart import Restart
from hooks.k8s.conditions import MAX_MESSAGE, READY, Condition, Truth, merge_conditions
from hooks.k8s.not_ready import Explanation, NotReadyReason
from hooks.k8s.types import Json
from hooks.problems import Problem, join_texts

NOT_READY_REASONS = "notReadyReasons"
"""Field of the status: by service under Grove, the reason of its explanation. Events compare it with the former one."""

_KEPT = ("restart", "services", "componentsReady")


class GraphState(StrEnum):
    """`status.state`."""

    PENDING = "pending"
    SUCCESSFUL = "successful"
    FAILED = "failed"


class GraphReason(StrEnum):
    """Reasons of the condition Ready."""

    ALL_READY = "all_resources_are_ready"
    SOME_NOT_READY = "some_resources_are_not_ready"
    FAILED = "failed_to_reconcile_the_resources"
    INVALID = contract.VALIDATION_FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """The status as last written, the parent's generation, and now."""

    status: Mapping[str, Json]
    generation: int
    now: datetime


def report(
    plan: GraphPlan,
    seen: Observed,
    restart: Restart,
    previous: Previous,
    *,
    explained: Mapping[str, Explanation],
) -> dict[str, Json]:
    """The status of a graph that could be rendered; `explained` says by service under Grove why it is not ready."""
    unready = dict(_unready_workloads(plan, seen, explained))
    waiting = dict(sorted([*unready.items(), *_missing_claims(plan)]))
    if waiting:
        state, reason = GraphState.PENDING, GraphReason.SOME_NOT_READY
        message = "Resources not ready: " + "; ".join(f"{name}: {why}" for name, why in waiting.items())
    else:
        state, reason, message = GraphState.SUCCESSFUL, GraphReason.ALL_READY, "All resources are ready"
    message = "; ".join([message, *restart.remarks, *_remarks(plan, seen)])[:MAX_MESSAGE]
    services = clean_json(report_grove_services(plan.grove, seen.grove) if plan.grove else _services(plan, seen))
    reasons = {service: explanation.reason.value for service, explanation in sorted(explained.items())}
    return {
        **_status(state, Condition(type=READY, status=_truth(state), reason=reason.value, message=message), previous),
        **({"restart": dict(restart.status)} if restart.status else {}),
        **({"services": services} if services else {}),
        **({NOT_READY_REASONS: reasons} if reasons else {}),
        "componentsReady": _count_ready(plan, seen, unready),
    }


def find_unready_services(plan: GraphPlan, seen: Observed) -> frozenset[str]:
    """Services that are not ready at the spec that they should have, by the rules of the condition Ready."""
    if plan.waits_for:
        return frozenset(component.service for component in plan.components)
    if plan.grove is not None:
        return find_unready_grove_services(plan.grove, seen.grove)
    found = ((component, seen.components.get(component.name)) for component in plan.components)
    return frozenset(component.service for component, observed in found if _why_unready(component, observed))


def report_failure(reason: GraphReason, problems: tuple[Problem, ...], previous: Previous) -> dict[str, Json]:
    """The status of a graph whose children are left as they were: all problems; the rest is kept."""
    text = join_texts(problems)
    message = f"Validation failed: {text}" if reason is GraphReason.INVALID else text
    condition = Condition(type=READY, status="False", reason=reason.value, message=message[:MAX_MESSAGE])
    kept = {key: previous.status[key] for key in _KEPT if previous.status.get(key)}
    return {**_status(GraphState.FAILED, condition, previous), **kept}


def _status(state: GraphState, condition: Condition, previous: Previous) -> dict[str, Json]:
    before = previous.status.get("conditions") or ()
    conditions = merge_conditions(before, [condition], now=previous.now, generation=previous.generation)
    return {"state": state.value, "conditions": conditions}


def _truth(state: GraphState) -> Truth:
    return "True" if state is GraphState.SUCCESSFUL else "False"


def _count_ready(plan: GraphPlan, seen: Observed, unready: Mapping[str, str]) -> str:
    """`3/4`: components, or services under Grove, that are ready at the wanted spec, of all that there should be.

    `unready` are the components that are not, where there are components.
    """
    total, by_component = len(plan.components), plan.grove is None and not plan.waits_for
    return f"{total - len(unready if by_component else find_unready_services(plan, seen))}/{total}"


def _unready_workloads(
    plan: GraphPlan, seen: Observed, explained: Mapping[str, Explanation]
) -> Iterator[tuple[str, str]]:
    if plan.waits_for:
        yield plan.name, plan.waits_for
    elif plan.grove is None:
        yield from _unready_components(plan, seen)
    elif why := why_grove_unready(plan.grove, seen.grove, explained):
        yield plan.name, why


def _remarks(plan: GraphPlan, seen: Observed) -> list[str]:
    """What there is to say whether or not the graph is ready."""
    of_grove = find_remarks(plan.grove, seen.grove) if plan.grove else _unannotated(plan, seen)
    return [*plan.warnings, *plan.claims.warnings, *(plan.mpi_key.warnings if plan.mpi_key else ()), *of_grove]


def _unready_components(plan: GraphPlan, seen: Observed) -> Iterator[tuple[str, str]]:
    for component in plan.components:
        why = _why_unready(component, seen.components.get(component.name))
        if why:
            yield component.name, why


def _missing_claims(plan: GraphPlan) -> Iterator[tuple[str, str]]:
    for name in plan.claims.missing:
        remedy = "create it, or set create in its entry of spec.pvcs"
        explanation = Explanation(reason=NotReadyReason.WAITING_FOR_DEPENDENCY, remedy=remedy)
        yield f"PersistentVolumeClaim {name}", f"not found ({explanation})"


def _why_unready(plan: ComponentPlan, seen: ObservedComponent | None) -> str:
    """Why a component is not ready at the spec that it should have; empty when it is.

    Upstream looks at Available alone, so that a changed graph shows the old success for an instant.
    """
    if seen is None or seen.is_deleting:
        what = "resource not found" if seen is None else "it is being deleted"
        return f"{what} ({Explanation(reason=NotReadyReason.PROGRESSING)})"
    if not is_applied(plan.spec, live=seen.spec, applied=seen.applied_spec):
        return f"spec not yet applied ({explain_rollout()})"
    if seen.observed_generation < seen.generation:
        counts = f"generation={seen.generation}, observedGeneration={seen.observed_generation}"
        return f"spec not yet processed: {counts} ({explain_rollout()})"
    if not seen.is_available:
        detail = f" ({seen.message})" if seen.message else ""
        return f"Component deployment not ready - Available condition not true{detail}"
    if _init_containers(seen.spec) != _init_containers(plan.spec):
        return "init containers were inserted or reordered, which an existing object cannot take over; delete it once"
    return ""


def _init_containers(spec: Mapping[str, Json]) -> list[Json]:
    """Names in order: Metacontroller merges the list by name and keeps the order of the existing object."""
    found = (spec.get("extraPodSpec") or {}).get("initContainers")
    return [container.get("name") for container in found if isinstance(container, dict)] if found else []


def _services(plan: GraphPlan, seen: Observed) -> dict[str, Json]:
    found = ((component.service, seen.components.get(component.name)) for component in plan.components)
    return {service: component.service for service, component in found if component is not None and component.service}


def _unannotated(plan: GraphPlan, seen: Observed) -> list[str]:
    names = [
        c.name for c in plan.components if c.name in seen.components and seen.components[c.name].applied_spec is None
    ]
    listed = ", ".join(names)
    return [f"{listed} without last-applied annotation; run Metacontroller with dynamic apply"] if names else []
