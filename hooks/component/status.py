"""A component's status: three conditions and the counts of its workload, from what was observed.

Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go; types, reasons and the beginnings
of messages are upstream's, what follows a colon is ours.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

import orjson

from hooks import contract
from hooks.component.plan import ComponentPlan
from hooks.k8s.conditions import Condition, Truth, merge_conditions
from hooks.k8s.readiness import Readiness, read_deployment
from hooks.k8s.types import Json, Manifest, ReadManifest, annotations_of, name_of
from hooks.protocol import SyncRequest

AVAILABLE = "Available"
COMPONENT_READY = "DynamoComponentReady"
READY_TYPE = "Ready"
VALIDATION_FAILED = "ValidationFailed"
NO_ORCHESTRATOR_AVAILABLE = "NoOrchestratorAvailable"

_MAX_MESSAGE = 32_768
"""The longest message that the schema of a condition allows."""

_COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
_UNMANAGED = (
    "it carries no last-applied annotation, so changes to it cannot be followed: run Metacontroller with dynamic apply"
)


def report(
    request: SyncRequest, plan: ComponentPlan, *, desired: Manifest, observed: ReadManifest | None, now: datetime
) -> dict[str, Json]:
    """Write the status; `desired` is the Deployment of this sync, `observed` the one that exists.

    While the two differ in spec the component is not ready: what was observed is the state of an older spec.
    """
    readiness = _read_workload(desired, observed)
    remarks = plan.warnings if observed is None else (*plan.warnings, *_remarks(desired, observed))
    return _write(request, _workload_conditions(readiness, remarks), observed, now)


def report_problems(
    request: SyncRequest, problems: tuple[str, ...], *, reason: str, observed: ReadManifest | None, now: datetime
) -> dict[str, Json]:
    """Write the status of a component that cannot be rendered; its workload is as it was, and is still counted."""
    text = "; ".join(problems)
    message = f"Validation failed: {text}" if reason == VALIDATION_FAILED else text
    conditions = tuple(
        Condition(type=type_, status="False", reason=reason, message=message[:_MAX_MESSAGE])
        for type_ in (AVAILABLE, COMPONENT_READY, READY_TYPE)
    )
    return _write(request, conditions, observed, now)


def _read_workload(desired: Manifest, observed: ReadManifest | None) -> Readiness:
    readiness = read_deployment(observed)
    if readiness.ready and observed is not None and not _is_applied(desired, observed):
        return Readiness(ready=False, reason="its new spec is being applied")
    return readiness


def _is_applied(desired: Manifest, observed: ReadManifest) -> bool:
    """Whether the last spec that was applied is the one wanted now; True where nobody recorded it.

    The annotation holds the whole desired object of the last apply.
    """
    text = annotations_of(observed).get(contract.ANNOTATION_LAST_APPLIED)
    if text is None:
        return True
    applied = orjson.loads(text)
    return bool(applied.get("spec") == desired["spec"])


def _remarks(desired: Manifest, observed: ReadManifest) -> Iterator[str]:
    """What applying in place cannot do to the Deployment that exists."""
    if contract.ANNOTATION_LAST_APPLIED not in annotations_of(observed):
        yield f"Deployment {name_of(observed)}: {_UNMANAGED}"
    wanted, live = _init_containers(desired), _init_containers(observed)
    # Metacontroller merges by name: what is there keeps its place, what is new goes to the end.
    stored = [*(name for name in live if name in wanted), *(name for name in wanted if name not in live)]
    if stored != wanted:
        yield (
            f"Deployment {name_of(observed)} runs its init containers in the order {', '.join(stored)} instead of "
            f"{', '.join(wanted)}, which cannot be changed in place: delete the Deployment to have it made anew"
        )


def _init_containers(deployment: ReadManifest) -> list[str]:
    pod = ((deployment.get("spec") or {}).get("template") or {}).get("spec") or {}
    return [str(container["name"]) for container in pod.get("initContainers") or ()]


def _workload_conditions(readiness: Readiness, remarks: tuple[str, ...]) -> tuple[Condition, ...]:
    truth: Truth = "True" if readiness.ready else "False"
    because = f": {readiness.reason}" if readiness.reason else ""
    ready = "ready" if readiness.ready else "not ready"
    suffix = "Ready" if readiness.ready else "NotReady"
    available = f"Deployment is {ready}{because}"
    component = f"DynamoComponent is {ready}{because}"
    return (
        Condition(type=AVAILABLE, status=truth, reason=f"Deployment{suffix}", message=available[:_MAX_MESSAGE]),
        Condition(type=COMPONENT_READY, status=truth, reason=f"Component{suffix}", message=component[:_MAX_MESSAGE]),
        Condition(
            type=READY_TYPE,
            status=truth,
            reason=f"Deployment{suffix}",
            message="; ".join((available, *remarks))[:_MAX_MESSAGE],
        ),
    )


def _write(
    request: SyncRequest, conditions: tuple[Condition, ...], observed: ReadManifest | None, now: datetime
) -> dict[str, Json]:
    previous = request.status.get("conditions") or ()
    status: dict[str, Json] = {
        "conditions": merge_conditions(previous, conditions, now=now, generation=request.generation)
    }
    if observed is not None:
        status["service"] = _service(observed)
    return status


def _service(deployment: ReadManifest) -> Mapping[str, Json]:
    counts = deployment.get("status") or {}
    return {
        "componentKind": "Deployment",
        "componentName": name_of(deployment),
        **{field: int(counts.get(field) or 0) for field in _COUNTS},
    }
