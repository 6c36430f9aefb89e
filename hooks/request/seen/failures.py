"""Why the pods of a profiling Job failed or do not start: pod, container, exit code and reason.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, getProfilingJobErrorDetails.
"""

from collections.abc import Iterable, Iterator

from hooks.ground import contract
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import Json, ReadManifest, name_of

_CONTAINERS = (contract.PROFILER_CONTAINER, contract.OUTPUT_COPIER_CONTAINER)
"""The profiler first: when it fails, the copier fails too."""

_MAX_MESSAGE, _MAX_REASON = 500, 100
"""Longest message of a container in characters, which may be the end of its log, and longest reason."""


def describe_pods(pods: Iterable[ReadManifest]) -> str:
    """Name the container that failed or cannot start; empty if there is none.

    A failed pod comes before a pending one; of several, the newest comes first.
    """
    ordered = sorted(pods, key=_age)
    failed = [text for pod in reversed(ordered) if _phase(pod) == "Failed" for text in _describe_failed(pod)]
    waiting = [text for pod in reversed(ordered) if _phase(pod) == "Pending" for text in _describe_pending(pod)]
    return next(iter([*failed, *waiting]), "")


def _describe_failed(pod: ReadManifest) -> Iterator[str]:
    for name in _CONTAINERS:
        ended = _state(pod, name).get("terminated") or {}
        if ended.get("exitCode"):
            facts = f"ExitCode: {ended['exitCode']}, {_reason(ended, 'Error')}"
            yield f"Pod: {name_of(pod)}, Container: {name}, {facts}{_message(ended)}"
    status = pod.get("status") or {}
    if status.get("reason"):  # evicted, or past its deadline: no container failed
        yield f"Pod: {name_of(pod)}, {_reason(status)}{_message(status)}"


def _describe_pending(pod: ReadManifest) -> Iterator[str]:
    for name in _CONTAINERS:
        waiting = _state(pod, name).get("waiting") or {}
        if waiting.get("reason") not in {None, "ContainerCreating", "PodInitializing"}:
            yield f"Pod: {name_of(pod)}, Container: {name}, {_reason(waiting)}{_message(waiting)}"
    scheduled = find_condition((pod.get("status") or {}).get("conditions") or (), "PodScheduled") or {}
    if scheduled.get("status") == "False":
        yield f"Pod: {name_of(pod)}, {_reason(scheduled, 'Unschedulable')}{_message(scheduled)}"


def _state(pod: ReadManifest, container: str) -> dict[str, Json]:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    states: list[dict[str, Json]] = [status.get("state") or {} for status in statuses if status["name"] == container]
    return states[0] if states else {}


def _reason(source: ReadManifest, otherwise: str = "") -> str:
    return f"Reason: {' '.join(str(source.get('reason') or otherwise).split())[:_MAX_REASON]}"


def _message(source: ReadManifest) -> str:
    text = " ".join(str(source.get("message") or "").split())
    return f", Message: {text[:_MAX_MESSAGE]}" if text else ""


def _phase(pod: ReadManifest) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _age(pod: ReadManifest) -> tuple[str, str]:
    return str(pod["metadata"].get("creationTimestamp") or ""), name_of(pod)
