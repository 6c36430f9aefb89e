"""A request's status: state, conditions, what was generated, and the graph that was created.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go.
"""

from dataclasses import replace
from datetime import datetime

from hooks.ground.k8s.conditions import READY, Condition, merge_conditions
from hooks.ground.k8s.types import Json
from hooks.ground.problems import Problem, join_texts
from hooks.request.plan.fingerprint import is_edited
from hooks.request.report.conditions import (
    BEFORE_JOB,
    NO_JOB_YET,
    NOT_DEPLOYED,
    NOT_GENERATED,
    VALIDATED,
    StatusInput,
    describe_conditions,
    summarise,
    summarise_as_upstream,
    unmet,
)
from hooks.request.rules.validate import rejected_change
from hooks.request.seen.previous import PreviousRequestStatus
from hooks.request.seen.profiler_report import read_phase
from hooks.request.spec.names import job_name, output_config_map_name
from hooks.request.spec.phases import Position, RequestState
from hooks.request.spec.profiler_spec import AUTO
from hooks.request.spec.reasons import SUCCEEDED, VALIDATION, VERIFIED, RequestReason
from hooks.wire.policy.conditions import VALID, judge_spec

_UNDO = " Nothing is done for this request until the change is undone."
_IGNORED = "; the spec was changed after the end, which does nothing: delete the request, and create it again"


def report(found: StatusInput) -> dict[str, Json]:
    """The status of a request with the profiled spec, or of one whose profiling has not begun."""
    plan, previous = found.plan, found.previous
    if plan.position is Position.FAILED or previous.state is RequestState.DEPLOYMENT_DELETED:
        return report_end(previous, found.now, is_changed=is_edited(found.request, found.seen, previous))
    conditions = describe_conditions(found)
    summaries = [summarise(conditions, plan.position.state), summarise_as_upstream(conditions, plan.position)]
    return {
        "state": plan.position.state.value,
        "backend": found.request.spec.backend or AUTO,
        "conditions": _merge([*summaries, *conditions], found.now, previous),
        **_progress(found),
        **_profiled(found),
        **_deployment(found),
    }


def report_end(previous: PreviousRequestStatus, now: datetime, *, is_changed: bool = False) -> dict[str, Json]:
    """The status of a request that failed or whose graph was deleted: unchanged, but that a later edit is ignored."""
    written, *others = _as_before(previous)
    again = summarise([one for one in others if one.type != SUCCEEDED], previous.state)
    if is_changed:
        again = replace(again, message=again.message + _IGNORED)
    conditions = [again if written.reason == again.reason else written, *others]
    return {**_kept(previous), "conditions": _merge(conditions, now, previous)}


def report_edit(previous: PreviousRequestStatus, state: RequestState, now: datetime) -> dict[str, Json]:
    """The status of a request whose spec differs from the profiled one: the old one, and why the change is refused."""
    message = rejected_change(state).text + _UNDO
    return _report_refusal(previous, state, now, unmet(VALIDATION, RequestReason.SPEC_CHANGE_REJECTED, message))


def report_unreadable(
    previous: PreviousRequestStatus, state: RequestState, problems: tuple[Problem, ...], now: datetime
) -> dict[str, Json]:
    """The status of a request whose spec cannot be read: the old one, and the problems."""
    return _report_refusal(
        previous, state, now, unmet(VALIDATION, RequestReason.VALIDATION_FAILED, join_texts(problems))
    )


def _report_refusal(
    previous: PreviousRequestStatus, state: RequestState, now: datetime, refusal: Condition
) -> dict[str, Json]:
    summary = replace(refusal, type=READY)
    rest = [refusal if c.type == VALIDATION else c for c in _as_before(previous) if c.type != READY]
    return {**_kept(previous), "state": state.value, "conditions": _merge([summary, *rest], now, previous)}


def _as_before(previous: PreviousRequestStatus) -> list[Condition]:
    """The conditions as last written; one that was never written has its initial value."""
    written = {
        str(condition["type"]): Condition(
            type=str(condition["type"]),
            status=condition["status"],
            reason=str(condition.get("reason") or ""),
            message=str(condition.get("message") or ""),
        )
        for condition in previous.conditions
    }
    known = [written.get(c.type, c) for c in (VALIDATED, NO_JOB_YET, NOT_GENERATED, NOT_DEPLOYED)]
    ready = written.get(READY) or summarise(known, previous.state)
    succeeded = written.get(SUCCEEDED) or replace(ready, type=SUCCEEDED)
    return [ready, succeeded, *known, *([written[VERIFIED]] if VERIFIED in written else ())]


def _kept(previous: PreviousRequestStatus) -> dict[str, Json]:
    return {key: value for key, value in previous.status.items() if key not in {"observedGeneration", "conditions"}}


def _merge(conditions: list[Condition], now: datetime, previous: PreviousRequestStatus) -> list[dict[str, Json]]:
    validation = next(condition for condition in conditions if condition.type == VALIDATION)
    current = [*conditions, _repeat_as_valid(validation)]
    return merge_conditions(previous.conditions, current, now=now, generation=previous.generation)


def _repeat_as_valid(validation: Condition) -> Condition:
    """The condition of all kinds, from upstream's one of requests; a change that is refused is not valid either."""
    if validation.status == "True":
        return judge_spec()
    return replace(validation, type=VALID, status="False", reason=RequestReason.VALIDATION_FAILED)


def _progress(found: StatusInput) -> dict[str, Json]:
    """The Job, the GPUs that it profiles for, and how far it is while it runs."""
    plan, metadata = found.plan, found.request.metadata
    hardware = {"hardware": dict(plan.hardware)} if plan.hardware else {}
    if plan.position in BEFORE_JOB:
        return hardware if plan.job else {}
    name = {"profilingJobName": job_name(metadata.name)}
    if plan.position is not Position.PROFILING:
        return {**hardware, **name}
    config_map = found.seen.config_maps.get((metadata.namespace, output_config_map_name(metadata.name)))
    is_ours = config_map is not None and config_map.request_uid == metadata.uid
    phase = read_phase(config_map.data) if config_map is not None and is_ours else ""
    return {**hardware, **name, **({"profilingPhase": phase} if phase else {})}


def _profiled(found: StatusInput) -> dict[str, Json]:
    """The fingerprint of the profiled spec, and the results of profiling."""
    plan = found.plan
    if plan.position in BEFORE_JOB:
        return {}
    profiled = (found.seen.job.spec_hash if found.seen.job else "") or found.previous.spec_hash or plan.spec_hash
    results = f"configmap/{output_config_map_name(found.request.metadata.name)}"
    generated = {"profilingResults": results, "generatedDeployment": plan.generated} if plan.generated else {}
    return {"specHash": profiled, **generated}


def _deployment(found: StatusInput) -> dict[str, Json]:
    """The graph in the cluster, with its state as last observed."""
    plan, before = found.plan, found.previous.status.get("deployment") or {}
    if plan.position is Position.DELETED:
        return {"deployment": {**before, "state": "Deleted"}}
    if plan.live is not None and found.request.spec.auto_apply:
        state = plan.live.state or before.get("state") or "Pending"
        target = plan.target
        wanted, available = plan.live.replicas
        return {
            "deployment": {"name": target.name, "namespace": target.namespace, "state": state, "created": True},
            "deploymentInfo": {"replicas": wanted, "availableReplicas": available},
        }
    return {"deployment": before} if before else {}
