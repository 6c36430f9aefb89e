"""`simulate` with a DynamoModel: the real hooks server and prober, and engines on loopback that they load."""

from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from hooks.ground.k8s import kinds
from hooks.tools.cli.simulate import simulate
from hooks.tools.offline.manifests.reading import load_manifests
from hooks.tools.offline.simulation.applied_documents import apply_documents
from hooks.tools.offline.simulation.plan import SimulationPlan, build_cluster
from hooks.tools.offline.simulation.run import ASKING_SECONDS, LONGEST_TURN_SECONDS, advance, run_programs
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.engines import Engines, SimulatedEngine
from hooks.tools.offline.simulator.metacontroller.hook_client import connect_hook
from tests.waiting import wait_for

EXAMPLE = Path(__file__).parents[4] / "examples" / "vllm-lora.yaml"
HELD = {"my-org/my-lora": "hf://my-org/my-lora"}


def _simulate(*arguments: str) -> Result:
    """Without a timeout of its own it lasts until all is ready: the prober works in real time."""
    return CliRunner().invoke(simulate, ["--timeout", "6000", "--speed", "20", "--given", "Secret/*", *arguments])


def test_adapter_is_loaded_on_every_worker_and_the_tree_shows_it() -> None:
    result = _simulate(str(EXAMPLE))
    assert result.exit_code == 0, result.stderr
    assert "DynamoModel my-lora  Ready" in result.stdout
    assert "adapter my-org/my-lora  from hf://my-org/my-lora" in result.stdout
    loaded = [line for line in result.stdout.splitlines() if line.endswith("  Loaded")]
    assert len(loaded) == 2
    assert all("endpoint vllm-lora-vllmworker-" in line for line in loaded)
    assert "DynamoModel default/my-lora: Ready; endpoints 2/2" in result.stderr


def test_workers_started_without_lora_are_said_to_be_so(tmp_path: Path) -> None:
    file = tmp_path / "graph.yaml"
    file.write_text(EXAMPLE.read_text().replace("DYN_LORA_ENABLED", "DYN_OTHER"))
    result = _simulate("--timeout", "100", "-o", "json", str(file))
    assert result.exit_code == 1
    _, model = orjson.loads(result.stdout)["objects"]
    assert {endpoint["phase"] for endpoint in model["status"]["endpoints"]} == {"Unsupported"}
    assert model["reasons"] == [
        "DynamoModel default/my-lora: None of 2 endpoint(s) supports LoRA; start the workers with LoRA enabled"
    ]


def test_turn_of_a_busy_machine_counts_as_one_of_another() -> None:
    plan = SimulationPlan(documents=(), installed=frozenset(), timeout=120, speed=20, blocked=(), broken={}, given=())
    assert advance(10.0, 0.25, plan) == 15.0
    assert advance(10.0, 60.0, plan) == 10.0 + 20 * LONGEST_TURN_SECONDS
    assert advance(119.0, 60.0, plan) == 120
    assert advance(10.0, 0.25, plan, is_asking=True) == 10.0 + ASKING_SECONDS
    assert advance(10.0, 0.01, plan, is_asking=True) == advance(10.0, 0.01, plan)


def test_base_model_is_ready_when_its_endpoints_are_found(tmp_path: Path) -> None:
    file = tmp_path / "graph.yaml"
    graph = EXAMPLE.read_text().partition("---")[0]
    spec = "{modelName: Qwen/Qwen3-0.6B, baseModelName: Qwen/Qwen3-0.6B, modelType: base}"
    file.write_text(
        f"{graph}---\napiVersion: nvidia.com/v1alpha1\nkind: DynamoModel\nmetadata: {{name: base}}\nspec: {spec}\n"
    )
    result = _simulate("-o", "json", str(file))
    assert result.exit_code == 0, result.stderr
    _, model = orjson.loads(result.stdout)["objects"]
    assert model["status"]["totalEndpoints"] == 2


class _Running:
    """The example in a cluster that is driven by hand, until something holds."""

    def __init__(self, cluster: SimulatedCluster, engines: Engines) -> None:
        self.cluster, self.engines = cluster, engines

    def until(self, is_done: Callable[[dict[str, SimulatedEngine]], bool]) -> None:
        """Let a second of the cluster pass at a time; the prober works in real time meanwhile."""

        def has_become_so() -> bool:
            self.cluster.run_until(self._follow, 1.0)
            return is_done(self.engines.running)

        wait_for(has_become_so, lambda: {pod: engine.loaded for pod, engine in self.engines.running.items()})

    def _follow(self) -> bool:
        self.engines.follow(self.cluster)
        return False


@pytest.fixture(scope="module")
def running() -> Iterator[_Running]:
    documents = load_manifests([str(EXAMPLE)], "default").documents
    plan = SimulationPlan(
        documents=documents, installed=frozenset(), timeout=1, speed=1, blocked=(), broken={}, given=("Secret/*",)
    )
    with (
        run_programs(plan, ["lora_verify_interval=0.2"], engine_port=0, heed=lambda: None, say=print) as programs,
        connect_hook(programs.servers.hooks_url) as hook,
    ):
        assert programs.engines is not None
        cluster = build_cluster(plan, hook, programs.servers.hooks_url)
        apply_documents(cluster, documents, pytest.fail)
        yield _Running(cluster, programs.engines)


def all_hold(engines: dict[str, SimulatedEngine]) -> bool:
    return [engine.loaded for engine in engines.values()] == [HELD, HELD]


def test_adapter_that_an_engine_lost_is_loaded_again(running: _Running) -> None:
    running.until(all_hold)
    next(iter(running.engines.running.values())).loaded.clear()
    assert not all_hold(running.engines.running)
    running.until(all_hold)


def test_successor_of_a_killed_pod_is_loaded(running: _Running) -> None:
    running.until(all_hold)
    killed, engine = next(iter(running.engines.running.items()))
    running.cluster.delete(kinds.POD, killed.partition("/")[2], "default")
    running.until(lambda engines: all(found is not engine for found in engines.values()) and all_hold(engines))
