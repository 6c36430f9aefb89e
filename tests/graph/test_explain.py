"""Why services under Grove are not ready: their pods speak, and the message says what to do."""

from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from tests import make
from tests.graph import test_grove as grove
from tests.graph import world

ETCD = {"discovery_backend": "etcd"}
CRASH = {
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
    "restartCount": 5,
}


def pod(name: str, service: str, **status: Any) -> Manifest:
    labels = {"nvidia.com/dynamo-component": service, "grove.io/podclique": f"g-0-{service.lower()}"}
    metadata = {"name": name, "namespace": "default", "labels": labels, "creationTimestamp": "2026-03-01T11:00:00Z"}
    container = {"name": "main", "ready": False, "started": True, "restartCount": 0, **status}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "main", "image": "i", "readinessProbe": {"periodSeconds": 10}}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [container],
        },
    }


SHORT = (grove.part("PodClique", "g-0-frontend", desired=2, good=1), grove.PARTS[1])


def test_pod_of_a_service_that_is_not_ready_is_named_with_what_to_do() -> None:
    graph = make.graph(grove.TWO)
    pods = [pod("g-0-frontend-b", "Frontend", **CRASH), pod("g-0-frontend-a", "Frontend", **CRASH)]
    answer = grove.ask(graph, grove.settled(graph), [*SHORT, *pods])
    assert world.ready(answer)["message"] == (
        "podclique/g-0-frontend: CrashLoop: pod g-0-frontend-a: container main crashes repeatedly, last with exit code "
        "1 - read why with kubectl logs -n default g-0-frontend-a -c main --previous (desired=2, ready=1)"
    )
    assert answer.status is not None
    assert answer.status["componentsReady"] == "1/2"


def test_pods_of_a_ready_service_are_not_looked_at() -> None:
    graph = make.graph(grove.TWO)
    pods = [pod("g-0-worker-a", "Worker", **CRASH)]
    assert "CrashLoop" not in world.ready(grove.ask(graph, grove.settled(graph), [*SHORT, *pods]))["message"]


def test_pods_of_an_older_template_explain_nothing() -> None:
    before = grove.settled(make.graph(grove.TWO))
    changed = make.graph({**grove.TWO, "Frontend": make.service("frontend", image="img:2", replicas=2)})
    answer = grove.ask(changed, before, [*SHORT, pod("p", "Frontend", **CRASH)])
    assert (
        "podclique/g-0-frontend: RollingOut: wait for the new pods (desired=2, ready=1)"
        in world.ready(answer)["message"]
    )
    assert answer.status is not None
    assert answer.status["componentsReady"] == "0/2"


def test_replaced_pods_without_trouble_are_a_rollout() -> None:
    graph = make.graph(grove.TWO)
    rolling = grove.part("PodClique", "g-0-frontend", desired=2)
    rolling["status"]["updatedReplicas"] = 1
    answer = grove.ask(graph, grove.settled(graph), [rolling, grove.PARTS[1]])
    assert "RollingOut: wait for the new pods (desired=2, updated=1)" in world.ready(answer)["message"]


def test_quota_is_told_from_groves_errors() -> None:
    graph = make.graph(grove.TWO)
    errors = [{"code": "ERR_X", "description": "pods is forbidden: exceeded quota: gpus"}]
    children = [
        grove.processed(c, lastErrors=errors) if c["kind"] == "PodCliqueSet" else c for c in grove.settled(graph)
    ]
    message = world.ready(grove.ask(graph, children, SHORT))["message"]
    assert (
        "frontend: QuotaDenied: pods is forbidden: exceeded quota: gpus - raise the quota or ask for less (" in message
    )


def test_pods_that_admission_refuses_under_grove_are_named() -> None:
    graph = make.graph(grove.TWO)
    errors = [{"code": "ERR_CREATE", "description": 'pods "p" is forbidden: no PriorityClass with name high was found'}]
    children = [
        grove.processed(c, lastErrors=errors) if c["kind"] == "PodCliqueSet" else c for c in grove.settled(graph)
    ]
    message = world.ready(grove.ask(graph, children, SHORT))["message"]
    assert (
        'frontend: AdmissionDenied: pods "p" is forbidden: no PriorityClass with name high was found - create'
        in message
    )


def test_missing_address_of_etcd_is_waited_for() -> None:
    graph = make.graph(grove.TWO)
    children = world.apply((), grove.ask(graph, **ETCD).children)
    message = world.ready(grove.ask(graph, children, SHORT, **ETCD))["message"]
    assert (
        "frontend: WaitingForDependency: discovery uses etcd, and its address is not set - set etcd_address" in message
    )
    known = grove.ask(graph, children, SHORT, etcd_address="http://etcd:2379", **ETCD)
    assert "WaitingForDependency" not in world.ready(known)["message"]


def test_missing_ssh_key_is_waited_for() -> None:
    services = {"w": grove.multinode(command=grove.TRTLLM), "f": make.service()}
    graph = make.graph(services)
    message = world.ready(grove.ask(graph, grove.settled(graph, mpi_secret=grove.KEY), (), mpi_secret=grove.KEY))[
        "message"
    ]
    assert "pcsg/g-0-w: WaitingForDependency: Secret dynamo/mpi-run-ssh-secret" in message
    assert "podclique/g-0-f: Progressing: wait (resource not found)" in message


def test_pod_within_its_probes_time_brings_the_graph_back() -> None:
    graph = make.graph(grove.TWO)
    starting = pod("p", "Frontend", state={"running": {"startedAt": "2026-03-01T11:59:45Z"}})
    assert grove.ask(graph, grove.settled(graph), [*SHORT, starting]).resync_after_seconds == 15
    assert grove.ask(graph, grove.settled(graph), [*grove.PARTS, starting]).resync_after_seconds == 0


@pytest.mark.parametrize(
    ("unready", "count"), [({}, "2/2"), ({"g-worker": "Deployment is not ready"}, "1/2")], ids=["all", "one"]
)
def test_ready_components_are_counted(unready: dict[str, str], count: str) -> None:
    graph = make.graph()
    children = world.run(world.apply((), world.ask(graph).children), unready=unready)
    status = world.ask(graph, children).status
    assert status is not None
    assert status["componentsReady"] == count


def test_new_graph_has_no_component_ready() -> None:
    status = world.ask(make.graph()).status
    assert status is not None
    assert status["componentsReady"] == "0/2"
