"""Shapes of workloads."""

from hooks.ground.k8s.types import PodSpec, build_metadata
from hooks.ground.k8s.workloads import (
    RECREATE,
    WorkloadTemplate,
    build_deployment,
    build_leader_worker_set,
    build_pod_group,
    rolling_update,
)

POD = PodSpec(containers=[{"name": "main"}])


def test_deployment_holds_what_was_decided_and_no_more() -> None:
    deployment = build_deployment(
        build_metadata("a", "ns"),
        replicas=0,
        match_labels={"s": "a"},
        strategy=rolling_update(max_surge="25%", max_unavailable=0),
        template=WorkloadTemplate(labels={"z": "1", "s": "a"}, annotations={}, spec=POD),
    )
    assert deployment == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"s": "a"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
            "template": {"metadata": {"labels": {"s": "a", "z": "1"}}, "spec": {"containers": [{"name": "main"}]}},
        },
    }


def test_pod_annotations_are_sorted() -> None:
    template = WorkloadTemplate(labels={}, annotations={"b": "1", "a": "2"}, spec=POD)
    assert list(template.to_json()["metadata"]["annotations"]) == ["a", "b"]


def test_recreate_has_no_amounts() -> None:
    assert RECREATE == {"type": "Recreate"}


def test_leader_worker_set_has_groups_of_a_leader_and_workers() -> None:
    leader, worker = (
        WorkloadTemplate(labels={"role": role}, annotations={}, spec=POD) for role in ("leader", "worker")
    )
    found = build_leader_worker_set(build_metadata("a-0", "ns"), replicas=4, size=3, leader=leader, worker=worker)
    assert found == {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "a-0", "namespace": "ns"},
        "spec": {
            "replicas": 4,
            "startupPolicy": "LeaderCreated",
            "leaderWorkerTemplate": {
                "size": 3,
                "leaderTemplate": leader.to_json(),
                "workerTemplate": worker.to_json(),
            },
        },
    }


def test_pod_group_says_only_how_many_pods_belong_together() -> None:
    assert build_pod_group(build_metadata("a-0", "ns"), min_member=3) == {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "a-0", "namespace": "ns"},
        "spec": {"minMember": 3},
    }
