"""`kubectl dynamo rollout` with a simulated cluster: where a rollout stands, and the annotations that steer it."""

from typing import Any

import pytest
from click.testing import Result

from hooks.ground import contract
from hooks.ground.k8s.types import annotations_of
from hooks.server.clients.api_server import Refused
from hooks.tools.cli.kubectl import rollout as rollout_module
from hooks.tools.cli.kubectl.target import find_graph
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.pods import PodFault
from tests import make
from tests.tools.cli.test_kubectl import graph, run, said, use
from tests.tools.offline.picture.drawn import engine
from tests.tools.offline.simulator.hooked import build_cluster
from tests.tools.operating.migration.played_cluster import PlayedCluster, play

PAUSED, CANARY = contract.ANNOTATION_ROLLOUT_PAUSED, contract.ANNOTATION_ROLLOUT_CANARY
STANDS = "the pods of each generation of workers stay as many as they are"
TRIED = "the new generation of workers gets 25% of the complete sets, and waits"
STALLED = {"type": "Rollout", "status": "True", "reason": "RolloutStalled", "message": "decode fails"}
WORKERS = {
    "Frontend": make.service("frontend", image="r:1.6.1"),
    "prefill": engine(type="prefill", image="r:1.6.1"),
    "decode": engine(type="decode", image="r:1.6.1", replicas=2),
}


@pytest.fixture
def world() -> SimulatedCluster:
    """A cluster with a ready graph `llm` of a prefill and two decode workers, and `front`, which has no workers."""
    return build_world(llm=WORKERS, front={"Frontend": WORKERS["Frontend"]})


def build_world(**graphs: dict[str, Any]) -> SimulatedCluster:
    """A cluster with these graphs; `llm` is ready."""
    simulated = build_cluster()
    for name, services in graphs.items():
        simulated.apply({**make.graph(services), "metadata": {"name": name, "namespace": "default"}})
    assert simulated.run_until(lambda: is_ready(graph(simulated)), 300)
    return simulated


@pytest.fixture
def played(world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> PlayedCluster:
    cluster = play(world)
    use(monkeypatch, cluster)
    monkeypatch.setattr(rollout_module, "sleep", world.run_for)
    return cluster


def change(world: SimulatedCluster, service: str = "decode", value: str = "1") -> None:
    patch = {"spec": {"services": {service: {"envs": [{"name": "A", "value": value}]}}}}
    world.patch(contract.GRAPH, "llm", patch, "default")


def rollout(*words: str) -> Result:
    return run("rollout", *words)


def annotations(world: SimulatedCluster) -> dict[str, str]:
    return {key: value for key, value in annotations_of(graph(world)).items() if key in {PAUSED, CANARY}}


def written_by(world: SimulatedCluster, manager: str, fields: dict[str, Any]) -> None:
    """Let a program have written fields of the graph."""
    entry = {"manager": manager, "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsV1": fields}
    found = graph(world)
    world.replace({**found, "metadata": {**found["metadata"], "managedFields": [entry]}})


# status


@pytest.mark.usefixtures("played")
def test_status_of_a_graph_at_rest_names_the_generation(world: SimulatedCluster) -> None:
    before = world.everything()
    result = rollout("status", "llm")
    assert result.exit_code == 0
    (line,) = result.stdout.splitlines()
    assert line.startswith("graph llm: no rollout is under way; generation ")
    assert line.endswith(" 3/3 pods ready")
    assert rollout("status", "front").stdout == "graph front: no rollout is under way\n"
    assert world.everything() == before


@pytest.mark.usefixtures("played")
def test_watch_follows_a_rollout_to_its_end(world: SimulatedCluster) -> None:
    change(world)
    result = rollout("status", "llm", "--watch")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0].startswith("graph llm: not begun: generation 2 of its spec was not processed")
    assert any(line.startswith("graph llm: rollout InProgress since ") and "old generation" in line for line in lines)
    assert any(line.startswith("  Ready is False, some_resources_are_not_ready: ") for line in lines)
    assert lines[-1].startswith("graph llm: no rollout is under way; generation ")
    assert lines[-1].endswith(" 3/3 pods ready")


@pytest.mark.usefixtures("played")
def test_watch_gives_up_after_the_seconds_that_it_may_take(
    world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(0, 10_000, 60))
    monkeypatch.setattr(rollout_module, "monotonic", lambda: float(next(now)))
    world.break_pods("llm-decode*", PodFault.CRASH_LOOP)
    change(world)
    result = rollout("status", "llm", "--watch", "--wait-seconds", "240")
    assert result.exit_code == 1
    assert result.stderr == "not done within 240 seconds\n"
    assert "old pods stay (" in result.stdout


@pytest.mark.usefixtures("played")
def test_watch_outlives_a_server_that_does_not_answer(world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    find, answers = find_graph, iter((False, True))

    def refuse_once(*place: Any) -> Any:
        if next(answers, False):
            raise Refused("GET /: 503 not now", 503)
        return find(*place)

    monkeypatch.setattr(rollout_module, "find_graph", refuse_once)
    change(world)
    result = rollout("status", "llm", "-w")
    assert result.exit_code == 0
    assert "503 not now" in result.stdout


@pytest.mark.parametrize(
    ("status", "code", "line"),
    [
        (
            {"rollingUpdate": {"phase": "InProgress", "message": "decode\nfails"}, "conditions": [STALLED]},
            1,
            "rollout Stalled: ",
        ),
        ({"rollingUpdate": {"phase": "Failed"}}, 1, "rollout Failed: "),
        ({"rollingUpdate": {"phase": "InProgress"}}, 0, "rollout InProgress: "),
        ({"rollingUpdate": {"phase": "Completed"}}, 0, "no rollout is under way; "),
    ],
    ids=["stalled", "failed", "under way", "completed"],
)
@pytest.mark.usefixtures("played")
def test_exit_status_follows_from_the_phase(world: SimulatedCluster, status: Any, code: int, line: str) -> None:
    world.stop_controller("dynamo-graph")
    world.patch_status(contract.GRAPH, "llm", {"status": status}, "default")
    for words in (("status", "llm"), ("status", "llm", "--watch")) if code else (("status", "llm"),):
        result = rollout(*words)
        assert (result.exit_code, result.stdout.startswith(f"graph llm: {line}")) == (code, True)
    assert ("; decode fails\n" in result.stdout) == ("message" in status["rollingUpdate"])


@pytest.mark.usefixtures("played")
def test_graph_that_cannot_be_rendered_has_failed(world: SimulatedCluster) -> None:
    world.stop_controller("dynamo-graph")
    condition = {"type": "Ready", "status": "False", "reason": contract.VALIDATION_FAILED, "message": "spec.x: wrong"}
    world.patch_status(contract.GRAPH, "llm", {"status": {"conditions": [condition]}}, "default")
    result = rollout("status", "llm")
    assert result.exit_code == 1
    assert result.stdout.endswith("  Ready is False, ValidationFailed: spec.x: wrong\n")


# pause, resume, canary


@pytest.mark.usefixtures("played")
def test_pause_and_canary_are_annotations_that_resume_removes(world: SimulatedCluster) -> None:
    paused = rollout("pause", "llm")
    assert paused.stdout.splitlines() == [
        f"graph llm: rollouts are paused: nothing rolls now; once workers change, {STANDS}",
        "kubectl dynamo rollout resume llm -n default goes on",
    ]
    tried = rollout("canary", "llm", "--pods", "25%")
    assert tried.stdout.splitlines() == [
        f"graph llm: nothing rolls now; once workers change, {TRIED}",
        "it is paused too, and stands until kubectl dynamo rollout resume llm -n default, which ends both",
        "kubectl dynamo rollout resume llm -n default goes on, kubectl dynamo rollout undo llm -n default goes back",
    ]
    assert annotations(world) == {PAUSED: "true", CANARY: "25%"}
    assert rollout("status", "llm").stdout.splitlines()[1:] == [
        f"  paused by the annotation {PAUSED}",
        f"  canary: 25% of the new generation, by the annotation {CANARY}",
    ]
    resumed = rollout("resume", "llm")
    assert resumed.stdout.splitlines() == [
        "graph llm: nothing rolls now; the next rollout does not wait",
        "follow it with: kubectl dynamo rollout status llm -n default --watch",
    ]
    assert annotations(world) == {}
    assert [one.stderr for one in (paused, tried, resumed)] == ["", "", ""]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("pause",), "rollouts are paused: the pods of each generation"),
        (("canary", "--pods", "1"), "the new generation of workers gets 1 complete set, and waits"),
        (("canary", "--pods", "2"), "the new generation of workers gets 2 complete sets, and waits"),
    ],
    ids=["pause", "canary of one", "canary of two"],
)
@pytest.mark.usefixtures("played")
def test_while_workers_roll_the_sentence_is_about_now(
    world: SimulatedCluster, words: tuple[str, ...], sentence: str
) -> None:
    change(world)
    world.run_for(3)
    assert graph(world)["status"]["rollingUpdate"]["phase"] == "InProgress"
    assert rollout(words[0], "llm", *words[1:]).stdout.startswith(f"graph llm: {sentence}")
    assert rollout("resume", "llm").stdout.startswith("graph llm: the rollout goes on to its end\n")


@pytest.mark.parametrize(
    ("before", "words", "sentence"),
    [
        (
            {PAUSED: "true"},
            ("pause", "llm"),
            "the rollout of graph llm is paused already; kubectl dynamo rollout resume llm -n default goes on",
        ),
        ({}, ("resume", "llm"), "the rollout of graph llm is not paused and has no canary; there is nothing to do"),
        (
            {CANARY: "1"},
            ("canary", "llm", "--pods", "1"),
            "the rollout of graph llm has a canary of 1 already; there is nothing to do",
        ),
        (
            {},
            ("pause", "front"),
            "graph front has no workers (decode, prefill, worker), so it has no rollout in generations",
        ),
        ({}, ("pause", "lm"), "there is no graph lm in namespace default; it has front and llm"),
    ],
    ids=["paused", "not paused", "same canary", "no workers", "no graph"],
)
def test_what_would_change_nothing_gets_a_sentence(
    world: SimulatedCluster, played: PlayedCluster, before: dict[str, str], words: tuple[str, ...], sentence: str
) -> None:
    world.patch(contract.GRAPH, "llm", {"metadata": {"annotations": before}}, "default")
    assert said("rollout", *words) == (1, sentence)
    assert played.writes == []


@pytest.mark.parametrize(
    ("manager", "keeper"),
    [("argocd-controller", "Argo CD"), ("kustomize-controller", "Flux"), ("helm", "Helm"), ("kubectl-edit", "")],
)
@pytest.mark.usefixtures("played")
def test_who_writes_the_annotation_again_is_named(world: SimulatedCluster, manager: str, keeper: str) -> None:
    rollout("pause", "llm")
    written_by(world, manager, {"f:metadata": {"f:annotations": {f"f:{PAUSED}": {}}}})
    result = rollout("resume", "llm")
    assert result.exit_code == 0
    warning = (
        f"warning: {keeper} has written metadata.annotations[{PAUSED}] of this graph, and will do so again: "
        "change the annotation there instead\n"
    )
    assert result.stderr == (warning if keeper else "")


def test_under_grove_a_warning_says_that_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    world = build_cluster(["grove"])
    world.apply({**make.graph(WORKERS), "metadata": {"name": "llm", "namespace": "default"}})
    assert world.run_until(lambda: is_ready(graph(world)), 300)
    use(monkeypatch, play(world))
    assert rollout("pause", "llm").stderr == (
        "warning: Grove replaces the pods of graph llm at its own pace: pause and canary have no effect there\n"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("canary", "llm", "--pods", "0"), "'0' is neither a number from 1 nor a percentage to 100%"),
        (("canary", "llm"), "Missing option '--pods'"),
        (("status", "llm", "--wait-seconds", "3"), "--wait-seconds is for --watch"),
        (("paus", "llm"), "No such command 'paus'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_misuse_is_refused(words: tuple[str, ...], sentence: str) -> None:
    code, text = said("rollout", *words)
    assert code == 2
    assert sentence in text


@pytest.mark.parametrize("place", [0, 3], ids=["before the commands", "after them"])
@pytest.mark.usefixtures("played")
def test_namespace_may_stand_anywhere(world: SimulatedCluster, place: int) -> None:
    words = ["rollout", "status", "llm"]
    code, sentence = said(*words[:place], "-n", "team", *words[place:])
    assert (code, sentence) == (1, "there is no graph llm in namespace team; it has none; -n names another namespace")
    assert graph(world)
