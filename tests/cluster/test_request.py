"""Requests under a real Metacontroller with the real hooks: to a graph, and what stays of it.

The Job is real, its pods are kwok's; the test ends them and writes the output as the profiler's pod would.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hooks.ground import contract
from hooks.request.spec.names import job_name, output_config_map_name
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import DYNAMO, GRAPH, REQUEST, condition, is_ready, running_controllers
from tests.cluster.processes import Server, running
from tests.cluster.programs import HttpServer, hooks_server
from tests.contract.backend import ApiRefused, Manifest, Propagation, Write
from tests.ports import free_port
from tests.request import jobs, world
from tests.request.test_profiled import ASKED, FOLDER, FOUND, IMAGE
from tests.request.test_profiler_spec import stored
from tests.waiting import stretch

NAME = world.NAME
GRAPH_NAME = "found"
QUIET_SECONDS = 1.5


@pytest.fixture(scope="module")
def hooks(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Hooks that know their own image, as every installation tells them."""
    settings = (f"hooks_image={jobs.HOOKS_IMAGE}", "request_namespaces=any")
    with running(hooks_server(tmp_path_factory.mktemp("hooks"), free_port(), *settings, plane=plane)) as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def controllers(admin: ApiClient, metacontroller: HttpServer, hooks: HttpServer) -> Iterator[None]:
    with running_controllers(admin, hooks.url):
        yield


@pytest.fixture
def elsewhere(admin: ApiClient, api: ApiClient) -> Iterator[ApiClient]:
    """A second namespace."""
    name = f"{api.namespace}-2"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield admin.within(name)
    admin.delete("v1", "Namespace", name)


def the_request(api: ApiClient) -> Manifest:
    found = api.get(DYNAMO, REQUEST, NAME)
    assert found is not None
    return found


def create(api: ApiClient, **spec: Any) -> None:
    manifest = jobs.request(NAME, **spec)
    api.create({**manifest, "metadata": {"name": NAME, "namespace": api.namespace}}, strict=True)


def wait_for_state(api: ApiClient, state: str) -> Manifest:
    """Wait until the request says so; the failure tells what its status says."""
    try:
        wait_for(lambda: the_request(api).get("status", {}).get("state") == state, f"the request is {state}")
    except AssertionError as error:
        events = [event["message"] for event in api.list("v1", "Event") if event["type"] == "Warning"]
        raise AssertionError(f"{error}\nstatus: {the_request(api).get('status')}\nevents: {events}") from None
    return the_request(api)


def end_profiling(api: ApiClient, *, exit_code: int = 0, **file: str) -> None:
    """Write what the profiler's pod would write, and end the pod; `key` and `text` are the graph's file."""
    if exit_code == 0:
        wanted = world.output(uid=the_request(api)["metadata"]["uid"], **file)
        metadata = {**wanted["metadata"], "namespace": api.namespace}
        api.apply({**wanted, "metadata": {key: value for key, value in metadata.items() if key != "uid"}})
    pod = wait_for(lambda: running_pods(api), "the profiling pod runs")[0]
    ended = {"terminated": {"exitCode": exit_code, "reason": "Completed" if exit_code == 0 else "OOMKilled"}}
    status = {
        "phase": "Succeeded" if exit_code == 0 else "Failed",
        "containerStatuses": [
            {"name": name, "state": ended, "ready": False, "restartCount": 0, "image": "i", "imageID": "i"}
            for name in (contract.PROFILER_CONTAINER, contract.OUTPUT_COPIER_CONTAINER)
        ],
    }
    api.patch("v1", "Pod", pod["metadata"]["name"], {"status": status}, sub="status")


def running_pods(api: ApiClient) -> list[Manifest]:
    pods = api.list("v1", "Pod", labelSelector=f"job-name={job_name(NAME)}")
    return [pod for pod in pods if pod.get("status", {}).get("phase") == "Running"]


def deploy(api: ApiClient, graphs: ApiClient | None = None, **spec: Any) -> Manifest:
    """A request that has come to a graph which is ready; gives the graph."""
    create(api, autoApply=True, **spec)
    wait_for_state(api, "Profiling")
    end_profiling(api)
    wait_for_state(api, "Ready")
    graph = (graphs or api).get(DYNAMO, GRAPH, GRAPH_NAME)
    assert graph is not None
    return graph


def test_request_becomes_a_running_graph(api: ApiClient) -> None:
    create(api, autoApply=True)
    pending = wait_for_state(api, "Profiling")
    assert condition(pending, "Profiling")["reason"] == "ProfilingRunning"
    account = api.get("v1", "ServiceAccount", f"{NAME}-profiling")
    assert account is not None
    end_profiling(api)
    ready = wait_for_state(api, "Ready")
    assert {c["type"]: c["status"] for c in ready["status"]["conditions"]} == {
        "Ready": "True",
        "Succeeded": "True",
        "Validation": "True",
        "Profiling": "True",
        "SpecGenerated": "True",
        "DeploymentReady": "True",
        "Valid": "True",
    }
    assert ready["status"]["generatedDeployment"] == world.generated()
    assert ready["status"]["deployment"] == {
        "name": GRAPH_NAME,
        "namespace": api.namespace,
        "state": "successful",
        "created": True,
    }
    assert is_ready(api, GRAPH_NAME)
    wait_for(lambda: api.get("v1", "ServiceAccount", f"{NAME}-profiling") is None, "the account goes with profiling")


@pytest.mark.parametrize("case", ["vllm", "sglang", "moe", "mocker", "planner"])
def test_what_nvidias_profiler_found_becomes_a_running_graph(case: str, api: ApiClient) -> None:
    asked = stored(NAME, image=IMAGE, **ASKED[case])
    metadata = {"name": NAME, "annotations": asked["metadata"]["annotations"]}
    api.create({**asked, "metadata": metadata}, strict=True)
    wait_for_state(api, "Profiling")
    file = contract.PROFILER_FINAL_OUTPUT
    end_profiling(api, key=file, text=(FOLDER / case / file).read_text())
    wait_for_state(api, "Ready")
    assert is_ready(api, f"{NAME}-dgd")
    graph = api.get(DYNAMO, GRAPH, f"{NAME}-dgd")
    assert graph is not None
    assert {name: one["replicas"] for name, one in graph["spec"]["services"].items()} == FOUND[case]


def test_job_with_a_variable_and_a_volume_of_the_users_is_taken(api: ApiClient) -> None:
    container = {"name": contract.PROFILER_CONTAINER, "env": [{"name": "HUGGING_FACE_HUB_TOKEN", "value": "t"}]}
    volume = {"name": "profiling-output", "persistentVolumeClaim": {"claimName": "c"}}
    job = {"template": {"spec": {"containers": [container], "volumes": [volume]}}}
    asked = stored(NAME, image=IMAGE, overrides={"profilingJob": job})
    api.create({**asked, "metadata": {"name": NAME, "annotations": asked["metadata"]["annotations"]}}, strict=True)
    wait_for_state(api, "Profiling")


def test_request_that_does_not_apply_keeps_the_graph_in_its_status(api: ApiClient) -> None:
    create(api)
    wait_for_state(api, "Profiling")
    end_profiling(api)
    ready = wait_for_state(api, "Ready")
    assert ready["status"]["profilingResults"] == f"configmap/{output_config_map_name(NAME)}"
    graph = ready["status"]["generatedDeployment"]
    api.create({**graph, "metadata": {**graph["metadata"], "namespace": api.namespace}}, strict=True)
    wait_for(lambda: is_ready(api, GRAPH_NAME), "the graph that a user applies comes up")


def test_failed_profiler_fails_the_request_at_once(api: ApiClient) -> None:
    create(api)
    wait_for_state(api, "Profiling")
    end_profiling(api, exit_code=137)
    failed = wait_for_state(api, "Failed")
    message = condition(failed, "Profiling")["message"]
    assert "Container: profiler, ExitCode: 137, Reason: OOMKilled" in message
    assert api.get("batch/v1", "Job", job_name(NAME)) is not None, "the Job stays for its log"


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_graph_outlives_its_request(propagation: Propagation, api: ApiClient) -> None:
    graph = deploy(api)
    api.delete(DYNAMO, REQUEST, NAME, propagation=propagation)
    assert_outlives(api, api, graph)


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_graph_in_another_namespace_outlives_its_request(
    propagation: Propagation, api: ApiClient, elsewhere: ApiClient
) -> None:
    graph = deploy(api, elsewhere, deploymentOverrides={"namespace": elsewhere.namespace})
    owners = [owner["kind"] for owner in graph["metadata"]["ownerReferences"]]
    assert "Namespace" in owners
    api.delete(DYNAMO, REQUEST, NAME, propagation=propagation)
    assert_outlives(api, elsewhere, graph)


def assert_outlives(api: ApiClient, graphs: ApiClient, graph: Manifest) -> None:
    wait_for(lambda: api.get(DYNAMO, REQUEST, NAME) is None, "the request is gone")
    wait_for(lambda: api.get("batch/v1", "Job", job_name(NAME)) is None, "the Job is gone with it")

    def owners() -> list[str]:
        found = graphs.get(DYNAMO, GRAPH, GRAPH_NAME)
        assert found is not None, "the graph is gone"
        assert found["metadata"]["uid"] == graph["metadata"]["uid"]
        assert "deletionTimestamp" not in found["metadata"]
        return [owner["kind"] for owner in found["metadata"]["ownerReferences"]]

    wait_for(lambda: owners() == ["Namespace"], "the collector has dropped the reference to the request")
    assert_stays(lambda: owners() == ["Namespace"] and is_ready(graphs, GRAPH_NAME))


def assert_stays(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < until:
        assert holds()
        time.sleep(0.1)


def test_users_edit_of_the_graph_is_not_reverted(api: ApiClient) -> None:
    deploy(api)
    change = {"spec": {"services": {"Worker": {"replicas": 2}}}, "metadata": {"labels": {"mine": "yes"}}}
    api.patch(DYNAMO, GRAPH, GRAPH_NAME, change)
    api.patch(DYNAMO, REQUEST, NAME, {"metadata": {"annotations": {"test/touched": "yes"}}})
    wait_for(lambda: is_ready(api, GRAPH_NAME), "the changed graph is ready")

    def is_edited() -> bool:
        graph = api.get(DYNAMO, GRAPH, GRAPH_NAME)
        assert graph is not None
        worker, labels = graph["spec"]["services"]["Worker"], graph["metadata"]["labels"]
        return bool(worker["replicas"] == 2 and labels["mine"] == "yes")

    assert_stays(is_edited)
    wait_for_state(api, "Ready")


def test_graph_deleted_by_the_user_stays_deleted(api: ApiClient) -> None:
    deploy(api)
    api.delete(DYNAMO, GRAPH, GRAPH_NAME)
    deleted = wait_for_state(api, "DeploymentDeleted")
    assert deleted["status"]["deployment"]["state"] == "Deleted"
    assert condition(deleted, "DeploymentReady")["reason"] == "DeploymentDeleted"
    api.patch(DYNAMO, REQUEST, NAME, {"metadata": {"annotations": {"test/touched": "yes"}}})
    assert_stays(lambda: api.get(DYNAMO, GRAPH, GRAPH_NAME) is None)


def test_edit_after_profiling_began_is_refused(api: ApiClient) -> None:
    create(api)
    wait_for_state(api, "Profiling")
    with pytest.raises(ApiRefused, match="Cannot modify spec in state 'Profiling'"):
        api.patch(DYNAMO, REQUEST, NAME, {"spec": {"model": "another/model"}})


def test_edit_that_slips_through_freezes_the_request_until_it_is_undone(api: ApiClient) -> None:
    create(api)
    before = wait_for_state(api, "Profiling")["spec"]["model"]
    api.patch(DYNAMO, REQUEST, NAME, {"status": {"state": ""}}, sub="status")
    api.patch(DYNAMO, REQUEST, NAME, {"spec": {"model": "another/model"}})
    wait_for(
        lambda: condition(the_request(api), "Validation").get("reason") == "SpecChangeRejected", "the edit is refused"
    )
    end_profiling(api)
    assert_stays(lambda: the_request(api)["status"]["state"] == "Profiling")
    api.patch(DYNAMO, REQUEST, NAME, {"spec": {"model": before}})
    wait_for_state(api, "Ready")


def test_lost_status_is_found_again(api: ApiClient) -> None:
    deploy(api)
    before = the_request(api)["status"]
    api.patch(DYNAMO, REQUEST, NAME, {"status": None}, sub="status")
    api.patch(DYNAMO, REQUEST, NAME, {"metadata": {"annotations": {"test/touched": "yes"}}})
    after = wait_for_state(api, "Ready")["status"]
    assert {key: value for key, value in after.items() if key != "conditions"} == {
        key: value for key, value in before.items() if key != "conditions"
    }
    assert [c["reason"] for c in after["conditions"]] == [c["reason"] for c in before["conditions"]]


def test_nothing_is_written_in_steady_state(api: ApiClient, audit: Audit) -> None:
    deploy(api)
    mark = wait_for_silence(api, audit)
    api.patch(DYNAMO, REQUEST, NAME, {"metadata": {"annotations": {"test/touched": "yes"}}})
    assert_stays(lambda: writes(api, audit, mark) == [])


def wait_for_silence(api: ApiClient, audit: Audit) -> int:
    """Wait until Metacontroller has written nothing here for a while; give a mark for what comes after."""
    mark, since = audit.mark(), time.monotonic()
    while time.monotonic() - since < stretch(QUIET_SECONDS):
        time.sleep(0.1)
        if writes(api, audit, mark):
            mark, since = audit.mark(), time.monotonic()
    return mark


def writes(api: ApiClient, audit: Audit, mark: int) -> list[Write]:
    """What was written since in this test's namespace; those of earlier tests are still being cleared."""
    return [write for write in audit.writes(mark) if write.namespace == api.namespace]
