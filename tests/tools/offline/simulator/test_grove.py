"""Grove as it is simulated, and whole graphs under it from the first sync to rest, with the real hooks' functions."""

from pathlib import Path
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.effects import ScalePodClique
from tests import make
from tests.stored import load_stored
from tests.tools.offline.simulator.grove_world import GroveWorld

EXAMPLES = sorted((Path(__file__).parents[4] / "examples").rglob("*.yaml"))
ON = {"nvidia.com/enable-grove": "true"}
OFF = {"nvidia.com/enable-grove": "false"}
LIMITS = {"limits": {"gpu": "2"}}


def worker(nodes: int = 3, replicas: int = 2, engine: str = "sglang", **spec: Any) -> dict[str, Any]:
    command = ["python3", "-m", f"dynamo.{engine}"]
    return make.service(command=command, multinode={"nodeCount": nodes}, replicas=replicas, resources=LIMITS, **spec)


def graph(frontends: int = 2, annotations: dict[str, str] | None = None, **changes: Any) -> Manifest:
    services = {"Frontend": make.service("frontend", replicas=frontends), "Worker": worker(), **changes}
    return make.graph(services, annotations=annotations)


@pytest.fixture
def world() -> GroveWorld:
    world = GroveWorld()
    world.apply(graph())
    return world


# Graphs


def test_graph_over_several_nodes_comes_to_ready(world: GroveWorld) -> None:
    assert world.message() == "All resources are ready"
    assert world.names(kinds.POD_CLIQUE) == [
        "g-0-frontend",
        "g-0-worker-0-worker-ldr",
        "g-0-worker-0-worker-wkr",
        "g-0-worker-1-worker-ldr",
        "g-0-worker-1-worker-wkr",
    ]
    assert world.names(kinds.POD_CLIQUE_SCALING_GROUP) == ["g-0-worker"]
    assert len(world.pods()) == 2 + 2 * 3
    assert world.names(contract.COMPONENT) == []
    assert {s["componentName"] for s in world.status()["services"].values()} == {"g-0-frontend", "g-0-worker"}


def test_nothing_is_written_once_all_is_ready(world: GroveWorld) -> None:
    before = len(world.cluster.writes)
    world.cluster.run_for(2000)
    assert world.cluster.writes[before:] == []


def test_grove_and_the_graph_never_want_one_name(world: GroveWorld) -> None:
    for kind in (kinds.SERVICE, kinds.SERVICE_ACCOUNT, kinds.SECRET):
        owners = [found["metadata"]["ownerReferences"][0]["kind"] for found in world.cluster.list_kind(kind)]
        assert "PodCliqueSet" in owners
    assert world.cluster.events == []


def scalings(world: GroveWorld) -> list[ScalePodClique]:
    return [effect for effect in world.effects if isinstance(effect, ScalePodClique)]


def test_replicas_change_through_effects_alone(world: GroveWorld) -> None:
    world.apply(graph(frontends=3, Worker=worker(replicas=1)))
    assert scalings(world) == [
        ScalePodClique(kind="PodClique", namespace="default", name="g-0-frontend", replicas=3),
        ScalePodClique(kind="PodCliqueScalingGroup", namespace="default", name="g-0-worker", replicas=1),
    ]
    assert len(world.pods()) == 3 + 3
    assert world.message() == "All resources are ready"
    scaled = [write for write in world.cluster.writes if write.subresource == "scale"]
    assert [(write.actor, write.name) for write in scaled] == [
        ("dynamo-hooks", "g-0-frontend"),
        ("dynamo-hooks", "g-0-worker"),
    ]


def test_effect_that_fails_is_asked_for_again_until_it_is_carried_out(world: GroveWorld) -> None:
    world.carries_out = False
    world.apply(graph(frontends=3))
    assert len(scalings(world)) > 1
    assert "replicas=2, wanted=3: it is being scaled" in world.message()
    world.carries_out = True
    world.settle()
    assert world.message() == "All resources are ready"


def test_with_scaling_off_the_status_says_what_is_not_applied() -> None:
    world = GroveWorld(effect_scale="off")
    world.apply(graph())
    assert world.message() == "All resources are ready"
    world.apply(graph(frontends=3))
    assert scalings(world) == []
    assert "replicas=2, wanted=3: not applied, as the setting effect_scale is off" in world.message()


def test_changed_image_rolls_all_pods_and_is_not_ready_before(world: GroveWorld) -> None:
    old = {pod["metadata"]["uid"] for pod in frontends(world)}
    changed = graph(Frontend=make.service("frontend", image="img:2", replicas=2))
    world.cluster.patch(contract.GRAPH, "g", {"spec": changed["spec"]}, "default")
    found = world.cluster.get(contract.GRAPH, "g", "default")
    assert found is not None
    states: list[str] = []
    for _ in world.steps(60):
        status = world.status()
        if status["observedGeneration"] == found["metadata"]["generation"] and states[-1:] != [status["state"]]:
            states.append(status["state"])
            images = {container["image"] for pod in frontends(world) for container in pod["spec"]["containers"]}
            assert status["state"] != "successful" or images == {"img:2"}
    assert states == ["pending", "successful"]
    assert not old & {pod["metadata"]["uid"] for pod in frontends(world)}


def frontends(world: GroveWorld) -> list[Manifest]:
    return [pod for pod in world.pods() if "frontend" in pod["metadata"]["name"]]


@pytest.mark.parametrize(
    "changed",
    [graph(Worker=worker(nodes=4)), graph(New=make.service()), graph(Worker=worker(nodes=3, engine="trtllm"))],
    ids=["nodes", "service", "start-up"],
)
def test_change_that_grove_forbids_never_reaches_it(world: GroveWorld, changed: Manifest) -> None:
    before = [pod["metadata"]["uid"] for pod in world.pods()]
    world.apply(changed)
    assert world.status()["state"] == "failed"
    assert "PodCliqueSet g cannot change" in world.message()
    assert world.cluster.events == []
    assert [pod["metadata"]["uid"] for pod in world.pods()] == before
    world.apply(graph())
    assert world.message() == "All resources are ready"


def test_switching_grove_off_and_on_leaves_nothing_behind() -> None:
    world = GroveWorld()
    single = {"Frontend": make.service("frontend", replicas=2), "Worker": make.service(replicas=1)}
    world.apply(make.graph(single))
    assert len(world.names(kinds.POD_CLIQUE)) == 2
    world.apply(make.graph(single, annotations=OFF))
    assert world.message() == "All resources are ready"
    assert world.names(kinds.POD_CLIQUE_SET) == world.names(kinds.POD_CLIQUE) == []
    assert world.names(kinds.DEPLOYMENT) == ["g-frontend", "g-worker"]
    assert len(world.pods()) == 3
    assert world.names(kinds.SERVICE) == ["g-frontend", "g-worker"]
    world.apply(make.graph(single))
    assert len(world.names(kinds.DEPLOYMENT)) == 2, "without the annotation it stays"
    world.apply(make.graph(single, annotations=ON))
    assert world.message() == "All resources are ready"
    assert world.names(kinds.DEPLOYMENT) == world.names(contract.COMPONENT) == []
    assert world.names(kinds.POD_CLIQUE_SET) == ["g"]
    assert len(world.pods()) == 3
    assert world.names(kinds.SERVICE) == ["g-0", "g-frontend", "g-worker"]


def test_two_paths_never_run_side_by_side() -> None:
    world = GroveWorld()
    world.apply(make.graph({"Frontend": make.service("frontend")}))
    world.cluster.patch(contract.GRAPH, "g", {"metadata": {"annotations": OFF}}, "default")
    for _ in world.steps(60):
        assert not (world.names(kinds.POD_CLIQUE_SET) and world.names(contract.COMPONENT))
    assert world.names(kinds.POD_CLIQUE_SET) == []
    assert world.names(kinds.DEPLOYMENT) == ["g-frontend"]


def test_switching_orchestrators_is_refused_where_the_other_one_is_missing(world: GroveWorld) -> None:
    world.apply(graph(annotations=OFF))
    assert "no multinode orchestrator available" in world.message()
    assert world.names(kinds.POD_CLIQUE_SET) == ["g"]
    assert len(world.pods()) == 8


def test_trtllm_leader_comes_after_its_workers() -> None:
    world = GroveWorld(mpi_secret="default/keys")
    data = {"private.key": "YQ==", "private.key.pub": "Yg=="}
    metadata = {"name": "keys", "namespace": "default"}
    world.cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data})
    world.cluster.kubelet.block("*wkr*")
    world.apply(graph(Worker=worker(engine="trtllm", replicas=1)))
    leader = next(pod for pod in world.pods() if "-ldr-" in pod["metadata"]["name"])
    (init,) = leader["status"]["initContainerStatuses"]
    assert (init["name"], leader["status"]["phase"]) == ("grove-initc", "Pending")
    assert "running" in init["state"]
    world.cluster.kubelet.release("*wkr*")
    world.settle()
    assert world.message() == "All resources are ready"
    secret = world.cluster.get(kinds.SECRET, "g-mpi-ssh", "default")
    assert secret is not None
    assert secret["data"] == data


def test_key_that_comes_later_is_noticed() -> None:
    world = GroveWorld(mpi_secret="default/keys")
    world.apply(graph(Worker=worker(engine="trtllm", replicas=1)))
    assert "Secret default/keys with the SSH key" in world.message()
    metadata = {"name": "keys", "namespace": "default"}
    data = {"private.key": "YQ==", "private.key.pub": "Yg=="}
    world.cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data})
    world.settle()
    assert "g-mpi-ssh" in world.names(kinds.SECRET)
    assert world.message() == "All resources are ready"


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_comes_to_ready_under_grove(path: Path) -> None:
    installed = frozenset({"grove", "istio", "inference-pool"})
    world = GroveWorld(installed, kai_scheduler="on", grove_topology="pack")
    data = {"private.key": "YQ==", "private.key.pub": "Yg=="}
    metadata = {"name": "mpi-run-ssh-secret", "namespace": "default"}
    world.cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data})
    for document in load_stored(path):
        world.cluster.apply({**document, "metadata": {"namespace": "default", **document["metadata"]}})
    world.settle()
    for found in world.cluster.list_kind(contract.GRAPH):
        name = found["metadata"]["name"]
        assert world.message(name).split("; ")[0] == "All resources are ready"
        assert name in world.names(kinds.POD_CLIQUE_SET)


def test_deleted_graph_takes_everything_along(world: GroveWorld) -> None:
    world.cluster.delete(contract.GRAPH, "g", "default")
    world.settle()
    for kind in (kinds.POD_CLIQUE_SET, kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP, kinds.POD, kinds.SERVICE):
        assert world.names(kind) == []


def test_broken_pod_keeps_the_graph_from_ready(world: GroveWorld) -> None:
    world.cluster.block("*frontend*")
    world.apply(graph(Frontend=make.service("frontend", image="img:2", replicas=2)))
    assert world.status()["state"] == "pending"
    assert "g-0-frontend" in world.message()
