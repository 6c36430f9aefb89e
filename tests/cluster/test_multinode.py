"""Services over several nodes under a real Metacontroller: LeaderWorkerSets up, scaled, changed, gone."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    DYNAMO,
    GRAPH,
    condition,
    load_example,
    running_controllers,
    the_graph,
    wait_for_silence,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.dynamo import EXAMPLES as ALL_EXAMPLES
from tests.cluster.groups import find_manager, running_groups
from tests.cluster.programs import HttpServer
from tests.contract.backend import ApiRefused, Manifest
from tests.stored import load_stored

EXAMPLES = [path for path in ALL_EXAMPLES if path.stem.endswith("-multinode")]
SETS, GROUPS = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"), ("scheduling.volcano.sh/v1beta1", "PodGroup")
NAME, SERVICE = "vllm-multinode", "VllmWorker"
WORKERS = ("vllm-multinode-vllmworker-0", "vllm-multinode-vllmworker-1")
KEY = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "mpi-run-ssh-secret"},
    "stringData": {"private.key": "test", "private.key.pub": "test"},
}
needs_manager = pytest.mark.skipif(find_manager() is None, reason="no lws-manager on PATH or in $LWS_MANAGER")


@pytest.fixture(scope="module", autouse=True)
def controllers(
    plane: ControlPlane,
    admin: ApiClient,
    metacontroller: HttpServer,
    hooks: HttpServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    groups = running_groups(plane, tmp_path_factory.mktemp("groups"))
    with groups, running_controllers(admin, hooks.url, ("lws", "volcano")):
        yield


@pytest.fixture
def ready(api: ApiClient) -> Iterator[ApiClient]:
    """The client of a namespace in which a graph with two replicas of two nodes each is ready."""
    api.create(load_example(NAME), strict=True)
    wait_until_ready(api, NAME)
    yield api
    if api.get(DYNAMO, GRAPH, NAME):
        api.delete(DYNAMO, GRAPH, NAME)


def names(api: ApiClient, kind: tuple[str, str]) -> set[str]:
    return {item["metadata"]["name"] for item in api.list(*kind) if "deletionTimestamp" not in item["metadata"]}


def patch_service(api: ApiClient, **fields: Any) -> None:
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {SERVICE: fields}}})


def pods_of_groups(api: ApiClient) -> dict[str, Manifest]:
    found = api.list("v1", "Pod")
    pods = {pod["metadata"]["name"]: pod for pod in found if "deletionTimestamp" not in pod["metadata"]}
    return {name: pod for name, pod in pods.items() if name.startswith(WORKERS)}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_over_several_nodes_comes_up(example: Any, api: ApiClient) -> None:
    api.create(KEY)
    documents = load_stored(example)
    for document in documents:
        api.create(document, strict=True)
    graphs = [document["metadata"]["name"] for document in documents if document["kind"] == GRAPH]
    assert graphs
    for graph in graphs:
        found = wait_until_ready(api, graph)
        assert "LeaderWorkerSet" in {service["componentKind"] for service in found["status"]["services"].values()}
        api.delete(DYNAMO, GRAPH, graph)


def test_each_replica_is_a_set_with_a_gang_of_its_own(ready: ApiClient) -> None:
    assert names(ready, SETS) == set(WORKERS)
    assert names(ready, GROUPS) == set(WORKERS)
    assert the_graph(ready, NAME)["status"]["services"][SERVICE]["replicas"] == len(WORKERS)


def test_scaling_down_takes_the_last_replica_only(ready: ApiClient) -> None:
    uid = ready.get(*SETS, WORKERS[0])["metadata"]["uid"]  # type: ignore[index]
    patch_service(ready, replicas=1)
    wait_for(lambda: names(ready, SETS) == {WORKERS[0]} == names(ready, GROUPS), "one replica is left")
    wait_until_ready(ready, NAME)
    assert ready.get(*SETS, WORKERS[0])["metadata"]["uid"] == uid  # type: ignore[index]


def test_service_cannot_become_one_of_a_single_node(ready: ApiClient) -> None:
    with pytest.raises(ApiRefused, match="cannot change node topology"):
        patch_service(ready, multinode=None)
    assert names(ready, SETS) == set(WORKERS)


def test_more_nodes_make_the_groups_larger(ready: ApiClient) -> None:
    patch_service(ready, multinode={"nodeCount": 3})
    wait_for(
        lambda: {item["spec"]["leaderWorkerTemplate"]["size"] for item in ready.list(*SETS)} == {3}, "groups of three"
    )
    wait_until_ready(ready, NAME)
    assert {item["spec"]["minMember"] for item in ready.list(*GROUPS)} == {3}


def test_nothing_is_written_in_steady_state(ready: ApiClient, audit: Audit) -> None:
    mark = wait_for_silence(audit)
    ready.patch(DYNAMO, GRAPH, NAME, {"metadata": {"annotations": {"test/touched": "yes"}}})
    for name in WORKERS:
        ready.patch(*SETS, name, {"metadata": {"annotations": {"test/touched": "yes"}}})
    wait_for_silence(audit)
    assert [write for write in audit.writes(mark) if write.namespace == ready.namespace] == []


def test_deletion_leaves_nothing(ready: ApiClient) -> None:
    ready.delete(DYNAMO, GRAPH, NAME, propagation="Foreground")
    wait_for(lambda: ready.get(DYNAMO, GRAPH, NAME) is None, "the graph is gone")
    wait_until_nothing_is_left(ready)
    assert names(ready, SETS) == set() == names(ready, GROUPS)


@needs_manager
def test_every_node_has_its_pod_and_workers_find_their_leader(ready: ApiClient) -> None:
    pods = pods_of_groups(ready)
    assert set(pods) == {f"{name}-0{node}" for name in WORKERS for node in ("", "-1")}
    for name in WORKERS:
        worker = pods[f"{name}-0-1"]["spec"]
        env = {entry["name"]: entry.get("value") for entry in worker["containers"][0]["env"]}
        assert env["LWS_LEADER_ADDRESS"] == f"{name}-0.{name}.{ready.namespace}"
        assert worker["schedulerName"] == "volcano"


@needs_manager
def test_new_image_reaches_every_pod(ready: ApiClient) -> None:
    image = "my-registry/vllm-runtime:0.9.2"
    patch_service(ready, extraPodSpec={"mainContainer": {"image": image}})

    def rolled() -> bool:
        pods = pods_of_groups(ready)
        return len(pods) == 4 and {pod["spec"]["containers"][0]["image"] for pod in pods.values()} == {image}

    wait_for(rolled, "every pod has the new image")
    found = wait_until_ready(ready, NAME)
    assert condition(found, "Ready")["status"] == "True"


@needs_manager
def test_graph_is_not_ready_while_one_worker_is_out_of_service(ready: ApiClient) -> None:
    pod = f"{WORKERS[1]}-0-1"
    ready.patch("v1", "Pod", pod, {"metadata": {"annotations": {"test/unready": "true"}}})
    wait_for(lambda: condition(the_graph(ready, NAME), "Ready")["status"] == "False", "the graph says not ready")
    assert WORKERS[1] in condition(the_graph(ready, NAME), "Ready")["message"]
