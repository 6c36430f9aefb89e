"""`kubectl dynamo` with a simulated cluster: what it shows and changes there, and its sentences."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
import responses
import yaml
from click.testing import CliRunner, Result

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.server.clients.api_server import Refused, ask_server
from hooks.server.exchange.http_client import Allowance, open_client
from hooks.tools.cli import live_comparison as diff_module
from hooks.tools.cli import live_graphs as graph_module
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.cli.kubectl import restart as restart_module
from hooks.tools.cli.kubectl import status as status_module
from hooks.tools.cli.kubectl import target as target_module
from hooks.tools.cli.kubectl.main import PluginGroup, group
from hooks.tools.cli.kubectl.restart import RESTARTED_AT
from hooks.tools.cli.refusals import describe_refusal
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.pods import PodFault
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.reasons import describe_waiting, find_reasons
from hooks.wire.metacontroller.processing import Unprocessed
from tests import make
from tests.ports import free_port
from tests.tools.offline.picture.drawn import engine, model
from tests.tools.offline.simulator.hooked import build_cluster
from tests.tools.operating.migration.played_cluster import PlayedCluster, play

Run = Callable[..., Result]


def services() -> dict[str, Any]:
    worker = engine("m/1", modelRef={"name": "m/1"}, scalingAdapter={"enabled": True}, replicas=2)
    return {"Frontend": make.service("frontend"), "Worker": worker, "idle": make.service(replicas=0)}


@pytest.fixture
def world() -> SimulatedCluster:
    """A cluster with a ready graph `llm`, which serves a LoRA adapter and has a scaling adapter, and another graph."""
    simulated = build_cluster()
    for name in ("llm", "other"):
        parent = make.graph(services() if name == "llm" else {"Frontend": make.service("frontend")})
        simulated.apply({**parent, "metadata": {"name": name, "namespace": "default"}})
    simulated.apply(model("a", "m/1"))
    assert simulated.run_until(lambda: is_ready(graph(simulated)), 300)
    return simulated


def graph(world: SimulatedCluster) -> Manifest:
    found = world.get(contract.GRAPH, "llm", "default")
    assert found is not None
    return found


def use(monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> None:
    @contextmanager
    def connect(_connection: Connection) -> Iterator[Cluster]:
        yield cluster

    for module in (target_module, diff_module, graph_module):
        monkeypatch.setattr(module, "connect", connect)


@pytest.fixture
def played(world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> PlayedCluster:
    cluster = play(world)
    use(monkeypatch, cluster)
    monkeypatch.setattr(restart_module, "sleep", world.run_for)
    return cluster


def run(*words: str) -> Result:
    return CliRunner().invoke(group, words)


def said(*words: str) -> tuple[int, str]:
    result = run(*words)
    assert result.stdout == ""
    return result.exit_code, result.stderr.removesuffix("\n")


# status


@pytest.mark.usefixtures("played")
def test_status_is_the_tree_with_replicas_and_the_models(world: SimulatedCluster) -> None:
    before = world.everything()
    lines = [line.strip(" │├└─") for line in run("status", "llm").stdout.splitlines()]
    assert lines[0] == "graph llm in namespace default: Ready"
    assert "DynamoGraphDeploymentScalingAdapter llm-worker  2 replicas wanted" in lines
    assert "Deployment llm-worker  2/2 ready" in lines
    assert sum(line.startswith("Pod llm-") and line.endswith("  Ready") for line in lines) == 3
    assert "DynamoModel a" in lines
    assert not [line for line in lines if "other" in line]
    assert "Reasons" not in lines
    assert world.everything() == before


@pytest.mark.usefixtures("played")
def test_status_says_why_pods_are_not_ready_and_how_often_they_restarted(world: SimulatedCluster) -> None:
    world.break_pods("llm-frontend*", PodFault.CRASH_LOOP)
    world.patch(contract.GRAPH, "llm", {"spec": {"restart": {"id": "r1"}}}, "default")
    world.run_for(300)
    pod = next(one for one in world.list_kind(kinds.POD, "default") if one["metadata"]["name"].startswith("llm-front"))
    counts = [{**one, "restartCount": 4} for one in pod["status"]["containerStatuses"]]
    world.patch_status(kinds.POD, pod["metadata"]["name"], {"status": {"containerStatuses": counts}}, "default")
    shown = run("status", "llm").stdout
    head = shown.partition("\n\nReasons\n")[0].splitlines()
    assert head[0] == "graph llm in namespace default: not ready"
    assert head[1].startswith("serving False: no ready pod stands behind the Service llm-frontend")
    assert head[2:] == ["restart r1 Restarting Frontend"]
    cause = f"CrashLoop: pod {pod['metadata']['name']}: "
    reasons = shown.partition("\nReasons\n")[2].partition("\n\n")[0]
    assert reasons.startswith(f"  DynamoGraphDeployment llm: llm-frontend: {cause}")
    assert reasons.endswith("; restart r1 waits for Frontend, then restarts Worker, idle")
    assert reasons.count(cause) == 1
    assert "CrashLoopBackOff, 4 restarts" in shown


def say(name: str, kind: str = "DynamoComponentDeployment", **said: tuple[str, str]) -> Manifest:
    conditions = [
        {"type": type_, "status": status, "message": message, "reason": "R"}
        for type_, (status, message) in said.items()
    ]
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "status": {"conditions": conditions},
    }


@pytest.mark.parametrize(
    ("of_graph", "of_component", "lines"),
    [
        ({"Ready": ("False", "a: X; b: Y")}, {"Ready": ("False", "X"), "Applied": ("False", "Z")}, ("a: X; b: Y",)),
        ({"Ready": ("False", "a: old")}, {"Ready": ("False", "X")}, ("a: old", "Component a: X")),
        ({"Ready": ("True", "up")}, {"Ready": ("True", "up"), "Applied": ("False", "S")}, ("Component a: S",)),
        ({"Ready": ("True", "up"), "Held": ("True", "a: H")}, {"Held": ("True", "H")}, ("Held: a: H",)),
        ({"Ready": ("True", "up")}, {"Held": ("True", "H")}, ("Component a: Held: H",)),
        ({"Ready": ("True", "S; up"), "SharesWorkers": ("True", "S")}, {}, ("SharesWorkers: S",)),
        ({"Ready": ("False", "a: X; S"), "SharesWorkers": ("True", "S")}, {}, ("a: X; S",)),
        ({"Ready": ("False", "")}, {}, ("R",)),
    ],
    ids=["repeated", "seen earlier", "ready but", "held", "held alone", "shared", "shared and not ready", "no message"],
)
def test_each_cause_is_said_once_by_the_object_that_has_it(
    of_graph: dict[str, Any], of_component: dict[str, Any], lines: tuple[str, ...]
) -> None:
    graph = say("g", "DynamoGraphDeployment", **of_graph)
    whole = [
        f"DynamoComponentDeployment {line[10:]}" if line[:9] == "Component" else f"DynamoGraphDeployment g: {line}"
        for line in lines
    ]
    assert find_reasons(graph, [say("a", **of_component)], make.NOW) == tuple(whole)


@pytest.mark.usefixtures("played")
def test_status_says_that_nothing_processes_a_change(world: SimulatedCluster) -> None:
    world.patch(contract.GRAPH, "llm", {"spec": {"services": {"idle": {"replicas": 1}}}}, "default")
    shown = run("status", "llm").stdout
    what = "generation 2 of its spec was not processed, the status is of generation 1"
    assert f"\nReasons\n  DynamoGraphDeployment llm: {what}: Metacontroller does not call the hooks for it; " in shown
    fresh = Unprocessed(generation=2, observed=1, waited=timedelta(seconds=10))
    assert describe_waiting(fresh) == f"{what} yet"


@pytest.mark.usefixtures("played")
def test_status_has_the_last_events_of_the_graph_and_what_it_owns(world: SimulatedCluster) -> None:
    (deployment,) = (
        one for one in world.list_kind(kinds.DEPLOYMENT, "default") if one["metadata"]["name"] == "llm-worker"
    )
    for number, (about, kind) in enumerate(((graph(world), "llm"), (deployment, "llm-worker"), ({}, "stranger"))):
        told = {"kind": about.get("kind", "Pod"), "name": kind, "uid": about.get("metadata", {}).get("uid", "none")}
        event = {
            "type": "Warning",
            "reason": f"R{number}",
            "message": "a\x1b[31m\nb",
            "lastTimestamp": f"2026-01-0{number + 1}T00:00:00Z",
        }
        metadata = {"name": f"e{number}", "namespace": "default"}
        world.create({"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": told, **event})
    events = run("status", "llm").stdout.partition("\nEvents\n")[2].splitlines()
    assert [line.split(" ", 3)[3] for line in (event.strip() for event in events)] == [
        "DynamoGraphDeployment llm: a [31m b",
        "Deployment llm-worker: a [31m b",
    ]


@pytest.mark.usefixtures("played")
def test_status_names_pods_that_no_workload_of_the_graph_manages(world: SimulatedCluster) -> None:
    assert "belong to no workload" not in run("status", "llm").stdout
    pod = pods_of(world, "Worker")[0]
    stray = {**pod, "metadata": {"name": "stray", "namespace": "default", "labels": pod["metadata"]["labels"]}}
    world.create({key: value for key, value in stray.items() if key != "status"})
    shown = run("status", "llm").stdout
    assert "Pods that belong to no workload of the graph\n  Pod stray" in shown


def test_status_names_what_may_not_be_read(world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, play(world, forbidden=frozenset({"events", "replicasets"})))
    shown = run("status", "llm").stdout
    assert "belong to no workload" not in shown  # nobody knows
    assert shown.count("is forbidden") == 2
    assert "DynamoComponentDeployment llm-worker  Ready" in shown


def test_watch_shows_each_change_until_it_is_interrupted(
    played: PlayedCluster, world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = iter(("nothing", "scale", "nothing", "refuse", "end"))

    def sleep(_seconds: float) -> None:
        match next(turns):
            case "scale":
                world.patch(contract.SCALING_ADAPTER, "llm-worker", {"spec": {"replicas": 3}}, "default")
                world.run_for(60)
            case "refuse":
                monkeypatch.setattr(type(played), "find", refuse)
            case "end":
                raise KeyboardInterrupt

    def refuse(*_arguments: Any) -> Any:
        raise Refused("the API server is away")

    monkeypatch.setattr(status_module, "sleep", sleep)
    result = run("status", "llm", "--watch")
    assert result.exit_code == 130
    assert result.stdout.count("graph llm in namespace default: Ready") == 2
    assert "3 replicas wanted" in result.stdout
    assert result.stdout.count("the API server is away") == 1


# restart


@pytest.mark.usefixtures("played")
def test_restart_of_a_graph_restarts_all_its_services_in_turn(world: SimulatedCluster) -> None:
    before = {one["metadata"]["uid"] for one in pods_of(world)}
    result = run("restart", "llm")
    assert result.exit_code == 0
    assert result.stdout.startswith("graph llm: the services restart one after another: Frontend, Worker, idle; watch")
    code, sentence = said("restart", "llm")
    asked = graph(world)["spec"]["restart"]["id"]
    assert (code, sentence) == (1, f"restart {asked} of graph llm is under way, at Frontend; --force starts over")
    world.run_for(300)
    assert graph(world)["status"]["restart"]["phase"] == "Completed"
    assert not before & {one["metadata"]["uid"] for one in pods_of(world)}
    assert run("restart", "llm", "--force").exit_code == 0


@pytest.mark.parametrize("installed", [(), ("grove",)], ids=["Deployments", "Grove"])
def test_restart_of_a_service_restarts_its_pods_alone(
    installed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = build_cluster(installed)
    parent = make.graph({name: spec for name, spec in services().items() if name != "idle"})
    world.apply({**parent, "metadata": {"name": "llm", "namespace": "default"}})
    assert world.run_until(lambda: is_ready(graph(world)), 300)
    use(monkeypatch, play(world))
    monkeypatch.setattr(restart_module, "sleep", world.run_for)
    before = {service: uids_of(world, service) for service in ("Frontend", "Worker")}
    result = run("restart", "llm", "worker")
    assert result.stdout.startswith("graph llm: the pods of Worker restart; watch it with: kubectl dynamo status llm")
    world.run_for(300)
    assert is_ready(graph(world))
    assert uids_of(world, "Frontend") == before["Frontend"]
    assert len(uids_of(world, "Worker")) == 2
    assert not uids_of(world, "Worker") & before["Worker"]
    annotations = graph(world)["spec"]["services"]["Worker"]["extraPodMetadata"]["annotations"]
    assert list(annotations) == [RESTARTED_AT]


def pods_of(world: SimulatedCluster, service: str = "") -> list[Manifest]:
    wanted = {contract.LABEL_GRAPH: "llm", **({contract.LABEL_COMPONENT: service} if service else {})}
    found = world.list_kind(kinds.POD, "default")
    return [one for one in found if wanted.items() <= one["metadata"]["labels"].items()]


def uids_of(world: SimulatedCluster, service: str) -> set[str]:
    return {one["metadata"]["uid"] for one in pods_of(world, service)}


def test_restart_is_asked_again_if_others_changed_the_graph(
    played: PlayedCluster, world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = PlayedCluster.find
    changes = iter((1, 2))

    def find_then_change(self: PlayedCluster, *place: Any) -> Any:
        found = find(self, *place)
        if next(changes, None):
            world.patch(contract.GRAPH, "llm", {"metadata": {"labels": {"turn": str(len(played.writes))}}}, "default")
        return found

    monkeypatch.setattr(PlayedCluster, "find", find_then_change)
    assert run("restart", "llm").exit_code == 0
    assert len(played.writes) == 3
    assert graph(world)["spec"]["restart"]["id"]


# scale


def test_scale_goes_through_the_adapter_where_there_is_one(played: PlayedCluster, world: SimulatedCluster) -> None:
    result = run("scale", "llm", "Worker", "3")
    assert result.stdout == "graph llm: Worker 2 → 3 replicas, by its scaling adapter llm-worker\n"
    assert played.writes == ["PATCH dynamographdeploymentscalingadapters default/llm-worker"]
    world.run_for(60)
    assert len(uids_of(world, "Worker")) == 3
    assert graph(world)["spec"]["services"]["Worker"]["replicas"] == 2


@pytest.mark.parametrize(
    ("words", "done"),
    [
        (("scale", "llm", "frontend", "2"), "graph llm: Frontend"),
        (("restart", "llm"), "graph llm: the services restart"),
    ],
)
@pytest.mark.usefixtures("played")
def test_change_that_nothing_processes_is_said(
    words: tuple[str, ...], done: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(restart_module, "sleep", waits.append)
    monkeypatch.setattr(restart_module, "_PATIENCE_SECONDS", 0.05)
    result = run(*words)
    assert result.stdout.startswith(done)
    assert waits
    assert "not done yet: generation 2 of its spec was not processed, the status is of generation 1. " in result.stderr
    assert "kubectl dynamo status llm -n default says more" in result.stderr


def test_scale_without_an_adapter_changes_the_graph(played: PlayedCluster, world: SimulatedCluster) -> None:
    assert run("scale", "llm", "frontend", "2").stdout == "graph llm: Frontend 1 → 2 replicas\n"
    assert played.writes == ["PATCH dynamographdeployments default/llm"]
    world.run_for(60)
    assert len(uids_of(world, "Frontend")) == 2


# logs


@pytest.mark.usefixtures("played")
def test_logs_of_one_pod_are_its_lines() -> None:
    lines = run("logs", "llm", "Frontend", "--tail", "5", "-p", "--timestamps").stdout.splitlines()
    assert lines[0].startswith("llm-frontend-")
    assert lines[1] == "container=main tailLines=5 previous=true timestamps=true"


@pytest.mark.parametrize("options", [(), ("-f",)], ids=["now", "follow"])
@pytest.mark.usefixtures("played")
def test_logs_of_several_pods_name_the_pod_in_each_line(world: SimulatedCluster, options: tuple[str, ...]) -> None:
    lines = run("logs", "llm", "Worker", *options).stdout.splitlines()
    names = {one["metadata"]["name"] for one in pods_of(world, "Worker")}
    assert {line[1:].split("]")[0] for line in lines} == names
    assert len(lines) == 4
    assert sum("follow=true" in line for line in lines) == 2 * len(options)


@pytest.mark.usefixtures("played")
def test_log_that_cannot_be_read_is_said_and_the_others_are_printed(world: SimulatedCluster) -> None:
    world.block("llm-worker*")
    world.patch(contract.SCALING_ADAPTER, "llm-worker", {"spec": {"replicas": 3}}, "default")
    world.run_for(60)
    result = run("logs", "llm", "Worker")
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 4
    assert result.stderr.endswith("400 container is waiting to start\n")


# sentences


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("status", "lm"), "there is no graph lm in namespace default; it has llm and other"),
        (("logs", "lm", "x"), "there is no graph lm in namespace default; it has llm and other"),
        (
            ("status", "llm", "-n", "team"),
            "there is no graph llm in namespace team; it has none; -n names another namespace",
        ),
        (("restart", "llm", "Decode"), "graph llm has no service Decode; it has Frontend, Worker and idle"),
        (("scale", "llm", "Decode", "1"), "graph llm has no service Decode; it has Frontend, Worker and idle"),
        (("logs", "llm", "Decode"), "graph llm has no service Decode; it has Frontend, Worker and idle"),
        (("logs", "llm", "idle"), "idle of graph llm has no pods; kubectl dynamo status llm -n default may say why"),
        (("restart", "llm", "idle"), "idle of graph llm has no replicas; there is nothing to restart"),
        (("scale", "llm", "Worker", "2"), "Worker of graph llm has 2 replicas already; there is nothing to do"),
        (("scale", "llm", "Frontend", "1"), "Frontend of graph llm has 1 replica already; there is nothing to do"),
        (("graph", "lm"), "there is no graph lm in namespace default"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_not_there_gets_a_sentence(played: PlayedCluster, words: tuple[str, ...], sentence: str) -> None:
    assert said(*words) == (1, sentence)
    assert played.writes == []


@pytest.mark.usefixtures("played")
def test_container_that_is_not_there_gets_a_sentence() -> None:
    code, sentence = said("logs", "llm", "Frontend", "-c", "side")
    assert (code, sentence.partition(" has ")[2]) == (1, "no container side; it has main")


def test_adapter_that_does_not_exist_yet_gets_a_sentence(played: PlayedCluster, world: SimulatedCluster) -> None:
    world.stop_controller("dynamo-graph")
    world.delete(contract.SCALING_ADAPTER, "llm-worker", "default")
    sentence = "Worker of graph llm has no scaling adapter llm-worker yet; try again later"
    assert said("scale", "llm", "Worker", "3") == (1, sentence)
    assert played.writes == []


def test_cluster_without_the_hooks_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    played = play(build_cluster())
    monkeypatch.setattr(PlayedCluster, "read", lambda _self, _path: None)
    use(monkeypatch, played)
    sentence = "the cluster has no DynamoGraphDeployment; Dynamo hooks are not installed in it"
    assert said("status", "llm") == (1, sentence)


@pytest.mark.parametrize("command", ["status", "restart", "logs", "diff", "graph", "doctor"])
def test_without_a_cluster_a_sentence_says_how_to_name_one(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    arguments = {"logs": ["llm", "Worker"], "diff": ["-"], "doctor": []}.get(command, ["llm"])
    code, sentence = said(command, *arguments)
    assert (code, sentence.partition(";")[0]) == (2, "there is no kubeconfig")


def test_cluster_that_does_not_answer_gets_a_short_sentence(tmp_path: Path) -> None:
    entry = {"name": "a"}
    config = {
        "clusters": [{**entry, "cluster": {"server": f"http://127.0.0.1:{free_port()}"}}],
        "users": [{**entry, "user": {"token": "t"}}],
        "contexts": [{**entry, "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **config}))
    sentence = (
        "the API server does not answer: Connection refused; kubectl config current-context says which cluster it is"
    )
    assert said("status", "llm", "--kubeconfig", str(path)) == (1, sentence)


def test_slow_api_server_is_not_said_to_be_away() -> None:
    seconds = Allowance(seconds=30.0, most_bytes=1)
    with responses.RequestsMock() as mock:
        mock.get("https://127.0.0.1:6443/version", body=requests.ReadTimeout("late"))
        with pytest.raises(Refused) as refused:
            ask_server(
                open_client(), "GET /version", "https://127.0.0.1:6443/version", headers={}, body=None, limits=seconds
            )
    assert describe_refusal(refused.value) == "GET /version: the API server did not answer within 30 s"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("scale", "llm", "Worker", "-1"), "No such option '-1'"),
        (("scale", "llm", "Worker", "many"), "'many' is not a valid integer"),
        (("logs",), "Missing argument 'GRAPH'"),
        (("status", "llm", "-A"), "-A and -o wide are for the list"),
        (("status", "-w"), "--watch is for one GRAPH"),
        (("status", "llm", "-n", "A_B"), "'A_B' is not a namespace"),
        (("stats", "llm"), "No such command 'stats'; did you mean status?"),
        (("serve",), "No such command 'serve'."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_misuse_is_refused(words: tuple[str, ...], sentence: str) -> None:
    code, text = said(*words)
    assert code == 2
    assert sentence in text


# commands of `dynamo-hooks`


@pytest.mark.usefixtures("played")
def test_diff_of_one_file_is_a_comparison_with_the_cluster(world: SimulatedCluster, tmp_path: Any) -> None:
    path = tmp_path / "graph.yaml"
    wanted = make.graph({**services(), "Frontend": make.service("frontend", replicas=4)})
    path.write_text(yaml.safe_dump({**wanted, "metadata": {"name": "llm"}}))
    assert "Deployment default/llm-frontend: 1 → 4 pods, 3 more" in run("diff", str(path)).stdout
    assert run("diff", str(path), str(path)).stdout == "No difference.\n"


@pytest.mark.usefixtures("played")
def test_graph_is_drawn_by_name_or_from_a_file(tmp_path: Any) -> None:
    live = run("graph", "llm", "-o", "dot")
    assert "✓ 2 of 2 ready" in live.stdout
    path = tmp_path / "graph.yaml"
    path.write_text(yaml.safe_dump({**make.graph(services()), "metadata": {"name": "llm"}}))
    drawn = run("graph", str(path), "-o", "dot")
    assert drawn.stdout.startswith("digraph")
    assert "ready" not in drawn.stdout


def test_commands_of_dynamo_hooks_are_offered_where_they_exist() -> None:
    names = list(PluginGroup.modules)
    assert names[:7] == ["status", "why", "ask", "logs", "restart", "rollout", "scale"]
    assert {"diff", "graph", "doctor"} <= set(names[7:]) <= {"diff", "explain", "graph", "doctor"}
    for name in names:
        assert run(name, "--help").stdout.startswith(f"Usage: group {name} ")


HEAVY = (
    "pydantic",
    "flask",
    "cryptography",
    "requests",
    "yaml",
    "importlib.metadata",
    "hooks.ground.settings",
    "hooks.server.app",
)
LOADED = """
import sys
from click.testing import CliRunner
from hooks.tools.cli.kubectl.main import group
from hooks.server.commands.main import main

def tell(what):
    print(what, *sorted({heavy} & set(sys.modules)))

def run(command, *words):
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output

run(main, "--help")
tell("--help")
for name in ("diff", "graph", "validate"):
    run(main, name, "--help")
tell("help of commands")
for name in ("diff", "graph"):
    run(group, name, "--help")
tell("help of kubectl dynamo")
if {own}:
    from hooks.tools.cli.kubectl import logs, restart, rollout, scale, status
    tell("kubectl dynamo")
    sys.exit()
run(main, "validate", {file})
run(main, "diff", {file}, {file})
run(main, "graph", {file})
tell("answers")
"""


def test_commands_load_only_what_their_answer_needs() -> None:
    """Pydantic takes as long as all else of a short command; it and requests load importlib.metadata."""
    shown = ["--help", "help of commands yaml", "help of kubectl dynamo yaml"]
    assert run_script(own=True) == [*shown, "kubectl dynamo importlib.metadata requests yaml"]
    assert run_script(own=False) == [*shown, "answers hooks.ground.settings importlib.metadata pydantic yaml"]


def run_script(*, own: bool) -> list[str]:
    file = str(Path(__file__).parents[3] / "examples/vllm-disagg.yaml")
    script = LOADED.replace("{heavy}", repr(set(HEAVY))).replace("{file}", repr(file)).replace("{own}", str(own))
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.splitlines()
