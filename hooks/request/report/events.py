"""Events of a request: one for each change of a condition that is an event upstream too.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hooks.ground.k8s.types import Json, ReadManifest
from hooks.language.rules.request import PROFILING_STARTED
from hooks.request.report.conditions import DELETED_BY_USER
from hooks.request.seen.previous import PreviousRequestStatus
from hooks.request.seen.profiler_report import PHASES
from hooks.request.spec.reasons import DEPLOYMENT_READY, PROFILING, SPEC_GENERATED, VALIDATION, VERIFIED, RequestReason
from hooks.wire.metacontroller.effects import Event
from hooks.wire.policy.conditions import change_of, find_change, reference_of

_R = RequestReason
_RUNNING = frozenset({_R.PROFILING_RUNNING, *(_R(phase) for phase in PHASES)})
_FAILED = frozenset({_R.PROFILING_FAILED, *(_R(f"{phase}Failed") for phase in PHASES[:-1])})
_BEFORE_PROFILING = frozenset({"", _R.PROFILING_PENDING, _R.JOB_CREATION_FAILED})
_BEFORE_CREATION = frozenset({"", _R.WAITING_FOR_SPEC, _R.DEPLOYMENT_PENDING, _R.DEPLOYMENT_CREATION_FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _EventRow:
    """An event when a condition's reason changes to one of `to`; if `since` is given, from one of `since`.

    `reason` is the event's reason. If `text` is empty, the event has the condition's message. With `each_generation` an
    unchanged reason is an event again at each new generation.
    """

    condition: str
    to: frozenset[RequestReason]
    reason: str
    type: Literal["Normal", "Warning"] = "Warning"
    since: frozenset[str] = frozenset()
    text: str = ""
    each_generation: bool = False


def _warning(condition: str, to: RequestReason, reason: str = "", *, each_generation: bool = False) -> _EventRow:
    return _EventRow(
        condition=condition, to=frozenset({to}), reason=reason or to.value, each_generation=each_generation
    )


_GENERATED = _EventRow(
    condition=SPEC_GENERATED, to=frozenset({_R.SPEC_GENERATED}), type="Normal", reason="SpecGenerated"
)
_CREATED = _EventRow(
    condition=DEPLOYMENT_READY,
    to=frozenset({_R.DEPLOYMENT_CREATED, _R.DEPLOYMENT_READY}),
    since=_BEFORE_CREATION,
    type="Normal",
    reason="DeploymentCreated",
    text="DGD {graph} created, waiting for Ready",
)

_TABLE = (
    _EventRow(
        condition=VALIDATION,
        to=frozenset({_R.SPEC_VALID}),
        since=frozenset({"", _R.VALIDATION_FAILED}),
        type="Normal",
        reason="Initialized",
        text="DGDR initialized successfully",
    ),
    _warning(VALIDATION, _R.VALIDATION_FAILED, each_generation=True),
    _EventRow(
        condition=VALIDATION,
        to=frozenset({_R.SPEC_CHANGE_REJECTED}),
        reason="SpecChangeRejected",
        text=PROFILING_STARTED.text.format(state="{request}"),
        each_generation=True,
    ),
    _EventRow(
        condition=PROFILING,
        to=_RUNNING | _FAILED | {_R.PROFILING_COMPLETED},
        since=_BEFORE_PROFILING,
        type="Normal",
        reason="ProfilingJobCreated",
        text="{job}",
    ),
    _warning(PROFILING, _R.JOB_CREATION_FAILED, "ProfilingJobFailed"),
    _EventRow(condition=PROFILING, to=_FAILED, reason="ProfilingCheckFailed"),
    _GENERATED,
    _warning(VERIFIED, _R.UNVERIFIED),
    _warning(SPEC_GENERATED, _R.GENERATION_FAILED),
    _CREATED,
    _EventRow(condition=DEPLOYMENT_READY, to=frozenset({_R.DEPLOYMENT_READY}), type="Normal", reason="DeploymentReady"),
    _warning(DEPLOYMENT_READY, _R.DEPLOYMENT_CREATION_FAILED),
    _warning(DEPLOYMENT_READY, _R.DEPLOYMENT_OVERDUE),
    _EventRow(
        condition=DEPLOYMENT_READY,
        to=frozenset({_R.DEPLOYMENT_DEGRADED}),
        reason="DeploymentDegraded",
        text="DynamoGraphDeployment {graph} degraded from Ready to {state}",
    ),
    _EventRow(
        condition=DEPLOYMENT_READY,
        to=frozenset({_R.DEPLOYMENT_DELETED}),
        reason="DeploymentDeleted",
        text=f"DynamoGraphDeployment {{graph}}: {DELETED_BY_USER}",
    ),
)
"""All events except those about ConfigMaps that cannot be created."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDetails:
    """What events say in addition to the status.

    `is_simulated`: profiling is a simulation that needs no GPUs (AIC). `is_foreign`: the request did not create the
    graph. Each of `remarks` is an event of its own when the spec is generated.
    """

    is_simulated: bool = False
    is_foreign: bool = False
    remarks: tuple[str, ...] = ()


def find_events(
    parent: ReadManifest, previous: PreviousRequestStatus, status: Mapping[str, Json], details: EventDetails
) -> Iterator[Event]:
    """The events that follow from a new status."""
    deployment = status.get("deployment") or {}
    words = {
        "job": "AIC profiling job created" if details.is_simulated else "Profiling job created",
        "request": status["state"],
        "graph": deployment.get("name", ""),
        "state": deployment.get("state", ""),
    }
    for row in _TABLE:
        condition = find_change(previous.status, status, row.condition, by_generation=row.each_generation)
        if condition is None or not _applies(row, condition, previous) or (row is _CREATED and details.is_foreign):
            continue
        text = row.text.format(**words) if row.text else str(condition.get("message", ""))
        occasion = _occasion(row.condition, previous)
        about = reference_of(parent)
        yield Event(about=about, type=row.type, reason=row.reason, message=text, occasion=occasion)
        if row is _GENERATED:
            for remark in details.remarks:
                reason = "ConfigMapCreationFailed"
                yield Event(about=about, type="Warning", reason=reason, message=remark, occasion=occasion)


def _applies(row: _EventRow, condition: Mapping[str, Json], previous: PreviousRequestStatus) -> bool:
    before = previous.reason_of(row.condition)
    is_new = before not in row.to or row.each_generation
    return condition["reason"] in row.to and is_new and (not row.since or before in row.since)


def _occasion(condition: str, previous: PreviousRequestStatus) -> str:
    """The state before the event; a sync that is repeated with the same old status has the same occasion."""
    return f"{previous.generation}/{change_of({'conditions': previous.conditions}, condition)}"
