"""A request's status: state, conditions, what was generated, and the graph that was created.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go.
"""

from datetime import datetime

from hooks.graph.request.conditions import (
    BEFORE_JOB,
    NO_JOB_YET,
    NOT_DEPLOYED,
    NOT_GENERATED,
    VALID,
    Grounds,
    describe,
    false,
    summarise,
)
from hooks.graph.request.names import output_config_map_name
from hooks.graph.request.phases import Position, State
from hooks.graph.request.previous import VALIDATION, Previous
from hooks.graph.request.validate import CHANGE_REJECTED, rejected_change
from hooks.k8s.conditions import READY, Condition, merge_conditions
from hooks.k8s.types import Json
from hooks.problems import Problem, join_texts

_UNDO = " Until the change is undone nothing is done for this request."


def report(grounds: Grounds) -> dict[str, Json]:
    """The status of a request whose spec is the profiled one, or that nothing was started for."""
    plan, previous = grounds.plan, grounds.previous
    if plan.position is Position.FAILED or previous.state is State.DEPLOYMENT_DELETED:
        return report_end(previous, grounds.now)
    conditions = describe(grounds)
    return {
        "state": plan.position.state.value,
        "backend": grounds.request.spec.backend,
        "conditions": _merge([summarise(conditions, plan.position.state), *conditions], grounds.now, previous),
        **_profiled(grounds),
        **_deployment(grounds),
    }


def report_end(previous: Previous, now: datetime) -> dict[str, Json]:
    """The status of a request that has come to its end: as it was."""
    return {**_kept(previous), "conditions": _merge(_as_before(previous), now, previous)}


def report_edit(previous: Previous, state: State, now: datetime) -> dict[str, Json]:
    """The status of a request whose spec is not the profiled one any more: as it was, and that it is refused."""
    message = rejected_change(state.value).text + _UNDO
    return _report_refusal(previous, state, now, false(VALIDATION, CHANGE_REJECTED, message))


def report_unreadable(
    previous: Previous, state: State, problems: tuple[Problem, ...], now: datetime
) -> dict[str, Json]:
    """The status of a request whose spec cannot even be read; what was started goes on as it is."""
    return _report_refusal(previous, state, now, false(VALIDATION, "ValidationFailed", join_texts(problems)))


def _report_refusal(previous: Previous, state: State, now: datetime, refusal: Condition) -> dict[str, Json]:
    summary = false(READY, refusal.reason, refusal.message)
    rest = [c for c in _as_before(previous) if c.type not in {READY, VALIDATION}]
    return {**_kept(previous), "state": state.value, "conditions": _merge([summary, refusal, *rest], now, previous)}


def _as_before(previous: Previous) -> list[Condition]:
    """The conditions as last written, those that were never written as at the beginning."""
    written = {
        str(found["type"]): Condition(
            type=str(found["type"]),
            status=found["status"],
            reason=str(found.get("reason") or ""),
            message=str(found.get("message") or ""),
        )
        for found in previous.conditions
    }
    known = [written.get(c.type, c) for c in (VALID, NO_JOB_YET, NOT_GENERATED, NOT_DEPLOYED)]
    return [written.get(READY) or summarise(known, previous.state), *known]


def _kept(previous: Previous) -> dict[str, Json]:
    return {key: value for key, value in previous.status.items() if key not in {"observedGeneration", "conditions"}}


def _merge(conditions: list[Condition], now: datetime, previous: Previous) -> list[dict[str, Json]]:
    return merge_conditions(previous.conditions, conditions, now=now, generation=previous.generation)


def _profiled(grounds: Grounds) -> dict[str, Json]:
    """What profiling began with and led to."""
    plan = grounds.plan
    if plan.position in BEFORE_JOB:
        return {}
    profiled = (grounds.seen.job.spec_hash if grounds.seen.job else "") or grounds.previous.spec_hash or plan.spec_hash
    results = f"configmap/{output_config_map_name(grounds.request.metadata.name)}"
    generated = {"profilingResults": results, "generatedDeployment": plan.generated} if plan.generated else {}
    return {"specHash": profiled, **generated}


def _deployment(grounds: Grounds) -> dict[str, Json]:
    """The graph that was seen in the cluster, and in which state it was last seen."""
    plan, before = grounds.plan, grounds.previous.status.get("deployment") or {}
    if plan.position is Position.DELETED:
        return {"deployment": {**before, "state": "Deleted"}}
    if plan.live is not None and grounds.request.spec.auto_apply:
        state = plan.live.state or before.get("state") or "Pending"
        target = plan.target
        return {"deployment": {"name": target.name, "namespace": target.namespace, "state": state, "created": True}}
    return {"deployment": before} if before else {}
