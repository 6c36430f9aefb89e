"""A graph's status: state, conditions, and the replicas of each service.

Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hooks.component.report.status import count_new
from hooks.component.spec.projection import PROJECTED
from hooks.graph.change.restart import RestartPlan
from hooks.graph.change.shares import Share
from hooks.graph.grove.status import find_grove_causes, find_remarks, report_grove_services
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.report.progress import GraphProgress
from hooks.graph.report.rollout import describe_rollout, judge_rollout, name_namespaces, report_rollout
from hooks.graph.report.serving_reasons import SERVING, SERVING_FIELD, ServingReason
from hooks.graph.report.sharing import build_sharing, find_sharing
from hooks.graph.seen.grove_names import SET_NAME
from hooks.graph.seen.observe import ObservedGraph
from hooks.ground import contract
from hooks.ground.k8s.conditions import READY, Condition, Truth, merge_conditions
from hooks.ground.k8s.json_values import clean_json
from hooks.ground.k8s.not_ready import Cause, Explanation, NotReadyReason, rank_reason, sort_causes
from hooks.ground.k8s.types import Json
from hooks.ground.problems import Problem, join_texts
from hooks.wire.policy.applied_condition import APPLIED
from hooks.wire.policy.conditions import judge_spec

NOT_READY_REASONS = "notReadyReasons"
"""Field of the status: under Grove, by service, the reason why it is not ready. Events compare it with the last one."""

WORST_NOT_READY = "notReadyReason"
"""Field of the status: the worst reason of all; absent while the graph is ready. `kubectl get` shows it."""

_NAMESPACE_ENDING = str(
    Explanation(
        reason=NotReadyReason.WAITING_FOR_DEPENDENCY,
        finding="the namespace is being deleted, and all that is in it",
        remedy="create the graph in another one",
    )
)
_UNPLANNED = "the spec cannot be rendered, so it is not known which frontends to ask; what runs goes on"
_ENDING = "it is being deleted"
_LEFT = "wait; what is left of it: kubectl get dynamocomponentdeployments,pods -l {label}={name}"
_KEPT = ("restart", "services", "componentsReady", "path", "gpus", SET_NAME)


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
    NO_ORCHESTRATOR = contract.NO_ORCHESTRATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """The status as last written, the parent's generation, and now."""

    status: Mapping[str, Json]
    generation: int
    now: datetime


def report(
    plan: GraphPlan,
    seen: ObservedGraph,
    *,
    restart: RestartPlan,
    progress: GraphProgress,
    previous: Previous,
    explained: Mapping[str, Explanation],
) -> dict[str, Json]:
    """The status of a graph that could be rendered; `explained` says by service under Grove why it is not ready."""
    shares = progress.shares
    waiting = [*_unready_workloads(plan, progress, explained), *_useless_claims(plan, progress)]
    # While workloads are not ready either, an object that is just being created tells a reader nothing.
    lacking = [one for one in progress.lacking if not (waiting and one.is_being_created)]
    waiting += [Cause(reason=one.explanation.reason, about=one.deviation.title, why=str(one)) for one in lacking]
    if seen.is_namespace_ending:
        waiting.append(Cause(reason=NotReadyReason.WAITING_FOR_DEPENDENCY, about="", why=_NAMESPACE_ENDING))
    if contested := progress.applied.contested:
        waiting.append(Cause(reason=NotReadyReason.DIFFERS, about="", why=contested))
    if seen.is_ending:  # all else that is missing follows from that
        waiting = [Cause(reason=NotReadyReason.PROGRESSING, about="", why=_describe_end(plan))]
    gate = (
        progress.serving.find_cause(previous.status, previous.now) if progress.serving and progress.is_gated else None
    )
    if gate is not None and not waiting:  # what is not ready explains why nothing is served
        waiting.append(gate)
    if waiting:
        state, reason = GraphState.PENDING, GraphReason.SOME_NOT_READY
        message = "; ".join(map(str, sort_causes(waiting)))
    else:
        state, reason, message = GraphState.SUCCESSFUL, GraphReason.ALL_READY, "All resources are ready"
    told = [message, *progress.sharing] if waiting else [*progress.sharing, message]
    message = "; ".join([*describe_rollout(shares, progress.rollout), *told, *restart.remarks, *_remarks(plan, seen)])
    ready = Condition(type=READY, status=_truth(state), reason=reason.value, message=message)
    counts = (
        clean_json(report_grove_services(plan.grove, seen.grove)) if plan.grove else _services(plan, seen, progress)
    )
    projections = dict(plan.projections) | {
        service: {**plan.projections[service], **namespace} for service, namespace in name_namespaces(shares).items()
    }
    services = {service: _project(entry, projections[service]) for service, entry in counts.items()}
    reasons = {service: explanation.reason.value for service, explanation in sorted(explained.items())}
    worst = ""
    if waiting:
        worst = gate.reason if gate is not None and gate in waiting else _find_worst(plan, seen, progress, explained)
    return {
        **_status(state, (ready, *_others(progress, shares, previous)), previous),
        **({"restart": dict(restart.status)} if restart.status else {}),
        **report_rollout(shares, progress.rollout, previous.status, previous.now),
        **({"services": services} if services else {}),
        **({NOT_READY_REASONS: reasons} if reasons else {}),
        **({WORST_NOT_READY: worst} if worst else {}),
        **({SERVING_FIELD: dict(serving.field)} if (serving := progress.serving) and serving.field else {}),
        "path": plan.run_by,
        **({SET_NAME: name} if (name := _name_set(plan, seen)) else {}),
        "gpus": plan.gpus,
        "componentsReady": f"{len(plan.components) - len(progress.unready)}/{len(plan.components)}",
    }


def _others(progress: GraphProgress, shares: Mapping[str, Share], previous: Previous) -> Iterator[Condition]:
    """The conditions beside Ready."""
    if progress.serving is not None:
        yield progress.serving.condition
    yield progress.applied.condition
    yield judge_spec()
    yield from progress.held
    yield from build_sharing(progress.sharing)
    yield from judge_rollout(shares, progress.rollout, previous.status)


def _describe_end(plan: GraphPlan) -> str:
    remedy = _LEFT.format(label=contract.LABEL_GRAPH, name=plan.name)
    return str(Explanation(reason=NotReadyReason.PROGRESSING, finding=_ENDING, remedy=remedy))


def _name_set(plan: GraphPlan, seen: ObservedGraph) -> str:
    """The name of the PodCliqueSet; empty for a graph of components, once nothing of Grove is left."""
    if plan.grove is not None:
        return plan.grove.name
    return seen.grove.set_name if plan.blocked_by else ""


def report_failure(
    reason: GraphReason, problems: tuple[Problem, ...], previous: Previous, *, serves: bool
) -> dict[str, Json]:
    """The status of a graph whose children stay unchanged: all problems, and the other fields as they were.

    `serves`: graphs have the condition Serving. Nobody is asked for it, because only a plan says who.
    """
    text = join_texts(problems)
    message = f"Validation failed: {text}" if reason is GraphReason.INVALID else text
    ready, applied = (
        Condition(type=type_, status="False", reason=reason.value, message=message) for type_ in (READY, APPLIED)
    )
    unasked = Condition(type=SERVING, status="Unknown", reason=ServingReason.BY_OBJECTS.value, message=_UNPLANNED)
    kept = {key: clean_json(previous.status[key]) for key in _KEPT if previous.status.get(key)}
    valid = judge_spec(problems if reason is GraphReason.INVALID else ())
    shared = build_sharing((found,) if (found := find_sharing(previous.status)) else ())
    conditions = (ready, *([unasked] if serves else []), applied, valid, *shared)
    return {**_status(GraphState.FAILED, conditions, previous), WORST_NOT_READY: reason.value, **kept}


def _status(state: GraphState, conditions: Iterable[Condition], previous: Previous) -> dict[str, Json]:
    before = previous.status.get("conditions") or ()
    merged = merge_conditions(before, conditions, now=previous.now, generation=previous.generation)
    return {"state": state.value, "conditions": merged}


def _truth(state: GraphState) -> Truth:
    return "True" if state is GraphState.SUCCESSFUL else "False"


def _unready_workloads(
    plan: GraphPlan, progress: GraphProgress, explained: Mapping[str, Explanation]
) -> Iterator[Cause]:
    """Why workloads are not ready."""
    if plan.blocked_by:
        yield Cause(reason=NotReadyReason.WAITING_FOR_DEPENDENCY, about=plan.name, why=plan.blocked_by)
    elif plan.grove is not None and progress.grove is not None:
        yield from find_grove_causes(plan.grove, progress.grove, explained)
    else:
        for name, why in progress.components.items():
            yield Cause(reason=progress.reasons.get(name, ""), about=name, why=why)


def _find_worst(
    plan: GraphPlan, seen: ObservedGraph, progress: GraphProgress, explained: Mapping[str, Explanation]
) -> str:
    """The worst reason of all services and other children of a graph that is not ready.

    A component whose spec is refused has a reason of its own, which is worse than all of the list.
    """
    if seen.is_ending:
        return NotReadyReason.PROGRESSING.value
    found = [
        *progress.reasons.values(),
        *(one.reason.value for one in explained.values()),
        *(one.explanation.reason.value for one in progress.applied.judged if one.is_lasting),
        *([NotReadyReason.DIFFERS.value] if progress.applied.contested else []),
        *(
            [NotReadyReason.WAITING_FOR_DEPENDENCY.value]
            if plan.blocked_by or any(_useless_claims(plan, progress)) or seen.is_namespace_ending
            else []
        ),
    ]
    return min(found, key=rank_reason, default=NotReadyReason.PROGRESSING.value)


def _remarks(plan: GraphPlan, seen: ObservedGraph) -> list[str]:
    """Remarks for the user, whether or not the graph is ready."""
    of_grove = find_remarks(plan.grove, seen.grove) if plan.grove else _unannotated(plan, seen)
    return [*plan.warnings, *plan.claims.warnings, *(plan.mpi_key.warnings if plan.mpi_key else ()), *of_grove]


def _useless_claims(plan: GraphPlan, progress: GraphProgress) -> Iterator[Cause]:
    """Claims that a new pod cannot mount; one that is being deleted hurts nobody while all pods, which hold it, run."""
    reason = NotReadyReason.WAITING_FOR_DEPENDENCY
    for name in plan.claims.missing:
        finding, remedy = "it does not exist", "create it, or set create in its entry of spec.pvcs"
        explanation = Explanation(reason=reason, finding=finding, remedy=remedy)
        yield Cause(reason=reason, about=f"PersistentVolumeClaim {name}", why=str(explanation))
    for name in plan.claims.lost:
        remedy = "restore its PersistentVolume, or delete the claim and create it again without its data"
        explanation = Explanation(reason=reason, finding="it is Lost, because its volume is gone", remedy=remedy)
        yield Cause(reason=reason, about=f"PersistentVolumeClaim {name}", why=str(explanation))
    for name, claim in plan.claims.ending.items() if progress.unready else ():
        explanation = Explanation(reason=reason, finding=claim.ending, remedy=claim.remedy)
        yield Cause(reason=reason, about=f"PersistentVolumeClaim {name}", why=str(explanation))


def _services(plan: GraphPlan, seen: ObservedGraph, progress: GraphProgress) -> dict[str, Json]:
    """The entry of each service as its component says it, or as a new component will say it first."""
    said = {name: component.service for name, component in seen.components.items()}
    said |= {name: count_new(name) for name in progress.new}
    return {one.service: entry for one in plan.components if (entry := said.get(one.name))}


def _project(entry: Mapping[str, Json], projection: Mapping[str, Json]) -> dict[str, Json]:
    """The entry with what follows from the present spec, and nothing of what the workload says of an earlier one."""
    return {**{field: value for field, value in entry.items() if field not in PROJECTED}, **projection}


def _unannotated(plan: GraphPlan, seen: ObservedGraph) -> list[str]:
    names = [
        c.name for c in plan.components if c.name in seen.components and seen.components[c.name].applied_spec is None
    ]
    listed = ", ".join(names)
    return [f"{listed} without last-applied annotation; run Metacontroller with dynamic apply"] if names else []
