"""Graphs under Grove's real operator, its webhooks and the real scheduler: what users read, and what ends."""

import time
from collections.abc import Iterator

import pytest

from hooks.graph.grove.scaling import NEVER
from tests import make
from tests.cluster.api_client import ApiClient, stays, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    QUIET_SECONDS,
    is_ready,
    wait_until_ready,
)
from tests.cluster.grove_graphs import (
    change,
    crash,
    create,
    image,
    is_observed,
    message,
    part,
    pods,
    ready_of,
    running_hooks,
    says,
    the_set,
)
from tests.cluster.grove_operator import SECONDS, needs_operator
from tests.cluster.programs import HttpServer
from tests.cluster.scheduling import add_node

pytestmark = needs_operator
SGLANG = ["python3", "-m", "dynamo.sglang"]


@pytest.fixture(scope="module")
def controllers(
    admin: ApiClient, plane: ControlPlane, metacontroller: HttpServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    assert metacontroller
    with running_hooks(plane, admin, tmp_path_factory.mktemp("grove")):
        yield


@pytest.fixture
def api(admin: ApiClient, scheduled: ApiClient, controllers: None) -> ApiClient:
    add_node(admin, scheduled.namespace, 10)
    return scheduled


def test_graph_with_a_service_at_none_is_ready_after_each_change(api: ApiClient) -> None:
    create(api, "z", {"Frontend": make.service("frontend"), "Idle": make.service(), "Worker": make.service()})
    wait_until_ready(api, "z")
    change(api, "z", "Idle", replicas=0)
    wait_for(lambda: not pods(api, "z-0-idle"), "no pod is left", SECONDS)
    ready_of(api, "z")
    assert the_set(api, "z")["spec"]["template"]["terminationDelay"] == NEVER
    before = {pod["metadata"]["uid"] for pod in pods(api, "z-0-frontend")}
    change(api, "z", "Frontend", extraPodSpec=image("2"))
    wait_for(lambda: not before & {pod["metadata"]["uid"] for pod in pods(api, "z-0-frontend")}, "a new pod", SECONDS)
    ready_of(api, "z")
    generation = the_set(api, "z")["metadata"]["generation"]
    assert the_set(api, "z")["status"]["observedGeneration"] < generation, "Grove's counter stands still"
    change(api, "z", "Idle", replicas=1)
    ready_of(api, "z")
    assert the_set(api, "z")["spec"]["template"]["terminationDelay"] == "15m0s"


def test_graph_is_never_ready_on_an_old_pod(api: ApiClient) -> None:
    """A service at none keeps Grove's counter still, so each part is judged for itself."""
    create(api, "o", {"Frontend": make.service("frontend"), "Idle": make.service(replicas=0)})
    ready_of(api, "o")
    for tag in ("2", "3"):
        change(api, "o", "Frontend", extraPodSpec=image(tag))
        until = time.monotonic() + SECONDS
        while not is_ready(api, "o"):
            assert time.monotonic() < until, message(api, "o")
        running = {pod["spec"]["containers"][0]["image"] for pod in pods(api, "o-0-frontend")}
        assert running == {f"img:{tag}"}


def test_crash_is_told_after_another_change(api: ApiClient) -> None:
    create(api, "k", {"Frontend": make.service("frontend"), "Worker": make.service()})
    wait_until_ready(api, "k")
    (worker,) = pods(api, "k-0-worker")
    crash(api, worker)
    says(api, "k", "CrashLoop: pod k-0-worker")
    change(api, "k", "Frontend", replicas=2)
    wait_for(lambda: len(pods(api, "k-0-frontend")) == 2, "another frontend", SECONDS)
    wait_for(lambda: is_observed(api, "k"), "the hooks know of it", SECONDS)
    wait_for(lambda: message(api, "k").startswith("podclique/k-0-worker"), "the frontend is as wanted", SECONDS)
    stays(lambda: "CrashLoop: pod k-0-worker" in message(api, "k"), lambda: message(api, "k"), QUIET_SECONDS)


def test_refused_pods_are_told_with_the_remedy(api: ApiClient, admin: ApiClient) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    admin.patch("v1", "Namespace", api.namespace, {"metadata": {"labels": labels}})
    create(api, "q", {"Frontend": make.service("frontend"), "Worker": make.service()})
    says(api, "q", "podclique/q-0-frontend: AdmissionDenied: pods")
    assert "violates PodSecurity" in message(api, "q")
    assert "change the pods as the message says, or the level of the namespace" in message(api, "q")
    admin.patch("v1", "Namespace", api.namespace, {"metadata": {"labels": dict.fromkeys(labels)}})
    ready_of(api, "q")


def test_quota_is_told(api: ApiClient) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
    api.create(quota)
    wait_for(lambda: (api.get("v1", "ResourceQuota", "few") or {}).get("status"), "the quota is counted")
    create(api, "r", {"Frontend": make.service("frontend"), "Worker": make.service()})
    says(api, "r", "QuotaDenied: pods")
    assert "raise the quota or ask for less" in message(api, "r")
    wait_for(lambda: "that the gang needs - see what" in message(api, "r"), lambda: message(api, "r"), SECONDS)


def test_scaling_in_waits_for_the_update(api: ApiClient) -> None:
    create(api, "s", {"Frontend": make.service("frontend"), "Worker": make.service(replicas=4)})
    wait_until_ready(api, "s")
    old = {pod["metadata"]["name"] for pod in pods(api, "s-0-worker")}
    change(api, "s", "Worker", extraPodSpec=image("2"))
    wait_for(lambda: len(old - {pod["metadata"]["name"] for pod in pods(api, "s-0-worker")}) >= 2, "half", SECONDS)
    change(api, "s", "Worker", replicas=1)
    ready_of(api, "s")
    (pod,) = pods(api, "s-0-worker")
    assert pod["spec"]["containers"][0]["image"] == "img:2"
    progress = part(api, "s-0-worker")["status"]["updateProgress"]
    assert progress.get("updateEndedAt"), progress


def test_group_that_cannot_grow_names_the_service_at_none(api: ApiClient) -> None:
    limits = {"limits": {"gpu": "1"}}
    big = make.service(command=SGLANG, multinode={"nodeCount": 2}, resources=limits)
    create(api, "g", {"Frontend": make.service("frontend"), "Idle": make.service(), "Big": big})
    wait_until_ready(api, "g")
    change(api, "g", "Idle", replicas=0)
    ready_of(api, "g")
    change(api, "g", "Big", replicas=2)
    says(api, "g", "Idle has 0 of the 1 that the gang needs - set the replicas of Idle to 1 or more")
    change(api, "g", "Idle", replicas=1)
    ready_of(api, "g")


def test_old_pods_are_for_users_to_delete(api: ApiClient) -> None:
    services = {"Frontend": make.service("frontend"), "Worker": make.service(replicas=2)}
    create(api, "d", services, **{"nvidia.com/grove-update-strategy": "OnDelete"})
    wait_until_ready(api, "d")
    change(api, "d", "Worker", extraPodSpec=image("2"))
    says(api, "d", f"delete the old pods: kubectl delete pods -n {api.namespace} -l '")
    found = message(api, "d").partition(" -l '")[2].partition("'")[0]
    old = api.list("v1", "Pod", labelSelector=found)
    assert len(old) == 2
    for pod in old:
        api.delete("v1", "Pod", pod["metadata"]["name"])
    ready_of(api, "d")
