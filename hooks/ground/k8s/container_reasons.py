"""Why a pod's containers are not ready, from what the kubelet reports.

The kubelet's messages are not repeated if they may contain text of a registry, a program or a user: addresses with
credentials, output of the container, values of variables.

Source: Kubernetes, API reference, ContainerStatus; pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hooks.ground.k8s.not_ready import Explanation, NotReadyReason, choose_worst
from hooks.ground.k8s.types import Json, ReadManifest, labels_of, name_of


def explain_containers(pod: ReadManifest, now: datetime) -> Explanation | None:
    """The worst explanation of a pod's containers; None if none of them explains why the pod is not ready."""
    found = (_explain_container(pod, container, now) for container in _containers(pod))
    return choose_worst(explanation for explanation in found if explanation is not None)


def lacks_image(pod: ReadManifest) -> bool:
    """Whether the image of a container cannot be pulled, for example because the pull secret is missing."""
    states = (container.status.get("state") or {} for container in _containers(pod))
    return any((state.get("waiting") or {}).get("reason") in _PULL_REASONS for state in states)


def has_begun(pod: ReadManifest) -> bool:
    """Whether a container of the pod runs or ran, as the kubelet reports."""
    states = (container.status for container in _containers(pod))
    return any(
        one.get("started") or one.get("restartCount") or {"running", "terminated"} & (one.get("state") or {}).keys()
        for one in states
    )


def broke_its_group(pod: ReadManifest) -> bool:
    """Whether a container failed, so that LeaderWorkerSet deleted all pods of the group at once.

    The containers of a pod that is deleted for another reason may fail too, but after the deletion began.

    Source: LeaderWorkerSet, pkg/controllers/pod_controller.go, handleRestartPolicy (RecreateGroupOnPodRestart).
    """
    return _GROUP_LABEL in labels_of(pod) and any(_ended_before_deletion(pod, c.status) for c in _containers(pod))


def address_of(pod: ReadManifest) -> str:
    """The pod as an argument of kubectl."""
    return f"-n {pod['metadata'].get('namespace', '')} {name_of(pod)}"


_PULL_REASONS = frozenset({"ErrImagePull", "ImagePullBackOff"})
_IMAGE_REASONS = frozenset(
    {
        *_PULL_REASONS,
        "ErrImageNeverPull",
        "ImageInspectError",
        "InvalidImageName",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_START_REASONS = frozenset({"CrashLoopBackOff", "CreateContainerError", "RunContainerError", "StartError"})
_CONFIG_REASON = "CreateContainerConfigError"
_KILLED = {137: "killed, as after a failed liveness or startup probe", 143: "asked to stop, as after a failed probe"}
_REPEATED = 2
"""From this number of ends a container is in a crash loop; one restart may come from a dependency that was late."""
_RECOVERED_SECONDS = 600
"""After this time without an end, the kubelet resets its back-off. Source: Kubernetes, pod lifecycle."""

_GROUP_LABEL = "leaderworkerset.sigs.k8s.io/name"

_MISSING = re.compile(r'(secret|configmap) "[^"]*" not found|couldn\'t find key \S+ in (Secret|ConfigMap) \S+')
_DENIED = re.compile(r"unauthorized|denied|forbidden|\b40[13]\b", re.IGNORECASE)
_ABSENT = re.compile(r"not found|manifest unknown|\b404\b|does not exist", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Container:
    """A container as its pod declares it and as the kubelet reports it; `runs_on` is False for one that should end."""

    name: str
    image: str
    readiness_probe: Mapping[str, Json]
    status: Mapping[str, Json]
    runs_on: bool


def _containers(pod: ReadManifest) -> Iterator[_Container]:
    """The containers that the kubelet reports: init containers first, because they run first."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    for declared, reported in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        statuses = {one.get("name"): one for one in status.get(reported) or ()}
        for container in spec.get(declared) or ():
            if container["name"] in statuses:
                yield _Container(
                    name=container["name"],
                    image=str(container.get("image") or ""),
                    readiness_probe=container.get("readinessProbe") or {},
                    status=statuses[container["name"]],
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
    if how_often := _how_often_it_ends(pod, container.status, reason, now):
        return _explain_crash(pod, container, reason, how_often)
    running: Mapping[str, Json] = state.get("running") or {}
    if running and container.runs_on and container.status.get("started"):
        return _explain_probe(pod, container, str(running.get("startedAt") or ""), now)
    return None


def _explain_image(container: _Container, reason: str, message: str) -> Explanation:
    """Explain an image that cannot be pulled, without the registry's answer; pulling and back-off are the same here."""
    finding, remedy = "cannot be pulled", "see that it exists and that the pod has a pull secret for its registry"
    if reason == "InvalidImageName":
        finding, remedy = "is not a valid image name", "correct it"
    elif _DENIED.search(message):
        finding, remedy = "is refused by its registry", "give the pod a pull secret, or correct the name"
    elif _ABSENT.search(message):
        finding, remedy = "does not exist in its registry", "correct its name or tag"
    return Explanation(
        reason=NotReadyReason.IMAGE_PULL,
        finding=f"image {container.image} of container {container.name} {finding}",
        remedy=remedy,
    )


def _explain_configuration(pod: ReadManifest, container: _Container, message: str) -> Explanation:
    missing = _MISSING.search(message)
    if missing is None:
        return Explanation(
            reason=NotReadyReason.WAITING_FOR_DEPENDENCY,
            finding=f"container {container.name} cannot be configured",
            remedy=f"see kubectl describe pod {address_of(pod)}",
        )
    return Explanation(
        reason=NotReadyReason.WAITING_FOR_DEPENDENCY,
        finding=f"container {container.name} needs an object that does not exist: {missing[0]}",
        remedy="create it",
    )


def _how_often_it_ends(pod: ReadManifest, status: Mapping[str, Json], reason: str, now: datetime) -> str:
    """Half a sentence on how a container crashes; empty if it does not."""
    if reason in _START_REASONS or (_ends(status) >= _REPEATED and not _has_recovered(status, now)):
        return "crashes repeatedly, last"
    if _GROUP_LABEL in labels_of(pod) and _ended_before_deletion(pod, status):
        return "crashed, so its whole group is recreated,"
    return ""


def _explain_crash(pod: ReadManifest, container: _Container, reason: str, how_often: str) -> Explanation:
    """Explain a crash by the last end; without a count, which would cause a status write at every restart."""
    ended = _last_end(container.status)
    if not ended:
        return Explanation(
            reason=NotReadyReason.CRASH_LOOP,
            finding=f"container {container.name} cannot be started ({reason})",
            remedy=f"see kubectl describe pod {address_of(pod)}",
        )
    code = int(ended.get("exitCode") or 0)
    if ended.get("reason") == "OOMKilled":
        how, remedy = " (OOMKilled)", "raise its memory limit or let it need less"
    else:
        how = f" ({_KILLED[code]})" if code in _KILLED else ""
        remedy = f"read why with kubectl logs {address_of(pod)} -c {container.name} --previous"
    return Explanation(
        reason=NotReadyReason.CRASH_LOOP,
        finding=f"container {container.name} {how_often} with exit code {code}{how}",
        remedy=remedy,
    )


def _explain_probe(pod: ReadManifest, container: _Container, since: str, now: datetime) -> Explanation | None:
    """Explain a running container: its readiness probe fails, or its allowed time to start is not over."""
    probe = container.readiness_probe
    if not probe or not since:
        return None
    allowed = float(probe.get("initialDelaySeconds") or 0)
    allowed += float(probe.get("periodSeconds") or 10) * float(probe.get("failureThreshold") or 3)
    left = allowed - (now - datetime.fromisoformat(since)).total_seconds()
    if left > 0:
        return Explanation(reason=NotReadyReason.PROGRESSING, finding="it is starting", seconds=min(left, allowed))
    return Explanation(
        reason=NotReadyReason.PROBE_FAILING,
        finding=f"container {container.name} runs, but its readiness probe fails",
        remedy=f"read kubectl logs {address_of(pod)} -c {container.name}",
    )


def _ends(status: Mapping[str, Json]) -> int:
    """How often the container has ended, with any exit code: a workload's containers should not end."""
    is_over = bool((status.get("state") or {}).get("terminated"))
    return int(status.get("restartCount") or 0) + is_over


def _has_recovered(status: Mapping[str, Json], now: datetime) -> bool:
    """Whether the container has run so long since its last end that the kubelet has reset its back-off."""
    since = ((status.get("state") or {}).get("running") or {}).get("startedAt")
    if not since or not status.get("started"):
        return False
    return (now - datetime.fromisoformat(since)).total_seconds() >= _RECOVERED_SECONDS


def _ended_before_deletion(pod: ReadManifest, status: Mapping[str, Json]) -> bool:
    end, metadata = _last_end(status), pod["metadata"]
    if int(end.get("exitCode") or 0) == 0:
        return False
    deletion = metadata.get("deletionTimestamp")
    if deletion is None:
        return True
    grace = timedelta(seconds=float(metadata.get("deletionGracePeriodSeconds") or 0))
    finished = end.get("finishedAt")
    return finished is not None and datetime.fromisoformat(finished) <= datetime.fromisoformat(deletion) - grace


def _last_end(status: Mapping[str, Json]) -> Mapping[str, Json]:
    ends = ((status.get(key) or {}).get("terminated") for key in ("state", "lastState"))
    return next((end for end in ends if end), {})
