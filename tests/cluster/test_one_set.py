"""One LeaderWorkerSet for all replicas over several nodes, whose real manager makes the gangs, on a real cluster."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    COMPONENT,
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
from tests.cluster.groups import find_manager, running_groups
from tests.cluster.processes import running
from tests.cluster.programs import HttpServer, hooks_server
from tests.contract.backend import Manifest
from tests.ports import free_port

SETS, GROUPS = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"), ("scheduling.volcano.sh/v1beta1", "PodGroup")
NAME, SERVICE = "vllm-multinode", "VllmWorker"
SET = "vllm-multinode-vllmworker-0"
GANG = "scheduling.k8s.io/group-name"
LABELS = "leaderworkerset.sigs.k8s.io"

pytestmark = pytest.mark.skipif(find_manager() is None, reason="no lws-manager on PATH or in $LWS_MANAGER")


@pytest.fixture(scope="module")
def controllers(
    plane: ControlPlane, admin: ApiClient, metacontroller: HttpServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HttpServer]:
    """The hooks with the setting on; the controllers call them."""
    folder = tmp_path_factory.mktemp("one-set")
    hooks = hooks_server(folder, free_port(), "lws_gangs=on", plane=plane)
    groups = running_groups(plane, folder, makes_gangs=True)
    with running(hooks), groups, running_controllers(admin, hooks.url, ("lws", "volcano")):
        yield hooks


@pytest.fixture
def ready(api: ApiClient, controllers: HttpServer) -> Iterator[ApiClient]:
    """The client of a namespace in which a graph with two replicas of two nodes each is ready."""
    document = load_example(NAME)
    document["metadata"].setdefault("annotations", {})["nvidia.com/volcano-queue"] = "research"
    api.create(document, strict=True)
    wait_until_ready(api, NAME)
    yield api
    if api.get(DYNAMO, GRAPH, NAME):
        api.delete(DYNAMO, GRAPH, NAME)
        wait_for(lambda: not api.list(*SETS), "no set is left")


def sets(api: ApiClient) -> dict[str, int]:
    return {found["metadata"]["name"]: found["spec"]["replicas"] for found in api.list(*SETS)}


def patch_service(api: ApiClient, **fields: Any) -> None:
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {SERVICE: fields}}})


def pods(api: ApiClient) -> dict[str, Manifest]:
    found = {pod["metadata"]["name"]: pod for pod in api.list("v1", "Pod")}
    return {
        name: pod for name, pod in found.items() if name.startswith(SET) and "deletionTimestamp" not in pod["metadata"]
    }


def uids(api: ApiClient) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in pods(api).items()}


def replica_pods(*replicas: int) -> set[str]:
    return {f"{SET}-{index}{node}" for index in replicas for node in ("", "-1")}


def wait_for_replicas(api: ApiClient, *replicas: int) -> None:
    wait_for(lambda: set(pods(api)) == replica_pods(*replicas), f"pods of the replicas {replicas}")
    wait_until_ready(api, NAME)


def touch(api: ApiClient, value: str) -> None:
    for kind, name in ((GRAPH, NAME), (COMPONENT, SET.removesuffix("-0"))):
        api.patch(DYNAMO, kind, name, {"metadata": {"annotations": {"test/touched": value}}})


def test_replicas_are_groups_of_one_set_and_the_manager_makes_their_gangs(ready: ApiClient) -> None:
    assert sets(ready) == {SET: 2}
    assert set(pods(ready)) == replica_pods(0, 1)
    gangs = {found["metadata"]["name"]: found for found in ready.list(*GROUPS)}
    assert len(gangs) == 2
    for name, pod in pods(ready).items():
        leader = f"{SET}-{pod['metadata']['labels'][f'{LABELS}/group-index']}"
        assert name.startswith(leader)
        gang = gangs[pod["metadata"]["annotations"][GANG]]
        assert [owner["name"] for owner in gang["metadata"]["ownerReferences"]] == [leader]
        assert (gang["spec"]["minMember"], gang["spec"]["queue"]) == (2, "research")
        assert pod["spec"]["schedulerName"] == "volcano"
        env = {entry["name"]: entry.get("value") for entry in pod["spec"]["containers"][0]["env"]}
        assert env["LWS_LEADER_ADDRESS"] == f"{leader}.{SET}.{ready.namespace}"
    service = the_graph(ready, NAME)["status"]["services"][SERVICE]
    assert service["componentNames"] == [SET]
    assert [service[key] for key in ("replicas", "updatedReplicas", "readyReplicas")] == [2, 2, 2]


def test_service_of_the_component_reaches_the_leaders(ready: ApiClient) -> None:
    selector = ready.get("v1", "Service", SET.removesuffix("-0"))["spec"]["selector"]  # type: ignore[index]
    chosen = {name for name, pod in pods(ready).items() if selector.items() <= pod["metadata"]["labels"].items()}
    assert chosen == {f"{SET}-0", f"{SET}-1"}


def test_scaling_from_one_to_three_to_none_to_two(ready: ApiClient) -> None:
    patch_service(ready, replicas=1)
    wait_for_replicas(ready, 0)
    first = uids(ready)
    patch_service(ready, replicas=3)
    wait_for_replicas(ready, 0, 1, 2)
    assert first.items() <= uids(ready).items()
    patch_service(ready, replicas=0)
    wait_for_replicas(ready)
    assert sets(ready) == {SET: 0}
    wait_for(lambda: ready.list(*GROUPS) == [], "no gang is left")
    patch_service(ready, replicas=2)
    wait_for_replicas(ready, 0, 1)


def test_restart_replaces_every_pod(ready: ApiClient) -> None:
    before = uids(ready)
    ready.patch(DYNAMO, GRAPH, NAME, {"spec": {"restart": {"id": "r1"}}})

    def is_done() -> bool:
        return bool(the_graph(ready, NAME)["status"].get("restart") == {"observedID": "r1", "phase": "Completed"})

    wait_for(is_done, "the restart is done")
    wait_for_replicas(ready, 0, 1)
    assert not set(before.values()) & set(uids(ready).values())


def test_another_number_of_nodes_reaches_every_group_of_the_same_set(ready: ApiClient) -> None:
    uid = ready.get(*SETS, SET)["metadata"]["uid"]  # type: ignore[index]
    patch_service(ready, multinode={"nodeCount": 3})
    wait_for(lambda: len(pods(ready)) == 6, "two groups of three")
    wait_until_ready(ready, NAME)
    assert ready.get(*SETS, SET)["metadata"]["uid"] == uid  # type: ignore[index]
    assert {found["spec"]["minMember"] for found in ready.list(*GROUPS)} == {3}


def test_graph_is_not_ready_while_one_worker_is_out_of_service(ready: ApiClient) -> None:
    ready.patch("v1", "Pod", f"{SET}-1-1", {"metadata": {"annotations": {"test/unready": "true"}}})
    wait_for(lambda: condition(the_graph(ready, NAME), "Ready")["status"] == "False", "the graph says not ready")
    assert SET in condition(the_graph(ready, NAME), "Ready")["message"]


def test_nothing_is_written_in_steady_state(ready: ApiClient, audit: Audit) -> None:
    mark = wait_for_silence(audit)
    touch(ready, "yes")
    wait_for_silence(audit)
    assert [write for write in audit.writes(mark) if write.namespace == ready.namespace] == []


def test_setting_that_is_switched_off_and_on_touches_neither_kind_of_sets(
    ready: ApiClient, controllers: HttpServer, audit: Audit
) -> None:
    before, with_setting = uids(ready), controllers.command
    controllers.stop()
    controllers.command = tuple("lws_gangs=off" if word == "lws_gangs=on" else word for word in with_setting)
    try:
        controllers.start()
        wait_for_silence(audit)
        touch(ready, "off")
        wait_for_silence(audit)
        assert (sets(ready), uids(ready)) == ({SET: 2}, before)
        patch_service(ready, replicas=3)
        wait_for_replicas(ready, 0, 1, 2)
        assert (sets(ready), len(ready.list(*GROUPS))) == ({SET: 3}, 3)
        assert before.items() <= uids(ready).items()
    finally:
        controllers.stop()
        controllers.command = with_setting
        controllers.start()


def test_deletion_leaves_nothing(ready: ApiClient) -> None:
    ready.delete(DYNAMO, GRAPH, NAME, propagation="Foreground")
    wait_for(lambda: ready.get(DYNAMO, GRAPH, NAME) is None, "the graph is gone")
    wait_until_nothing_is_left(ready)
    assert (sets(ready), ready.list(*GROUPS)) == ({}, [])
