"""Graphs whose replicas over several nodes are in one LeaderWorkerSet: up, scaled, restarted, switched, downgraded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hooks.component.plan import groups
from hooks.component.plan.groups import PlannedSet
from hooks.component.seen.observe import Workloads
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import labels_of, name_of
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.leader_worker_sets import GROUP_INDEX
from hooks.tools.offline.simulator.workloads.pods import is_ready as is_pod_ready
from hooks.wire.policy import rendering_mark
from tests.sequences.calls import forget
from tests.tools.offline.simulator.hooked import build_switchable
from tests.tools.offline.simulator.test_multinode import LWS, graph, graph_of, names, settle, worker

SET = "g-w-0"


def running(replicas: int, gangs: str = "on") -> tuple[SimulatedCluster, dict[str, str]]:
    """A cluster in which the graph is ready, and the settings, which may be changed."""
    settings = {"lws_gangs": gangs}
    cluster = build_switchable(LWS, settings)
    cluster.create(graph(w=worker(replicas=replicas)))
    settle(cluster)
    return cluster, settings


def change(cluster: SimulatedCluster, **service: Any) -> None:
    cluster.patch(contract.GRAPH, "g", {"spec": {"services": {"w": service}}}, "default")


def touch(cluster: SimulatedCluster) -> None:
    """Have the graph and its components synced once more, for a reason that changes nothing."""
    for kind, name in ((contract.GRAPH, "g"), (contract.COMPONENT, "g-w")):
        value = str(cluster.clock.seconds)
        cluster.patch(kind, name, {"metadata": {"annotations": {"test/touched": value}}}, "default")
    cluster.settle()
    settle(cluster)


def scale(cluster: SimulatedCluster, replicas: int) -> None:
    change(cluster, replicas=replicas)
    cluster.settle()
    settle(cluster)


def sets(cluster: SimulatedCluster) -> dict[str, int]:
    return {name_of(one): one["spec"]["replicas"] for one in cluster.list_kind(kinds.LEADER_WORKER_SET, "default")}


def pods(cluster: SimulatedCluster) -> dict[str, str]:
    """The pods of the workers, name to uid."""
    return {name_of(pod): pod["metadata"]["uid"] for pod in cluster.list_kind(kinds.POD, "default")}


def replica_pods(*replicas: int) -> list[str]:
    return [f"{SET}-{index}{node}" for index in replicas for node in ("", "-1")]


def watch(cluster: SimulatedCluster, check: Callable[[], None], seconds: float = 300) -> None:
    """Look after each piece of work, until the graph is ready and nothing is left to do."""
    end = cluster.clock.seconds + seconds
    while True:
        check()
        if cluster.step():
            continue
        due = cluster.next_time()
        if due is None or due > end:
            break
        cluster.clock.advance_to(due)
    assert is_ready(graph_of(cluster)), graph_of(cluster)["status"]


def test_all_replicas_are_groups_of_one_set() -> None:
    cluster, _ = running(2)
    assert (sets(cluster), names(cluster, kinds.POD_GROUP)) == ({SET: 2}, [])
    assert sorted(pods(cluster)) == replica_pods(0, 1)
    slices = cluster.list_kind(kinds.ENDPOINT_SLICE, "default")
    (found,) = [s for s in slices if s["metadata"]["labels"]["kubernetes.io/service-name"] == "g-w"]
    assert [endpoint["targetRef"]["name"] for endpoint in found["endpoints"]] == [f"{SET}-0", f"{SET}-1"]
    service = graph_of(cluster)["status"]["services"]["w"]
    assert service["componentNames"] == [SET]
    assert [service[key] for key in ("replicas", "updatedReplicas", "readyReplicas")] == [2, 2, 2]


def test_then_nothing_is_written() -> None:
    cluster, _ = running(2)
    cluster.run_for(1)
    before = len(cluster.writes)
    cluster.run_for(700)
    assert cluster.writes[before:] == []


def test_scaling_up_and_down_to_none_and_back() -> None:
    cluster, _ = running(1)
    uid = cluster.list_kind(kinds.LEADER_WORKER_SET, "default")[0]["metadata"]["uid"]
    first = pods(cluster)
    scale(cluster, 3)
    assert sorted(pods(cluster)) == replica_pods(0, 1, 2)
    assert first.items() <= pods(cluster).items()
    scale(cluster, 0)
    assert (sets(cluster), pods(cluster)) == ({SET: 0}, {})
    service = graph_of(cluster)["status"]["services"]["w"]
    assert (service["readyReplicas"], service["gpusPerReplica"]) == (0, 2)
    scale(cluster, 2)
    assert sorted(pods(cluster)) == replica_pods(0, 1)
    assert cluster.list_kind(kinds.LEADER_WORKER_SET, "default")[0]["metadata"]["uid"] == uid


def test_graph_is_not_ready_while_one_of_its_groups_is_not() -> None:
    cluster, _ = running(1)
    cluster.block(f"{SET}-1-1")
    change(cluster, replicas=2)
    cluster.run_for(30)
    assert not is_ready(graph_of(cluster))
    assert graph_of(cluster)["status"]["services"]["w"]["readyReplicas"] == 1
    cluster.release(f"{SET}-1-1")
    settle(cluster)


def test_restart_replaces_one_replica_after_the_other() -> None:
    cluster, _ = running(3)
    before = pods(cluster)
    cluster.patch(contract.GRAPH, "g", {"spec": {"restart": {"id": "r1"}}}, "default")

    def one_at_a_time() -> None:
        found = [pod for pod in cluster.list_kind(kinds.POD, "default") if is_pod_ready(pod)]
        whole = [labels_of(pod)[GROUP_INDEX] for pod in found]
        assert sum(whole.count(index) == 2 for index in ("0", "1", "2")) >= 2

    watch(cluster, one_at_a_time)
    assert graph_of(cluster)["status"]["restart"] == {"observedID": "r1", "phase": "Completed"}
    assert sorted(pods(cluster)) == sorted(before)
    assert not set(pods(cluster).values()) & set(before.values())


def test_another_number_of_nodes_reaches_every_group_of_the_same_set() -> None:
    cluster, _ = running(2)
    uid = cluster.list_kind(kinds.LEADER_WORKER_SET, "default")[0]["metadata"]["uid"]
    change(cluster, multinode={"nodeCount": 3})
    cluster.settle()
    settle(cluster)
    assert len(pods(cluster)) == 6
    assert cluster.list_kind(kinds.LEADER_WORKER_SET, "default")[0]["metadata"]["uid"] == uid


@pytest.mark.parametrize("before", ["on", "off"])
def test_setting_that_is_switched_touches_nothing_that_exists(before: str) -> None:
    cluster, settings = running(3, before)
    there, kept = pods(cluster), sets(cluster)
    settings["lws_gangs"] = "off" if before == "on" else "on"
    touch(cluster)
    assert (pods(cluster), sets(cluster)) == (there, kept)
    scale(cluster, 2)
    assert pods(cluster).items() <= there.items()
    assert sets(cluster) == ({SET: 2} if before == "on" else {"g-w-0": 1, "g-w-1": 1})
    settings["lws_gangs"] = before
    scale(cluster, 3)
    assert sets(cluster) == kept


def test_component_moves_from_numbered_sets_by_way_of_no_replicas() -> None:
    cluster, settings = running(2, "off")
    settings["lws_gangs"] = "on"
    scale(cluster, 0)
    assert (sets(cluster), names(cluster, kinds.POD_GROUP), pods(cluster)) == ({SET: 0}, [], {})
    scale(cluster, 2)
    assert (sets(cluster), names(cluster, kinds.POD_GROUP)) == ({SET: 2}, [])


@pytest.mark.parametrize(("setting", "expected"), [("on", {SET: 2}), ("off", {"g-w-0": 1, "g-w-1": 1})])
def test_set_that_a_user_deletes_comes_back_as_the_setting_says(setting: str, expected: dict[str, int]) -> None:
    cluster, settings = running(2)
    settings["lws_gangs"] = setting
    cluster.delete(kinds.LEADER_WORKER_SET, SET, "default")
    watch(cluster, lambda: check_count(cluster, 2))
    assert sets(cluster) == expected
    assert len(pods(cluster)) == 4


def check_count(cluster: SimulatedCluster, replicas: int) -> None:
    """No more pods than the replicas have, but for those that end."""
    live = [pod for pod in cluster.list_kind(kinds.POD, "default") if "deletionTimestamp" not in pod["metadata"]]
    assert len(live) <= 2 * replicas, [name_of(pod) for pod in live]


@contextmanager
def older_hooks(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The hooks of before: they know numbered sets only, and render another revision."""

    def choose(name: str, replicas: int, _observed: Workloads, **_: Any) -> tuple[PlannedSet, ...]:
        return tuple(PlannedSet(name=f"{name}-{index}", replicas=1, index=index) for index in range(replicas))

    with patch.context() as context:
        context.setattr(groups, "_choose_sets", choose)
        context.setattr(rendering_mark, "RENDERING_REVISION", rendering_mark.RENDERING_REVISION - 1)
        forget()
        yield
    forget()


def test_older_version_keeps_the_first_replica_and_the_way_up_again_keeps_all(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, settings = running(3)
    there = pods(cluster)
    with older_hooks(monkeypatch):
        touch(cluster)
        assert sets(cluster) == {"g-w-0": 1, "g-w-1": 1, "g-w-2": 1}
        below = pods(cluster)
        assert [below[name] for name in replica_pods(0)] == [there[name] for name in replica_pods(0)]
        assert len(below) == 6
    touch(cluster)
    assert pods(cluster) == below
    assert sets(cluster) == {"g-w-0": 1, "g-w-1": 1, "g-w-2": 1}
    settings["lws_gangs"] = "off"
    scale(cluster, 1)
    assert {name: below[name] for name in replica_pods(0)} == pods(cluster)
    scale(cluster, 2)
    assert (sets(cluster), names(cluster, kinds.POD_GROUP)) == ({SET: 2}, [])


def test_first_version_with_such_sets_leaves_numbered_ones_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with older_hooks(monkeypatch):
        cluster, _ = running(3)
        there = pods(cluster)
        assert names(cluster, kinds.POD_GROUP) == ["g-w-0", "g-w-1", "g-w-2"]
    touch(cluster)
    assert (pods(cluster), names(cluster, kinds.POD_GROUP)) == (there, ["g-w-0", "g-w-1", "g-w-2"])
