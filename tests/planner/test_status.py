"""The planner of Dynamo 1.6 reads the status of graphs that came to Ready in the in-memory cluster, as v1beta1."""

from collections.abc import Iterator
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.language.versions import convert
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from tests import make
from tests.planner.planner import Planner, running_planner
from tests.tools.offline.simulator.grove_world import GroveWorld
from tests.tools.offline.simulator.hooked import build_cluster

VLLM = ["python3", "-m", "dynamo.vllm"]
MODEL = "Qwen/Qwen3-0.6B"
ONE = {"gpus_per_engine": 1, "gpus_per_replica": 1}


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planner]:
    with running_planner(tmp_path_factory.mktemp("planner")) as started:
        yield started


def engine(part: str = "", gpus: int = 1, args: tuple[str, ...] = ("--model", MODEL), **spec: Any) -> dict[str, Any]:
    """A worker; `part` is `prefill` or `decode`, empty for one that does both."""
    limits: dict[str, Any] = {"resources": {"limits": {"gpu": str(gpus)}}} if gpus else {}
    role: dict[str, Any] = {"subComponentType": part} if part else {}
    return make.service(command=VLLM, args=list(args), **limits, **role, **spec)


def graph(*, grove: bool = False, **services: Any) -> Manifest:
    """The graph `g` of these services and a frontend, Ready, as the API server would give it in v1beta1."""
    cluster: SimulatedCluster = GroveWorld().cluster if grove else build_cluster(("lws", "volcano"))
    cluster.create(make.graph({"Frontend": make.service("frontend"), **services}))
    assert cluster.run_until(lambda: is_ready(stored(cluster)), 120), stored(cluster)["status"]
    return convert(stored(cluster), "v1beta1")


def stored(cluster: SimulatedCluster) -> Manifest:
    found = cluster.get(contract.GRAPH, "g", "default")
    assert found is not None
    return found


def read(planner: Planner, document: Manifest, *parts: str) -> dict[str, Any]:
    return planner.ask("read", "g", document=document, parts=parts or ("prefill", "decode"))


@pytest.mark.parametrize("grove", [False, True], ids=["components", "Grove"])
def test_planner_finds_model_gpus_and_names_of_both_parts(planner: Planner, grove: bool) -> None:
    parts = {"Prefill": engine("prefill", replicas=2), "Decode": engine("decode", 2, ("--model", MODEL, "--tp", "2"))}
    found = read(planner, graph(grove=grove, **parts))
    dashes = "g-0-" if grove else "g-"
    assert found == {
        "model": MODEL,
        "shapes": {"prefill": ONE, "decode": {"gpus_per_engine": 2, "gpus_per_replica": 2}},
        "namespace": "default-g",
        "components": {"prefill": "prefill", "decode": "backend"},
        "workloads": [f"{dashes}decode", f"{dashes}frontend", f"{dashes}prefill"],
        "stable": True,
        "unstable": [],
        "ready": True,
    }


def test_planner_counts_a_sidecar_for_the_replica_alone(planner: Planner) -> None:
    side = {"name": "side", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    found = read(planner, graph(worker=engine("", 2, extraPodSpec={"containers": [side]})), "decode")
    assert found["shapes"] == {"prefill": None, "decode": {"gpus_per_engine": 2, "gpus_per_replica": 3}}


@pytest.mark.parametrize("grove", [False, True], ids=["LeaderWorkerSets", "Grove"])
def test_planner_counts_the_gpus_of_all_nodes(planner: Planner, grove: bool) -> None:
    args = ("--model", MODEL, "--tensor-parallel-size", "4")
    found = read(planner, graph(grove=grove, worker=engine("", 2, args, multinode={"nodeCount": 2})), "decode")
    assert found["shapes"]["decode"] == {"gpus_per_engine": 4, "gpus_per_replica": 4}
    assert found["stable"]


def test_planner_takes_the_component_of_the_endpoint(planner: Planner) -> None:
    args = ("--model", MODEL, "--served-model-name", "chat", "--endpoint", "dyn://ns.mine.generate")
    found = read(planner, graph(worker=engine("", 1, args)), "decode")
    assert (found["model"], found["components"]) == ("chat", {"decode": "mine"})


def test_workers_without_gpus_leave_the_width_to_the_planners_own_configuration(planner: Planner) -> None:
    assert read(planner, graph(worker=engine("", 0)), "decode")["shapes"] == {"prefill": None, "decode": None}


def test_services_without_replicas_are_stable_with_one(planner: Planner) -> None:
    document = graph(worker=engine())
    assert {one["replicas"] for one in document["spec"]["components"]} == {1}
    assert read(planner, document, "decode")["unstable"] == []


def test_planner_refuses_a_status_of_an_earlier_generation(planner: Planner) -> None:
    document = graph(worker=engine())
    stale = {**document, "metadata": {**document["metadata"], "generation": document["metadata"]["generation"] + 1}}
    assert read(planner, stale, "decode")["error"] == "DeploymentValidationError"


def test_model_that_the_command_line_does_not_say_is_missed_by_name(planner: Planner) -> None:
    found = read(planner, graph(worker=engine("", 1, ("--model", "$(UNKNOWN)"))), "decode")
    assert found["error"] == "DeploymentValidationError"
    assert "model name" in found["message"].casefold()
