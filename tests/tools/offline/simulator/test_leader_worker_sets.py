"""LeaderWorkerSets as their controller and webhooks treat them; Volcano's PodGroup beside them."""

from typing import Any

import pytest

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, name_of
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.store import ApiError
from tests.tools.offline.simulator.worlds import world

OPTIONAL = frozenset({"lws", "volcano"})


def template(image: str = "i", **annotations: str) -> Manifest:
    metadata = {"labels": {"app": "x"}, "annotations": annotations}
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": image}]}}


def lws(name: str = "x", *, size: int = 2, image: str = "i", **spec: Any) -> Manifest:
    group = {"size": size, "leaderTemplate": template(image), "workerTemplate": template(image)}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"leaderWorkerTemplate": group, **spec},
    }


def cluster_with(*objects: Manifest) -> SimulatedCluster:
    cluster = world(optional=OPTIONAL)
    for obj in objects:
        cluster.create(obj)
    return cluster


def the_set(cluster: SimulatedCluster, name: str = "x") -> Manifest:
    found = cluster.get(kinds.LEADER_WORKER_SET, name, "default")
    assert found is not None
    return found


def pod_names(cluster: SimulatedCluster) -> list[str]:
    return [name_of(pod) for pod in cluster.list_kind(kinds.POD, "default")]


def conditions(found: Manifest) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in found["status"]["conditions"]}


def test_pods_are_named_and_labelled_by_group_and_rank() -> None:
    cluster = cluster_with(lws(size=3, replicas=2))
    cluster.settle()
    assert pod_names(cluster) == ["x-0", "x-0-1", "x-0-2", "x-1", "x-1-1", "x-1-2"]
    worker = cluster.get(kinds.POD, "x-1-2", "default")
    assert worker is not None
    labels = worker["metadata"]["labels"]
    prefix = "leaderworkerset.sigs.k8s.io"
    assert labels["app"] == "x"
    assert [labels[f"{prefix}/{key}"] for key in ("name", "group-index", "worker-index")] == ["x", "1", "2"]
    assert worker["metadata"]["annotations"] == {f"{prefix}/size": "3", f"{prefix}/leader-name": "x-1"}


def test_status_counts_groups_and_leaves_zero_out() -> None:
    cluster = cluster_with(lws(replicas=2))
    cluster.block("x-1-1")
    cluster.settle()
    status = the_set(cluster)["status"]
    assert (status["replicas"], status["readyReplicas"], status["updatedReplicas"]) == (2, 1, 2)
    assert conditions(the_set(cluster)) == {"Progressing": "True"}
    cluster.release("x-1-1")
    cluster.settle()
    assert conditions(the_set(cluster)) == {"Available": "True", "Progressing": "False"}
    cluster.patch(kinds.LEADER_WORKER_SET, "x", {"spec": {"replicas": 0}}, "default")
    cluster.settle()
    status = the_set(cluster)["status"]
    assert not {"replicas", "readyReplicas", "updatedReplicas"} & status.keys()
    assert pod_names(cluster) == []


def test_headless_service_is_made_unless_the_name_is_taken() -> None:
    taken = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "y", "namespace": "default"},
        "spec": {"selector": {"a": "b"}, "ports": [{"name": "p", "port": 80}]},
    }
    cluster = cluster_with(taken, lws("x"), lws("y"))
    cluster.settle()
    own, others = (cluster.get(kinds.SERVICE, name, "default") for name in ("x", "y"))
    assert own is not None
    assert own["spec"]["clusterIP"] == "None"
    assert others is not None
    assert others["spec"]["selector"] == {"a": "b"}


def test_changed_template_replaces_groups_from_the_highest_down_one_at_a_time() -> None:
    cluster = cluster_with(lws(replicas=3))
    cluster.settle()
    cluster.block("x-2-1")
    cluster.patch(kinds.LEADER_WORKER_SET, "x", lws(replicas=3, image="j"), "default")
    cluster.settle()
    images = {name_of(p): p["spec"]["containers"][0]["image"] for p in cluster.list_kind(kinds.POD, "default")}
    assert [images[name] for name in ("x-0", "x-1", "x-2")] == ["i", "i", "j"]
    status = the_set(cluster)["status"]
    assert (status["readyReplicas"], status["updatedReplicas"]) == (2, 1)
    assert conditions(the_set(cluster)) == {"Available": "False", "Progressing": "True", "UpdateInProgress": "True"}
    kept = next(c for c in status["conditions"] if c["type"] == "Available")
    assert kept["reason"] == "AllGroupsReady"
    cluster.release("x-2-1")
    cluster.settle()
    images = {name_of(p): p["spec"]["containers"][0]["image"] for p in cluster.list_kind(kinds.POD, "default")}
    assert set(images.values()) == {"j"}
    assert conditions(the_set(cluster)) == {"Available": "True", "Progressing": "False", "UpdateInProgress": "False"}


def test_workers_wait_for_a_leader_that_must_be_ready() -> None:
    cluster = cluster_with(lws(startupPolicy="LeaderReady"))
    cluster.block("x-0")
    cluster.settle()
    assert pod_names(cluster) == ["x-0"]
    cluster.release("x-0")
    cluster.settle()
    assert pod_names(cluster) == ["x-0", "x-0-1"]


@pytest.mark.parametrize(("length", "pods"), [(50, 2), (51, 1), (52, 1), (53, 0)])
def test_too_long_a_name_is_accepted_and_makes_no_workers(length: int, pods: int) -> None:
    cluster = cluster_with(lws("x" * length))
    cluster.settle()
    assert len(pod_names(cluster)) == pods


REFUSED: dict[str, tuple[Manifest, str]] = {
    "digit in front": (lws("9x"), "a DNS-1035 label"),
    "dot": (lws("a.b"), "a DNS-1035 label"),
    "too long": (lws("x" * 64), "a DNS-1035 label"),
    "no pods": (lws(size=0), "size must be equal or greater than 1"),
    "negative replicas": (lws(replicas=-1), "replicas must be equal or greater than 0"),
    "too many pods": (lws(replicas=2**30, size=2), "must not exceed 2147483647"),
    "amount": (
        lws(rolloutStrategy={"rollingUpdateConfiguration": {"maxUnavailable": "101%"}}),
        "maxUnavailable: Invalid value: '101%'",
    ),
    "standstill": (
        lws(rolloutStrategy={"rollingUpdateConfiguration": {"maxUnavailable": 0}}),
        "must not be 0 when `maxSurge` is 0",
    ),
}


@pytest.mark.parametrize(("obj", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_webhook_refuses(obj: Manifest, text: str) -> None:
    with pytest.raises(ApiError, match="denied the request") as refused:
        cluster_with(obj)
    assert text in str(refused.value)


def test_webhook_fills_in_defaults_and_lets_the_size_change() -> None:
    cluster = cluster_with(lws())
    spec = the_set(cluster)["spec"]
    assert (spec["replicas"], spec["startupPolicy"]) == (1, "LeaderCreated")
    assert spec["networkConfig"] == {"subdomainPolicy": "Shared"}
    cluster.patch(kinds.LEADER_WORKER_SET, "x", {"spec": {"leaderWorkerTemplate": {"size": 3}}}, "default")
    cluster.settle()
    assert len(pod_names(cluster)) == 3


def test_sub_groups_cannot_change() -> None:
    cluster = cluster_with(lws())
    change = {"spec": {"leaderWorkerTemplate": {"subGroupPolicy": {"subGroupSize": 1}}}}
    with pytest.raises(ApiError, match="field is immutable"):
        cluster.patch(kinds.LEADER_WORKER_SET, "x", change, "default")


def test_deleted_set_takes_its_pods_and_service_along() -> None:
    cluster = cluster_with(lws(replicas=2))
    cluster.settle()
    cluster.delete(kinds.LEADER_WORKER_SET, "x", "default")
    cluster.settle()
    assert pod_names(cluster) == []
    assert cluster.list_kind(kinds.SERVICE, "default") == []


def test_scheduler_writes_a_pod_groups_status_into_the_object_itself() -> None:
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"minMember": 2},
    }
    gang = {"scheduling.k8s.io/group-name": "x"}
    found = lws()
    found["spec"]["leaderWorkerTemplate"] |= {"leaderTemplate": template(**gang), "workerTemplate": template(**gang)}
    cluster = cluster_with(group)
    cluster.settle()
    generation = cluster.list_kind(kinds.POD_GROUP)[0]["metadata"]["generation"]
    cluster.create(found)
    cluster.settle()
    (after,) = cluster.list_kind(kinds.POD_GROUP)
    assert after["status"] == {"phase": "Running", "running": 2}
    assert after["metadata"]["generation"] > generation
