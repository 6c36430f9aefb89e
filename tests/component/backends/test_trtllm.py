"""TensorRT-LLM over several nodes."""

import shlex
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hooks.component.pod.backends import Backend
from hooks.component.pod.backends.launched import PROBES, Launched
from hooks.component.pod.placement import Orchestrator, Role
from hooks.ground.errors import InvalidSpec
from tests.component.backends import running
from tests.component.backends.running import GROVE, GROVE_LEADER, INJECTED, LEADER, LWS, LWS_LEADER, NASTY, WORKER

MODULE = ["-m", "dynamo.trtllm"]
GROVE_WORKERS = [GROVE_LEADER.replace("-ldr-0", f"-wkr-{index}") for index in range(2)]
LWS_WORKERS = [rf"""$(echo "$LWS_LEADER_ADDRESS" | sed 's/\./-{rank}\./')""" for rank in (1, 2)]
FORWARDED = [
    "CUDA_VISIBLE_DEVICES",
    "HF_DATASETS_CACHE",
    "HF_ENDPOINT",
    "HF_HOME",
    "HF_TOKEN",
    "HOME",
    "HUGGING_FACE_HUB_TOKEN",
    "LD_LIBRARY_PATH",
    "MODEL_PATH",
    "NCCL_DEBUG",
    "NCCL_IB_DISABLE",
    "NCCL_P2P_DISABLE",
    "PATH",
    "PYTHONPATH",
    "TENSORRT_LLM_CACHE_DIR",
    "TOKENIZERS_PARALLELISM",
    "TRANSFORMERS_CACHE",
    "TRTLLM_USE_UCX_KVCACHE",
    "USER",
]
KEYS = [
    "ls -la /ssh-pk/",
    "cp /ssh-pk/private.key $HOME/.ssh/id_rsa",
    "cp /ssh-pk/private.key.pub $HOME/.ssh/id_rsa.pub",
    "cp /ssh-pk/private.key.pub $HOME/.ssh/authorized_keys",
    "chmod 600 $HOME/.ssh/id_rsa $HOME/.ssh/authorized_keys",
    "chmod 644 $HOME/.ssh/id_rsa.pub",
    r"printf 'Host *\nIdentityFile '$HOME'/.ssh/id_rsa\nStrictHostKeyChecking no\nPort 2222\n' > $HOME/.ssh/config",
]
SSHD = (
    r"printf 'Port 2222\nHostKey '$HOME'/.ssh/host_keys/ssh_host_rsa_key\n"
    r"HostKey '$HOME'/.ssh/host_keys/ssh_host_ecdsa_key\nHostKey '$HOME'/.ssh/host_keys/ssh_host_ed25519_key\n"
    r"PidFile '$HOME'/.ssh/run/sshd.pid\nPermitRootLogin yes\nPasswordAuthentication no\n"
    r"PubkeyAuthentication yes\nAuthorizedKeysFile '$HOME'/.ssh/authorized_keys\nStrictModes no\n' "
    "> $HOME/.ssh/sshd_config"
)
LAUNCHER = """#!/bin/bash
task="${@:1}"
$task
"""
"""Takes its arguments apart as TensorRT-LLM's launcher does."""


def launched(role: Role, orchestrator: Orchestrator = GROVE, **given: Any) -> Launched:
    given.setdefault("args", MODULE)
    return running.launched(Backend.TRTLLM, role, orchestrator, **{"nodes": 3, "limit": "2", **given})


def parts_of(result: Launched) -> list[str]:
    assert result.container["command"] == ["/bin/sh", "-c"]
    (line,) = result.container["args"]
    return str(line).split(" && ")


def mpirun(ranks: int, hosts: list[str], engine: str, forwarded: list[str] = FORWARDED) -> str:
    names = " ".join(f"-x {name}" for name in forwarded)
    return (
        f"mpirun --allow-run-as-root --oversubscribe -n {ranks} -H {','.join(hosts)} --mca pml ob1 "
        '--mca plm_rsh_args "-p 2222 -o StrictHostKeyChecking=no -i $HOME/.ssh/id_rsa" '
        f"{names} bash -c 'trtllm-llmapi-launch {engine}'"
    )


def test_leader_of_grove_prepares_ssh_and_starts_all_ranks() -> None:
    assert parts_of(launched(LEADER, args=[*MODULE, "--model", "m"])) == [
        "mkdir -p $HOME/.ssh",
        *KEYS,
        mpirun(6, [GROVE_LEADER, *GROVE_WORKERS], "python3 -m dynamo.trtllm --model m"),
    ]


def test_leader_of_lws_first_waits_for_its_workers() -> None:
    line = launched(LEADER, LWS, limit="1").container["args"][0]
    assert mpirun(3, [LWS_LEADER, *LWS_WORKERS], "python3 -m dynamo.trtllm") in line
    assert f'for host in {" ".join(LWS_WORKERS)}; do until getent hosts "$host"' in line
    assert "getent" not in launched(LEADER).container["args"][0]


def test_worker_makes_its_host_keys_and_serves_ssh() -> None:
    assert parts_of(launched(WORKER)) == [
        "mkdir -p $HOME/.ssh $HOME/.ssh/host_keys $HOME/.ssh/run",
        *KEYS,
        "ssh-keygen -t rsa -f $HOME/.ssh/host_keys/ssh_host_rsa_key -N ''",
        "ssh-keygen -t ecdsa -f $HOME/.ssh/host_keys/ssh_host_ecdsa_key -N ''",
        "ssh-keygen -t ed25519 -f $HOME/.ssh/host_keys/ssh_host_ed25519_key -N ''",
        SSHD,
        "/usr/sbin/sshd -D -f $HOME/.ssh/sshd_config",
    ]


def test_worker_is_ready_when_ssh_answers_and_has_no_other_probe() -> None:
    container = launched(WORKER).container
    assert container["readinessProbe"] == {
        "tcpSocket": {"port": 2222},
        "initialDelaySeconds": 20,
        "periodSeconds": 20,
        "timeoutSeconds": 5,
        "failureThreshold": 10,
    }
    assert [probe in container for probe in PROBES] == [False, True, False]


def test_leader_keeps_its_probes() -> None:
    container = launched(LEADER).container
    assert {probe: container[probe] for probe in PROBES} == running.PROBES


@pytest.mark.parametrize(
    ("limit", "request_", "ranks"),
    [("2", "", 6), ("2", "1", 3), ("", "4", 12), ("", "", 0)],
    ids=["limit", "request wins", "request", "none"],
)
def test_ranks_are_nodes_times_gpus_of_requests_then_limits(limit: str, request_: str, ranks: int) -> None:
    result = launched(LEADER, limit=limit, request=request_)
    assert f" -n {ranks} " in parts_of(result)[-1]
    assert len(result.warnings) == (0 if ranks else 1)


@pytest.mark.parametrize(
    ("command", "args", "engine"),
    [
        (["/usr/bin/python3"], MODULE, "/usr/bin/python3 -m dynamo.trtllm"),
        (["python3", *MODULE], ["--tp", "8"], "python3 -m dynamo.trtllm --tp 8"),
        (["sh", "-c"], ["python3 -m dynamo.trtllm --tp 8"], "python3 -m dynamo.trtllm --tp 8"),
        (["/bin/sh", "-c"], ["python3 -m dynamo.trtllm --m $MODEL_PATH"], "python3 -m dynamo.trtllm --m $MODEL_PATH"),
        (["/launch"], ["--a"], "/launch --a"),
    ],
)
def test_plain_command_stands_behind_the_launcher(command: list[str], args: list[str], engine: str) -> None:
    result = launched(LEADER, command=command, args=args)
    assert parts_of(result)[-1].endswith(f" bash -c 'trtllm-llmapi-launch {engine}'")


@pytest.mark.parametrize(
    ("command", "args"),
    [
        (["python3", *MODULE], ["--x", '{"a": 1}']),
        (["python3", *MODULE], ["$(MODEL)"]),
        (["sh", "-c"], ["cd /x && python3 -m dynamo.trtllm"]),
        (["sh", "-c"], ["exec python3 -m dynamo.trtllm"]),
        (["sh", "-c"], ["python3 -m dynamo.trtllm --x 'a b'"]),
        (["bash", "-lc"], ["python3 -m dynamo.trtllm"]),
    ],
    ids=["JSON", "reference", "two commands", "builtin", "quotes", "login shell"],
)
def test_what_the_launcher_would_take_apart_goes_through_a_file_unlike_upstream(
    command: list[str], args: list[str]
) -> None:
    line = launched(LEADER, command=command, args=args).container["args"][0]
    assert line.endswith(" bash -c 'trtllm-llmapi-launch sh $HOME/.ssh/engine.sh'")
    before = line[: line.index(" > $HOME/.ssh/engine.sh && mpirun ")]
    written = shlex.split(before[before.rindex("printf '%s\\n' ") :])[2]
    assert shlex.split(written) == ["exec", *command, *args]


def test_names_of_the_containers_variables_are_forwarded_sorted_and_once() -> None:
    env = [{"name": name, "value": "x"} for name in ("ZED", "HF_TOKEN", "ABLE")]
    result = launched(LEADER, env=env)
    words = shlex.split(parts_of(result)[-1])
    names = [word for before, word in pairwise(words) if before == "-x"]
    assert names == sorted([*FORWARDED, "ABLE", "ZED"])


@pytest.mark.parametrize("role", [LEADER, WORKER])
def test_host_names_are_kept_whole_unless_the_user_says_otherwise(role: Role) -> None:
    name = "OMPI_MCA_orte_keep_fqdn_hostnames"
    assert launched(role).container["env"] == [{"name": name, "value": "1"}]
    users = [{"name": name, "value": "0"}]
    assert launched(role, env=users).container["env"] == users


@pytest.mark.parametrize("role", [LEADER, WORKER])
def test_keys_are_mounted_from_the_secret(role: Role) -> None:
    own = {"name": "cache", "mountPath": "/cache"}
    result = launched(role, volumeMounts=[own])
    assert result.volumes == ({"name": running.SECRET, "secret": {"secretName": running.SECRET, "defaultMode": 420}},)
    mount = {"name": running.SECRET, "mountPath": "/ssh-pk", "readOnly": True}
    assert result.container["volumeMounts"] == [own, mount]


@pytest.mark.parametrize("args", [[], ["--tp", "8"]], ids=["nothing", "flags alone"])
def test_leader_that_leaves_its_program_to_the_image_is_refused(args: list[str]) -> None:
    with pytest.raises(InvalidSpec, match=r"mainContainer\.command: must be the command that starts"):
        launched(LEADER, command=[], args=args)


def test_command_line_that_linux_does_not_take_is_refused_with_its_length() -> None:
    with pytest.raises(InvalidSpec, match=r"has \d+ bytes, must have at most 131071"):
        launched(LEADER, args=[*MODULE, "x" * 131_000])


def keys_of(tmp_path: Path) -> dict[str, str]:
    source = tmp_path / "pk"
    source.mkdir()
    (source / "private.key").write_text("private")
    (source / "private.key.pub").write_text("public")
    return {"/ssh-pk": str(source), "/usr/sbin/sshd": str(tmp_path / "bin" / "sshd")}


@pytest.mark.parametrize("orchestrator", [GROVE, LWS])
def test_running_worker_serves_with_its_own_keys(orchestrator: Orchestrator, tmp_path: Path) -> None:
    paths = keys_of(tmp_path)
    calls = running.run(launched(WORKER, orchestrator).container, tmp_path, INJECTED[orchestrator], paths=paths)
    assert [call[0] for call in calls] == ["ssh-keygen", "ssh-keygen", "ssh-keygen", "sshd"]
    assert calls[0] == ["ssh-keygen", "-t", "rsa", "-f", f"{tmp_path}/.ssh/host_keys/ssh_host_rsa_key", "-N", ""]
    assert calls[3] == ["sshd", "-D", "-f", f"{tmp_path}/.ssh/sshd_config"]
    settings = (tmp_path / ".ssh/sshd_config").read_text().splitlines()
    assert settings[:2] == ["Port 2222", f"HostKey {tmp_path}/.ssh/host_keys/ssh_host_rsa_key"]
    assert settings[-2:] == [f"AuthorizedKeysFile {tmp_path}/.ssh/authorized_keys", "StrictModes no"]
    assert (tmp_path / ".ssh/authorized_keys").read_text() == "public"
    assert (tmp_path / ".ssh/authorized_keys").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("orchestrator", [GROVE, LWS])
def test_running_leader_hands_all_hosts_to_mpirun(orchestrator: Orchestrator, tmp_path: Path) -> None:
    paths = keys_of(tmp_path)
    calls = running.run(launched(LEADER, orchestrator).container, tmp_path, INJECTED[orchestrator], paths=paths)
    hosts = {
        GROVE: [f"g-0-worker-2-worker-{name}.g-0.ns.svc.cluster.local" for name in ("ldr-0", "wkr-0", "wkr-1")],
        LWS: [f"g-worker-0-0{rank}.g-worker-0.ns" for rank in ("", "-1", "-2")],
    }[orchestrator]
    asked = [call[-1] for call in calls if call[0] == "getent"]
    assert asked == (hosts[1:] if orchestrator is LWS else [])
    assert [call[-2:] for call in calls if call[0] == "ssh"] == [[host, "true"] for host in asked]
    last = calls[-1]
    assert last[:7] == ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "6", "-H", ",".join(hosts)]
    assert last[last.index("plm_rsh_args") + 1] == f"-p 2222 -o StrictHostKeyChecking=no -i {tmp_path}/.ssh/id_rsa"
    assert last[-3:] == ["bash", "-c", "trtllm-llmapi-launch python3 -m dynamo.trtllm"]
    config = (tmp_path / ".ssh/config").read_text().splitlines()
    assert config[1] == f"IdentityFile {tmp_path}/.ssh/id_rsa"


FIRST_RANK = """#!/bin/sh
while [ "$1" != bash ]; do shift; done
exec "$@"
"""
"""Runs the program as mpirun does on rank 0, which is on the leader."""


@pytest.mark.parametrize(
    ("command", "args", "engine"),
    [
        (["python3", *MODULE], ["--tp", "8"], ["--tp", "8"]),
        (["python3", *MODULE], NASTY, None),
        (["sh", "-c"], ["""cd / && A='x  y' && python3 -m dynamo.trtllm "$A" '{"a": 1}' $MODEL_PATH"""], None),
        (["bash", "-c"], ["python3 -m dynamo.trtllm --m $MODEL_PATH"], ["--m", "/models/a"]),
    ],
    ids=["plain", "nasty", "script", "plain script"],
)
@pytest.mark.parametrize("orchestrator", [GROVE, LWS])
def test_running_first_rank_is_the_users_command(
    orchestrator: Orchestrator, command: list[str], args: list[str], engine: list[str] | None, tmp_path: Path
) -> None:
    env = {**INJECTED[orchestrator], "GREETING": 'hi "you"', "MODEL_PATH": "/models/a"}
    scripts = {"mpirun": FIRST_RANK, "trtllm-llmapi-launch": LAUNCHER}
    container = launched(LEADER, orchestrator, command=command, args=args).container
    calls = running.run(container, tmp_path, env, scripts=scripts, paths=keys_of(tmp_path))
    if engine is None:
        nasty = [running.kubelet(word, env) for word in NASTY]
        engine = nasty if args is NASTY else ["x  y", '{"a": 1}', "/models/a"]
    assert calls[-1] == ["python3", *MODULE, *engine]


def test_leader_that_cannot_read_its_keys_starts_nothing(tmp_path: Path) -> None:
    container = launched(LEADER, LWS).container
    with pytest.raises(AssertionError, match="No such file"):
        running.run(container, tmp_path, INJECTED[LWS], paths={"/ssh-pk": str(tmp_path / "none")})
    assert not (tmp_path / "log").exists()


def test_ssh_reads_the_settings_that_the_leader_writes(tmp_path: Path) -> None:
    ssh = shutil.which("ssh")
    if ssh is None:
        pytest.skip("no ssh here; install openssh-client")
    running.run(launched(LEADER).container, tmp_path, INJECTED[GROVE], paths=keys_of(tmp_path))
    command = [ssh, "-G", "-F", str(tmp_path / ".ssh/config"), "worker"]
    read = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {"port 2222", f"identityfile {tmp_path}/.ssh/id_rsa", "stricthostkeychecking false"} <= set(read)
