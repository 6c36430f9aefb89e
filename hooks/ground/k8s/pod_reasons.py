"""Why the pods of a workload are not ready or cannot be created, from what scheduler, kubelet and API server report.

Source: Kubernetes, API reference, PodStatus and DeploymentStatus.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition, is_pod_ready, is_true
from hooks.ground.k8s.container_reasons import address_of, broke_its_group, explain_containers, has_begun, lacks_image
from hooks.ground.k8s.not_ready import Explanation, NotReadyReason, choose_worst
from hooks.ground.k8s.types import Json, ReadManifest, controller_of, is_deleting, labels_of, name_of


def explain_pods(pods: Iterable[ReadManifest], now: datetime) -> Explanation | None:
    """The worst explanation of one workload's pods; None if none of those that were read whole is unready.

    During a rollout only the pods of the newest revision count, because the others are being replaced.
    """
    known = [*pods]
    whole = [pod for pod in known if SUMMARY not in pod]
    found = (_explain_pod(pod, now) for pod in _newest(known) if SUMMARY not in pod)
    return choose_worst(one for one in (*found, *(_explain_ending(pod, now) for pod in whole)) if one is not None)


def cannot_pull(pods: Iterable[ReadManifest]) -> bool:
    """Whether the image of a pod cannot be pulled; during a rollout only the pods of the newest revision count."""
    return any(lacks_image(pod) for pod in _newest(pods))


def _newest(pods: Iterable[ReadManifest]) -> list[ReadManifest]:
    living = [pod for pod in pods if _counts(pod)]
    newest: dict[str, tuple[str, str, str]] = {}
    for pod in living:
        family, revision = revision_of(pod)
        made = (str(pod["metadata"].get("creationTimestamp") or ""), name_of(pod), revision)
        newest[family] = max(made, newest.get(family, made))
    return [pod for pod in living if revision_of(pod)[1] == newest[revision_of(pod)[0]][2]]


def explain_denial(workload_status: Mapping[str, Json]) -> Explanation | None:
    """Why the pods of a Deployment cannot be created, from its status; None if they can."""
    failure = find_condition(workload_status.get("conditions") or (), "ReplicaFailure")
    if failure is None or failure.get("status") != "True":
        return None
    return explain_refusal(str(failure.get("message") or failure.get("reason") or "pods cannot be created"))


def is_refusal(message: str) -> bool:
    """Whether an error says that the API server refuses an object, and not that it could not be asked."""
    return _REFUSED.search(message) is not None


def explain_refusal(message: str) -> Explanation:
    """Why the API server refuses pods, from its message: a missing account, a quota or limit, or its admission."""
    finding = _shorten(message)
    if _ACCOUNT.search(finding):
        return Explanation(
            reason=NotReadyReason.WAITING_FOR_DEPENDENCY,
            finding=finding,
            remedy="create the ServiceAccount, or name another",
        )
    if _QUOTA.search(message):
        remedy = "raise the quota or ask for less"
        return Explanation(reason=NotReadyReason.QUOTA_DENIED, finding=finding, remedy=remedy)
    remedy = next((text for pattern, text in _ADMISSION if pattern.search(message)), "change what is refused")
    return Explanation(reason=NotReadyReason.ADMISSION_DENIED, finding=finding, remedy=remedy)


SUMMARY = "isSummary"
"""Key of what stands for a pod that was not read whole: it says whether the pod is ready, and explains nothing."""
_ENDED = frozenset({"Failed", "Succeeded"})
_REVISION_LABELS = (
    "pod-template-hash",
    "leaderworkerset.sigs.k8s.io/template-revision-hash",
    "grove.io/pod-template-hash",
)
_FAMILY_LABEL = "grove.io/podclique"
"""Each clique has its own template, so its own newest revision."""

_REFUSED = re.compile(r"exceeded quota| is forbidden: | is invalid: |denied the request")
_ACCOUNT = re.compile(r"serviceaccount \S+ not found")
_CLAIM = re.compile(
    r'persistentvolumeclaim "[^"]*" (not found|is being deleted)|unbound immediate PersistentVolumeClaims'
)
_QUOTA = re.compile(r"\bquota\b|(maximum|minimum) \S+ usage per|limit to request ratio")
"""What ResourceQuota and LimitRange say."""

_ADMISSION = (
    (re.compile(r"violates PodSecurity"), "change the pods as the message says, or the level of the namespace"),
    (re.compile(r"no PriorityClass with name \S+ was found"), "create the PriorityClass, or name another"),
)
_PREPARATION_SECONDS = 120.0
_ENDING_SECONDS = 60.0
"""So long after its time a pod may still exist; `deletionTimestamp` is the end of its time."""
_MAX_FINDING = 300


def _counts(pod: ReadManifest) -> bool:
    """Whether the pod counts: not if it has ended, or is being deleted for a reason other than a crash."""
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return False
    return not is_deleting(pod) or broke_its_group(pod)


def revision_of(pod: ReadManifest) -> tuple[str, str]:
    """What a pod's labels say of its template: the family of templates, and which of it; empty for nothing."""
    labels = labels_of(pod)
    return labels.get(_FAMILY_LABEL, ""), next((labels[key] for key in _REVISION_LABELS if key in labels), "")


def _explain_pod(pod: ReadManifest, now: datetime) -> Explanation | None:
    if is_pod_ready(pod):
        return None
    conditions = (pod.get("status") or {}).get("conditions") or ()
    found = (
        _explain_scheduling(pod, find_condition(conditions, "PodScheduled") or {})
        or explain_containers(pod, now)
        or _explain_beyond_containers(pod, conditions)
        or _explain_preparation(pod, conditions, now)
        or Explanation(reason=NotReadyReason.PROGRESSING, finding="it is starting")
    )
    return replace(found, pod=name_of(pod))


def _explain_beyond_containers(pod: ReadManifest, conditions: Sequence[Mapping[str, Json]]) -> Explanation | None:
    """Explain a pod whose containers are all ready: by its readiness gates, otherwise by its node.

    If a node stops reporting, the control plane sets the pod to not ready, but leaves its containers ready. A load
    balancer opens its readiness gate some time after every start.

    Source: Kubernetes, pkg/kubelet/status/generate.go, GeneratePodReadyCondition; pkg/controller/util/node,
    MarkPodsNotReady.
    """
    if not is_true(conditions, "ContainersReady"):
        return None
    spec = pod.get("spec") or {}
    gates = [str(gate.get("conditionType")) for gate in spec.get("readinessGates") or ()]
    if closed := ", ".join(gate for gate in gates if not is_true(conditions, gate)):
        return Explanation(
            reason=NotReadyReason.PROGRESSING,
            finding=f"its containers are ready, but not its readiness gate {closed}",
            remedy="wait; if nothing changes, check that the controller which sets this condition of the pod runs",
        )
    if node := spec.get("nodeName"):
        return Explanation(
            reason=NotReadyReason.WAITING_FOR_DEPENDENCY,
            finding=f"its containers were ready, but its node {node} no longer reports",
            remedy=f"see kubectl describe node {node}",
        )
    return None


def _explain_preparation(
    pod: ReadManifest, conditions: Sequence[Mapping[str, Json]], now: datetime
) -> Explanation | None:
    """Explain a pod with a node on which no container has started: it lacks volumes or a network, or pulls an image.

    For two minutes that is how every pod starts. What the kubelet waits for is in the pod's Events alone.

    Source: Kubernetes, pkg/kubelet/kubelet_pods.go; pod lifecycle, "Pod network readiness".
    """
    if not (pod.get("spec") or {}).get("nodeName") or has_begun(pod):
        return None
    prepared = find_condition(conditions, "PodReadyToStartContainers") or {}
    since = prepared.get("lastTransitionTime") if prepared.get("status") == "False" else None
    since = since or (pod.get("status") or {}).get("startTime") or pod["metadata"].get("creationTimestamp")
    left = _PREPARATION_SECONDS - (now - datetime.fromisoformat(since)).total_seconds() if since else 0.0
    if left > 0:
        return Explanation(
            reason=NotReadyReason.PROGRESSING, finding="it is starting", seconds=min(left, _PREPARATION_SECONDS)
        )
    look = f"see the Events of kubectl describe pod {address_of(pod)}"
    if prepared.get("status") == "False":
        finding = "a volume or its network is not there after two minutes"
        return Explanation(reason=NotReadyReason.WAITING_FOR_DEPENDENCY, finding=finding, remedy=look)
    waits = "pulls its image" if prepared else "pulls its image, or waits for a volume"
    return Explanation(reason=NotReadyReason.PROGRESSING, finding=f"it {waits}", remedy=f"wait, or {look}")


def _explain_ending(pod: ReadManifest, now: datetime) -> Explanation | None:
    """Explain a pod that should be gone, while a StatefulSet waits for its name; LeaderWorkerSet runs on these.

    Only the kubelet of its node ends a pod; a node that is lost ends none.
    """
    end, node = pod["metadata"].get("deletionTimestamp"), (pod.get("spec") or {}).get("nodeName")
    if not end or not node or (controller_of(pod) or {}).get("kind") != kinds.STATEFUL_SET.kind:
        return None
    if (now - datetime.fromisoformat(end)).total_seconds() < _ENDING_SECONDS:
        return None
    return Explanation(
        reason=NotReadyReason.WAITING_FOR_DEPENDENCY,
        pod=name_of(pod),
        finding=f"its node {node} does not end it, so no pod can take its name",
        remedy=f"see kubectl describe node {node}; if the node is gone for good, kubectl delete node {node}",
    )


def _explain_scheduling(pod: ReadManifest, scheduled: Mapping[str, Json]) -> Explanation | None:
    reason, message = scheduled.get("reason"), str(scheduled.get("message") or "")
    if scheduled.get("status") != "False" or not reason:
        return None
    if reason == "SchedulingGated":
        gates = ", ".join(str(gate.get("name")) for gate in (pod.get("spec") or {}).get("schedulingGates") or ())
        return Explanation(
            reason=NotReadyReason.WAITING_FOR_DEPENDENCY,
            finding=f"its scheduling is held back by {gates or 'a gate'}",
            remedy="check that the controller which set the gate runs, and that the rest of its gang can be scheduled",
        )
    if reason == "SchedulerError":
        return Explanation(
            reason=NotReadyReason.UNSCHEDULABLE,
            finding=_shorten(f"the scheduler failed: {message}" if message else "the scheduler failed"),
            remedy="the scheduler tries again; if it still fails, read its log",
        )
    # The part about preemption has other numbers at every attempt.
    finding = _shorten(message.split(" preemption:", maxsplit=1)[0]) or "no node fits"
    if _CLAIM.search(message):
        return Explanation(
            reason=NotReadyReason.WAITING_FOR_DEPENDENCY,
            finding=finding,
            remedy="create the PersistentVolumeClaim, or find out why it is not bound",
        )
    return Explanation(
        reason=NotReadyReason.UNSCHEDULABLE,
        finding=finding,
        remedy="free or add nodes that fit the pod, or let it ask for less",
    )


def _shorten(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _MAX_FINDING else f"{line[: _MAX_FINDING - 1]}…"
