"""`dynamo-hooks graph` at a terminal: what it writes where, what it refuses, and what it reads from a cluster."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from hooks.ground import contract
from hooks.server.commands.main import main
from hooks.tools.cli import live_graphs as command
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.pods import PodFault
from hooks.tools.operating.cluster import Cluster
from tests import make
from tests.tools.offline.picture.drawn import ROOT, engine, model
from tests.tools.offline.simulator.hooked import build_cluster
from tests.tools.operating.migration.played_cluster import play

EXAMPLE = str(ROOT / "examples/vllm-disagg.yaml")
Run = Callable[..., Result]


def run(*words: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["graph", *words], input=given)


def test_mermaid_is_the_default() -> None:
    result = run(EXAMPLE)
    assert result.exit_code == 0
    assert result.stdout.startswith("flowchart LR\n")


@pytest.mark.parametrize(
    ("name", "start"),
    [("g.mmd", "flowchart"), ("g.MERMAID", "flowchart"), ("g.dot", "digraph"), ("g.gv", "digraph")],
)
def test_ending_of_the_file_chooses_the_form(tmp_path: Path, name: str, start: str) -> None:
    result = run("--output-file", str(tmp_path / name), EXAMPLE)
    assert (result.exit_code, result.output) == (0, "")
    assert (tmp_path / name).read_text().startswith(start)


def test_versions_have_the_same_picture(tmp_path: Path) -> None:
    beta = CliRunner().invoke(main, ["convert", "--to", "v1beta1", EXAMPLE])
    assert "nvidia.com/v1beta1" in beta.stdout
    assert run("-", given=beta.stdout).stdout == run(EXAMPLE).stdout


def test_example_that_needs_grove_is_drawn_without_options() -> None:
    result = run(str(ROOT / "examples"))
    assert result.exit_code == 0
    assert "vllm-topology" in result.stdout
    assert result.stdout.count("run by Grove") == 2  # the same for two releases of Dynamo
    assert "DynamoGraphDeploymentRequest qwen-aic has no graph yet" in result.stderr


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        ((), 2, "give either FILE or --from-cluster GRAPH"),
        ((EXAMPLE, "--from-cluster", "g"), 2, "give either FILE or --from-cluster GRAPH"),
        (("--from-cluster", "g", "--with", "lws"), 2, "--with does not go with --from-cluster"),
        ((EXAMPLE, "--output-file", "g.svg"), 2, "g.svg does not end with one of .mmd, "),
        ((EXAMPLE, "--output-file", "/nowhere/g.dot"), 1, "/nowhere/g.dot cannot be written: No such file"),
        (("/nowhere.yaml",), 1, "/nowhere.yaml"),
        (("-n", "A_B", EXAMPLE), 2, "'A_B' is not a namespace"),
    ],
)
def test_wrong_use_gets_a_sentence(words: tuple[str, ...], status: int, sentence: str) -> None:
    result = run(*words)
    assert result.exit_code == status
    assert sentence in result.stderr
    assert "Traceback" not in result.output


def test_invalid_manifest_is_refused_with_its_place() -> None:
    broken = yaml.safe_dump(make.graph({"W": {**engine(), "replicas": "two"}}))
    result = run("-", given=broken)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "spec.services[W].replicas" in result.stderr


def test_file_without_a_graph_is_refused() -> None:
    result = run("-", given="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
    assert result.exit_code == 1
    assert result.stderr == "there is no graph and no component to draw\n"


def test_model_without_a_service_is_named() -> None:
    given = yaml.safe_dump_all([make.graph({"W": engine("m/1")}), model("a", "m/1")])
    result = run("-", given=given)
    assert result.exit_code == 0
    assert result.stderr == "DynamoModel a is not shown: no service of these files names m/1 in modelRef\n"


@pytest.fixture
def world() -> SimulatedCluster:
    """A cluster with a graph of a broken worker that a scaling adapter scales to 3."""
    simulated = build_cluster()
    simulated.break_pods("llm-worker*", PodFault.IMAGE_PULL)
    worker = engine("m/1", modelRef={"name": "m/1"}, scalingAdapter={"enabled": True})
    parent = make.graph({"Frontend": make.service("frontend"), "Worker": worker}, name="llm")
    simulated.apply({**parent, "metadata": {"name": "llm", "namespace": "default"}})
    simulated.apply(model("a", "m/1"))
    simulated.run_for(60)
    return simulated


@pytest.fixture
def run_live(world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> Run:
    @contextmanager
    def connect(_connection: Connection) -> Iterator[Cluster]:
        yield play(world)

    monkeypatch.setattr(command, "connect", connect)
    return run


def test_live_graph_shows_how_ready_its_parts_are(run_live: Run, world: SimulatedCluster) -> None:
    before = world.everything()
    result = run_live("--from-cluster", "llm", "-o", "dot")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "✓ 1 of 1 ready" in result.stdout
    assert "✗ 0 of 1 ready: ImagePull" in result.stdout
    assert "org/a" in result.stdout
    assert "✗ not ready: " in result.stdout
    assert world.everything() == before


def test_live_replicas_are_those_of_the_adapter(run_live: Run, world: SimulatedCluster) -> None:
    world.patch(contract.SCALING_ADAPTER, "llm-worker", {"spec": {"replicas": 3}}, "default")
    world.run_for(60)
    assert "0 of 3 ready" in run_live("--from-cluster", "llm", "-o", "dot").stdout


def test_unknown_live_graph_gets_a_sentence(run_live: Run) -> None:
    result = run_live("--from-cluster", "other", "-n", "team")
    assert (result.exit_code, result.stderr) == (1, "there is no graph other in namespace team\n")


def test_what_the_user_may_not_read_is_named_and_left_out(
    world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def connect(_connection: Connection) -> Iterator[Cluster]:
        yield play(world, forbidden=frozenset({"dynamomodels"}))

    monkeypatch.setattr(command, "connect", connect)
    result = run("--from-cluster", "llm")
    assert result.exit_code == 0
    assert result.stderr.startswith("not shown: GET ")
    assert "dynamomodels is forbidden" in result.stderr
    assert "org/a" not in result.stdout
