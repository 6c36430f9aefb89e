"""vLLM over several nodes."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hooks.component.pod.backends import Backend
from hooks.component.pod.backends.launched import PROBES, Launched
from hooks.component.pod.launch import launch
from hooks.component.pod.placement import Orchestrator, Placement, Role
from hooks.ground.errors import InvalidSpec
from hooks.language.api.component_spec import ComponentSpec, ResourceItem, Resources
from tests.component.backends import running
from tests.component.backends.running import (
    GROVE,
    GROVE_LEADER,
    INJECTED,
    LEADER,
    LWS,
    LWS_LEADER,
    NASTY,
    WORKER,
    kubelet,
)
from tests.waiting import PATIENCE

MODULE = ["-m", "dynamo.vllm"]
BIG = ["--tensor-parallel-size", "16"]
EXECUTOR = "nvidia.com/vllm-distributed-executor-backend"
RAY_HEAD = "ray start --head --port=6379 && "
RAY_FLAG = " --distributed-executor-backend ray"


def launched(role: Role, orchestrator: Orchestrator = GROVE, *, gpus: str = "8", **given: Any) -> Launched:
    given.setdefault("command", ["python3", *MODULE])
    return running.launched(Backend.VLLM, role, orchestrator, limit=gpus, **given)


def line_of(result: Launched) -> list[str]:
    return [*result.container["command"], *result.container["args"]]


def data_parallel_flags(local: int, rank: str, host: str = GROVE_LEADER) -> list[str]:
    flags = f"--data-parallel-hybrid-lb --data-parallel-size-local {local} --data-parallel-start-rank {rank} "
    return [*(flags + f"--data-parallel-address {host} --data-parallel-rpc-port 13445").split(" ")]


@pytest.mark.parametrize(
    ("command", "args", "line"),
    [
        (["python3", *MODULE], BIG, "python3 -m dynamo.vllm --tensor-parallel-size 16" + RAY_FLAG),
        (
            ["some", "dynamo", "command"],
            ["--tensor-parallel-size", "16", "--pipeline-parallel-size", "1"],
            "some dynamo command --tensor-parallel-size 16 --pipeline-parallel-size 1" + RAY_FLAG,
        ),
        (["python3", *MODULE, "-tp", "16"], [], "python3 -m dynamo.vllm -tp 16" + RAY_FLAG),
        pytest.param(
            ["python3", *MODULE],
            [*BIG, "--x", '{"a": "b c"}'],
            """python3 -m dynamo.vllm --tensor-parallel-size 16 --x '{"a": "b c"}'""" + RAY_FLAG,
            id="JSON is quoted (upstream: not)",
        ),
        pytest.param(
            ["/bin/sh", "-c"],
            ["cd /x && python3 -m dynamo.vllm -tp 16"],
            f"/bin/sh -c 'cd /x && python3 -m dynamo.vllm{RAY_FLAG} -tp 16'",
            id="script stays one argument, flag in it (upstream: unquoted, flag behind)",
        ),
    ],
)
@pytest.mark.parametrize("orchestrator", [GROVE, LWS])
def test_leader_of_an_engine_larger_than_its_node_heads_ray(
    orchestrator: Orchestrator, command: list[str], args: list[str], line: str
) -> None:
    assert line_of(launched(LEADER, orchestrator, command=command, args=args)) == ["/bin/sh", "-c", RAY_HEAD + line]


@pytest.mark.parametrize(
    ("orchestrator", "host"),
    [
        (GROVE, GROVE_LEADER),
        pytest.param(LWS, LWS_LEADER, id="lws, by the kubelet (upstream v0.9: $LWS_LEADER_ADDRESS)"),
    ],
)
def test_worker_of_an_engine_larger_than_its_node_joins_ray(orchestrator: Orchestrator, host: str) -> None:
    result = launched(WORKER, orchestrator, args=BIG)
    assert line_of(result) == ["/bin/sh", "-c", f"ray start --address={host}:6379 --block"]


@pytest.mark.parametrize(("role", "kept"), [(WORKER, False), (LEADER, True)])
@pytest.mark.parametrize(
    ("args", "annotations"),
    [(BIG, {}), (BIG, {EXECUTOR: "mp"}), (["-dp", "16"], {}), ([], {})],
    ids=["ray", "mp", "data parallel", "alone"],
)
def test_only_the_worker_loses_its_probes(role: Role, kept: bool, args: list[str], annotations: dict[str, str]) -> None:
    container = launched(role, args=args, annotations=annotations).container
    assert [probe in container for probe in PROBES] == [kept] * 3


@pytest.mark.parametrize(
    ("args", "gpus", "local"),
    [
        (["--tensor-parallel-size", "1", "--data-parallel-size", "16"], "8", 8),
        (["--tensor-parallel-size", "2", "--data-parallel-size", "8"], "8", 4),
        (["-tp", "2", "-pp", "2", "-dp", "4"], "8", 2),
        (["--data-parallel-size=16"], "8", 8),
        (["--data_parallel_size", "16"], "8", 8),
        (["--tensor-parallel-size", "abc", "--data-parallel-size", "16"], "8", 8),
    ],
)
def test_data_parallel_nodes_run_as_many_engines_as_their_gpus_hold(args: list[str], gpus: str, local: int) -> None:
    leader = launched(LEADER, args=args, gpus=gpus)
    assert leader.container["args"] == [*args, *data_parallel_flags(local, "0")]
    rank = f"$(( {local} * $((GROVE_PCLQ_POD_INDEX + 1)) ))"
    command = " ".join(["exec python3 -m dynamo.vllm", *args, *data_parallel_flags(local, rank)])
    assert line_of(launched(WORKER, args=args, gpus=gpus)) == ["sh", "-c", command]


def test_data_parallel_worker_of_lws_multiplies_a_variable_and_no_reference_unlike_upstream() -> None:
    command = " ".join(
        ["exec python3 -m dynamo.vllm -dp 16", *data_parallel_flags(8, "$(( 8 * LWS_WORKER_INDEX ))", LWS_LEADER)]
    )
    assert line_of(launched(WORKER, LWS, args=["-dp", "16"])) == ["sh", "-c", command]


@pytest.mark.parametrize("shell", [["sh", "-c"], ["/bin/bash", "-lc"]])
def test_data_parallel_flags_follow_the_module_in_a_shell_script(shell: list[str]) -> None:
    result = launched(LEADER, command=shell, args=["python3 -m dynamo.vllm --data-parallel-size 16 | tee log"])
    flags = " ".join(data_parallel_flags(8, "0"))
    assert line_of(result) == [*shell, f"python3 -m dynamo.vllm {flags} --data-parallel-size 16 | tee log"]


@pytest.mark.parametrize(
    ("args", "ray"),
    [
        (["--tensor-parallel-size", "16"], True),
        (["--tensor-parallel-size=16"], True),
        (["-tp", "16"], True),
        (["-tp=16"], True),
        (["-pp", "2", "-tp", "8"], True),
        (["--pipeline-parallel-size=2 --tensor-parallel-size=8"], True),
        (["--tensor-parallel-size 16 --x"], True),
        (["--tensor-parallel-size", "$(TP)"], True),
        (["--tensor-parallel-size=$TP"], True),
        (["-tp", '"${TP}"'], True),
        (["--tensor-parallel-size", "8"], False),
        (["--tensor-parallel-size", "abc"], False),
        (["--tensor-parallel-size", "0"], False),
        (["--tensor-parallel-size", "$(UNKNOWN)"], False),
        (["--tensor-parallel-size"], False),
        (["--tensor-parallel-size", "9" * 5000], False),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
@pytest.mark.parametrize("where", ["command", "args"])
def test_sizes_are_read_however_they_are_written(args: list[str], ray: bool, where: str) -> None:
    command = ["python3", *MODULE, *(args if where == "command" else [])]
    rest = args if where == "args" else []
    env = [{"name": "TP", "value": "16"}, {"name": "UNKNOWN", "valueFrom": {}}]
    result = launched(LEADER, command=command, args=rest, env=env)
    assert ("ray start --head" in line_of(result)[-1]) is ray


@pytest.mark.parametrize(
    ("gpus", "args"),
    [("8", ["-tp", "4", "-dp", "2"]), ("8", []), ("", BIG), ("0", BIG)],
    ids=["all fit on a node", "one GPU needed", "no GPUs", "zero GPUs"],
)
@pytest.mark.parametrize("role", [LEADER, WORKER])
def test_command_stays_where_one_node_is_enough_and_the_user_is_told(role: Role, gpus: str, args: list[str]) -> None:
    result = launched(role, gpus=gpus, args=args)
    assert line_of(result) == ["python3", *MODULE, *args]
    assert "vLLM does not span the 2 nodes" in result.warnings[0].text


@pytest.mark.parametrize(
    ("limits", "requests", "base", "big"),
    [
        (ResourceItem(gpu="8"), ResourceItem(gpu="2"), {}, False),
        (None, ResourceItem(gpu="2"), {}, True),
        (ResourceItem(gpu="2", gpu_type="amd.com/gpu"), None, {}, True),
        (ResourceItem(custom={"nvidia.com/gpu": "2"}), None, {}, True),
        (ResourceItem(gpu_type="amd.com/gpu", custom={"amd.com/gpu": "2"}), None, {}, True),
        (None, None, {"limits": {"nvidia.com/gpu": 2}}, True),
        (ResourceItem(gpu="8000m"), None, {}, False),
    ],
    ids=["limit first", "request", "own type", "custom", "custom of own type", "main container", "written otherwise"],
)
def test_gpus_are_counted_from_limits_then_requests(
    limits: ResourceItem | None, requests: ResourceItem | None, base: dict[str, Any], big: bool
) -> None:
    result = launch(
        {"command": ["python3", *MODULE], "args": ["-tp", "4"], "resources": base},
        Placement(role=LEADER, orchestrator=GROVE, node_count=2, service="w"),
        backend=Backend.VLLM,
        spec=ComponentSpec(resources=Resources(limits=limits, requests=requests)),
        mpi_secret="",
    )
    assert ("ray start" in result.container["args"][-1]) is big


@pytest.mark.parametrize("amount", ["0.5", "-1", "1500m", "many"])
def test_gpu_count_that_is_no_whole_number_is_refused(amount: str) -> None:
    with pytest.raises(InvalidSpec, match=rf"spec\.resources\.limits\.gpu: .*{amount}.*"):
        launched(LEADER, gpus=amount, args=BIG)


def test_shell_without_vllm_stays_as_it_is_with_a_warning() -> None:
    result = launched(LEADER, command=["/bin/sh", "-c"], args=["/launch.sh", "-dp", "16"])
    assert (result.container["command"], result.container["args"]) == (["/bin/sh", "-c"], ["/launch.sh", "-dp", "16"])
    assert "no Python that runs vllm is found in '/bin/sh -c /launch.sh -dp 16'" in result.warnings[0].text


def test_shell_without_vllm_runs_beside_ray_as_it_is_with_a_warning() -> None:
    result = launched(LEADER, command=["/bin/sh", "-c"], args=["/launch.sh", *BIG])
    assert result.container["args"] == [f"ray start --head --port=6379 && /bin/sh -c /launch.sh {' '.join(BIG)}"]
    assert "the flags for several nodes are not added" in result.warnings[0].text


def test_leader_of_ray_that_leaves_its_program_to_the_image_is_refused() -> None:
    with pytest.raises(InvalidSpec, match=r"mainContainer\.command: must be the command that starts"):
        launched(LEADER, command=[], args=BIG)


def test_container_without_command_and_arguments_stays_as_it_is() -> None:
    assert line_of(launched(LEADER, command=[], args=[])) == []


@pytest.mark.parametrize(
    ("value", "is_mp"), [("mp", True), ("MP", True), ("ray", False), ("Ray", False), ("other", False), ("", False)]
)
def test_executor_is_chosen_by_annotation(value: str, is_mp: bool) -> None:
    result = launched(LEADER, args=BIG, annotations={EXECUTOR: value})
    assert ("--master-addr" in line_of(result)) is is_mp
    assert ("ray start" in line_of(result)[-1]) is not is_mp


ORIGIN = "nvidia.com/dynamo-operator-origin-version"


@pytest.mark.parametrize(
    ("annotations", "is_mp"),
    [
        ({ORIGIN: "1.0.0"}, True),
        ({ORIGIN: "v1.6.1"}, True),
        ({ORIGIN: "1.0.0-rc1"}, True),
        ({ORIGIN: "0.9.1"}, False),
        ({ORIGIN: "latest"}, False),
        ({ORIGIN: ""}, False),
        ({ORIGIN: "1.5.0", EXECUTOR: "ray"}, False),
        ({ORIGIN: "0.9.0", EXECUTOR: "mp"}, True),
        ({ORIGIN: "1.5.0", EXECUTOR: "other"}, True),
    ],
    ids=lambda value: " ".join(value.values()) if isinstance(value, dict) else None,
)
def test_executor_is_that_of_the_operator_that_created_the_graph(annotations: dict[str, str], is_mp: bool) -> None:
    assert ("--master-addr" in line_of(launched(LEADER, args=BIG, annotations=annotations))) is is_mp


@pytest.mark.parametrize(
    ("role", "annotations", "waits"),
    [
        (WORKER, {ORIGIN: "1.5.0", EXECUTOR: "ray"}, ["wait-for-leader-ray"]),
        (WORKER, {ORIGIN: "1.4.9", EXECUTOR: "ray"}, ["wait-for-leader-ray"]),
        (WORKER, {EXECUTOR: "ray"}, ["wait-for-leader-ray"]),
        (WORKER, {}, ["wait-for-leader-ray"]),
        (LEADER, {ORIGIN: "1.5.0", EXECUTOR: "ray"}, []),
        (LEADER, {}, []),
        (WORKER, {ORIGIN: "1.5.0"}, ["wait-for-leader-mp"]),
    ],
)
def test_node_waits_for_its_leaders_ray_whenever_its_graph_began(
    role: Role, annotations: dict[str, str], waits: list[str]
) -> None:
    result = launched(role, args=BIG, annotations=annotations)
    assert [container["name"] for container in result.init_containers] == waits


def test_waiting_for_ray_has_the_engines_image_and_the_leaders_address() -> None:
    annotations = {ORIGIN: "1.5.0", EXECUTOR: "ray"}
    for orchestrator, leader in ((GROVE, GROVE_LEADER), (LWS, LWS_LEADER)):
        result = launched(WORKER, orchestrator, args=BIG, annotations=annotations, image="img:1")
        (init,) = result.init_containers
        assert init["image"] == "img:1"
        assert init["command"][4:] == [f"{leader}:6379"]
        assert kubelet(init["command"][2], {}) == init["command"][2]


@pytest.mark.parametrize(("failures", "code"), [(0, 0), (2, 0), (60, 1)])
def test_waiting_for_ray_ends_when_it_is_healthy_or_after_many_tries(tmp_path: Path, failures: int, code: int) -> None:
    annotations = {ORIGIN: "1.5.0", EXECUTOR: "ray"}
    (init,) = launched(WORKER, LWS, args=BIG, annotations=annotations).init_containers
    count = tmp_path / "count"
    programs = {
        "ray": f'echo "$@" >> {count}; [ "$(wc -l < {count})" -gt {failures} ]',
        "sleep": "exit 0",
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    command = [*init["command"][:4], "leader:6379"]
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=path)
    assert done.returncode == code, done.stderr
    assert set(count.read_text().splitlines()) == {"health-check --address leader:6379"}
    assert ("no healthy Ray at leader:6379 after 60 tries" in done.stderr) is bool(code)


@pytest.mark.parametrize("args", [["-dp", "16"], ["-dp", "4"], [*BIG]], ids=["data parallel", "alone", "processes"])
def test_side_channel_of_each_node_has_its_own_address(args: list[str]) -> None:
    (variable,) = launched(LEADER, args=args, annotations={EXECUTOR: "mp"}).container["env"]
    assert variable == {
        "name": "VLLM_NIXL_SIDE_CHANNEL_HOST",
        "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}},
    }


def test_annotation_changes_nothing_else_where_an_engine_fits_on_a_node() -> None:
    args = ["-dp", "16"]
    found = launched(LEADER, args=args, annotations={EXECUTOR: "mp"}).container
    assert {**found, "env": []} == {**launched(LEADER, args=args).container, "env": []}


def mp_flags(host: str, rank: str) -> str:
    start = f"--distributed-executor-backend mp --nnodes 2 --master-addr {host} --master-port 29500"
    return f"{start} --node-rank {rank}"


def test_leader_of_processes_is_node_zero() -> None:
    result = launched(LEADER, args=BIG, annotations={EXECUTOR: "mp"})
    assert line_of(result) == ["python3", *MODULE, *BIG, *mp_flags(GROVE_LEADER, "0").split()]
    assert result.init_containers == ()


def test_worker_of_processes_has_no_head() -> None:
    grove = launched(WORKER, args=BIG, annotations={EXECUTOR: "mp"})
    flags = mp_flags(GROVE_LEADER, "$((GROVE_PCLQ_POD_INDEX + 1))")
    assert line_of(grove) == ["sh", "-c", f"exec python3 -m dynamo.vllm --tensor-parallel-size 16 {flags} --headless"]
    lws = launched(WORKER, LWS, args=BIG, annotations={EXECUTOR: "mp"})
    flags = mp_flags(LWS_LEADER, "$(LWS_WORKER_INDEX)")
    assert line_of(lws) == ["python3", *MODULE, *BIG, *flags.split(), "--headless"]


@pytest.mark.parametrize("role", [LEADER, WORKER])
def test_processes_are_told_the_pods_address_unless_the_user_says_it(role: Role) -> None:
    name = "VLLM_NIXL_SIDE_CHANNEL_HOST"
    own = {"name": "A", "value": "1"}
    given = launched(role, args=BIG, annotations={EXECUTOR: "mp"}, env=[own])
    assert given.container["env"] == [own, {"name": name, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    users = [{"name": name, "value": "10.0.0.1"}]
    assert launched(role, args=BIG, annotations={EXECUTOR: "mp"}, env=users).container["env"] == users
    assert "env" not in launched(role, args=BIG).container


def wait_container(**container: Any) -> Any:
    result = launched(WORKER, LWS, args=BIG, annotations={EXECUTOR: "mp"}, **container)
    (init,) = result.init_containers
    return init


def test_worker_of_processes_waits_for_its_leader_with_the_engines_image_and_rights() -> None:
    init = wait_container(image="img:1", securityContext={"runAsUser": 5}, resources={"limits": {"cpu": "1"}})
    assert sorted(init) == ["command", "image", "name", "securityContext"]
    assert (init["name"], init["image"], init["securityContext"]) == ("wait-for-leader-mp", "img:1", {"runAsUser": 5})
    assert init["command"][:2] == ["python3", "-c"]
    assert init["command"][3:] == [LWS_LEADER, "29500"]
    assert kubelet(init["command"][2], {}) == init["command"][2]


def test_waiting_ends_when_the_leader_listens() -> None:
    code = wait_container()["command"][2]
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-c", code, "127.0.0.1", str(server.getsockname()[1])]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "")


def test_waiting_says_so_and_ends_when_the_pod_is_deleted() -> None:
    code = wait_container()["command"][2]
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        command = [sys.executable, "-c", code, "127.0.0.1", str(closed.getsockname()[1])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("waiting for the leader at 127.0.0.1")
            process.terminate()
            assert process.wait(timeout=PATIENCE) == 143


@pytest.mark.parametrize(
    ("command", "args"),
    [
        (["python3", *MODULE], ["-tp", "16", *NASTY]),
        (["/bin/sh", "-c"], ["""cd / && exec python3 -m dynamo.vllm -tp 16 --x '{"a": "it is"}' "$A" """]),
    ],
    ids=["python", "shell"],
)
def test_running_leader_starts_ray_and_then_the_users_command(
    command: list[str], args: list[str], tmp_path: Path
) -> None:
    env = {**INJECTED[LWS], "GREETING": 'say "$USER"', "A": "b c"}
    calls = running.run(launched(LEADER, LWS, command=command, args=args).container, tmp_path, env)
    flag = ["--distributed-executor-backend", "ray"]
    nasty = [kubelet(word, env) for word in NASTY]
    ends = {
        "python3": ["-tp", "16", *nasty, *flag],
        "/bin/sh": [*flag, "-tp", "16", "--x", '{"a": "it is"}', "b c"],
    }
    assert calls == [["ray", "start", "--head", "--port=6379"], ["python3", *MODULE, *ends[command[0]]]]


@pytest.mark.parametrize(("orchestrator", "rank"), [(GROVE, "16"), (LWS, "16")])
@pytest.mark.parametrize(
    ("command", "args"),
    [(["python3", *MODULE], ["-dp", "24", *NASTY]), (["bash", "-c"], ["""python3 -m dynamo.vllm -dp 24"""])],
    ids=["python", "shell"],
)
def test_running_worker_starts_at_the_rank_of_its_first_engine(
    orchestrator: Orchestrator, rank: str, command: list[str], args: list[str], tmp_path: Path
) -> None:
    env = {**INJECTED[orchestrator], "GREETING": "x y"}
    container = launched(WORKER, orchestrator, command=command, args=args, nodes=3).container
    (call,) = running.run(container, tmp_path, env)
    at = call.index("--data-parallel-start-rank")
    host = kubelet(GROVE_LEADER if orchestrator is GROVE else LWS_LEADER, env)
    assert call[at + 1 : at + 4] == [rank, "--data-parallel-address", host]
    if command[0] == "python3":
        assert call[:5] == ["python3", *MODULE, "-dp", "24"]
        assert call[5 : 5 + len(NASTY)] == [kubelet(word, env) for word in NASTY]


@pytest.mark.parametrize("backend", list(Backend))
def test_single_node_of_any_engine_is_left_as_it_is(backend: Backend) -> None:
    container = {"command": ["python3", *MODULE], "args": BIG, **running.PROBES}
    placement = Placement(role=Role.MAIN, orchestrator=GROVE, node_count=1, service="w")
    result = launch(container, placement, backend=backend, spec=ComponentSpec(), mpi_secret="s")
    assert result == Launched(container=container)


def test_container_that_is_given_is_not_changed() -> None:
    lists = {"env": [{"name": "A", "value": "1"}], "volumeMounts": []}
    container = {"command": ["python3", *MODULE], "args": BIG, **lists, **running.PROBES}
    before = json.dumps(container)
    placement = Placement(role=WORKER, orchestrator=GROVE, node_count=2, service="w")
    spec = ComponentSpec(resources=Resources(limits=ResourceItem(gpu="8")), annotations={EXECUTOR: "mp"})
    for backend in Backend:
        launch(container, placement, backend=backend, spec=spec, mpi_secret="s")
    assert json.dumps(container) == before


def test_unknown_engine_keeps_command_and_probes() -> None:
    result = running.launched(Backend.NOOP, WORKER, command=["x"])
    assert line_of(result) == ["x"]
    assert [probe in result.container for probe in PROBES] == [True] * 3
