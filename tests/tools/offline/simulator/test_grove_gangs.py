"""What the simulated Grove does where a graph is broken, at 0, or changed by hand, as its real operator does."""

from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulator.client import LoggedWrite
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.wire.metacontroller.effects import ScalePodClique
from tests import make
from tests.tools.offline.simulator import worlds
from tests.tools.offline.simulator.grove_world import GroveWorld
from tests.tools.offline.simulator.test_grove import clique, graph, pcs, worker

MINUTES = 60.0


def grove(**setup: Any) -> SimulatedCluster:
    return worlds.world(optional=frozenset({"grove"}), **setup)


def found(cluster: SimulatedCluster, kind: GroupVersionKind, name: str) -> Manifest:
    manifest = cluster.get(kind, name, "default")
    assert manifest is not None
    return manifest


def two(image: str = "i:1", **spec: Any) -> Manifest:
    """The set `p` of the cliques `a` and `b`; the image is that of `b`."""
    pod = {"containers": [{"name": "main", "image": image}]}
    return pcs(cliques=[clique("a", minAvailable=1, **spec), clique("b", minAvailable=1, podSpec=pod)])


def scale(cluster: SimulatedCluster, name: str, replicas: int, kind: str = "PodClique") -> None:
    cluster.carry_out((ScalePodClique(kind=kind, namespace="default", name=name, replicas=replicas),))


def images(cluster: SimulatedCluster, of: str) -> list[str]:
    pods = cluster.list_kind(kinds.POD, "default")
    own = [pod for pod in pods if pod["metadata"]["labels"]["grove.io/podclique"] == of]
    return [pod["spec"]["containers"][0]["image"] for pod in own]


def observed(cluster: SimulatedCluster, kind: GroupVersionKind, name: str) -> bool:
    one = found(cluster, kind, name)
    return bool(one["status"].get("observedGeneration") == one["metadata"]["generation"])


def test_set_observes_nothing_while_a_part_is_below_its_least() -> None:
    cluster = grove()
    cluster.create(two())
    cluster.run_for(MINUTES)
    assert observed(cluster, kinds.POD_CLIQUE_SET, "p")
    scale(cluster, "p-0-a", 0)
    cluster.apply(two(image="i:2"))
    cluster.run_for(MINUTES)
    assert images(cluster, "p-0-b") == ["i:2"]
    assert observed(cluster, kinds.POD_CLIQUE, "p-0-b")
    assert not observed(cluster, kinds.POD_CLIQUE_SET, "p")
    assert "updateEndedAt" not in found(cluster, kinds.POD_CLIQUE_SET, "p")["status"]["updateProgress"]
    scale(cluster, "p-0-a", 1)
    cluster.run_for(MINUTES)
    assert observed(cluster, kinds.POD_CLIQUE_SET, "p")


def test_gang_ends_when_a_part_is_below_its_least_for_the_delay() -> None:
    cluster = grove()
    delayed = two()
    delayed["spec"]["template"]["terminationDelay"] = "15m0s"
    cluster.create(delayed)
    cluster.run_for(MINUTES)
    before = {pod["metadata"]["uid"] for pod in cluster.list_kind(kinds.POD, "default")}
    scale(cluster, "p-0-a", 0)
    cluster.run_for(14 * MINUTES)
    assert len(before & {pod["metadata"]["uid"] for pod in cluster.list_kind(kinds.POD, "default")}) == 1
    cluster.run_for(2 * MINUTES)
    assert not before & {pod["metadata"]["uid"] for pod in cluster.list_kind(kinds.POD, "default")}
    assert found(cluster, kinds.POD_CLIQUE, "p-0-a")["spec"]["replicas"] == 1


def test_further_replicas_of_a_group_wait_for_the_base_gang() -> None:
    cluster = grove()
    group = {"name": "s", "cliqueNames": ["c"], "replicas": 1, "minAvailable": 1}
    cluster.create(pcs(cliques=[clique("a", minAvailable=1), clique("c")], podCliqueScalingGroups=[group]))
    cluster.run_for(MINUTES)
    scale(cluster, "p-0-a", 0)
    cluster.run_for(MINUTES)
    scale(cluster, "p-0-s", 2, "PodCliqueScalingGroup")
    cluster.run_for(MINUTES)
    (gated,) = [pod for pod in cluster.list_kind(kinds.POD, "default") if pod["spec"].get("schedulingGates")]
    assert gated["metadata"]["labels"]["grove.io/podclique"] == "p-0-s-1-c"
    (condition,) = gated["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "SchedulingGated")
    scale(cluster, "p-0-a", 1)
    cluster.run_for(MINUTES)
    assert found(cluster, kinds.POD_CLIQUE_SCALING_GROUP, "p-0-s")["status"]["availableReplicas"] == 2


def test_update_of_a_clique_that_is_scaled_in_never_ends() -> None:
    cluster = grove()
    cluster.create(two(replicas=4))
    cluster.run_for(MINUTES)
    changed = two(replicas=4, podSpec={"containers": [{"name": "main", "image": "i:2"}]})
    cluster.apply(changed)
    assert cluster.run_until(lambda: images(cluster, "p-0-a").count("i:2") == 2, MINUTES)
    scale(cluster, "p-0-a", 1)
    cluster.run_for(5 * MINUTES)
    assert images(cluster, "p-0-a") == ["i:2"]
    assert "updateEndedAt" not in found(cluster, kinds.POD_CLIQUE, "p-0-a")["status"]["updateProgress"]
    scale(cluster, "p-0-a", 4)
    cluster.run_for(5 * MINUTES)
    assert "updateEndedAt" in found(cluster, kinds.POD_CLIQUE, "p-0-a")["status"]["updateProgress"]


def test_old_pods_stay_until_somebody_deletes_them_where_the_strategy_says_so() -> None:
    cluster = grove()
    first, second = two(), two(image="i:2")
    for one in (first, second):
        one["spec"]["updateStrategy"] = {"type": "OnDelete"}
    cluster.create(first)
    cluster.run_for(MINUTES)
    cluster.apply(second)
    cluster.run_for(MINUTES)
    assert images(cluster, "p-0-b") == ["i:1"]
    status = found(cluster, kinds.POD_CLIQUE, "p-0-b")["status"]
    assert (status["updatedReplicas"], status["replicas"]) == (0, 1)
    assert observed(cluster, kinds.POD_CLIQUE_SET, "p")
    (old,) = [pod for pod in cluster.list_kind(kinds.POD, "default") if "-b-" in pod["metadata"]["name"]]
    cluster.delete(kinds.POD, old["metadata"]["name"], "default")
    cluster.run_for(MINUTES)
    assert images(cluster, "p-0-b") == ["i:2"]


def test_refused_pods_are_errors_of_their_clique_and_hold_up_the_gang() -> None:
    refuses = ['pods "x" is forbidden: exceeded quota: few']

    def policy(write: LoggedWrite) -> str:
        return refuses[0] if refuses and write.resource == "pods" and write.name.startswith("p-0-b") else ""

    cluster = grove(policy=policy)
    cluster.create(two())
    cluster.run_for(MINUTES)
    (error,) = found(cluster, kinds.POD_CLIQUE, "p-0-b")["status"]["lastErrors"]
    assert error["code"] == "ERR_CREATE_POD"
    assert "cause: " in error["description"]
    assert "exceeded quota: few" in error["description"]
    (gated,) = cluster.list_kind(kinds.POD, "default")
    assert gated["spec"]["schedulingGates"] == [{"name": "grove.io/podgang-pending-creation"}]
    refuses.clear()
    cluster.run_for(MINUTES)
    assert "lastErrors" not in found(cluster, kinds.POD_CLIQUE, "p-0-b")["status"]
    assert len(images(cluster, "p-0-a") + images(cluster, "p-0-b")) == 2


# The hooks beside it


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
