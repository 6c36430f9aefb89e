"""`dynamo-hooks migrate` at a terminal: what it prints, and how it ends."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner, Result

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.server.clients.api_server import Refused
from hooks.server.commands.main import main
from hooks.tools.cli import migrate as command
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.cli.refusals import describe_refusal
from hooks.tools.operating.cluster import Cluster
from tests.tools.operating.migration.left_behind import NAMESPACE, stand_in
from tests.tools.operating.migration.moved import Moved, moved
from tests.tools.operating.migration.played_cluster import play
from tests.tools.operating.migration.test_upstream import operator

FIELDS = {"kind", "namespace", "name", "action", "restarts", "starts", "stops", "why"}
Run = Callable[..., Result]


@pytest.fixture
def world() -> Moved:
    return moved([stand_in()])


@pytest.fixture
def run(world: Moved, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command against the simulated cluster."""

    @contextmanager
    def connect(_connection: Connection) -> Iterator[Cluster]:
        yield play(world.simulated)

    monkeypatch.setattr(command, "connect", connect)
    return lambda *words: CliRunner().invoke(main, ["migrate", *words])


def test_plan_changes_nothing(run: Run, world: Moved) -> None:
    before = world.simulated.everything()
    result = run()
    assert result.exit_code == 0
    assert world.simulated.everything() == before
    assert "Nothing was changed; --apply does it." in result.stderr


def test_plan_is_a_table_with_a_summary(run: Run) -> None:
    lines = run("--verbose").stdout.splitlines()
    assert lines[0] == "Namespace default:"
    assert lines[1].split() == ["KIND", "NAME", "ACTION", "RESTARTS"]
    assert any(line.split() == ["Deployment", "llm-frontend", "adopt,", "hold", "none"] for line in lines)
    assert lines[-2:] == [
        "9 objects: 5 adopted, 1 adopted and held, 2 kept until their owners go, 2 freed of the old finalizer.",
        "No pod starts, stops or restarts.",
    ]
    assert max(map(len, lines)) <= 120


def test_plan_has_a_line_for_each_graph(run: Run) -> None:
    of_namespace, empty, *summary = run().stdout.partition("\n\n")
    assert " ".join(of_namespace.split()) == (
        "Namespace default: llm: 1 workload held, 1 Service adopted, 4 other objects adopted, "
        "2 kept until their owners go, 2 freed of the old finalizer, 0 pods start, 0 restart"
    )
    assert empty + "".join(summary) == (
        "\n\n9 objects: 5 adopted, 1 adopted and held, 2 kept until their owners go, 2 freed of the old finalizer.\n"
        "No pod starts, stops or restarts.\n"
    )


def test_graph_whose_pods_stop_comes_first_with_the_reason(run: Run, world: Moved) -> None:
    world.simulated.patch(kinds.DEPLOYMENT, "llm-frontend", {"spec": {"replicas": 3}}, NAMESPACE)
    world.simulated.run_for(60)
    lines = run().stdout.splitlines()
    assert lines[2].endswith("0 pods start, 0 restart, 2 stop")
    assert lines[3].startswith("      Deployment llm-frontend: its pods stay; it takes our defaults")


def test_plan_as_json_has_every_step(run: Run) -> None:
    steps = json.loads(run("-o", "json").stdout)
    assert all(step.keys() == FIELDS for step in steps)
    assert {step["restarts"] for step in steps} == {0}
    assert ("Deployment", "adopt, hold") in {(step["kind"], step["action"]) for step in steps}


def test_apply_does_the_work_once(run: Run, world: Moved) -> None:
    result = run("--apply")
    assert result.exit_code == 0
    assert "Deployment default/llm-frontend: adopt, hold" in result.stderr
    assert result.stdout.startswith("9 objects: ")
    assert "Namespace" not in result.stdout
    assert result.stderr.endswith("Done.\n")
    assert contract.GO_FINALIZER not in world.graph("llm")["metadata"].get("finalizers", ())
    assert run("--apply").stdout == "There is nothing to migrate.\n"


def start_operator(world: Moved) -> None:
    found = operator()
    namespaced = {**found["metadata"], "namespace": NAMESPACE}
    pod = {"containers": [{"name": "manager", "image": "example.com/operator:1"}]}
    labels = found["metadata"]["labels"]
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    world.simulated.create({**found, "metadata": namespaced, "spec": spec})


def test_operator_that_runs_is_refused(run: Run, world: Moved) -> None:
    start_operator(world)
    result = run("--apply")
    assert result.exit_code == 1
    assert "Refused: the Go operator runs (Deployment default/manager) and would undo the migration: " in result.stderr
    assert contract.GO_FINALIZER in world.graph("llm")["metadata"]["finalizers"]


def test_plan_says_that_it_will_be_refused(run: Run, world: Moved) -> None:
    start_operator(world)
    result = run()
    assert result.exit_code == 1
    assert "--apply will be refused: the Go operator runs (Deployment default/manager)" in result.stderr
    assert result.stderr.endswith("Nothing was changed.\n")


def test_force_overrides_the_refusal(run: Run, world: Moved) -> None:
    start_operator(world)
    result = run("--apply", "--force")
    assert result.exit_code == 0
    assert "Overridden by --force: the Go operator runs" in result.stderr
    assert contract.GO_FINALIZER not in world.graph("llm")["metadata"].get("finalizers", ())


def test_pods_that_restart_are_counted(run: Run, world: Moved) -> None:
    world.simulated.patch(kinds.DEPLOYMENT, "llm-frontend", {"spec": {"replicas": 3}}, NAMESPACE)
    world.simulated.run_for(60)
    status = {"status": {"readyReplicas": None, "availableReplicas": None}}
    world.simulated.patch_status(kinds.DEPLOYMENT, "llm-frontend", status, NAMESPACE)
    result = run()
    assert result.stdout.splitlines()[-1].endswith("3 pods restart.")


def test_other_namespace_has_nothing(run: Run) -> None:
    result = run("-n", "other")
    assert result.stdout == "There is nothing to migrate.\n"
    assert result.stderr == "Looked in namespace other only; --all-namespaces looks in all.\n"
    assert "Namespace default:" in run("--all-namespaces").stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-n", "a", "-A"], "-n and --all-namespaces contradict each other"),
        (["-n", "A_b"], "is not a namespace"),
    ],
    ids=["both", "name"],
)
def test_wrong_options_are_refused(run: Run, words: list[str], sentence: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_api_server_that_refuses_ends_the_command(run: Run, world: Moved, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def connect(_connection: Connection) -> Iterator[Cluster]:
        yield play(world.simulated, forbidden=frozenset({"dynamographdeployments"}))

    monkeypatch.setattr(command, "connect", connect)
    result = run()
    assert result.exit_code == 1
    assert "dynamographdeployments is forbidden" in result.stderr
    assert "Nothing is lost: run the same command again." in result.stderr


def test_right_that_lacks_is_said_before_anything_is_changed(
    run: Run, world: Moved, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def connect(_connection: Connection) -> Iterator[Cluster]:
        yield play(world.simulated, forbidden=frozenset({"patch services"}))

    monkeypatch.setattr(command, "connect", connect)
    result = run("--apply")
    assert result.exit_code == 1
    assert "Refused: you may not patch services in default: ask who administers the cluster" in result.stderr
    assert contract.GO_FINALIZER in world.graph("llm")["metadata"]["finalizers"]


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "a login is missing or has expired: log in again"), (403, "you lack this right: ask who administers")],
)
def test_refusal_says_what_to_do(status: int, words: str) -> None:
    assert words in describe_refusal(Refused("GET /apis: no", status))


def test_way_back_is_printed_and_nothing_else_is_done(run: Run, world: Moved) -> None:
    before = world.simulated.everything()
    result = run("--back", "-n", "team")
    assert result.exit_code == 0
    assert world.simulated.everything() == before
    order = ["helm uninstall dynamo-hooks", "finalizers", "controller-uid", "helm upgrade --install dynamo-platform"]
    places = [result.stdout.index(word) for word in order]
    assert places == sorted(places)
    assert "-n team" in result.stdout
    assert f'"{contract.ANNOTATION_RENDERING}": null' in result.stdout
    assert "--reset-then-reuse-values --set dynamo-operator.enabled=true" in result.stdout  # the move set it to false
    assert contract.GO_FINALIZER in world.graph("llm")["metadata"]["finalizers"]
