"""Reconciles Jobs of one pod: creates pods until one succeeds or too many fail, and writes the status.

A deleted pod is replaced and does not count as failed.

Source: Kubernetes 1.36, pkg/controller/job/job_controller.go and pod_failure_policy.go; statuses as a real controller
wrote them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, is_controlled_by, is_deleting
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.store import Store, ref_of
from hooks.tools.offline.simulator.workloads.owned import build_pod, owned_by, write_status
from hooks.tools.offline.simulator.workloads.pods import is_ready

_LONGEST = 57
"""How much of a Job's name the names of its pods have."""
_BACK_OFF_SECONDS, _MAX_BACK_OFF_SECONDS = 10, 600
_FINISHED = frozenset({"Succeeded", "Failed"})
_TERMINAL = {"SuccessCriteriaMet": "Complete", "FailureTarget": "Failed"}
"""The condition of a decided Job, and the one that follows when its pods have ended."""

_COMPLETE = ("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
_TOO_OFTEN = ("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
_TOO_LONG = ("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline")


def reconcile_job(store: Store, client: Client, job: Manifest, now: str) -> None:
    """Take one step of a Job: its end, else its pod, and the status; `now` is a timestamp."""
    if is_deleting(job) or has_finished(job):
        return
    pods = _pods_of(store, job)
    decided = _decision(job) or _decide(job, pods, now)
    active = [pod for pod in pods if _phase(pod) not in _FINISHED]
    if decided:
        for pod in active:
            client.delete(ref_of(pod))
    elif not active and _may_start(job, pods, now):
        client.create(build_pod(store, job, job["spec"]["template"], longest=_LONGEST))
    status = _build_status(job, _pods_of(store, job), decided, now)
    write_status(client, job, status)


def next_due(job: Manifest, pods: Iterable[Manifest]) -> datetime | None:
    """When a Job is due without a change: its deadline, or the end of a back-off; None for never."""
    started = job.get("status", {}).get("startTime")
    if started is None or has_finished(job):
        return None
    found = [pod for pod in pods if is_controlled_by(pod, job["metadata"]["uid"])]
    deadline = job["spec"].get("activeDeadlineSeconds")
    times = [_time(started) + timedelta(seconds=deadline)] if deadline is not None else []
    if found and all(_phase(pod) in _FINISHED for pod in found):
        times.append(_back_off_end(job, found))
    return min(times, default=None)


def has_finished(job: Manifest) -> bool:
    """Whether the Job has the condition Complete or Failed."""
    return any(condition["type"] in _TERMINAL.values() for condition in _conditions(job))


def _decision(job: Manifest) -> tuple[str, str, str] | None:
    """An earlier decision: (condition type, reason, message)."""
    found = (condition for condition in _conditions(job) if condition["type"] in _TERMINAL)
    return next(((c["type"], c["reason"], c["message"]) for c in found), None)


def _decide(job: Manifest, pods: Sequence[Manifest], now: str) -> tuple[str, str, str] | None:
    spec = job["spec"]
    if any(_phase(pod) == "Succeeded" for pod in pods):
        return _COMPLETE
    for pod in pods:
        message = _matching_failure(job, pod)
        if message:
            return "FailureTarget", "PodFailurePolicy", message
    if _count_failed(job, pods) > spec["backoffLimit"]:
        return _TOO_OFTEN
    started = job.get("status", {}).get("startTime", now)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and _time(now) >= _time(started) + timedelta(seconds=deadline):
        return _TOO_LONG
    return None


def _matching_failure(job: Manifest, pod: Manifest) -> str:
    """Why a failed pod makes the Job fail at once; empty where its failure policy does not say so."""
    index, rule = _rule_of(job, pod)
    if rule.get("action") != "FailJob":
        return ""
    metadata = pod["metadata"]
    where = f"pod {metadata['namespace']}/{metadata['name']}"
    exits = next(_matching_exits(rule, pod), None)
    if exits is None:
        return f"Pod {metadata['namespace']}/{metadata['name']} has condition matching FailJob rule at index {index}"
    name, code = exits
    return f"Container {name} for {where} failed with exit code {code} matching FailJob rule at index {index}"


def _rule_of(job: Manifest, pod: Manifest) -> tuple[int, Mapping[str, Any]]:
    """Index and content of the first rule of the failure policy that matches a failed pod; {} if none does."""
    rules = job["spec"].get("podFailurePolicy", {}).get("rules", ()) if _phase(pod) == "Failed" else ()
    matching = ((i, rule) for i, rule in enumerate(rules) if any(_matching_exits(rule, pod)) or _has_state(rule, pod))
    return next(matching, (-1, {}))


def _matching_exits(rule: Mapping[str, Any], pod: Manifest) -> Iterator[tuple[str, int]]:
    wanted = rule.get("onExitCodes")
    if wanted is None:
        return
    for container in pod.get("status", {}).get("containerStatuses", ()):
        code = container["state"].get("terminated", {}).get("exitCode", 0)
        is_listed = code in wanted["values"]
        is_meant = wanted.get("containerName") in {None, container["name"]}
        if code != 0 and is_meant and is_listed == (wanted["operator"] == "In"):
            yield container["name"], code


def _has_state(rule: Mapping[str, Any], pod: Manifest) -> bool:
    wanted = [(c["type"], c.get("status", "True")) for c in rule.get("onPodConditions", ())]
    return any((c["type"], c["status"]) in wanted for c in pod.get("status", {}).get("conditions", ()))


def _count_failed(job: Manifest, pods: Iterable[Manifest]) -> int:
    return sum(_phase(pod) == "Failed" and _rule_of(job, pod)[1].get("action") != "Ignore" for pod in pods)


def _may_start(job: Manifest, pods: Sequence[Manifest], now: str) -> bool:
    return not pods or _time(now) >= _back_off_end(job, pods)


def _back_off_end(job: Manifest, pods: Sequence[Manifest]) -> datetime:
    """When the next pod may be created: 10 s, 20 s, 40 s … after the failed ones, whether they count or not."""
    ends = [_time(end) for pod in pods for end in _ends(pod)] or [_time(job["status"]["startTime"])]
    failures = sum(_phase(pod) == "Failed" for pod in pods)
    seconds = min(_BACK_OFF_SECONDS * 2 ** (failures - 1), _MAX_BACK_OFF_SECONDS) if failures else 0
    return max(ends) + timedelta(seconds=seconds)


def _ends(pod: Manifest) -> Iterator[str]:
    for container in pod.get("status", {}).get("containerStatuses", ()):
        if "terminated" in container["state"]:
            yield container["state"]["terminated"]["finishedAt"]


def _pods_of(store: Store, job: Manifest) -> list[Manifest]:
    return [pod for pod in owned_by(store, job, kinds.POD) if not is_deleting(pod)]


def _build_status(
    job: Manifest, pods: Sequence[Manifest], decided: tuple[str, str, str] | None, now: str
) -> dict[str, Any]:
    running = [pod for pod in pods if _phase(pod) not in _FINISHED]
    status: dict[str, Any] = {
        "startTime": job.get("status", {}).get("startTime", now),
        "ready": sum(is_ready(pod) for pod in running),
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }
    counts = {
        "active": len(running),
        "succeeded": sum(_phase(pod) == "Succeeded" for pod in pods),
        "failed": _count_failed(job, pods),
    }
    status |= {key: number for key, number in counts.items() if number}
    if decided:
        status["conditions"] = _write_conditions(job, decided, now)
        if len(status["conditions"]) > 1 and decided[0] == "SuccessCriteriaMet":
            status["completionTime"] = now
    return status


def _write_conditions(job: Manifest, decided: tuple[str, str, str], now: str) -> list[dict[str, str]]:
    """The condition of the decision; at the next step, when no pod runs, also the final one."""
    kind, reason, message = decided
    known = list(_conditions(job))
    new = {"status": "True", "lastProbeTime": now, "lastTransitionTime": now, "reason": reason, "message": message}
    return [*known, {"type": _TERMINAL[kind] if known else kind, **new}]


def _conditions(job: Manifest) -> Sequence[dict[str, str]]:
    found: Sequence[dict[str, str]] = job.get("status", {}).get("conditions", ())
    return found


def _phase(pod: Manifest) -> str:
    phase: str = pod.get("status", {}).get("phase", "Pending")
    return phase


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
