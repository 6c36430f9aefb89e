"""Events of a request: one for each change of a condition that upstream's users know an event of.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hooks.condition_events import find_change, reference_of
from hooks.effects import Event
from hooks.graph.request.conditions import DELETED_BY_USER
from hooks.graph.request.previous import DEPLOYMENT_READY, PROFILING, SPEC_GENERATED, VALIDATION, Previous
from hooks.graph.request.validate import CHANGE_REJECTED
from hooks.k8s.conditions import find_condition
from hooks.k8s.types import Json, ReadManifest
from hooks.validation.rules.request import PROFILING_STARTED

_BEFORE_PROFILING = frozenset({"", "ProfilingPending", "JobCreationFailed"})
_BEFORE_CREATION = frozenset({"", "WaitingForSpec", "DeploymentPending", "DeploymentCreationFailed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """An event when a condition's reason becomes one of `to`, coming from another that is one of `since`, if given.

    An empty `text` stands for the condition's message. With `each_time` a new generation is told of too: a second spec
    is wrong anew.
    """

    condition: str
    to: frozenset[str]
    reason: str
    type: Literal["Normal", "Warning"] = "Warning"
    since: frozenset[str] = frozenset()
    text: str = ""
    each_time: bool = False


def _warning(condition: str, to: str, reason: str = "", *, each_time: bool = False) -> _Rule:
    return _Rule(condition=condition, to=frozenset({to}), reason=reason or to, each_time=each_time)


_GENERATED = _Rule(condition=SPEC_GENERATED, to=frozenset({"SpecGenerated"}), type="Normal", reason="SpecGenerated")
_NO_CONFIG_MAP = _warning(SPEC_GENERATED, "ConfigMapCreationFailed")
_CREATED = _Rule(
    condition=DEPLOYMENT_READY,
    to=frozenset({"DeploymentCreated", "DeploymentReady"}),
    since=_BEFORE_CREATION,
    type="Normal",
    reason="DeploymentCreated",
    text="DGD {graph} created, waiting for Ready",
)

_RULES = (
    _Rule(
        condition=VALIDATION,
        to=frozenset({"SpecValid"}),
        since=frozenset({"", "ValidationFailed"}),
        type="Normal",
        reason="Initialized",
        text="DGDR initialized successfully",
    ),
    _warning(VALIDATION, "ValidationFailed", each_time=True),
    _Rule(
        condition=VALIDATION,
        to=frozenset({CHANGE_REJECTED}),
        reason=CHANGE_REJECTED,
        text=PROFILING_STARTED.text.format(state="{request}"),
        each_time=True,
    ),
    _Rule(
        condition=PROFILING,
        to=frozenset({"ProfilingRunning", "ProfilingFailed", "ProfilingCompleted"}),
        since=_BEFORE_PROFILING,
        type="Normal",
        reason="ProfilingJobCreated",
        text="{job}",
    ),
    _warning(PROFILING, "JobCreationFailed", "ProfilingJobFailed"),
    _warning(PROFILING, "ProfilingFailed", "ProfilingCheckFailed"),
    _GENERATED,
    _warning(SPEC_GENERATED, "GenerationFailed"),
    _CREATED,
    _Rule(condition=DEPLOYMENT_READY, to=frozenset({"DeploymentReady"}), type="Normal", reason="DeploymentReady"),
    _warning(DEPLOYMENT_READY, "DeploymentCreationFailed"),
    _warning(DEPLOYMENT_READY, "DeploymentOverdue"),
    _Rule(
        condition=DEPLOYMENT_READY,
        to=frozenset({"DeploymentDegraded"}),
        reason="DeploymentDegraded",
        text="DynamoGraphDeployment {graph} degraded from Ready to {state}",
    ),
    _Rule(
        condition=DEPLOYMENT_READY,
        to=frozenset({"DeploymentDeleted"}),
        reason="DeploymentDeleted",
        text=f"DynamoGraphDeployment {{graph}}: {DELETED_BY_USER}",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What events tell beyond the status.

    `is_simulated` says that profiling needs no GPUs (AIC), `is_foreign` that somebody else made the graph; `remarks`
    are told once, when the spec is generated.
    """

    is_simulated: bool = False
    is_foreign: bool = False
    remarks: tuple[str, ...] = ()


def find_events(parent: ReadManifest, previous: Previous, status: Mapping[str, Json], story: Story) -> Iterator[Event]:
    """The events that a new status means."""
    deployment = status.get("deployment") or {}
    words = {
        "job": "AIC profiling job created" if story.is_simulated else "Profiling job created",
        "request": status["state"],
        "graph": deployment.get("name", ""),
        "state": deployment.get("state", ""),
    }
    for rule in _RULES:
        condition = find_change(previous.status, status, rule.condition, by_generation=rule.each_time)
        if condition is None or not _is_met(rule, condition, previous) or (rule is _CREATED and story.is_foreign):
            continue
        text = rule.text.format(**words) if rule.text else str(condition.get("message", ""))
        yield _event(parent, rule, text, previous)
        if rule is _GENERATED:
            yield from (_event(parent, _NO_CONFIG_MAP, remark, previous) for remark in story.remarks)


def _is_met(rule: _Rule, condition: Mapping[str, Json], previous: Previous) -> bool:
    before = previous.reason_of(rule.condition)
    is_new = before not in rule.to or rule.each_time
    return condition["reason"] in rule.to and is_new and (not rule.since or before in rule.since)


def _event(parent: ReadManifest, rule: _Rule, message: str, previous: Previous) -> Event:
    return Event(
        about=reference_of(parent),
        type=rule.type,
        reason=rule.reason,
        message=message,
        occasion=_occasion(rule, previous),
    )


def _occasion(rule: _Rule, previous: Previous) -> str:
    """What was before: a sync that comes again with the same old status means the same event."""
    before = find_condition(previous.conditions, rule.condition) or {}
    return f"{previous.generation}/{before.get('reason', '')}/{before.get('lastTransitionTime', '')}"
