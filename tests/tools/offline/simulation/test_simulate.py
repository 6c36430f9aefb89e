"""The command `simulate` with the real hooks server: from manifest to Ready, or to the reasons why not."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from click.testing import CliRunner, Result

from hooks.tools.cli.simulate import simulate
from tests.waiting import PATIENCE

GIVEN = ("--given", "Secret/hf-token-secret")
EXAMPLE = str(Path(__file__).parents[4] / "examples" / "vllm-disagg.yaml")


def _simulate(*arguments: str) -> Result:
    return CliRunner().invoke(simulate, ["--speed", "200", *GIVEN, *arguments])


def test_a_graph_becomes_ready_and_its_tree_and_status_are_printed() -> None:
    result = _simulate(EXAMPLE)
    assert result.exit_code == 0, result.stderr
    assert "DynamoGraphDeployment vllm-disagg  Ready" in result.stdout
    assert "Deployment vllm-disagg-frontend  1/1 ready" in result.stdout
    assert "state: successful" not in result.stdout
    assert "components 3/3; pods 4 Ready" in result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith("all Ready after ")
    assert last.endswith("try --break 'VllmPrefillWorker=CrashLoopBackOff' to see a fault, or -o yaml for the statuses")


def test_scaling_adapters_are_ready_when_all_is_said_to_be() -> None:
    result = _simulate(EXAMPLE.replace("vllm-disagg", "vllm-disagg-planner"))
    assert result.exit_code == 0, result.stderr
    assert "DynamoGraphDeploymentScalingAdapter vllm-planner-vllmprefillworker  Ready" in result.stdout
    assert "DynamoGraphDeploymentScalingAdapter vllm-planner-vllmdecodeworker  Ready" in result.stdout
    assert "not ready" not in result.stdout


def test_proposed_fault_is_of_a_service_that_has_pods(tmp_path: Path) -> None:
    file, graph = tmp_path / "graph.yaml", yaml.safe_load(Path(EXAMPLE).read_text())
    graph["spec"]["services"]["VllmPrefillWorker"]["replicas"] = 0
    file.write_text(yaml.safe_dump(graph))
    last = _simulate(str(file)).stderr.splitlines()[-1]
    assert "try --break 'VllmDecodeWorker=CrashLoopBackOff'" in last


def test_progress_shows_where_a_restart_stands(tmp_path: Path) -> None:
    file = tmp_path / "graph.yaml"
    file.write_text(Path(EXAMPLE).read_text() + "  restart: {id: r1}\n")
    result = _simulate(str(file))
    assert result.exit_code == 0, result.stderr
    assert "; restart r1 Restarting Frontend\n" in result.stderr
    assert "pods 4 Ready; restart r1 Completed\n" in result.stderr


def test_programs_get_the_result_as_json() -> None:
    result = _simulate("-o", "json", EXAMPLE)
    answer = orjson.loads(result.stdout)
    assert answer["ready"] is True
    [graph] = answer["objects"]
    assert graph["reasons"] == []
    assert graph["status"]["state"] == "successful"
    assert "Deployment" in {child["kind"] for child in graph["children"]}


def test_a_broken_pod_is_named_with_its_reason() -> None:
    result = _simulate("--timeout", "30", "--break", "*decode*=ImagePullBackOff", "-o", "json", EXAMPLE)
    assert result.exit_code == 1
    [graph] = orjson.loads(result.stdout)["objects"]
    pod = next(reason for reason in graph["reasons"] if reason.startswith("Pod "))
    assert "vllm-disagg-vllmdecodeworker-" in pod
    assert "ImagePullBackOff" in pod
    assert "not Ready after 30.0 s of the cluster's time" in result.stderr


def test_a_held_component_is_not_ready_and_the_others_are() -> None:
    result = _simulate("--timeout", "30", "--hold", "*frontend*", EXAMPLE)
    assert result.exit_code == 1
    assert "components 2/3" in result.stderr
    assert "Deployment vllm-disagg-frontend  0/1 ready" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("--break", "decode", EXAMPLE), 2, "write GLOB=REASON"),
        (("--break", "decode=Tired", EXAMPLE), 2, "ImagePullBackOff"),
        (("--speed", "0", EXAMPLE), 2, "--speed"),
        (("--set", "no_such=1", EXAMPLE), 2, "no_such"),
        (("--hold", "vllm-disagg-frontent*", EXAMPLE), 2, "matches no pod; did you mean vllm-disagg-frontend?"),
        (("--break", "x=ProbeFailing", EXAMPLE), 2, "'x' matches no pod; there are Frontend, VllmDecodeWorker, Vllm"),
        (("--given", "hf-token-secret", EXAMPLE), 2, "write KIND/NAME with one of Secret, ConfigMap"),
        (("no-such-file.yaml",), 1, "cannot be read"),
    ],
    ids=["no-reason", "unknown-reason", "no-speed", "unknown-setting", "hold", "break", "given", "no-file"],
)
def test_wrong_usage_is_refused_with_a_sentence(arguments: tuple[str, ...], status: int, sentence: str) -> None:
    result = _simulate(*arguments)
    assert result.exit_code == status
    assert sentence in result.stderr
    assert result.stdout == ""


def test_foreign_objects_alone_are_nothing_to_simulate(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
    result = _simulate(str(file))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "nothing to simulate" in result.stderr


def test_a_foreign_object_that_the_cluster_cannot_hold_is_left_out_with_a_remark(tmp_path: Path) -> None:
    file = tmp_path / "graph.yaml"
    foreign = (
        "---\napiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\nmetadata: {name: m}\n"
        "---\napiVersion: batch/v1\nkind: Job\nmetadata: {generateName: j-}\n"
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: null}\n"
    )
    file.write_text(Path(EXAMPLE).read_text() + foreign)
    result = _simulate(str(file))
    assert result.exit_code == 0, result.stderr
    assert 'left out: the simulated cluster has no matches for kind "PodMonitor"' in result.stderr
    assert "left out: it has no metadata.name" in result.stderr


def test_statuses_are_printed_if_asked_for() -> None:
    result = _simulate("-o", "yaml", EXAMPLE)
    assert result.exit_code == 0, result.stderr
    [document] = yaml.safe_load_all(result.stdout)
    assert (document["metadata"]["name"], document["status"]["state"]) == ("vllm-disagg", "successful")


def test_what_render_refuses_is_refused_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hooks.tools.cli.simulate.run_programs", pytest.fail)
    result = _simulate(str(Path(EXAMPLE).with_name("vllm-multinode.yaml")))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "spec.services[VllmWorker].multinode.nodeCount: " in result.stderr


def test_pods_wait_for_a_secret_that_nobody_gave(tmp_path: Path) -> None:
    result = CliRunner().invoke(simulate, ["--speed", "10", EXAMPLE])
    assert result.exit_code == 1
    ended = re.search(r"not Ready after ([0-9.]+) s", result.stderr)
    assert ended is not None
    assert float(ended[1]) < 100  # it does not wait for the timeout of 120 s
    assert "pods 3 Pending (Secret hf-token-secret is missing), 1 Ready\n" in result.stderr
    advice = "Secret default/hf-token-secret: pods wait for it, and no manifest has it; add its manifest, or say that"
    assert result.stderr.count(advice) == 1
    assert "; add the manifest of Secret hf-token-secret, or -o yaml" in result.stderr.splitlines()[-1]
    secret = tmp_path / "secret.yaml"
    secret.write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: hf-token-secret}\nstringData: {HF_TOKEN: t}\n")
    assert CliRunner().invoke(simulate, ["--speed", "200", EXAMPLE, str(secret)]).exit_code == 0


@contextmanager
def _simulating(folder: Path, hangup: signal.Handlers) -> Iterator[subprocess.Popen[str]]:
    """A simulation in a process of its own that has begun; `hangup` is what it inherits for SIGHUP, as from nohup."""
    command = [sys.executable, "-m", "hooks", "simulate", "--speed", "1", *GIVEN, EXAMPLE]
    environment = {**os.environ, "TMPDIR": str(folder)}
    before = signal.signal(signal.SIGHUP, hangup)
    try:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    finally:
        signal.signal(signal.SIGHUP, before)
    with process:
        assert process.stderr is not None
        assert "components 0/3" in next(line for line in process.stderr if "is still starting" not in line)
        assert len(list(folder.iterdir())) == 1
        yield process
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_simulation_that_is_ended_stops_its_server(name: str, tmp_path: Path) -> None:
    with _simulating(tmp_path, signal.SIG_DFL) as process:
        process.send_signal(signal.Signals[name])
        assert process.wait(timeout=PATIENCE) == 128 + signal.Signals[name]


def test_a_simulation_under_nohup_goes_on_when_its_terminal_hangs_up(tmp_path: Path) -> None:
    with _simulating(tmp_path, signal.SIG_IGN) as process:
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        assert "components" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 128 + signal.SIGTERM


VLLM = "nvcr.io/nvidia/ai-dynamo/vllm-runtime"
ON_NODES = {
    "componentType": "worker",
    "annotations": {"nvidia.com/vllm-distributed-executor-backend": "ray"},
    "multinode": {"nodeCount": 2},
    "resources": {"limits": {"gpu": "2"}},
    "extraPodSpec": {
        "mainContainer": {
            "image": f"{VLLM}:1.6.1",
            "command": ["python3", "-m", "dynamo.vllm"],
            "args": ["--model", "m", "--tensor-parallel-size", "4"],
        }
    },
}


def _simulate_worker(folder: Path, worker: dict[str, Any], *arguments: str) -> tuple[str, list[str]]:
    """The tree of a graph of a frontend and this worker, and the reasons why its pods are not ready."""
    front = {"componentType": "frontend", "extraPodSpec": {"mainContainer": {"image": f"{VLLM}:1.6.1"}}}
    graph = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "g"},
        "spec": {"services": {"front": front, "w": worker}},
    }
    (folder / "g.yaml").write_text(yaml.safe_dump(graph))
    result = _simulate(*arguments, str(folder / "g.yaml"))
    assert result.exit_code == 1, result.stderr
    assert "correct what is said above" in result.stderr.splitlines()[-1]
    return result.stdout, [line for line in result.stderr.splitlines() if line.startswith("Pod ")]


def test_pods_over_several_nodes_crash_without_ray(tmp_path: Path) -> None:
    tree, pods = _simulate_worker(tmp_path, ON_NODES, "--with", "lws,volcano")
    assert "g-w-0-0-1  CrashLoopBackOff" in tree
    assert "DynamoComponentDeployment g-front  Ready" in tree
    assert len(pods) == 2
    assert "CrashLoopBackOff (back-off 5m0s restarting failed container=main)" in pods[0]
    assert f"/bin/sh: 1: ray: not found: ray is there only before 1.3.0, and not in '{VLLM}:1.6.1'" in pods[0]


def test_pod_whose_arguments_lack_their_command_crashes(tmp_path: Path) -> None:
    main = {"image": f"{VLLM}:1.6.1", "args": ["--model", "m"]}
    _, (pod,) = _simulate_worker(tmp_path, {"componentType": "worker", "extraPodSpec": {"mainContainer": main}})
    assert "CrashLoopBackOff" in pod
    assert "container main: /bin/sh: Illegal option --model: its arguments were meant for another program" in pod


def test_pod_that_serves_elsewhere_than_its_probes_ask_is_never_ready(tmp_path: Path) -> None:
    main = {
        "image": f"{VLLM}:1.6.1",
        "command": ["python3", "-m", "dynamo.vllm", "--model", "m"],
        "env": [{"name": "DYN_SYSTEM_PORT", "value": "8081"}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": 9999}},
    }
    _, (pod,) = _simulate_worker(tmp_path, {"componentType": "worker", "extraPodSpec": {"mainContainer": main}})
    assert ": Running (" in pod
    assert "probe failed: Get " in pod
    assert "connect: connection refused: it serves at 8081" in pod
