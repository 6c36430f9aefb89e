"""Deployments coming up, rolling over, held and broken; Services and claims."""

from typing import Any

import pytest

from hooks.ground.k8s import kinds
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.pods import PodFault, is_ready, phase_of
from tests.tools.offline.simulator.worlds import deployment, pods, service, the_deployment, world


def test_a_pod_comes_up_in_steps() -> None:
    cluster = world()
    cluster.create(deployment())
    seen: list[str] = []
    while not pods(cluster) or not is_ready(pods(cluster)[0]):
        if not cluster.step():
            cluster.clock.advance_to(cluster.next_time() or 0.0)
        seen += [phase_of(pod) for pod in pods(cluster)]
    assert list(dict.fromkeys(seen)) == ["Pending", "ContainerCreating", "Running", "Ready"]


def test_a_ready_deployment_says_so_in_every_field() -> None:
    cluster = world()
    cluster.create(deployment(replicas=3))
    cluster.settle()
    status = the_deployment(cluster)["status"]
    assert {key: value for key, value in status.items() if key != "conditions"} == {
        "observedGeneration": 1,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
    }
    assert {found["type"]: found["status"] for found in status["conditions"]} == {
        "Available": "True",
        "Progressing": "True",
    }


def test_a_transition_time_moves_only_with_the_status() -> None:
    cluster = world()
    cluster.create(deployment())
    cluster.settle()
    before = the_deployment(cluster)["status"]["conditions"]
    cluster.run_for(60)
    cluster.patch(kinds.DEPLOYMENT, "d", {"spec": {"replicas": 2}}, "default")
    cluster.settle()
    after = the_deployment(cluster)["status"]["conditions"]
    times = [{found["type"]: found["lastTransitionTime"] for found in conditions} for conditions in (before, after)]
    assert times[0]["Progressing"] == times[1]["Progressing"]


def _watch_update(cluster: SimulatedCluster) -> tuple[int, int]:
    """Fewest ready and most pods at any moment until all is quiet."""
    fewest, most = 99, 0
    while True:
        found = pods(cluster)
        fewest, most = min(fewest, sum(map(is_ready, found))), max(most, len(found))
        if cluster.step():
            continue
        due = cluster.next_time()
        if due is None:
            return fewest, most
        cluster.clock.advance_to(due)


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "fewest", "most"),
    [
        (4, 1, 0, 4, 5),
        (4, 0, 1, 3, 4),
        (4, "25%", "25%", 3, 5),
        (1, "25%", "25%", 1, 2),
        (3, "100%", 0, 3, 6),
        (2, 0, 0, 1, 2),
    ],
    ids=["surge", "unavailable", "percent", "single", "all-at-once", "neither-counts-as-one-unavailable"],
)
def test_a_rolling_update_keeps_its_bounds(
    replicas: int, surge: int | str, unavailable: int | str, fewest: int, most: int
) -> None:
    rolling = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    cluster = world()
    cluster.create(deployment(replicas=replicas, strategy=rolling))
    cluster.settle()
    cluster.apply(deployment(replicas=replicas, image="example.com/app:2", strategy=rolling))
    assert _watch_update(cluster) == (fewest, most)
    assert {pod["spec"]["containers"][0]["image"] for pod in pods(cluster)} == {"example.com/app:2"}
    assert the_deployment(cluster)["status"]["updatedReplicas"] == replicas


def test_recreate_takes_all_old_pods_down_first() -> None:
    cluster = world()
    cluster.create(deployment(replicas=2, strategy={"type": "Recreate"}))
    cluster.settle()
    cluster.apply(deployment(replicas=2, image="example.com/app:2", strategy={"type": "Recreate"}))
    assert _watch_update(cluster) == (0, 2)


def test_a_broken_update_leaves_the_old_pods_serving() -> None:
    cluster = world()
    cluster.create(deployment(replicas=2))
    cluster.settle()
    old = {pod["metadata"]["name"] for pod in pods(cluster)}
    cluster.block("d")
    cluster.apply(deployment(replicas=2, image="example.com/app:2"))
    cluster.settle()
    found = pods(cluster)
    assert {pod["metadata"]["name"] for pod in found if is_ready(pod)} == old
    assert len(found) == 3
    status = the_deployment(cluster)["status"]
    assert (status["replicas"], status["updatedReplicas"], status["readyReplicas"]) == (3, 1, 2)
    cluster.release("d")
    cluster.settle()
    assert {pod["spec"]["containers"][0]["image"] for pod in pods(cluster)} == {"example.com/app:2"}


@pytest.mark.parametrize(
    ("fault", "phase"),
    [
        (PodFault.UNSCHEDULABLE, "Unschedulable"),
        (PodFault.IMAGE_PULL, "ImagePullBackOff"),
        (PodFault.CRASH_LOOP, "CrashLoopBackOff"),
        (PodFault.PROBE, "Running"),
    ],
)
def test_a_faulty_pod_shows_its_fault_and_recovers_when_released(fault: PodFault, phase: str) -> None:
    cluster = world()
    cluster.break_pods("d-*", fault)
    cluster.create(deployment())
    cluster.settle()
    assert [phase_of(pod) for pod in pods(cluster)] == [phase]
    available = next(found for found in the_deployment(cluster)["status"]["conditions"] if found["type"] == "Available")
    assert available["status"] == "False"
    cluster.release("d-*")
    cluster.settle()
    assert [phase_of(pod) for pod in pods(cluster)] == ["Ready"]


def test_a_ready_pod_can_break() -> None:
    cluster = world()
    cluster.create(deployment())
    cluster.settle()
    cluster.break_pods("d", PodFault.CRASH_LOOP)
    cluster.settle()
    assert [phase_of(pod) for pod in pods(cluster)] == ["CrashLoopBackOff"]
    assert "readyReplicas" not in the_deployment(cluster)["status"]


@pytest.mark.parametrize("glob", ["d", "d-*", "*"], ids=["deployment", "pod", "any"])
def test_a_rule_matches_pod_owner_or_label(glob: str) -> None:
    cluster = world()
    cluster.block(glob)
    cluster.create(deployment())
    cluster.settle()
    assert [phase_of(pod) for pod in pods(cluster)] == ["Running"]


def test_scaling_down_removes_the_pods_that_are_not_ready_first() -> None:
    cluster = world()
    cluster.create(deployment(replicas=1))
    cluster.settle()
    [first] = pods(cluster)
    cluster.block("d")
    cluster.patch(kinds.DEPLOYMENT, "d", {"spec": {"replicas": 3}}, "default")
    cluster.settle()
    cluster.patch(kinds.DEPLOYMENT, "d", {"spec": {"replicas": 1}}, "default")
    cluster.settle()
    assert [pod["metadata"]["name"] for pod in pods(cluster)] == [first["metadata"]["name"]]


def test_a_deleted_pod_is_replaced() -> None:
    cluster = world()
    cluster.create(deployment())
    cluster.settle()
    [first] = pods(cluster)
    cluster.delete(kinds.POD, first["metadata"]["name"], "default")
    cluster.settle()
    [second] = pods(cluster)
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert is_ready(second)


def test_a_deleted_deployment_takes_sets_and_pods_with_it() -> None:
    cluster = world()
    cluster.create(deployment(replicas=2))
    cluster.settle()
    cluster.delete(kinds.DEPLOYMENT, "d", "default")
    cluster.settle()
    assert {obj["kind"] for obj in cluster.everything()} == {"Namespace"}


def _slice(cluster: SimulatedCluster) -> dict[str, Any]:
    [found] = cluster.list_kind(kinds.ENDPOINT_SLICE, "default")
    return found


def test_a_services_slice_has_its_labels_and_its_pods() -> None:
    cluster = world()
    cluster.create(service())
    cluster.create(deployment(replicas=2))
    cluster.settle()
    found = _slice(cluster)
    assert found["metadata"]["labels"]["tier"] == "gold"
    assert found["metadata"]["labels"]["kubernetes.io/service-name"] == "s"
    assert found["ports"] == [{"name": "http", "port": 8000, "protocol": "TCP"}]
    assert [endpoint["conditions"]["ready"] for endpoint in found["endpoints"]] == [True, True]
    assert {endpoint["targetRef"]["name"] for endpoint in found["endpoints"]} == {
        pod["metadata"]["name"] for pod in pods(cluster)
    }
    assert all(endpoint["addresses"][0].startswith("127.") for endpoint in found["endpoints"])


def test_a_pod_that_is_not_ready_is_an_endpoint_that_is_not_ready() -> None:
    cluster = world()
    cluster.block("d")
    cluster.create(service())
    cluster.create(deployment())
    cluster.settle()
    assert [endpoint["conditions"]["ready"] for endpoint in _slice(cluster)["endpoints"]] == [False]


def test_a_claim_is_bound() -> None:
    cluster = world()
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1024Mi"}}}
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "p", "namespace": "default"},
            "spec": spec,
        }
    )
    cluster.settle()
    [claim] = cluster.list_kind(kinds.PERSISTENT_VOLUME_CLAIM)
    assert claim["status"] == {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"]}
