"""SGLang over several nodes."""

from pathlib import Path
from typing import Any

import pytest

from hooks.component.pod.backends import Backend
from hooks.component.pod.backends.launched import PROBES
from hooks.component.pod.placement import Orchestrator, Role
from tests.component.backends import running
from tests.component.backends.running import GROVE, GROVE_LEADER, INJECTED, LEADER, LWS, LWS_LEADER, NASTY, WORKER

MODULE = ["-m", "dynamo.sglang"]


def launched(role: Role, orchestrator: Orchestrator = GROVE, **container: Any) -> Any:
    return running.launched(Backend.SGLANG, role, orchestrator, **container).container


@pytest.mark.parametrize("command", [["python3"], ["python3.11"], ["/usr/bin/python3"]])
@pytest.mark.parametrize(("orchestrator", "host"), [(GROVE, GROVE_LEADER), (LWS, LWS_LEADER)])
def test_leader_gets_flags_as_further_arguments(orchestrator: Orchestrator, host: str, command: list[str]) -> None:
    container = launched(LEADER, orchestrator, command=command, args=MODULE)
    assert container["command"] == command
    assert container["args"] == [*MODULE, "--dist-init-addr", f"{host}:29500", "--nnodes", "2", "--node-rank", "0"]


@pytest.mark.parametrize(
    ("command", "args", "start"),
    [
        (["python3"], MODULE, "exec python3 -m dynamo.sglang"),
        (["python3.11"], MODULE, "exec python3.11 -m dynamo.sglang"),
        (["python3", *MODULE], [], "exec python3 -m dynamo.sglang"),
        (["python3"], [], "exec python3"),
        pytest.param(
            ["python3"],
            [*MODULE, "--json", '{"a": 1}'],
            """exec python3 -m dynamo.sglang --json '{"a": 1}'""",
            id="JSON is quoted (upstream v0.9: not)",
        ),
    ],
)
def test_worker_of_grove_computes_its_rank_in_a_shell(command: list[str], args: list[str], start: str) -> None:
    container = launched(WORKER, command=command, args=args)
    assert container["command"] == ["sh", "-c"]
    assert container["args"] == [
        f"{start} --dist-init-addr {GROVE_LEADER}:29500 --nnodes 2 --node-rank $((GROVE_PCLQ_POD_INDEX + 1))"
    ]


def test_worker_of_lws_needs_no_shell_unlike_upstream() -> None:
    container = launched(WORKER, LWS, args=MODULE)
    flags = ["--dist-init-addr", f"{LWS_LEADER}:29500", "--nnodes", "2", "--node-rank", "$(LWS_WORKER_INDEX)"]
    assert (container["command"], container["args"]) == (["python3"], [*MODULE, *flags])


def test_flags_stand_before_a_pipe() -> None:
    container = launched(LEADER, LWS, command=["sh", "-c"], args=["python3 -m dynamo.sglang | tee /tmp/log"])
    flags = f"--dist-init-addr {LWS_LEADER}:29500 --nnodes 2 --node-rank 0"
    assert container["args"] == [f"python3 -m dynamo.sglang {flags} | tee /tmp/log"]


@pytest.mark.parametrize(("role", "kept"), [(WORKER, False), (LEADER, True)])
def test_only_the_worker_loses_its_probes(role: Role, kept: bool) -> None:
    container = launched(role, args=MODULE)
    assert [probe in container for probe in PROBES] == [kept] * 3


def test_another_program_is_left_as_it_is_with_a_warning() -> None:
    result = running.launched(Backend.SGLANG, LEADER, command=["java", "-jar", "sglang.jar"])
    assert (result.container["command"], result.container["args"]) == (["java", "-jar", "sglang.jar"], [])
    assert "the flags for several nodes are not added" in result.warnings[0].text


@pytest.mark.parametrize("role", [LEADER, WORKER])
def test_shell_without_sglang_stays_as_it_is_with_a_warning(role: Role) -> None:
    result = running.launched(Backend.SGLANG, role, command=["/bin/sh", "-c"], args=["exec /launch.sh"])
    assert (result.container["command"], result.container["args"]) == (["/bin/sh", "-c"], ["exec /launch.sh"])
    assert "the program must add them itself" in result.warnings[0].text


@pytest.mark.parametrize(
    ("orchestrator", "host", "rank"),
    [(GROVE, "g-0-worker-2-worker-ldr-0.g-0.ns.svc.cluster.local", "2"), (LWS, "g-worker-0-0.g-worker-0.ns", "2")],
)
@pytest.mark.parametrize(
    "how",
    [
        {"command": ["python3", *MODULE], "args": ["--a", NASTY[0]]},
        {"command": ["/bin/sh", "-c"], "args": ["""exec python3 -m dynamo.sglang --a '{"a": [1, "two words"]}'"""]},
    ],
    ids=["python", "shell"],
)
def test_running_worker_is_told_leader_and_rank(
    orchestrator: Orchestrator, host: str, rank: str, how: dict[str, Any], tmp_path: Path
) -> None:
    (call,) = running.run(launched(WORKER, orchestrator, **how), tmp_path, INJECTED[orchestrator])
    flags = ["--dist-init-addr", f"{host}:29500", "--nnodes", "2", "--node-rank", rank]
    assert [word for word in flags if word not in call] == []
    assert call[call.index("--dist-init-addr") :][:6] == flags
    assert call[call.index("--a") + 1].startswith('{"a": [1, "two words"]')
