"""Graphs over several nodes from manifest to Ready, and on to other shapes, on LeaderWorkerSet and Volcano."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, name_of
from hooks.tools.cli.simulate import simulate
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from tests import make
from tests.tools.offline.simulator.hooked import build_cluster

LWS = ("lws", "volcano")
EXAMPLES = [
    Path(__file__).parents[4] / "examples" / f"{name}-multinode.yaml"
    for name in ("sglang-disagg", "trtllm-disagg", "vllm-dp", "vllm")
]
KEY = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "mpi-run-ssh-secret", "namespace": "default"},
    "type": "Opaque",
    "data": {"private.key": "cHJpdmF0ZQ==", "private.key.pub": "cHVibGlj"},
}


def worker(nodes: int = 2, replicas: int = 1, **spec: Any) -> dict[str, Any]:
    main = {"image": "i", "command": ["python3", "-m", "dynamo.vllm"], "args": ["--tensor-parallel-size", "2"]}
    shape = {"multinode": {"nodeCount": nodes}} if nodes > 1 else {}
    limits = {"resources": {"limits": {"gpu": "1"}}}
    service = {"componentType": "worker", "replicas": replicas, "extraPodSpec": {"mainContainer": main}}
    return {**service, **limits, **shape, **spec}


def graph(**services: Any) -> Manifest:
    metadata = {"name": "g", "namespace": "default"}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": metadata,
        "spec": {"services": services},
    }


def names(cluster: SimulatedCluster, kind: GroupVersionKind) -> list[str]:
    return [name_of(found) for found in cluster.list_kind(kind, "default")]


def graph_of(cluster: SimulatedCluster, name: str = "g") -> Manifest:
    found = cluster.get(contract.GRAPH, name, "default")
    assert found is not None
    return found


def settle(cluster: SimulatedCluster, name: str = "g") -> Manifest:
    """Let the cluster go on until the graph is Ready, and give it back."""
    assert cluster.run_until(lambda: is_ready(graph_of(cluster, name)), 120), graph_of(cluster, name)["status"]
    return graph_of(cluster, name)


def running(service: dict[str, Any]) -> SimulatedCluster:
    cluster = build_cluster(LWS)
    cluster.create(graph(w=service))
    settle(cluster)
    return cluster


def reshape(cluster: SimulatedCluster, service: dict[str, Any]) -> Manifest:
    found = graph_of(cluster)
    cluster.patch(contract.GRAPH, "g", {"spec": {"services": {"w": None}}}, "default")
    cluster.patch(contract.GRAPH, "g", {"spec": {"services": {"w": service}}}, "default")
    assert graph_of(cluster)["metadata"]["generation"] > found["metadata"]["generation"]
    cluster.settle()
    return settle(cluster)


def replicas_of(cluster: SimulatedCluster, kind: GroupVersionKind) -> dict[str, Any]:
    return {name_of(found): found["spec"] for found in cluster.list_kind(kind, "default")}


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_multinode_example_comes_to_ready_and_then_nothing_is_written(path: Path) -> None:
    cluster = build_cluster(LWS)
    cluster.create(KEY)
    document = yaml.safe_load(path.read_text())
    document["metadata"]["namespace"] = "default"
    cluster.create(document)
    settle(cluster, document["metadata"]["name"])
    assert cluster.events == []
    cluster.run_for(1)
    before = len(cluster.writes)
    cluster.run_for(700)
    assert cluster.writes[before:] == []


def test_each_replica_is_a_set_and_a_pod_group_whose_pods_run() -> None:
    cluster = running(worker(nodes=3, replicas=2))
    assert names(cluster, kinds.LEADER_WORKER_SET) == names(cluster, kinds.POD_GROUP) == ["g-w-0", "g-w-1"]
    assert names(cluster, kinds.DEPLOYMENT) == []
    expected = ["g-w-0-0", "g-w-0-0-1", "g-w-0-0-2", "g-w-1-0", "g-w-1-0-1", "g-w-1-0-2"]
    assert names(cluster, kinds.POD) == expected
    service = graph_of(cluster)["status"]["services"]["w"]
    assert service == {
        "componentKind": "LeaderWorkerSet",
        "componentName": "g-w-0",
        "componentNames": ["g-w-0", "g-w-1"],
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "runtimeNamespace": "default-g",
        "gpusPerEngine": 3,
        "gpusPerReplica": 3,
    }


def test_service_reaches_leaders_alone() -> None:
    cluster = running(worker(nodes=2, replicas=2))
    slices = cluster.list_kind(kinds.ENDPOINT_SLICE, "default")
    (found,) = [s for s in slices if s["metadata"]["labels"]["kubernetes.io/service-name"] == "g-w"]
    assert [endpoint["targetRef"]["name"] for endpoint in found["endpoints"]] == ["g-w-0-0", "g-w-1-0"]


@pytest.mark.parametrize("left", [2, 1, 0])
def test_scaling_down_drops_the_surplus(left: int) -> None:
    cluster = running(worker(replicas=3))
    reshape(cluster, worker(replicas=left))
    expected = [f"g-w-{index}" for index in range(left)]
    assert names(cluster, kinds.LEADER_WORKER_SET) == names(cluster, kinds.POD_GROUP) == expected
    assert len(names(cluster, kinds.POD)) == 2 * left


def test_scaling_up_leaves_the_others_alone() -> None:
    cluster = running(worker(replicas=1))
    before = cluster.get(kinds.LEADER_WORKER_SET, "g-w-0", "default")
    reshape(cluster, worker(replicas=3))
    assert cluster.get(kinds.LEADER_WORKER_SET, "g-w-0", "default") == before
    assert len(names(cluster, kinds.POD)) == 6


def test_another_number_of_nodes_makes_the_sets_anew_and_never_changes_them_in_place() -> None:
    cluster = running(worker(nodes=2, replicas=2))
    before = {found["metadata"]["uid"] for found in cluster.list_kind(kinds.LEADER_WORKER_SET, "default")}
    written = len(cluster.writes)
    reshape(cluster, worker(nodes=4, replicas=2))
    after = cluster.list_kind(kinds.LEADER_WORKER_SET, "default")
    assert [found["spec"]["leaderWorkerTemplate"]["size"] for found in after] == [4, 4]
    assert not before & {found["metadata"]["uid"] for found in after}
    changes = [w.verb for w in cluster.writes[written:] if w.resource == "leaderworkersets" and not w.subresource]
    assert changes == ["delete", "delete", "create", "create"]
    assert len(names(cluster, kinds.POD)) == 8
    assert [spec["minMember"] for spec in replicas_of(cluster, kinds.POD_GROUP).values()] == [4, 4]


def images(cluster: SimulatedCluster) -> list[str]:
    return [pod["spec"]["containers"][-1]["image"] for pod in cluster.list_kind(kinds.POD, "default")]


def test_another_image_is_rolled_out_in_place_and_is_never_ready_before() -> None:
    cluster = running(worker())
    before = cluster.get(kinds.LEADER_WORKER_SET, "g-w-0", "default")
    main = {**worker()["extraPodSpec"]["mainContainer"], "image": "j"}
    cluster.patch(
        contract.GRAPH, "g", {"spec": {"services": {"w": {"extraPodSpec": {"mainContainer": main}}}}}, "default"
    )

    def is_done() -> bool:
        done = is_ready(graph_of(cluster))
        assert not done or images(cluster) == ["j", "j"]
        return done

    assert cluster.run_until(is_done, 120), graph_of(cluster)["status"]
    after = cluster.get(kinds.LEADER_WORKER_SET, "g-w-0", "default")
    assert before is not None
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


SWITCHES = {
    "one node to two": (worker(nodes=1, replicas=2), worker(nodes=2, replicas=2)),
    "two nodes to one": (worker(nodes=2, replicas=2), worker(nodes=1, replicas=2)),
}


@pytest.mark.parametrize(("old", "new"), SWITCHES.values(), ids=SWITCHES.keys())
def test_switching_between_one_and_several_nodes_leaves_nothing_behind(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    cluster = running(old)

    def is_done() -> bool:
        found = (names(cluster, kinds.DEPLOYMENT), names(cluster, kinds.LEADER_WORKER_SET))
        assert not all(found), "old and new workload at the same time"
        return is_ready(graph_of(cluster))

    cluster.patch(
        contract.GRAPH, "g", {"spec": {"services": {"w": {**new, "multinode": new.get("multinode")}}}}, "default"
    )
    assert not is_done()
    assert cluster.run_until(is_done, 120), graph_of(cluster)["status"]
    spans = "multinode" in new
    assert names(cluster, kinds.DEPLOYMENT) == ([] if spans else ["g-w"])
    assert names(cluster, kinds.LEADER_WORKER_SET) == (["g-w-0", "g-w-1"] if spans else [])
    assert names(cluster, kinds.POD_GROUP) == names(cluster, kinds.LEADER_WORKER_SET)
    assert len(names(cluster, kinds.POD)) == (4 if spans else 2)


def test_a_removed_service_takes_everything_with_it() -> None:
    cluster = running(worker(replicas=2))
    cluster.patch(contract.GRAPH, "g", {"spec": {"services": {"w": None, "f": make.service("frontend")}}}, "default")
    cluster.settle()
    settle(cluster)
    assert names(cluster, kinds.LEADER_WORKER_SET) == names(cluster, kinds.POD_GROUP) == []
    assert [name for name in names(cluster, kinds.POD) if name.startswith("g-w")] == []


@pytest.mark.parametrize("installed", [(), ("lws",), ("volcano",)], ids=["none", "lws alone", "volcano alone"])
def test_without_orchestrator_nothing_is_created(installed: tuple[str, ...]) -> None:
    cluster = build_cluster(installed)
    cluster.create(graph(w=worker()))
    cluster.settle()
    assert "no multinode orchestrator available" in graph_of(cluster)["status"]["conditions"][0]["message"]
    assert names(cluster, contract.COMPONENT) == names(cluster, kinds.SERVICE) == names(cluster, kinds.POD) == []


def component(**spec: Any) -> Manifest:
    main = {"image": "i", "command": ["python3", "-m", "dynamo.trtllm"], "args": ["--model-path", "m"]}
    metadata = {"name": "c", "namespace": "default"}
    body = {**worker(), "extraPodSpec": {"mainContainer": main}, **spec}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoComponentDeployment",
        "metadata": metadata,
        "spec": body,
    }


def ready_of(cluster: SimulatedCluster) -> Manifest:
    found = cluster.get(contract.COMPONENT, "c", "default")
    assert found is not None
    condition: Manifest = next(c for c in found["status"]["conditions"] if c["type"] == "Ready")
    return condition


def test_component_that_stands_alone_gets_its_own_copy_of_the_ssh_key() -> None:
    cluster = build_cluster(LWS, mpi_secret="keys/ssh")
    cluster.create_namespace("keys")
    cluster.create(component())
    cluster.settle()
    assert "Secret keys/ssh with the SSH key of multinode TensorRT-LLM does not exist" in ready_of(cluster)["message"]
    cluster.create({**KEY, "metadata": {"name": "ssh", "namespace": "keys"}})
    cluster.settle()
    copy = cluster.get(kinds.SECRET, "c-mpi-ssh", "default")
    assert copy is not None
    assert (copy["type"], copy["data"]) == (KEY["type"], KEY["data"])
    assert ready_of(cluster)["message"] == "All LeaderWorkerSets are ready"
    cluster.delete(kinds.SECRET, "ssh", "keys")
    cluster.settle()
    assert cluster.get(kinds.SECRET, "c-mpi-ssh", "default") == copy
    assert "is gone; its copy is kept" in ready_of(cluster)["message"]


def test_copy_of_the_ssh_key_goes_when_it_is_needed_no_more() -> None:
    cluster = build_cluster(LWS)
    cluster.create(KEY)
    cluster.create(component())
    cluster.settle()
    assert names(cluster, kinds.SECRET) == ["c-mpi-ssh", "mpi-run-ssh-secret"]
    cluster.patch(contract.COMPONENT, "c", {"spec": {"multinode": None}}, "default")
    cluster.settle()
    assert names(cluster, kinds.SECRET) == ["mpi-run-ssh-secret"]
    assert names(cluster, kinds.DEPLOYMENT) == ["c"]


def test_command_simulate_brings_an_example_to_ready() -> None:
    path = next(path for path in EXAMPLES if path.stem == "vllm-multinode")
    result = CliRunner().invoke(
        simulate, ["--speed", "200", "--with", "lws,volcano", "--given", "Secret/hf-token-secret", str(path)]
    )
    assert result.exit_code == 0, result.stderr
    assert "LeaderWorkerSet vllm-multinode-vllmworker-1" in result.stdout
    assert "components 2/2; pods 5 Ready" in result.stderr
