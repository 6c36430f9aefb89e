"""Why pods are not ready: one reason from a fixed table, the pod that shows it, and what to do.

Reads what scheduler and kubelet report. Their messages are not repeated where they may hold what a registry, a program
or a user wrote: addresses with credentials, output of the container, values of variables.

Source: Kubernetes, API reference, PodStatus; pkg/kubelet/images/types.go and pkg/kubelet/container/sync_result.go.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from hooks.k8s.conditions import find_condition, is_true
from hooks.k8s.types import Json, ReadManifest, is_deleting, labels_of, name_of


class Trouble(StrEnum):
    """Reasons, the worst first: of several pods the one with the worst speaks for all."""

    UNSCHEDULABLE = "Unschedulable"
    IMAGE_PULL = "ImagePull"
    CRASH_LOOP = "CrashLoop"
    PROBE_FAILING = "ProbeFailing"
    QUOTA_DENIED = "QuotaDenied"
    WAITING_FOR_DEPENDENCY = "WaitingForDependency"
    ROLLING_OUT = "RollingOut"
    PROGRESSING = "Progressing"


NEEDS_SOMEBODY = frozenset(Trouble) - {Trouble.ROLLING_OUT, Trouble.PROGRESSING}
"""Reasons that do not go away by waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why something is not ready.

    `pod` is empty where none shows it; `finding` is half a sentence or empty, `remedy` what to do. Of itself the
    explanation may become another one after `seconds`; 0 for never.
    """

    reason: Trouble
    pod: str = ""
    finding: str = ""
    remedy: str = "nothing to do but wait"
    seconds: float = 0

    def __str__(self) -> str:
        """`CrashLoop: pod p: container main ended with exit code 1 - kubectl logs …`."""
        pod = f"pod {self.pod}: " if self.pod else ""
        finding = f"{self.finding} - " if self.finding else ""
        return f"{self.reason}: {pod}{finding}{self.remedy}"


def choose_worst(found: Iterable[Explanation]) -> Explanation | None:
    """The worst, of several equally bad ones that of the first pod by name; None where there is none.

    It keeps the soonest moment at which any of them may change.
    """
    explanations = sorted(found, key=lambda one: (_RANK[one.reason], one.pod, one.finding))
    if not explanations:
        return None
    soonest = min((one.seconds for one in explanations if one.seconds), default=0.0)
    return replace(explanations[0], seconds=soonest)


def explain_pods(pods: Iterable[ReadManifest], now: datetime) -> Explanation | None:
    """Explain from the pods of one workload; None where each that counts is ready, or there is none.

    Where old and new pods stand side by side only the newer count: what is wrong with the others is being replaced.
    """
    living = [pod for pod in pods if not is_deleting(pod) and _phase(pod) not in _ENDED]
    newest: dict[str, tuple[str, str, str]] = {}
    for pod in living:
        family, revision = _revision(pod)
        made = (str(pod["metadata"].get("creationTimestamp") or ""), name_of(pod), revision)
        newest[family] = max(made, newest.get(family, made))
    counted = (pod for pod in living if _revision(pod)[1] == newest[_revision(pod)[0]][2])
    return choose_worst(found for pod in counted if (found := _explain_pod(pod, now)) is not None)


def explain_denial(workload_status: Mapping[str, Json]) -> Explanation | None:
    """Explain why no pods can be made, from a Deployment's status; None while they can."""
    failure = find_condition(workload_status.get("conditions") or (), "ReplicaFailure")
    if failure is None or failure.get("status") != "True":
        return None
    finding = _shorten(str(failure.get("message") or failure.get("reason") or "pods cannot be created"))
    if _ACCOUNT.search(finding):
        return Explanation(
            reason=Trouble.WAITING_FOR_DEPENDENCY, finding=finding, remedy="create the ServiceAccount, or name another"
        )
    remedy = "raise the quota or ask for less" if "quota" in finding else "change what the API server refuses"
    return Explanation(reason=Trouble.QUOTA_DENIED, finding=finding, remedy=remedy)


_RANK = {reason: rank for rank, reason in enumerate(Trouble)}
_ENDED = frozenset({"Failed", "Succeeded"})
_REVISION_LABELS = (
    "pod-template-hash",
    "leaderworkerset.sigs.k8s.io/template-revision-hash",
    "grove.io/pod-template-hash",
)
_FAMILY_LABEL = "grove.io/podclique"
"""Cliques differ in template, so each has its own newest revision."""

_IMAGE_REASONS = frozenset(
    {
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_START_REASONS = frozenset({"CrashLoopBackOff", "CreateContainerError", "RunContainerError", "StartError"})
_CONFIG_REASON = "CreateContainerConfigError"
_KILLED = {137: "killed, as after a failed liveness or startup probe", 143: "asked to stop, as after a failed probe"}
_REPEATED = 2
"""Ends after which a container is said to be in a loop; one restart may be a dependency that was late."""

_ACCOUNT = re.compile(r"serviceaccount \S+ not found")
_CLAIM = re.compile(
    r'persistentvolumeclaim "[^"]*" (not found|is being deleted)|unbound immediate PersistentVolumeClaims'
)
_MISSING = re.compile(r'(secret|configmap) "[^"]*" not found|couldn\'t find key \S+ in (Secret|ConfigMap) \S+')
_DENIED = re.compile(r"unauthorized|denied|forbidden|\b40[13]\b", re.IGNORECASE)
_ABSENT = re.compile(r"not found|manifest unknown|\b404\b|does not exist", re.IGNORECASE)
_MAX_FINDING = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class _Container:
    """A container as its pod declares it and as the kubelet reports it; `runs_on` is False for one that ends."""

    name: str
    image: str
    readiness_probe: Mapping[str, Json]
    status: Mapping[str, Json]
    runs_on: bool


def _phase(pod: ReadManifest) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _revision(pod: ReadManifest) -> tuple[str, str]:
    labels = labels_of(pod)
    return labels.get(_FAMILY_LABEL, ""), next((labels[key] for key in _REVISION_LABELS if key in labels), "")


def _explain_pod(pod: ReadManifest, now: datetime) -> Explanation | None:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    if is_true(conditions, "Ready"):
        return None
    found = _explain_scheduling(pod, find_condition(conditions, "PodScheduled") or {})
    worst = found or choose_worst(
        one for container in _containers(pod) if (one := _explain_container(pod, container, now)) is not None
    )
    named = worst or Explanation(reason=Trouble.PROGRESSING, finding="it is starting")
    return replace(named, pod=name_of(pod))


def _explain_scheduling(pod: ReadManifest, scheduled: Mapping[str, Json]) -> Explanation | None:
    reason, message = scheduled.get("reason"), str(scheduled.get("message") or "")
    if scheduled.get("status") != "False" or not reason:
        return None
    if reason == "SchedulingGated":
        gates = ", ".join(str(gate.get("name")) for gate in (pod.get("spec") or {}).get("schedulingGates") or ())
        return Explanation(
            reason=Trouble.WAITING_FOR_DEPENDENCY,
            finding=f"its scheduling is held back by {gates or 'a gate'}",
            remedy="see that who set the gate runs, and that the rest of its gang can be placed",
        )
    # What preemption found is said again at every attempt, in other numbers.
    finding = _shorten(message.split(" preemption:", maxsplit=1)[0]) or "no node fits"
    if _CLAIM.search(message):
        return Explanation(
            reason=Trouble.WAITING_FOR_DEPENDENCY,
            finding=finding,
            remedy="create the PersistentVolumeClaim, or see why it is not bound",
        )
    return Explanation(
        reason=Trouble.UNSCHEDULABLE,
        finding=finding,
        remedy="free or add nodes that fit the pod, or let it ask for less",
    )


def _containers(pod: ReadManifest) -> Iterator[_Container]:
    """Init containers first, as they run first; those that the kubelet says nothing of yet are left out."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    for declared, reported in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        said = {one.get("name"): one for one in status.get(reported) or ()}
        for container in spec.get(declared) or ():
            if container["name"] in said:
                yield _Container(
                    name=container["name"],
                    image=str(container.get("image") or ""),
                    readiness_probe=container.get("readinessProbe") or {},
                    status=said[container["name"]],
                    runs_on=declared == "containers" or container.get("restartPolicy") == "Always",
                )


def _explain_container(pod: ReadManifest, container: _Container, now: datetime) -> Explanation | None:
    if container.status.get("ready"):
        return None
    state = container.status.get("state") or {}
    waiting: Mapping[str, Json] = state.get("waiting") or {}
    reason = str(waiting.get("reason") or "")
    if reason in _IMAGE_REASONS:
        return _explain_image(container, reason, str(waiting.get("message") or ""))
    if reason == _CONFIG_REASON:
        return _explain_configuration(pod, container, str(waiting.get("message") or ""))
    if reason in _START_REASONS or _ends(container.status) >= _REPEATED:
        return _explain_crash(pod, container, reason)
    running: Mapping[str, Json] = state.get("running") or {}
    if running and container.runs_on and container.status.get("started"):
        return _explain_probe(pod, container, str(running.get("startedAt") or ""), now)
    return None


def _explain_image(container: _Container, reason: str, message: str) -> Explanation:
    """The registry's answer is not repeated, and whether the kubelet tries or waits makes no difference."""
    finding, remedy = "cannot be pulled", "see that it exists and that the pod has a pull secret for its registry"
    if reason == "InvalidImageName":
        finding, remedy = "is no name of an image", "correct it"
    elif _DENIED.search(message):
        finding, remedy = "is not for us to pull", "give the pod a pull secret for its registry"
    elif _ABSENT.search(message):
        finding, remedy = "does not exist in its registry", "correct its name or tag"
    return Explanation(
        reason=Trouble.IMAGE_PULL,
        finding=f"image {container.image} of container {container.name} {finding}",
        remedy=remedy,
    )


def _explain_configuration(pod: ReadManifest, container: _Container, message: str) -> Explanation:
    missing = _MISSING.search(message)
    if missing is None:
        return Explanation(
            reason=Trouble.WAITING_FOR_DEPENDENCY,
            finding=f"container {container.name} cannot be configured",
            remedy=f"see kubectl describe pod {_address(pod)}",
        )
    return Explanation(
        reason=Trouble.WAITING_FOR_DEPENDENCY,
        finding=f"container {container.name} needs something that is not there: {missing[0]}",
        remedy="create it",
    )


def _explain_crash(pod: ReadManifest, container: _Container, reason: str) -> Explanation:
    """Say how it last ended; how often is left out, as the status would be written at every restart."""
    ended = _last_end(container.status)
    if not ended:
        return Explanation(
            reason=Trouble.CRASH_LOOP,
            finding=f"container {container.name} cannot be started ({reason})",
            remedy=f"see kubectl describe pod {_address(pod)}",
        )
    code = int(ended.get("exitCode") or 0)
    if ended.get("reason") == "OOMKilled":
        how, remedy = " (OOMKilled)", "raise its memory limit or let it need less"
    else:
        how = f" ({_KILLED[code]})" if code in _KILLED else ""
        remedy = f"read why with kubectl logs {_address(pod)} -c {container.name} --previous"
    return Explanation(
        reason=Trouble.CRASH_LOOP,
        finding=f"container {container.name} ends again and again, last with exit code {code}{how}",
        remedy=remedy,
    )


def _explain_probe(pod: ReadManifest, container: _Container, since: str, now: datetime) -> Explanation | None:
    """A container that runs has the time that its probe allows before it counts as failing."""
    probe = container.readiness_probe
    if not probe or not since:
        return None
    allowed = float(probe.get("initialDelaySeconds") or 0)
    allowed += float(probe.get("periodSeconds") or 10) * float(probe.get("failureThreshold") or 3)
    left = allowed - (now - datetime.fromisoformat(since)).total_seconds()
    if left > 0:
        return Explanation(reason=Trouble.PROGRESSING, finding="it is starting", seconds=left)
    return Explanation(
        reason=Trouble.PROBE_FAILING,
        finding=f"container {container.name} runs, but its readiness probe does not succeed",
        remedy=f"read kubectl logs {_address(pod)} -c {container.name}",
    )


def _ends(status: Mapping[str, Json]) -> int:
    """How often the container has ended badly, as far as its last end was a bad one."""
    is_over = bool((status.get("state") or {}).get("terminated"))
    bad = int(_last_end(status).get("exitCode") or 0) != 0
    return int(status.get("restartCount") or 0) + is_over if bad else 0


def _last_end(status: Mapping[str, Json]) -> Mapping[str, Json]:
    ends = ((status.get(key) or {}).get("terminated") for key in ("state", "lastState"))
    return next((end for end in ends if end), {})


def _address(pod: ReadManifest) -> str:
    return f"-n {pod['metadata'].get('namespace', '')} {name_of(pod)}"


def _shorten(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _MAX_FINDING else f"{line[: _MAX_FINDING - 1]}…"
