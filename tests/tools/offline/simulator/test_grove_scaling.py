"""Graphs under the simulated Grove that are scaled: to none, in the middle of a rollout, and where a gang waits."""

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from tests import make
from tests.tools.offline.simulator.grove_world import GroveWorld
from tests.tools.offline.simulator.test_grove import graph, worker

MINUTES = 60.0


def found(cluster: SimulatedCluster, kind: GroupVersionKind, name: str) -> Manifest:
    manifest = cluster.get(kind, name, "default")
    assert manifest is not None
    return manifest


def images(cluster: SimulatedCluster, of: str) -> list[str]:
    pods = cluster.list_kind(kinds.POD, "default")
    own = [pod for pod in pods if pod["metadata"]["labels"]["grove.io/podclique"] == of]
    return [pod["spec"]["containers"][0]["image"] for pod in own]


def idle(replicas: int, frontend: str = "img:1") -> Manifest:
    return graph(Idle=make.service(replicas=replicas), Frontend=make.service("frontend", image=frontend))


def test_graph_with_a_service_at_none_is_ready_and_stays() -> None:
    world = GroveWorld()
    world.apply(idle(1))
    world.apply(idle(0))
    world.apply(idle(0, "img:2"))
    assert world.status()["state"] == "successful", world.message()
    before = {pod["metadata"]["uid"] for pod in world.pods()}
    world.cluster.run_for(33 * MINUTES)
    assert {pod["metadata"]["uid"] for pod in world.pods()} == before
    assert world.status()["state"] == "successful"
    world.apply(idle(1, "img:2"))
    world.cluster.run_for(5 * MINUTES)
    assert before < {pod["metadata"]["uid"] for pod in world.pods()}
    assert world.status()["state"] == "successful"
    delay = found(world.cluster, kinds.POD_CLIQUE_SET, "g")["spec"]["template"]["terminationDelay"]
    assert delay == "15m0s"


def test_graph_is_scaled_in_after_its_rollout() -> None:
    world = GroveWorld()
    world.apply(graph(Worker=make.service(replicas=4)))
    rolling = graph(Worker=make.service(replicas=4, image="img:2"))
    changed = graph(Worker=make.service(replicas=1, image="img:2"))
    metadata = {"labels": rolling["metadata"].get("labels") or {}}
    world.cluster.patch(contract.GRAPH, "g", {"metadata": metadata, "spec": rolling["spec"]}, "default")
    assert world.cluster.run_until(lambda: images(world.cluster, "g-0-worker").count("img:2") == 2, 5 * MINUTES)
    world.cluster.patch(contract.GRAPH, "g", {"spec": changed["spec"]}, "default")
    world.settle()
    world.cluster.run_for(2 * MINUTES)
    assert world.status()["state"] == "successful", world.message()
    assert images(world.cluster, "g-0-worker") == ["img:2"]


def test_group_waits_for_the_service_at_none() -> None:
    world = GroveWorld()
    world.apply(graph(Idle=make.service(replicas=1), Worker=worker(replicas=1)))
    world.apply(graph(Idle=make.service(replicas=0), Worker=worker(replicas=1)))
    world.apply(graph(Idle=make.service(replicas=0), Worker=worker(replicas=2)))
    assert "pcsg/g-0-worker" in world.message()
    world.apply(graph(Idle=make.service(replicas=1), Worker=worker(replicas=2)))
    assert world.message() == "All resources are ready"


def test_replicas_that_grove_lost_come_back_and_are_written_once() -> None:
    world = GroveWorld()
    world.apply(graph(Frontend=make.service("frontend"), Worker=worker(replicas=1)))
    for name in ("g-0-frontend", "g-0-worker-0-worker-wkr"):
        lost = found(world.cluster, kinds.POD_CLIQUE, name)
        world.cluster.delete(kinds.POD_CLIQUE, name, "default")
        metadata = {key: lost["metadata"][key] for key in ("name", "namespace", "labels", "ownerReferences")}
        world.cluster.create({**lost, "metadata": metadata, "spec": {**lost["spec"], "replicas": 0}})
    world.settle()
    assert world.message() == "All resources are ready"
    assert {name: len(images(world.cluster, name)) for name in ("g-0-frontend", "g-0-worker-0-worker-wkr")} == {
        "g-0-frontend": 1,
        "g-0-worker-0-worker-wkr": 2,
    }
    scaled = [write.name for write in world.cluster.writes if write.subresource == "scale"]
    assert scaled == ["g-0-frontend", "g-0-worker-0-worker-wkr"]
