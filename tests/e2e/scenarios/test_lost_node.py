"""A node is lost, with a worker or with the frontend: nobody reports it, and Kubernetes' own controllers notice it.

Ready and Serving are looked at each second beside what a real chat gets. The real scheduler chooses between two nodes.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import DYNAMO, GRAPH, condition
from tests.cluster.namespaces import own_namespace
from tests.cluster.scheduling import running_scheduler
from tests.e2e.bench import GIVEN, Bench
from tests.e2e.graphs import explained, load_graph
from tests.e2e.kubelet.kubelet import FIRST, SECOND, Kubelet, running_kubelet
from tests.e2e.watched import Report, Watched, asking_hooks

GRACE_FLAG = "--node-monitor-grace-period"
MOST_UNNOTICED = 65
"""Samples in a row in which a graph may be called ready although its node is lost: 50 s until Kubernetes' own default
takes a node for lost, 5 s between two looks of its controller, and what a sync, and a chat that hangs, take."""
TOLERATED_SECONDS = 10
"""After so long on a lost node the pod is replaced; without a word of the user's it is 300 s."""
NOTICED_SECONDS, REPLACED_SECONDS = 120.0, 180.0
STILL = signal.SIGSTOP
"""As a machine that is gone, its processes keep their connections and answer nothing; killed ones refuse them."""


@pytest.fixture
def scheduled(bench: Bench, tmp_path: Path) -> Iterator[ApiClient]:
    """A client in a namespace whose pods the real scheduler puts on a node."""
    with running_scheduler(bench.plane, tmp_path), own_namespace(bench.admin, "scheduled") as client:
        yield client


@pytest.fixture
def second(bench: Bench, scheduled: ApiClient, tmp_path: Path) -> Iterator[Kubelet]:
    """A second node, which the control plane takes for lost after as long as clusters do; it goes with the test."""
    first, admin = bench.kubelet, bench.admin
    kubelet = running_kubelet(bench.plane, tmp_path / "pods", first.work, first.programs, GIVEN, SECOND)
    with usual_grace(bench.plane), kubelet as found:
        wait_for(lambda: all(is_open(admin, one.name) for one in (FIRST, SECOND)), "both nodes take pods")
        yield found
        scheduled.delete(DYNAMO, GRAPH, "mocker-agg")
        drop_node(admin, scheduled)


@contextmanager
def usual_grace(plane: ControlPlane) -> Iterator[None]:
    """Let the controllers take a node for lost after Kubernetes' own default, not the ten minutes of these tests."""
    server = plane.servers["kube-controller-manager"]
    patient = server.command
    server.stop()
    server.command = tuple(word for word in patient if not word.startswith(GRACE_FLAG))
    assert server.command != patient
    server.start()
    try:
        yield
    finally:
        server.stop()
        server.command = patient
        server.start()


def is_open(admin: ApiClient, node: str) -> bool:
    found: dict[str, Any] = admin.get("v1", "Node", node) or {}
    return condition(found, "Ready").get("status") == "True" and not found["spec"].get("taints")


def drop_node(admin: ApiClient, api: ApiClient) -> None:
    """Take the node out of the cluster, with the pods that it will never end, as the one who keeps the cluster does."""
    for pod in api.list("v1", "Pod"):
        if pod["spec"].get("nodeName") == SECOND.name:
            api.delete_now("v1", "Pod", pod["metadata"]["name"], pod["metadata"]["uid"])
    admin.delete("v1", "Node", SECOND.name)


def place(graph: Manifest, on_second: str) -> None:
    """Let that service prefer the second node and all others be on the first; a lost node is left soon."""
    unreachable = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    for name, service in graph["spec"]["services"].items():
        names = [FIRST.name, SECOND.name] if name == on_second else [FIRST.name]
        affinity: dict[str, Any] = {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [among(*names)]}
        }
        if name == on_second:
            preferred = {"weight": 100, "preference": among(SECOND.name)}
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [preferred]
        service["extraPodSpec"] |= {
            "affinity": {"nodeAffinity": affinity},
            "tolerations": [{**unreachable, "tolerationSeconds": TOLERATED_SECONDS}],
        }


def among(*nodes: str) -> Manifest:
    return {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}]}


@pytest.mark.parametrize("how", [STILL, signal.SIGKILL], ids=["still", "dead"])
@pytest.mark.parametrize("lost", ["MockerWorker", "Frontend"])
def test_node_is_lost(
    bench: Bench,
    scheduled: ApiClient,
    second: Kubelet,
    tag: str,
    report: Report,
    tmp_path: Path,
    lost: str,
    how: signal.Signals,
) -> None:
    of = "worker" if lost == "MockerWorker" else "frontend"
    api, what = scheduled, f"node of the {of} is lost, its processes {'stand still' if how is STILL else 'are dead'}"
    graph = load_graph("mocker-agg", tag, MockerWorker=1)
    graph["metadata"]["name"] = "mocker-agg"
    graph["metadata"]["annotations"] = {contract.ANNOTATION_DISCOVERY_BACKEND: "kubernetes"}
    place(graph, lost)
    seen = Watched(bench=bench, api=api, name="mocker-agg", tag=tag, report=report)
    with asking_hooks(bench, tag, tmp_path):
        with seen.state(f"two nodes: {lost} coming up"):
            api.create(graph, strict=True)
        (old,) = seen.pods_of(lost)
        assert old["spec"]["nodeName"] == SECOND.name
        with seen.state(what, most_yes=MOST_UNNOTICED) as samples:
            second.vanish(how)
            with explained(bench, api):
                wait_for(lambda: not is_ready(api, old), "the node controller calls the pod not ready", NOTICED_SECONDS)
                wait_for(lambda: on_first(seen, lost), "the pod is replaced on the other node", REPLACED_SECONDS)
        assert any(one.ready == "False" and one.serving == "False" for one in samples.found), "it was said"
        assert api.get("v1", "Pod", old["metadata"]["name"]) is not None, "the lost node ends nothing"


def is_ready(api: ApiClient, pod: Manifest) -> bool:
    found = api.get("v1", "Pod", pod["metadata"]["name"]) or {}
    return condition(found, "Ready").get("status") == "True"


def on_first(seen: Watched, service: str) -> bool:
    return any(one["spec"].get("nodeName") == FIRST.name for one in seen.pods_of(service))
