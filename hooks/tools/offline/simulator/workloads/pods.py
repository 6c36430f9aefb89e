"""The stages of a pod, and the status that kubelet and scheduler write at each of them.

Source: Kubernetes, pod lifecycle; API reference, PodStatus.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.pod_troubles import NO_START, Trouble
from hooks.tools.offline.simulator.conditions import WorkloadCondition, build_conditions
from hooks.tools.offline.simulator.workloads.references import Reference, describe_waiting, why_unscheduled


class Stage(StrEnum):
    """The stage of a pod, in this order. Only a Job's pod passes READY."""

    PENDING = "pending"
    PULLING = "pulling"
    STARTING = "starting"
    READY = "ready"
    ENDING = "ending"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class ContainerEnd:
    """How a container ended; `message` is its termination message."""

    exit_code: int
    message: str = ""


Ends = Mapping[str, ContainerEnd]
"""How containers of a pod ended, by name; missing ones still run."""


class PodFault(StrEnum):
    """What is wrong with a pod: it does not become ready, or it is ready, and no frontend lists it yet, or ever."""

    UNSCHEDULABLE = "Unschedulable"
    IMAGE_PULL = "ImagePullBackOff"
    CRASH_LOOP = "CrashLoopBackOff"
    PROBE = "ProbeFailing"
    NOT_REGISTERED = "NotRegistered"
    LATE = "RegistersLate"


FAULT_STAGE: Mapping[PodFault, Stage] = {
    PodFault.UNSCHEDULABLE: Stage.PENDING,
    PodFault.IMAGE_PULL: Stage.PULLING,
    PodFault.CRASH_LOOP: Stage.STARTING,
    PodFault.PROBE: Stage.STARTING,
    PodFault.NOT_REGISTERED: Stage.ENDED,
    PodFault.LATE: Stage.ENDED,
}
"""The last stage that a pod with this fault reaches."""


_INITIALIZING = "PodInitializing"


def is_ready(pod: Manifest) -> bool:
    """Whether the pod's condition Ready is True."""
    conditions = pod.get("status", {}).get("conditions", ())
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def is_gated(pod: Mapping[str, Any]) -> bool:
    """Whether something has yet to let the scheduler have the pod."""
    return bool(pod["spec"].get("schedulingGates"))


def phase_of(pod: Manifest) -> str:
    """One word for a pod as `kubectl get pods` shows it: a waiting reason, else Ready, else the phase."""
    status = pod.get("status", {})
    for key, prefix in (("initContainerStatuses", "Init:"), ("containerStatuses", "")):
        for container in status.get(key, ()):
            reason: str = container.get("state", {}).get("waiting", {}).get("reason", "")
            if reason and reason != _INITIALIZING:
                return f"{prefix}{reason}"
    for condition in status.get("conditions", ()):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return "Unschedulable"
        if condition.get("type") == "Ready" and condition.get("status") == "True":
            return "Ready"
    phase: str = status.get("phase", "Pending")
    return phase


def runs_once(pod: Manifest) -> bool:
    """Whether the containers of the pod end, like those of Jobs; a failed one is not restarted."""
    return bool(pod["spec"].get("restartPolicy", "Always") != "Always")


def build_ended_status(pod: Manifest, ends: Ends, now: str) -> dict[str, Any]:
    """The status of a pod after some or all of its containers have ended."""
    old = pod.get("status", {})
    started = old.get("startTime", now)
    containers = [_end_container(status, ends, started, now) for status in old.get("containerStatuses", ())]
    if not all("terminated" in container["state"] for container in containers):
        reason, message, phase = "ContainersNotReady", _not_ready(pod), "Running"
    else:
        succeeded = all(container["state"]["terminated"]["exitCode"] == 0 for container in containers)
        reason, message, phase = ("PodCompleted", "", "Succeeded") if succeeded else ("PodFailed", "", "Failed")
    conditions = [
        WorkloadCondition("Initialized", True),
        WorkloadCondition("Ready", False, reason, message),
        WorkloadCondition("ContainersReady", False, reason, message),
        WorkloadCondition("PodScheduled", True),
    ]
    written = build_conditions(old.get("conditions", ()), conditions, now, update_time=False)
    return {**old, "phase": phase, "conditions": written, "containerStatuses": containers}


def _end_container(status: Mapping[str, Any], ends: Ends, started: str, now: str) -> dict[str, Any]:
    end = ends.get(status["name"])
    if end is None or "terminated" in status["state"]:
        return dict(status)
    reason = "Completed" if end.exit_code == 0 else "Error"
    terminated = {"exitCode": end.exit_code, "reason": reason, "startedAt": started, "finishedAt": now}
    if end.message:
        terminated["message"] = end.message
    return {**status, "ready": False, "started": False, "state": {"terminated": terminated}}


def build_pod_status(
    pod: Manifest,
    stage: Stage,
    fault: PodFault | None,
    now: str,
    *,
    missing: Reference | None = None,
    trouble: Trouble | None = None,
) -> dict[str, Any]:
    """The status of a pod at a stage up to READY, but for its address.

    `fault`, an object that is missing, or the `trouble` of one container at STARTING keeps it there.
    """
    placed = stage is not Stage.PENDING
    running = stage in {Stage.STARTING, Stage.READY}
    ready = stage is Stage.READY
    if is_gated(pod):
        gated = WorkloadCondition(
            "PodScheduled", False, "SchedulingGated", "Scheduling is blocked due to non-empty gates"
        )
        known = pod.get("status", {}).get("conditions", ())
        return {"phase": "Pending", "conditions": build_conditions(known, [gated], now, update_time=False)}
    conditions = [
        WorkloadCondition("Initialized", placed),
        WorkloadCondition("Ready", ready, "" if ready else "ContainersNotReady", "" if ready else _not_ready(pod)),
        WorkloadCondition(
            "ContainersReady", ready, "" if ready else "ContainersNotReady", "" if ready else _not_ready(pod)
        ),
        _scheduled(placed=placed, fault=fault, missing=missing),
    ]
    status: dict[str, Any] = {
        "phase": "Running" if running else "Pending",
        "conditions": build_conditions(pod.get("status", {}).get("conditions", ()), conditions, now, update_time=False),
        "qosClass": "Burstable",
    }
    if placed:
        status |= {"hostIP": "127.0.0.1", "startTime": now}
        started = pod.get("status", {}).get("startTime")
        status["startTime"] = started or now
        status["containerStatuses"] = [
            _container_status(container, stage, fault, now) for container in pod["spec"]["containers"]
        ]
        if missing is not None:
            status["containerStatuses"] = [
                {**found, "state": {"waiting": describe_waiting(missing, found["name"])}}
                for found in status["containerStatuses"]
            ]
        elif trouble is not None:
            status |= _of_trouble(pod, status["containerStatuses"], trouble, now)
    return status


def _of_trouble(pod: Manifest, statuses: Iterable[Mapping[str, Any]], trouble: Trouble, now: str) -> dict[str, Any]:
    """The statuses of all containers of a started pod: the others run, or wait for an init container."""
    run = {"ready": True, "started": True, "state": {"running": {"startedAt": now}}}
    wait = {"ready": False, "started": False, "state": {"waiting": {"reason": _INITIALIZING}}}
    rest = wait if trouble.is_init else run
    told = [{**found, **rest} for found in statuses]
    if not trouble.is_init:
        return {
            "containerStatuses": [
                _troubled(one, trouble, now) if one["name"] == trouble.container else one for one in told
            ]
        }
    inits = [_container_status(container, Stage.STARTING, None, now) for container in pod["spec"]["initContainers"]]
    (index,) = [at for at, one in enumerate(inits) if one["name"] == trouble.container]
    ended = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}
    before = [{**one, "ready": True, "started": False, "state": ended} for one in inits[:index]]
    after = [{**one, **wait} for one in inits[index + 1 :]]
    return {
        "phase": "Pending",
        "initContainerStatuses": [*before, _troubled(inits[index], trouble, now), *after],
        "containerStatuses": told,
    }


def _troubled(status: Mapping[str, Any], trouble: Trouble, now: str) -> dict[str, Any]:
    """The status of a container that ends again and again, or that runs and fails its probes."""
    if trouble.exit_code is None:
        return {**status, "ready": False, "started": True, "state": {"running": {"startedAt": now}}}
    reason = {0: "Completed", NO_START: "StartError"}.get(trouble.exit_code, "Error")
    ended = {"exitCode": trouble.exit_code, "reason": reason, "startedAt": now, "finishedAt": now}
    if trouble.exit_code == NO_START:
        ended["message"] = trouble.said
    return {**status, "ready": False, "started": False, **_crashed(status["name"], ended)}


def _crashed(container: str, ended: Mapping[str, Any]) -> dict[str, Any]:
    message = f"back-off 5m0s restarting failed container={container}"
    return {
        "restartCount": 5,
        "state": {"waiting": {"reason": PodFault.CRASH_LOOP.value, "message": message}},
        "lastState": {"terminated": ended},
    }


BLOCKS, BLOCK_SIZE = 32, 62_500
"""The loopback addresses of pods come in blocks, in the order of uids; a cluster's may begin with another block."""


def block_prefix(block: int) -> str:
    """The first two numbers of a block's addresses; after the last block comes the first."""
    return f"127.{64 + block % BLOCKS}"


def pod_address(pod: Manifest, block: int = 0) -> str:
    """A loopback address for every pod, so that no simulated address is in a real network."""
    serial = int(pod["metadata"]["uid"][:8], 16)
    return f"{block_prefix(block + serial // BLOCK_SIZE)}.{serial // 250 % 250}.{serial % 250 + 1}"


def _not_ready(pod: Manifest) -> str:
    names = " ".join(container["name"] for container in pod["spec"]["containers"])
    return f"containers with unready status: [{names}]"


def _scheduled(*, placed: bool, fault: PodFault | None, missing: Reference | None) -> WorkloadCondition:
    if placed:
        return WorkloadCondition("PodScheduled", True)
    if missing is not None:
        return WorkloadCondition("PodScheduled", False, "Unschedulable", why_unscheduled(missing))
    if fault is PodFault.UNSCHEDULABLE:
        return WorkloadCondition(
            "PodScheduled", False, "Unschedulable", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
        )
    return WorkloadCondition("PodScheduled", False)


def _container_status(container: Mapping[str, Any], stage: Stage, fault: PodFault | None, now: str) -> dict[str, Any]:
    ready = stage is Stage.READY
    status = {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": ready,
        "restartCount": 0,
        "started": ready or (stage is Stage.STARTING and fault is not PodFault.CRASH_LOOP),
        "state": {"running": {"startedAt": now}},
    }
    if fault is PodFault.CRASH_LOOP:
        ended = {"exitCode": 1, "reason": "Error", "startedAt": now, "finishedAt": now}
        status |= _crashed(container["name"], ended)
    elif fault is PodFault.IMAGE_PULL:
        message = f'Back-off pulling image "{container.get("image", "")}"'
        status["state"] = {"waiting": {"reason": fault.value, "message": message}}
    elif stage is Stage.PULLING:
        status["state"] = {"waiting": {"reason": "ContainerCreating"}}
    return status
