"""Registry Secrets and accounts that come and go in a simulated cluster: which pods are made again, and which stay."""

from collections.abc import Callable
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.pods import PodFault
from tests import make
from tests.tools.offline.simulator.hooked import build_cluster
from tests.tools.offline.simulator.test_multinode import graph, settle, worker

PATHS: dict[str, tuple[tuple[str, ...], int]] = {
    "components": ((), 1),
    "groups": (("lws", "volcano"), 2),
    "Grove": (("grove",), 1),
    "Grove over nodes": (("grove",), 2),
}
OLD, NEW = make.pull_secret("old", "docker.io"), make.pull_secret("new", "docker.io")
LONG = 400


def build(path: str, *there: Manifest, explain_pods: str = "on") -> SimulatedCluster:
    """A cluster with these objects, and a graph `g` whose worker `w` has two replicas."""
    installed, nodes = PATHS[path]
    cluster = build_cluster(installed, explain_pods=explain_pods)
    for manifest in there:
        cluster.create(manifest)
    cluster.create(graph(w=worker(nodes, replicas=2)))
    return cluster


def pods(cluster: SimulatedCluster) -> set[str]:
    return {pod["metadata"]["uid"] for pod in cluster.list_kind(kinds.POD, "default")}


def secrets(cluster: SimulatedCluster) -> list[Any]:
    """The pull secrets of all pods, each list once."""
    found: list[Any] = []
    for pod in cluster.list_kind(kinds.POD, "default"):
        named = [secret["name"] for secret in pod["spec"].get("imagePullSecrets", ())]
        found += [] if named in found else [named]
    return found


def rotate(cluster: SimulatedCluster) -> None:
    cluster.delete(kinds.SECRET, "old", "default", "Background")
    cluster.run_for(LONG)
    cluster.create(NEW)


def renew(cluster: SimulatedCluster) -> None:
    cluster.delete(kinds.SECRET, "old", "default", "Background")
    cluster.run_for(LONG)
    cluster.create(OLD)


CHANGES: dict[str, Callable[[SimulatedCluster], Any]] = {
    "is deleted": lambda cluster: cluster.delete(kinds.SECRET, "old", "default", "Background"),
    "is made again": renew,
    "is replaced by one of another name": rotate,
    "gets a second beside it": lambda cluster: cluster.create(NEW),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_pod_is_made_anew_as_its_registry_secret(path: str, change: Callable[[SimulatedCluster], Any]) -> None:
    cluster = build(path, OLD)
    settle(cluster)
    before = pods(cluster)
    change(cluster)
    cluster.run_for(LONG)
    assert pods(cluster) == before
    assert secrets(cluster) == [["old"]]


@pytest.mark.parametrize("path", PATHS)
def test_pods_whose_image_is_changed_have_the_secrets_that_are_there_then(path: str) -> None:
    cluster = build(path, OLD)
    settle(cluster)
    rotate(cluster)
    before = pods(cluster)
    patch_worker(cluster, {"extraPodSpec": {"mainContainer": {"image": "i:2"}}})
    assert not pods(cluster) & before
    assert secrets(cluster) == [["new"]]


@pytest.mark.parametrize("path", ["components", "groups"])
def test_pods_that_are_scaled_up_leave_the_others_as_they_are(path: str) -> None:
    cluster = build(path, OLD)
    settle(cluster)
    cluster.create(NEW)
    before = pods(cluster)
    patch_worker(cluster, {"replicas": 3})
    assert before < pods(cluster)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("explain_pods", ["on", "off"])
def test_secret_that_comes_later_reaches_pods_whose_image_cannot_be_pulled(path: str, explain_pods: str) -> None:
    cluster = build(path, explain_pods=explain_pods)
    cluster.break_pods("g-*", PodFault.IMAGE_PULL)
    cluster.run_for(LONG)
    assert secrets(cluster) == [[]]
    cluster.create(NEW)
    cluster.run_for(5)
    cluster.release("g-*")
    settle(cluster)
    assert secrets(cluster) == [["new"]]


@pytest.mark.parametrize("path", PATHS)
def test_secret_that_comes_before_the_image_is_found_missing_is_taken_then(path: str) -> None:
    cluster = build(path)
    cluster.break_pods("g-*", PodFault.IMAGE_PULL)
    while not cluster.list_kind(kinds.POD, "default"):
        cluster.step()
    cluster.create(NEW)
    cluster.run_for(LONG)
    cluster.release("g-*")
    settle(cluster)
    assert secrets(cluster) == [["new"]]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("fault", [PodFault.UNSCHEDULABLE, PodFault.CRASH_LOOP, PodFault.PROBE])
def test_secret_helps_no_pod_that_fails_for_another_reason(path: str, fault: PodFault) -> None:
    cluster = build(path, OLD)
    settle(cluster)
    name = min(pod["metadata"]["name"] for pod in cluster.list_kind(kinds.POD, "default"))
    cluster.break_pods(name, fault)
    cluster.run_for(30)
    before = secrets(cluster)
    cluster.create(NEW)
    cluster.run_for(LONG)
    assert secrets(cluster) == before == [["old"]]


WRITTEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "names a Secret": ({"extraPodSpec": {"imagePullSecrets": [{"name": "mine"}]}}, ["mine", "new"]),
    "switches discovery off": ({"annotations": {contract.ANNOTATION_DISABLE_PULL_SECRETS: "true"}}, []),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("spec", "expected"), WRITTEN.values(), ids=WRITTEN)
def test_user_is_followed_at_once_who(path: str, spec: dict[str, Any], expected: list[str]) -> None:
    cluster = build(path, OLD)
    settle(cluster)
    rotate(cluster)
    patch_worker(cluster, spec)
    assert secrets(cluster) == [expected]


def patch_worker(cluster: SimulatedCluster, spec: dict[str, Any]) -> None:
    cluster.patch(contract.GRAPH, "g", {"spec": {"services": {"w": spec}}}, "default")
    cluster.run_for(LONG)
    settle(cluster)
