"""Whether an address is that of the pod which an EndpointSlice names."""

from typing import Any

import pytest

from hooks.model.seen.pod_addresses import NamedAddress, judge_address

CORRECT = "; correct the EndpointSlice, or let a Service's selector write it"


def named(address: str = "10.0.0.1", uid: str = "u1", port: int = 0) -> NamedAddress:
    return NamedAddress("default", "w0", uid, address, port)


def listening(field: str, *ports: dict[str, Any]) -> dict[str, Any]:
    return {**pod("10.0.0.1"), "spec": {field: [{"name": "main"}, {"name": "runtime", "ports": [*ports]}]}}


def pod(*addresses: str, phase: str = "Running", uid: str = "u1", **status: Any) -> dict[str, Any]:
    found = {"phase": phase, "podIPs": [{"ip": one} for one in addresses], **status}
    if addresses:
        found.setdefault("podIP", addresses[0])
    return {"metadata": {"name": "w0", "uid": uid}, "status": found}


OWN = {
    "its address": (named(), pod("10.0.0.1")),
    "its second address": (named("fd00::1"), pod("10.0.0.1", "fd00::1")),
    "another form of it": (named("fd00:0:0::0001"), pod("FD00::1")),
    "no uid": (named(uid=""), pod("10.0.0.1", uid="u2")),
    "only podIP": (named(), pod(podIP="10.0.0.1")),
    "its port": (named(port=8081), listening("containers", {"name": "system", "containerPort": 8081})),
    "a runtime's port": (named(port=8081), listening("initContainers", {"name": "system", "containerPort": 8081})),
    "not ready yet": (named(), pod("10.0.0.1", phase="Pending")),
    "in its node's network": (named("192.168.0.5"), pod("192.168.0.5", hostIP="192.168.0.5")),
}


@pytest.mark.parametrize(("asked", "found"), OWN.values(), ids=OWN)
def test_own_address_is_called(asked: NamedAddress, found: Any) -> None:
    assert judge_address(asked, found) == ""


FOREIGN: dict[str, tuple[NamedAddress, Any, str]] = {
    "gone": (named(), None, "its address 10.0.0.1 belongs to no pod, because namespace default has no pod w0"),
    "another address": (named("10.0.0.9"), pod("10.0.0.1"), "its address 10.0.0.9 is not an address of pod w0"),
    "no address yet": (named(), pod(phase="Pending"), "its address 10.0.0.1 is not an address of pod w0"),
    "no status": (named(), {"metadata": {"uid": "u1"}}, "its address 10.0.0.1 is not an address of pod w0"),
    "its node": (
        named("1.2.3.4"),
        pod("10.0.0.1", hostIP="1.2.3.4"),
        "its address 1.2.3.4 is not an address of pod w0",
    ),
    "another uid": (named(), pod("10.0.0.1", uid="u2"), "the uid that its EndpointSlice names is not that of pod w0"),
    "a port of another name": (
        named(port=6379),
        listening("containers", {"name": "redis", "containerPort": 6379}, {"name": "system", "containerPort": 8081}),
        "no container of pod w0 has the port 6379 under the name system",
    ),
    "a port of none": (named(port=1), pod("10.0.0.1"), "no container of pod w0 has the port 1 under the name system"),
    "succeeded": (
        named(),
        pod("10.0.0.1", phase="Succeeded"),
        "its address 10.0.0.1 may be another pod's by now, because pod w0 has ended",
    ),
    "failed": (
        named(),
        pod("10.0.0.1", phase="Failed"),
        "its address 10.0.0.1 may be another pod's by now, because pod w0 has ended",
    ),
}


@pytest.mark.parametrize(("asked", "found", "reason"), FOREIGN.values(), ids=FOREIGN)
def test_foreign_address_is_not_called(asked: NamedAddress, found: Any, reason: str) -> None:
    assert judge_address(asked, found) == f"not called: {reason}{CORRECT}"
