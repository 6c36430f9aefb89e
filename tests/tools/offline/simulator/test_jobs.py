"""Jobs in the simulated cluster: pods are made, end and are counted, as a real controller does it."""

from typing import Any

import pytest
import yaml

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.request.plan.profiling_job import build_profiling_job
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.pods import PodFault
from hooks.tools.offline.simulator.workloads.profiler import Profiler
from tests.request import jobs
from tests.tools.offline.simulator.worlds import pods, world

GRAPH = "config_with_planner.yaml"
MOCKER = "mocker_config_with_planner.yaml"
SUCCESS = {"profiler_status": "success", "profiler_status.yaml": "status: success\n"}


def job(name: str = "j", containers: tuple[str, ...] = ("main",), **spec: Any) -> Manifest:
    pod = {"restartPolicy": "Never", "containers": [{"name": c, "image": "img:1"} for c in containers]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"metadata": {"labels": {"app": name}}, "spec": pod}, **spec},
    }


def the_job(cluster: SimulatedCluster, name: str = "j") -> Manifest:
    found = cluster.get(kinds.JOB, name, "default")
    assert found is not None
    return found


def conditions(cluster: SimulatedCluster, name: str = "j") -> list[tuple[str, str, str]]:
    found = the_job(cluster, name)["status"].get("conditions", ())
    assert all(condition["status"] == "True" for condition in found)
    return [(c["type"], c["reason"], c["message"]) for c in found]


def terminated(cluster: SimulatedCluster) -> list[dict[str, Any]]:
    (pod,) = pods(cluster)
    return [container["state"]["terminated"] for container in pod["status"]["containerStatuses"]]


def profile(cluster: SimulatedCluster, parent: Manifest | None = None) -> Manifest | None:
    """Run the profiling Job of a request to its end, and give the output ConfigMap."""
    cluster.create(build_profiling_job(jobs.plan(parent)))
    cluster.settle()
    return cluster.get(kinds.CONFIG_MAP, "dgdr-output-qwen", "default")


def documents(config_map: Manifest | None, key: str = GRAPH) -> list[Any]:
    assert config_map is not None
    return list(yaml.safe_load_all(config_map["data"][key]))


# Any Job


def test_job_runs_one_pod_and_is_complete() -> None:
    cluster = world()
    cluster.create(job())
    cluster.settle()
    status = the_job(cluster)["status"]
    assert conditions(cluster) == [
        ("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods"),
        ("Complete", "CompletionsReached", "Reached expected number of succeeded pods"),
    ]
    assert (status["succeeded"], status["ready"], "active" in status) == (1, 0, False)
    assert status["completionTime"] > status["startTime"]
    (pod,) = pods(cluster)
    assert pod["status"]["phase"] == "Succeeded"


def test_job_counts_its_pod_while_it_works() -> None:
    cluster = world()
    cluster.create(job())
    assert cluster.run_until(lambda: the_job(cluster).get("status", {}).get("ready") == 1, 30)
    status = the_job(cluster)["status"]
    assert (status["active"], status["terminating"], status["uncountedTerminatedPods"]) == (1, 0, {})
    assert "conditions" not in status


def test_pods_carry_the_labels_by_which_jobs_are_found() -> None:
    cluster = world()
    uid = cluster.create(job())["metadata"]["uid"]
    cluster.settle()
    (pod,) = pods(cluster)
    expected = {"controller-uid": uid, "job-name": "j"}
    assert pod["metadata"]["labels"] == {
        "app": "j",
        **expected,
        **{f"batch.kubernetes.io/{key}": value for key, value in expected.items()},
    }


def test_failed_pods_are_made_anew_until_the_limit_with_a_growing_pause() -> None:
    cluster = world()
    cluster.break_pods("*", PodFault.CRASH_LOOP)
    cluster.create(job(backoffLimit=2))
    made = []

    def is_over() -> bool:
        made.append(len(pods(cluster)))
        return len(conditions(cluster)) == 2 if "status" in the_job(cluster) else False

    assert cluster.run_until(is_over, 300)
    assert sorted(set(made)) == [0, 1, 2, 3]
    assert conditions(cluster)[1] == (
        "Failed",
        "BackoffLimitExceeded",
        "Job has reached the specified backoff limit",
    )
    assert the_job(cluster)["status"]["failed"] == 3
    starts = sorted(pod["metadata"]["creationTimestamp"] for pod in pods(cluster))
    assert [second[14:19] for second in starts] == ["00:00", "00:28", "01:06"]


def test_failure_policy_ends_a_job_at_the_first_failure() -> None:
    cluster = world()
    cluster.break_pods("*", PodFault.CRASH_LOOP)
    rules = [{"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}]
    cluster.create(job(podFailurePolicy={"rules": rules}))
    cluster.settle()
    (pod,) = pods(cluster)
    where = f"pod default/{pod['metadata']['name']}"
    message = f"Container main for {where} failed with exit code 1 matching FailJob rule at index 0"
    assert conditions(cluster) == [
        ("FailureTarget", "PodFailurePolicy", message),
        ("Failed", "PodFailurePolicy", message),
    ]
    assert "completionTime" not in the_job(cluster)["status"]


def test_ignored_failure_counts_for_nothing() -> None:
    cluster = world()
    cluster.break_pods("*", PodFault.CRASH_LOOP)
    rules = [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}]
    cluster.create(job(backoffLimit=0, podFailurePolicy={"rules": rules}))
    cluster.run_until(lambda: len(pods(cluster)) == 2, 60)
    cluster.release("*")
    cluster.settle()
    assert conditions(cluster)[-1][0] == "Complete"
    assert "failed" not in the_job(cluster)["status"]


def test_deadline_ends_a_job_and_its_pod() -> None:
    cluster = world()
    cluster.block("*")
    cluster.create(job(activeDeadlineSeconds=600))
    cluster.run_for(599)
    assert conditions(cluster) == []
    cluster.run_for(2)
    assert conditions(cluster)[1] == (
        "Failed",
        "DeadlineExceeded",
        "Job was active longer than specified deadline",
    )
    assert pods(cluster) == []


def test_deleted_pod_is_made_anew() -> None:
    cluster = world()
    cluster.create(job())
    cluster.run_until(lambda: len(pods(cluster)) == 1, 10)
    cluster.delete(kinds.POD, pods(cluster)[0]["metadata"]["name"], "default")
    cluster.settle()
    assert conditions(cluster)[-1][0] == "Complete"


def test_pods_go_with_their_job() -> None:
    cluster = world()
    cluster.create(job())
    cluster.settle()
    cluster.delete(kinds.JOB, "j", "default")
    cluster.settle()
    assert pods(cluster) == []


@pytest.mark.parametrize("fault", [PodFault.IMAGE_PULL, PodFault.UNSCHEDULABLE])
def test_pod_that_cannot_start_is_waited_for(fault: PodFault) -> None:
    cluster = world()
    cluster.break_pods("j-*", fault)
    cluster.create(job())
    cluster.run_for(60)
    assert the_job(cluster)["status"]["active"] == 1
    cluster.release("j-*")
    cluster.settle()
    assert conditions(cluster)[-1][0] == "Complete"


# The profiling Job


@pytest.mark.parametrize("backend", ["vllm", "sglang", "trtllm"])
def test_profiling_hands_over_a_graph_for_the_model(backend: str) -> None:
    cluster = world()
    data, graph = documents(profile(cluster, jobs.request(backend=backend)))
    assert (data["kind"], graph["kind"]) == ("ConfigMap", "DynamoGraphDeployment")
    assert graph["spec"]["backendFramework"] == backend
    decode = graph["spec"]["services"]["Decode"]["extraPodSpec"]["mainContainer"]
    assert decode["command"] == ["python3", "-m", f"dynamo.{backend}"]
    assert "Qwen/Qwen3-0.6B" in decode["args"]
    assert conditions(cluster, "profile-qwen")[-1][0] == "Complete"


def test_profiling_hands_over_a_graph_that_needs_no_gpu_too() -> None:
    config_map = profile(world(), jobs.request(deploymentOverrides={"workersImage": "mine:1"}))
    _, graph = documents(config_map, MOCKER)
    services = graph["spec"]["services"]
    assert [name for name, spec in services.items() if "resources" in spec] == []
    assert {spec["extraPodSpec"]["mainContainer"]["image"] for spec in services.values()} == {"mine:1"}


def test_profiler_hands_its_base_back() -> None:
    cluster = world()
    base = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "base", "namespace": "default"}}
    cluster.create({**base, "data": {"graph.yaml": "kind: DynamoGraphDeployment\n"}})
    config_map = profile(cluster, jobs.request(configMapRef={"name": "base", "key": "graph.yaml"}))
    assert documents(config_map) == [{"kind": "DynamoGraphDeployment"}]


def test_profilers_of_a_cluster_can_be_told_what_to_leave() -> None:
    config_map = profile(world(profiler=Profiler(output="a: 1\n")))
    assert config_map is not None
    assert config_map["data"] == {GRAPH: "a: 1\n", MOCKER: "a: 1\n", **SUCCESS}


def test_output_is_there_before_the_job_is_complete() -> None:
    cluster = world()
    cluster.create(build_profiling_job(jobs.plan()))
    assert cluster.run_until(lambda: cluster.get(kinds.CONFIG_MAP, "dgdr-output-qwen", "default") is not None, 60)
    assert conditions(cluster, "profile-qwen") == []


def test_broken_profiler_fails_the_job_and_leaves_no_output() -> None:
    cluster = world()
    cluster.break_pods("profile-*", PodFault.CRASH_LOOP)
    assert profile(cluster) is None
    (target, failed) = conditions(cluster, "profile-qwen")
    assert (target[0], failed[:2]) == ("FailureTarget", ("Failed", "PodFailurePolicy"))
    assert failed[2].startswith("Container profiler for pod default/profile-qwen-")
    ends = [(end["exitCode"], end["reason"], end["message"]) for end in terminated(cluster)]
    assert ends == [
        (1, "Error", "the simulation broke this container"),
        (1, "Error", "the profiler failed with exit code 1 (Error)"),
    ]


def test_output_that_no_config_map_holds_fails_the_job() -> None:
    cluster = world(profiler=Profiler(output="x" * 2**20))
    assert profile(cluster) is None
    profiler, copier = terminated(cluster)
    assert (profiler["exitCode"], copier["exitCode"]) == (0, 1)
    assert "a ConfigMap takes at most 1048576 (1 MiB)" in copier["message"]


def test_second_run_leaves_nothing_of_the_first() -> None:
    cluster = world()
    old = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dgdr-output-qwen", "namespace": "default"}}
    cluster.create({**old, "data": {GRAPH: "old", "profiler_status.yaml": "old", "mine": "kept"}})
    config_map = profile(cluster)
    assert config_map is not None
    assert config_map["data"]["mine"] == "kept"
    assert "old" not in config_map["data"].values()
    assert config_map["metadata"]["annotations"] == {"dgdr.nvidia.com/uid": "u-qwen"}
