"""Which pods restart and why, and which are scaled, moved, started or stopped."""

import pytest

from tests.tools.offline.diff.compared import (
    Documents,
    annotated,
    compare,
    edited,
    edited_service,
    example,
    fates,
    fields,
    pods,
)

DISAGG = example("vllm-disagg")
MULTINODE = example("sglang-disagg-multinode")
IMAGE = {"extraPodSpec": {"mainContainer": {"image": "example.com/other:1"}}}
FRONTEND, DECODE, PREFILL = "Frontend", "VllmDecodeWorker", "VllmPrefillWorker"
ALL = {
    "Deployment/vllm-disagg-frontend": "restart 1",
    "Deployment/vllm-disagg-vllmdecodeworker": "restart 1",
    "Deployment/vllm-disagg-vllmprefillworker": "restart 2",
}


def with_image(documents: Documents, service: str) -> Documents:
    return edited_service(
        documents, service, lambda spec: spec["extraPodSpec"]["mainContainer"].update(image="a:1.6.2")
    )


def with_restart(documents: Documents, id_: str, **strategy: object) -> Documents:
    return edited(documents, lambda spec: spec.update(restart={"id": id_, "strategy": strategy or None}))


def with_replicas(documents: Documents, service: str, replicas: int) -> Documents:
    return edited_service(documents, service, lambda spec: spec.update(replicas=replicas))


def test_changed_template_restarts_the_pods_of_its_workload_and_no_others() -> None:
    found = compare(DISAGG, with_image(DISAGG, FRONTEND))
    assert pods(found) == {"Deployment/vllm-disagg-frontend": "restart 1"}
    (change,) = (one for one in found.pods if one.why)
    assert [str(field.path) for field in change.why] == ["spec.template.spec.containers[main].image"]
    assert (change.why[0].new, change.restarts) == ("a:1.6.2", 1)


def test_replicas_only_scale() -> None:
    found = compare(DISAGG, with_replicas(DISAGG, PREFILL, 5))
    assert pods(found) == {"Deployment/vllm-disagg-vllmprefillworker": "scale 2 5"}
    assert fields(found, "Deployment") == {"spec.replicas"}


def test_pods_of_a_service_that_goes_to_zero_stop_and_do_not_restart() -> None:
    both = with_replicas(with_image(DISAGG, FRONTEND), FRONTEND, 0)
    assert pods(compare(DISAGG, both)) == {"Deployment/vllm-disagg-frontend": "scale 1 0"}
    assert pods(compare(both, DISAGG)) == {"Deployment/vllm-disagg-frontend": "scale 0 1"}


def test_value_that_the_api_server_fills_in_anyway_restarts_nothing() -> None:
    new = edited_service(DISAGG, FRONTEND, lambda spec: spec["extraPodSpec"].update(dnsPolicy="ClusterFirst"))
    found = compare(DISAGG, new)
    assert pods(found) == {}
    assert fields(found, "DynamoGraphDeployment") == {"spec.services[Frontend].extraPodSpec.dnsPolicy"}
    assert "Deployment/vllm-disagg-frontend" not in fates(found)


def test_order_of_variables_restarts_nothing() -> None:
    one, other = ({"name": name, "value": "1"} for name in "AB")
    old = edited(DISAGG, lambda spec: spec.update(envs=[one, other]))
    assert compare(old, edited(DISAGG, lambda spec: spec.update(envs=[other, one]))).is_empty


def test_strategy_changes_the_workload_and_restarts_nothing() -> None:
    annotations = {"nvidia.com/deployment-strategy": "Recreate"}
    found = compare(DISAGG, edited_service(DISAGG, PREFILL, lambda spec: spec.update(annotations=annotations)))
    assert pods(found) == {}
    assert "spec.strategy.type" in fields(found, "Deployment")


@pytest.mark.parametrize("strategy", [{}, {"type": "Parallel"}, {"order": [DECODE, FRONTEND, PREFILL]}], ids=str)
def test_restart_reaches_all_services_in_any_order(strategy: dict[str, object]) -> None:
    found = compare(DISAGG, with_restart(DISAGG, "r1", **strategy))
    assert pods(found) == ALL
    reasons = {str(field.path) for one in found.pods for field in one.why}
    assert reasons == {"spec.template.metadata.annotations[nvidia.com/restartAt]"}
    assert all(bool(one.rollout.in_turn) is (strategy != {"type": "Parallel"}) for one in found.pods)


def test_restart_that_is_over_restarts_nothing_again() -> None:
    restarted = with_restart(DISAGG, "r1")
    assert pods(compare(restarted, DISAGG)) == {}
    assert pods(compare(restarted, with_replicas(restarted, FRONTEND, 2))) == {
        "Deployment/vllm-disagg-frontend": "scale 1 2"
    }
    assert pods(compare(restarted, with_restart(DISAGG, "r2"))) == ALL


def test_another_number_of_nodes_replaces_a_leader_worker_set() -> None:
    new = edited_service(MULTINODE, "decode", lambda spec: spec["multinode"].update(nodeCount=3))
    found = compare(MULTINODE, new, "lws", "volcano")
    assert pods(found) == {
        "LeaderWorkerSet/sglang-multi-decode-0/leader": "restart 1",
        "LeaderWorkerSet/sglang-multi-decode-0/worker": "restart 1 2",
        "LeaderWorkerSet/sglang-multi-prefill-0/leader": "restart 1",  # the next generation of workers
        "LeaderWorkerSet/sglang-multi-prefill-0/worker": "restart 1",
    }
    assert fates(found)["LeaderWorkerSet/sglang-multi-decode-0"] == "recreated"
    assert fates(found)["LeaderWorkerSet/sglang-multi-prefill-0"] == "changed"


def test_further_replica_over_several_nodes_restarts_no_other() -> None:
    found = compare(MULTINODE, with_replicas(MULTINODE, "decode", 2), "lws", "volcano")
    assert pods(found) == {
        "LeaderWorkerSet/sglang-multi-decode-1/leader": "start 0 1",
        "LeaderWorkerSet/sglang-multi-decode-1/worker": "start 0 1",
    }


def test_clique_with_another_pod_spec_restarts_alone() -> None:
    found = compare(DISAGG, with_image(DISAGG, FRONTEND), "grove")
    assert pods(found) == {"PodCliqueSet/vllm-disagg/frontend": "restart 1"}
    (change,) = (one for one in found.pods if one.why)
    path = "spec.template.cliques[frontend].spec.podSpec.containers[main].image"
    assert [str(field.path) for field in change.why] == [path]


def test_cliques_of_a_scaling_group_restart_together() -> None:
    probe = {"httpGet": {"path": "/alive", "port": 9090}}  # only the leader has it
    new = edited_service(MULTINODE, "decode", lambda spec: spec.update(livenessProbe=probe))
    found = compare(MULTINODE, new, "grove")
    assert pods(found) == {
        "PodCliqueSet/sglang-multi/decode-ldr": "restart 1",
        "PodCliqueSet/sglang-multi/decode-wkr": "restart 1",
        "PodCliqueSet/sglang-multi/prefill-ldr": "restart 1",  # the next generation of workers
        "PodCliqueSet/sglang-multi/prefill-wkr": "restart 1",
    }


@pytest.mark.parametrize(("old", "new"), [("false", "true"), ("true", "false")])
def test_pods_move_between_components_and_grove(old: str, new: str) -> None:
    found = compare(annotated(DISAGG, enable_grove=old), annotated(DISAGG, enable_grove=new), "grove")
    assert set(pods(found).values()) == {"move 0 1", "move 0 2", "move 1 0", "move 2 0"}
    assert sum(one.restarts for one in found.pods) == 4
    assert all(one.rollout.moves for one in found.pods)
    assert fates(found)["Service/vllm-disagg-frontend"] == "recreated"


def test_removed_graph_stops_its_pods_and_a_new_one_starts_them() -> None:
    both = [*DISAGG, *example("vllm-agg")]
    assert set(pods(compare(both, DISAGG)).values()) == {"stop 1 0"}
    assert set(pods(compare(DISAGG, both)).values()) == {"start 0 1"}
