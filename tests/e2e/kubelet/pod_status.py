"""A Pod's status from what its containers are doing; what the API server is told, and nothing else.

Source: Kubernetes, pkg/kubelet/status/generate.go and kubelet_pods.go (getPhase).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

State = Mapping[str, Any]
"""`{"waiting": …}`, `{"running": …}` or `{"terminated": …}`."""

NOT_READY = "ContainersNotReady"
RUNNING, SUCCEEDED, FAILED, PENDING = "Running", "Succeeded", "Failed", "Pending"


class Role(StrEnum):
    """What a container is in its pod; a sidecar is an init container that goes on running."""

    INIT = "init"
    SIDECAR = "sidecar"
    MAIN = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A container as it is; `is_over` says that it has ended and is not started again."""

    name: str
    image: str
    role: Role
    state: State
    last_state: State = field(default_factory=dict)
    restarts: int = 0
    ready: bool = False
    started: bool = False
    is_over: bool = False

    @property
    def is_initialized(self) -> bool:
        """Whether what comes after it need not wait: an init container that succeeded, a sidecar that started."""
        if self.role is Role.SIDECAR:
            return self.started
        return self.role is Role.MAIN or (self.is_over and self.exit_code == 0)

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it has not."""
        ended = self.state.get("terminated")
        return int(ended["exitCode"]) if ended else None

    def build(self) -> dict[str, Any]:
        """The entry of the pod's status."""
        found: dict[str, Any] = {
            "name": self.name,
            "image": self.image,
            "imageID": "",
            "ready": self.ready or (self.role is Role.INIT and self.exit_code == 0),
            "started": self.started,
            "restartCount": self.restarts,
            "state": dict(self.state),
        }
        return {**found, "lastState": dict(self.last_state)} if self.last_state else found


def waiting(reason: str, message: str = "") -> State:
    """The state of a container that does not run yet, or not now."""
    return {"waiting": {"reason": reason, **({"message": message} if message else {})}}


def find_phase(containers: Sequence[Seen]) -> str:
    """The pod's phase."""
    mains = [one for one in containers if one.role is Role.MAIN]
    inits = [one for one in containers if one.role is Role.INIT]
    if any(one.is_over and one.exit_code for one in inits):
        return FAILED
    if mains and all(one.is_over for one in mains):
        return FAILED if any(one.exit_code for one in mains) else SUCCEEDED
    has_run = any("running" in one.state or "terminated" in one.state or one.restarts for one in mains)
    return RUNNING if has_run else PENDING


def build_status(
    containers: Sequence[Seen], before: Mapping[str, Any], *, now: str, address: str, node_address: str
) -> dict[str, Any]:
    """The whole status; `before` is the last one, from which times of conditions are kept."""
    phase = find_phase(containers)
    mains = [one for one in containers if one.role is Role.MAIN]
    over = phase in {SUCCEEDED, FAILED}
    late = [one.name for one in containers if not one.is_initialized]
    unready = [one.name for one in containers if one.role is not Role.INIT and not one.ready]
    because = {"reason": "PodCompleted"} if phase == SUCCEEDED else _because(NOT_READY, "unready", unready)
    conditions = [
        _condition("PodScheduled", True, {}),
        _condition("Initialized", over or not late, _because("ContainersNotInitialized", "incomplete", late)),
        _condition("ContainersReady", not over and not unready, because),
        _condition("Ready", not over and not unready, because),
    ]
    status: dict[str, Any] = {
        "phase": phase,
        "conditions": [_kept(condition, before, now) for condition in conditions],
        "hostIP": node_address,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": before.get("startTime") or now,
        "containerStatuses": [one.build() for one in mains],
    }
    first = [one.build() for one in containers if one.role is not Role.MAIN]
    return {**status, "initContainerStatuses": first} if first else status


def _because(reason: str, what: str, names: Sequence[str]) -> Mapping[str, str]:
    return {"reason": reason, "message": f"containers with {what} status: [{' '.join(names)}]"}


def _condition(kind: str, holds: bool, because: Mapping[str, str]) -> dict[str, Any]:
    return {"type": kind, "status": "True"} if holds else {"type": kind, "status": "False", **because}


def _kept(condition: dict[str, Any], before: Mapping[str, Any], now: str) -> dict[str, Any]:
    """The condition with the time since when it has its status."""
    for old in before.get("conditions") or ():
        if (old["type"], old["status"]) == (condition["type"], condition["status"]):
            return {**condition, "lastTransitionTime": old["lastTransitionTime"]}
    return {**condition, "lastTransitionTime": now}
