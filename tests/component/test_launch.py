"""The variables of a pod's place among its nodes, which have the same names under every orchestrator."""

from typing import Any

import pytest

from hooks.component.pod.backends import Backend
from hooks.component.pod.placement import Role
from tests.component.backends import running
from tests.component.backends.running import GROVE, GROVE_LEADER, LEADER, LWS, LWS_LEADER, WORKER

ORIGIN = "nvidia.com/dynamo-operator-origin-version"
COMMANDS = {
    Backend.VLLM: ["python3", "-m", "dynamo.vllm", "--tensor-parallel-size", "16"],
    Backend.SGLANG: ["python3", "-m", "dynamo.sglang"],
    Backend.TRTLLM: ["python3", "-m", "dynamo.trtllm"],
    Backend.NOOP: ["serve"],
}


def env_of(backend: Backend, role: Role, orchestrator: Any, origin: str, **container: Any) -> list[dict[str, Any]]:
    given = {"command": COMMANDS[backend], "annotations": {ORIGIN: origin}, **container}
    result = running.launched(backend, role, orchestrator, limit="8", **given)
    return list(result.container.get("env") or ())


@pytest.mark.parametrize(
    ("role", "orchestrator", "rank", "leader"),
    [
        (LEADER, GROVE, "0", GROVE_LEADER),
        (WORKER, GROVE, "$(GROVE_PCSG_POD_INDEX)", GROVE_LEADER),
        (LEADER, LWS, "0", LWS_LEADER),
        (WORKER, LWS, "$(LWS_WORKER_INDEX)", LWS_LEADER),
    ],
)
@pytest.mark.parametrize("backend", list(Backend))
def test_place_has_variables_from_release_1_6_on(
    backend: Backend, role: Role, orchestrator: Any, rank: str, leader: str
) -> None:
    aliases = [{"name": "DYNAMO_RANK", "value": rank}, {"name": "DYNAMO_LEADER_ADDRESS", "value": leader}]
    assert env_of(backend, role, orchestrator, "1.6.0")[:2] == aliases
    assert not any(entry in aliases for entry in env_of(backend, role, orchestrator, "1.5.9"))


def test_variables_of_the_place_replace_those_of_the_user_and_come_first() -> None:
    users = [{"name": "A", "value": "$(DYNAMO_RANK)"}, {"name": "DYNAMO_RANK", "value": "7"}]
    found = env_of(Backend.NOOP, LEADER, LWS, "1.6.0", env=users)
    assert found == [
        {"name": "DYNAMO_RANK", "value": "0"},
        {"name": "DYNAMO_LEADER_ADDRESS", "value": LWS_LEADER},
        {"name": "A", "value": "$(DYNAMO_RANK)"},
    ]
    assert env_of(Backend.NOOP, LEADER, LWS, "", env=users) == users
