"""The profiling Job under Kubernetes' own Job controller, with pods played: when it is done, tried again, given up."""

from typing import Any

import pytest

from hooks.ground.k8s import kinds
from hooks.request.plan.profiling_job import build_profiling_job
from hooks.tools.offline.simulator.workloads.pods import PodFault
from tests.cluster.api_client import ApiClient, wait_for
from tests.contract.backend import Manifest
from tests.request import jobs
from tests.tools.offline.simulator.worlds import world

DISRUPTED = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}


class Job:
    """The Job in a namespace of its own; kwok leaves its pods alone."""

    def __init__(self, api: ApiClient, **settings: str) -> None:
        self.api = api
        parent = jobs.request()
        parent["metadata"]["namespace"] = api.namespace
        manifest = build_profiling_job(jobs.plan(parent, None, **settings))
        template = manifest["spec"]["template"]
        template["metadata"]["annotations"] = {"test/hold": "true"}
        api.create(manifest, strict=True)

    def pods(self) -> list[Manifest]:
        return self.api.list("v1", "Pod")

    def new_pod(self) -> str:
        """Wait for a pod that has not ended, and give its name."""

        def living() -> list[str]:
            ended = {"Succeeded", "Failed"}
            return [p["metadata"]["name"] for p in self.pods() if p["status"].get("phase") not in ended]

        return wait_for(living, "a pod of the Job")[0]

    def end_pod(self, profiler: int, copier: int, *conditions: dict[str, str]) -> str:
        """Let both containers of the present pod end with these exit codes."""
        name = self.new_pod()
        ends = {"profiler": profiler, "output-copier": copier}
        status = {
            "phase": "Failed" if profiler or copier else "Succeeded",
            "conditions": list(conditions),
            "containerStatuses": [_ended(container, code) for container, code in ends.items()],
        }
        self.api.patch("v1", "Pod", name, {"status": status}, sub="status")
        return name

    def status(self) -> dict[str, Any]:
        found = self.api.get("batch/v1", "Job", "profile-qwen")
        assert found is not None
        status: dict[str, Any] = found.get("status", {})
        return status

    def wait_until_over(self) -> dict[str, Any]:
        def is_over() -> bool:
            return {c["type"] for c in self.status().get("conditions", ())} & {"Complete", "Failed"} != set()

        wait_for(is_over, "the Job is Complete or Failed")
        return self.status()


def _ended(container: str, code: int) -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
    return {"name": container, "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}


def conditions(status: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(c["type"], c["reason"], c["message"]) for c in status["conditions"]]


def simulated(fault: PodFault | None = None, **settings: str) -> dict[str, Any]:
    """The status of the same Job at its end in the simulated cluster."""
    cluster = world()
    if fault:
        cluster.break_pods("*", fault)
    cluster.create(build_profiling_job(jobs.plan(None, None, **settings)))
    cluster.run_for(600)
    found = cluster.get(kinds.JOB, "profile-qwen", "default")
    assert found is not None
    status: dict[str, Any] = found["status"]
    return status


def comparable(status: dict[str, Any], name: str = "…") -> dict[str, Any]:
    """What of a status can be compared: no times, and not the name of a pod."""
    kept = {key: value for key, value in status.items() if not key.endswith("Time")}
    rows = [(kind, reason, message.replace(name, "…")) for kind, reason, message in conditions(status)]
    return {**kept, "conditions": rows}


def test_job_is_complete_when_both_containers_have_succeeded(api: ApiClient) -> None:
    job = Job(api)
    job.end_pod(0, 0)
    status = job.wait_until_over()
    assert comparable(status) == comparable(simulated())
    assert "completionTime" in status


@pytest.mark.parametrize(("profiler", "copier"), [(1, 1), (137, 1), (0, 1)], ids=str)
def test_failure_of_either_container_fails_the_job_at_once(api: ApiClient, profiler: int, copier: int) -> None:
    job = Job(api)
    name = job.end_pod(profiler, copier)
    status = job.wait_until_over()
    container, code = ("profiler", profiler) if profiler else ("output-copier", copier)
    where = f"pod {api.namespace}/{name}"
    message = f"Container {container} for {where} failed with exit code {code} matching FailJob rule at index 1"
    assert conditions(status) == [
        ("FailureTarget", "PodFailurePolicy", message),
        ("Failed", "PodFailurePolicy", message),
    ]
    assert len(job.pods()) == 1


def test_simulated_failure_reads_like_the_real_one(api: ApiClient) -> None:
    job = Job(api)
    name = job.end_pod(1, 1)
    real = comparable(job.wait_until_over(), f"{api.namespace}/{name}")
    played = simulated(PodFault.CRASH_LOOP)
    pod = played["conditions"][0]["message"].split()[4]
    assert comparable(played, pod) == real


def test_evicted_profiler_is_started_again_and_not_counted(api: ApiClient) -> None:
    job = Job(api)
    job.end_pod(137, 143, DISRUPTED)
    job.end_pod(0, 0)
    status = job.wait_until_over()
    assert conditions(status)[-1][0] == "Complete"
    assert "failed" not in status


def test_job_that_lasts_too_long_fails_and_its_pod_goes(api: ApiClient) -> None:
    job = Job(api, profiling_deadline="2s")
    job.new_pod()
    status = job.wait_until_over()
    assert conditions(status)[-1] == conditions(simulated(PodFault.UNSCHEDULABLE, profiling_deadline="2s"))[-1]
