"""A Pod's status from what its containers are doing."""

from typing import Any

import pytest

from tests.e2e.kubelet.pod_status import Role, Seen, build_status, find_phase, waiting

RUNNING = {"running": {"startedAt": "t0"}}


def ended(code: int) -> dict[str, Any]:
    return {"terminated": {"exitCode": code}}


def seen(role: Role = Role.MAIN, state: Any = RUNNING, **more: Any) -> Seen:
    return Seen(name=more.pop("name", role.value), image="i", role=role, state=state, **more)


def status(*containers: Seen, before: Any = None, now: str = "t1") -> dict[str, Any]:
    return build_status(containers, before or {}, now=now, address="10.0.200.1", node_address="10.0.255.1")


def conditions(found: dict[str, Any]) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in found["conditions"]}


WAITS = waiting("PodInitializing")
CRASHED: dict[str, Any] = {"state": waiting("CrashLoopBackOff", "back-off"), "last_state": ended(1), "restarts": 1}


@pytest.mark.parametrize(
    ("containers", "phase"),
    [
        ([seen(state=WAITS)], "Pending"),
        ([seen(Role.INIT), seen(state=WAITS)], "Pending"),
        ([seen(Role.INIT, ended(1), is_over=True), seen(state=WAITS)], "Failed"),
        ([seen(Role.INIT, ended(0), is_over=True), seen()], "Running"),
        ([seen(**CRASHED)], "Running"),
        ([seen(state=ended(1))], "Running"),
        ([seen(state=ended(0), is_over=True)], "Succeeded"),
        ([seen(state=ended(3), is_over=True)], "Failed"),
        ([seen(state=ended(0), is_over=True), seen()], "Running"),
        ([seen(Role.SIDECAR), seen(state=ended(0), is_over=True)], "Succeeded"),
    ],
)
def test_phase_follows_from_the_containers(containers: list[Seen], phase: str) -> None:
    assert find_phase(containers) == phase


def test_pod_is_ready_when_all_its_containers_and_sidecars_are() -> None:
    sidecar, main = seen(Role.SIDECAR, started=True, ready=True), seen(started=True, ready=True)
    init = seen(Role.INIT, ended(0), is_over=True)
    found = status(init, sidecar, main)
    assert conditions(found) == dict.fromkeys(("PodScheduled", "Initialized", "ContainersReady", "Ready"), "True")
    assert [one["name"] for one in found["initContainerStatuses"]] == ["init", "sidecar"]
    assert found["initContainerStatuses"][0]["ready"], "an init container that is done counts as ready"
    assert (found["podIP"], found["podIPs"]) == ("10.0.200.1", [{"ip": "10.0.200.1"}])


@pytest.mark.parametrize("late", [Role.SIDECAR, Role.MAIN])
def test_container_that_is_not_ready_is_named(late: Role) -> None:
    parts = [seen(role, started=True, ready=role is not late) for role in (Role.SIDECAR, Role.MAIN)]
    ready = status(*parts)["conditions"][-1]
    assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")
    assert ready["message"] == f"containers with unready status: [{late.value}]"


def test_pod_waits_for_its_init_containers() -> None:
    found = status(seen(Role.INIT), seen(Role.SIDECAR, state=WAITS), seen(state=WAITS))
    initialized = found["conditions"][1]
    assert initialized["status"] == "False"
    assert initialized["message"] == "containers with incomplete status: [init sidecar]"
    assert found["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_time_of_a_condition_moves_only_with_its_status() -> None:
    first = status(seen(started=True), now="t1")
    later = status(seen(started=True, ready=True), before=first, now="t2")
    times = {condition["type"]: condition["lastTransitionTime"] for condition in later["conditions"]}
    assert times == {"PodScheduled": "t1", "Initialized": "t1", "ContainersReady": "t2", "Ready": "t2"}
    assert later["startTime"] == "t1"


def test_restarts_and_the_last_end_are_told() -> None:
    (entry,) = status(seen(**CRASHED))["containerStatuses"]
    assert entry["restartCount"] == 1
    assert entry["lastState"] == ended(1)
    assert entry["state"]["waiting"]["reason"] == "CrashLoopBackOff"


def test_pod_that_is_over_is_not_ready() -> None:
    found = status(seen(state=ended(0), is_over=True))
    assert conditions(found)["Ready"] == "False"
    assert found["conditions"][-1]["reason"] == "PodCompleted"
