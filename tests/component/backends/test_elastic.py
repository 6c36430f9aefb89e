"""vLLM with elastic expert parallelism: on one node, over several, and what the shell makes of it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from hooks.component.pod.backends import Backend
from hooks.component.pod.launch import launch
from hooks.component.pod.placement import Orchestrator, Placement, Role
from hooks.language.api.component_spec import ComponentSpec
from tests.waiting import PATIENCE

COMMAND = ["python3", "-m", "dynamo.vllm"]
ELASTIC = ["--model", "m", "--data-parallel-size", "2", "--enable-elastic-ep"]
ON_RAY = [*ELASTIC, "--data-parallel-backend", "ray"]
SPELLINGS = {"long": ON_RAY, "equals": [*ELASTIC, "--data-parallel-backend=ray"], "short": [*ELASTIC, "-dpb", "ray"]}


def launched(role: Role, args: list[str], backend: Backend = Backend.VLLM, **fields: Any) -> dict[str, Any]:
    nodes = 1 if role is Role.MAIN else 2
    place = Placement(role=role, orchestrator=Orchestrator.LWS, node_count=nodes, service="w")
    spec = ComponentSpec.model_validate({"resources": {"limits": {"gpu": "2"}}})
    container = {"command": COMMAND, "args": args, **fields}
    result = launch(container, place, backend=backend, spec=spec, mpi_secret="")
    return dict(result.container)


@pytest.mark.parametrize("args", SPELLINGS.values(), ids=SPELLINGS)
def test_elastic_engine_on_one_node_runs_behind_a_ray_of_its_own(args: list[str]) -> None:
    container = launched(Role.MAIN, args, env=[{"name": "A", "value": "b"}])
    assert container["command"] == ["/bin/sh", "-c"]
    (line,) = container["args"]
    assert line.startswith('ray start --head --port=6379 --node-ip-address="$POD_IP" --block & ')
    assert line.endswith(f"; exec {' '.join([*COMMAND, *args])}")
    env = {entry["name"]: entry for entry in container["env"]}
    assert list(env) == ["A", "POD_IP", "VLLM_DP_MASTER_IP"]
    for name in ("POD_IP", "VLLM_DP_MASTER_IP"):
        assert env[name]["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"


UNCHANGED: dict[str, tuple[list[str], Backend, dict[str, Any]]] = {
    "another backend of data parallelism": (ELASTIC, Backend.VLLM, {}),
    "not elastic": (["--data-parallel-backend", "ray"], Backend.VLLM, {}),
    "the image's own program": (ON_RAY, Backend.VLLM, {"command": []}),
    "another engine": (ON_RAY, Backend.SGLANG, {}),
}


@pytest.mark.parametrize(("args", "backend", "fields"), UNCHANGED.values(), ids=UNCHANGED)
def test_other_engines_on_one_node_stay_as_they_are(args: list[str], backend: Backend, fields: dict[str, Any]) -> None:
    assert launched(Role.MAIN, args, backend, **fields) == {"command": COMMAND, "args": args, **fields}


def test_leader_heads_ray_and_workers_join_when_it_is_ready() -> None:
    (leader,) = launched(Role.LEADER, [*ON_RAY, "--data-parallel-size", "4"])["args"]
    assert leader.startswith("ray start --head --port=6379 --block & tries=0; until python3 -c ")
    assert " exec " not in leader
    assert "hybrid-lb" not in leader
    (worker,) = launched(Role.WORKER, ON_RAY)["args"]
    assert '"http://$(LWS_LEADER_ADDRESS):9090/live"' in worker
    assert worker.endswith("; ray start --address=$(LWS_LEADER_ADDRESS):6379 --block")


@pytest.mark.parametrize(("failures", "code"), [(0, 0), (3, 0), (1000, 1)])
def test_engine_starts_when_ray_answers_and_the_container_ends_when_it_does_not(
    tmp_path: Path, failures: int, code: int
) -> None:
    (line,) = launched(Role.MAIN, [*ON_RAY, "two words"], command=["engine"])["args"]
    write(tmp_path / "ray", 'echo "$@" > ray.txt')
    write(tmp_path / "engine", 'printf "%s\\n" "$@" > engine.txt')
    write(tmp_path / "sleep", "exit 0")
    write(tmp_path / "python3", f"echo . >> asked.txt; [ $(/usr/bin/wc -l < asked.txt) -gt {failures} ]")
    environment = {"PATH": str(tmp_path), "POD_IP": "10.0.0.1"}
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=tmp_path,
        env=environment,
        timeout=PATIENCE,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    if code == 0:
        assert (tmp_path / "engine.txt").read_text().splitlines() == [*ON_RAY, "two words"]
    else:
        assert not (tmp_path / "engine.txt").exists()
        assert "Ray has not started after 150 tries" in done.stderr


def write(file: Path, text: str) -> None:
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
