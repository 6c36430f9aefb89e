"""What statuses say of a simulated cluster: why pods are not ready, no more often than it changes, and never too early.

Every path, every fault that a pod can have, and specs that cannot be rendered while something runs.
"""

from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, labels_of, name_of
from hooks.tools.offline.simulation.applied_documents import admit_custom
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.offline.simulator.client import LoggedWrite
from hooks.tools.offline.simulator.cluster import AdmitCustom, SimulatedCluster
from hooks.tools.offline.simulator.store import copy_json
from hooks.tools.offline.simulator.workloads.pods import PodFault
from tests.kstatus import Kstatus, compute, kubectl_waits
from tests.tools.offline.simulator.hooked import build_cluster
from tests.tools.offline.simulator.test_multinode import graph, graph_of, settle, worker

PATHS: dict[str, tuple[tuple[str, ...], int]] = {
    "components": ((), 1),
    "LeaderWorkerSets": (("lws", "volcano"), 2),
    "Grove": (("grove",), 1),
    "Grove over nodes": (("grove",), 2),
}
REASONS = {
    PodFault.UNSCHEDULABLE: "Unschedulable",
    PodFault.IMAGE_PULL: "ImagePull",
    PodFault.CRASH_LOOP: "CrashLoop",
    PodFault.PROBE: "ProbeFailing",
}
CLAIM = {"name": "c", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "ReadWriteOnce"}
RESYNC_SECONDS = 300
FRONTEND = {"componentType": "frontend", "extraPodSpec": {"mainContainer": {"image": "i"}}}


def start(path: str, *, admit: AdmitCustom = admit_custom, **settings: str) -> SimulatedCluster:
    """A cluster in which a graph with a worker `w` was applied, and nothing has happened yet."""
    installed, nodes = PATHS[path]
    cluster = build_cluster(installed, admit=admit, late=(), **settings)
    cluster.create(graph(w=worker(nodes), f=FRONTEND))
    return cluster


def writes_of_metacontroller(cluster: SimulatedCluster, mark: int) -> list[LoggedWrite]:
    return [write for write in cluster.writes[mark:] if write.actor == "metacontroller"]


def ready_of(obj: Manifest) -> dict[str, Any]:
    conditions = obj.get("status", {}).get("conditions") or []
    return next((dict(found) for found in conditions if found["type"] == "Ready"), {})


def is_faulty(pod: Manifest) -> bool:
    return labels_of(pod)[contract.LABEL_COMPONENT] == "w"


@pytest.mark.parametrize("fault", REASONS)
@pytest.mark.parametrize("path", PATHS)
def test_fault_of_a_pod_is_named_and_then_nothing_is_written(path: str, fault: PodFault) -> None:
    cluster = start(path)
    cluster.break_pods("w", fault)
    cluster.run_for(120)
    faulty = sorted(name_of(pod) for pod in cluster.list_kind(kinds.POD, "default") if is_faulty(pod))
    message = ready_of(graph_of(cluster))["message"]
    assert f"{REASONS[fault]}: pod {faulty[0]}: " in message
    assert message.index(f"{REASONS[fault]}: ") == message.index(": ") + 2, "the cause stands first"
    assert graph_of(cluster)["status"]["componentsReady"] == "1/2"
    mark = len(cluster.writes)
    cluster.run_for(2 * RESYNC_SECONDS)
    assert writes_of_metacontroller(cluster, mark) == []
    cluster.release("w")
    assert settle(cluster)["status"]["componentsReady"] == "2/2"


@pytest.mark.parametrize("fault", REASONS)
def test_component_says_the_reason_in_a_word(fault: PodFault) -> None:
    cluster = start("components")
    cluster.break_pods("w", fault)
    cluster.run_for(120)
    component = cluster.get(contract.COMPONENT, "g-w", "default")
    assert component is not None
    assert ready_of(component)["reason"] == REASONS[fault]


@pytest.mark.parametrize("path", PATHS)
def test_pods_that_are_not_to_be_read_are_not_read(path: str) -> None:
    cluster = start(path, explain_pods="off")
    cluster.break_pods("w", PodFault.CRASH_LOOP)
    cluster.run_for(120)
    message = ready_of(graph_of(cluster))["message"]
    assert "CrashLoop" not in message
    assert "Progressing: its pods are not read" in message
    assert "kubectl get pods -n default -l nvidia.com/dynamo-component=w" in message


def statuses(cluster: SimulatedCluster) -> list[Manifest]:
    return [found for kind in (contract.GRAPH, contract.COMPONENT) for found in cluster.list_kind(kind, "default")]


def assert_agreed(obj: Manifest) -> None:
    """kstatus, kubectl and our Ready say the same of the newest spec."""
    ready = ready_of(obj)
    is_seen = obj["status"]["observedGeneration"] == obj["metadata"]["generation"]
    is_true = is_seen and ready.get("status") == "True"
    assert (compute(obj) is Kstatus.CURRENT) is is_true
    assert kubectl_waits(obj) is not is_true


@pytest.mark.parametrize("path", PATHS)
def test_whoever_waits_by_kstatus_waits_for_our_ready_at_every_step(path: str) -> None:
    cluster = start(path)
    seen: set[Kstatus] = set()

    def watch() -> bool:
        for obj in statuses(cluster):
            assert_agreed(obj)
        seen.add(compute(graph_of(cluster)))
        return is_ready(graph_of(cluster))

    assert compute(graph_of(cluster)) is Kstatus.IN_PROGRESS
    assert cluster.run_until(watch, 120)
    assert seen == {Kstatus.IN_PROGRESS, Kstatus.CURRENT}
    image = {"extraPodSpec": {"mainContainer": {"image": "i:2"}}}
    cluster.patch(contract.GRAPH, "g", {"spec": {"services": {"w": image}}}, "default")
    assert compute(graph_of(cluster)) is Kstatus.IN_PROGRESS
    assert cluster.run_until(watch, 240)
    pods = [pod for pod in cluster.list_kind(kinds.POD, "default") if is_faulty(pod)]
    assert {pod["spec"]["containers"][-1]["image"] for pod in pods} == {"i:2"}


def uids(cluster: SimulatedCluster) -> dict[tuple[str, str], str]:
    """Every object but the graph, by kind and name."""
    return {(o["kind"], name_of(o)): o["metadata"]["uid"] for o in cluster.everything()}


@pytest.mark.parametrize("path", PATHS)
def test_spec_that_cannot_be_rendered_leaves_everything_as_it_runs(path: str) -> None:
    cluster = start(path, admit=copy_json)
    settle(cluster)
    before = {
        key: value for key, value in graph_of(cluster)["status"].items() if key in {"services", "componentsReady"}
    }
    objects, mark = uids(cluster), len(cluster.writes)
    wrong = {"w": {"volumeMounts": [{"name": "a"}]}, "f": {"sharedMemory": {"size": "lots"}}}
    cluster.patch(contract.GRAPH, "g", {"spec": {"services": wrong}}, "default")
    cluster.run_for(2 * RESYNC_SECONDS)
    found = graph_of(cluster)
    assert (found["status"]["state"], ready_of(found)["reason"]) == ("failed", "ValidationFailed")
    for part in ("spec.services[w].volumeMounts[0].mountPoint", "spec.services[f].sharedMemory.size"):
        assert part in ready_of(found)["message"]
    assert {key: found["status"][key] for key in before} == before
    assert compute(found) is Kstatus.IN_PROGRESS
    written = writes_of_metacontroller(cluster, mark)
    assert [(write.resource, write.subresource) for write in written] == [("dynamographdeployments", "status")]
    assert uids(cluster) == objects
    right = {"w": {"volumeMounts": None}, "f": {"sharedMemory": None}}
    cluster.patch(contract.GRAPH, "g", {"spec": {"services": right}}, "default")
    settle(cluster)
    assert uids(cluster) == objects


def test_kinds_that_are_made_once_stay_too_while_the_spec_is_invalid() -> None:
    cluster = build_cluster(admit=copy_json)
    services = {"w": worker(1, scalingAdapter={"enabled": True}), "f": FRONTEND}
    manifest = graph(**services)
    cluster.create({**manifest, "spec": {**manifest["spec"], "pvcs": [CLAIM]}})
    settle(cluster)
    cluster.patch(contract.SCALING_ADAPTER, "g-w", {"spec": {"replicas": 3}}, "default")
    cluster.settle()
    objects, mark = uids(cluster), len(cluster.writes)
    cluster.patch(contract.GRAPH, "g", {"spec": {"services": {"f": {"sharedMemory": {"size": "lots"}}}}}, "default")
    cluster.run_for(2 * RESYNC_SECONDS)
    assert {write.resource for write in writes_of_metacontroller(cluster, mark)} == {"dynamographdeployments"}
    assert uids(cluster) == objects
    kept: list[tuple[GroupVersionKind, str]] = [
        (contract.SCALING_ADAPTER, "g-w"),
        (kinds.PERSISTENT_VOLUME_CLAIM, "c"),
    ]
    for kind, name in kept:
        assert cluster.get(kind, name, "default") is not None
    deployment = cluster.get(kinds.DEPLOYMENT, "g-w", "default")
    assert deployment is not None
    assert deployment["spec"]["replicas"] == 3


def test_component_that_cannot_be_rendered_leaves_its_pods_alone() -> None:
    cluster = build_cluster(admit=copy_json)
    metadata = {"name": "alone", "namespace": "default"}
    kind = {"apiVersion": contract.COMPONENT.api_version, "kind": contract.COMPONENT.kind}
    cluster.create({**kind, "metadata": metadata, "spec": worker(1)})
    assert cluster.run_until(
        lambda: ready_of(cluster.get(contract.COMPONENT, "alone", "default") or {}).get("status") == "True", 120
    )
    objects, mark = uids(cluster), len(cluster.writes)
    wrong = {"volumeMounts": [{"name": "a"}], "sharedMemory": {"size": "lots"}}
    cluster.patch(contract.COMPONENT, "alone", {"spec": wrong}, "default")
    cluster.run_for(2 * RESYNC_SECONDS)
    found = cluster.get(contract.COMPONENT, "alone", "default")
    assert found is not None
    assert ready_of(found)["reason"] == "ValidationFailed"
    assert "spec.volumeMounts[0].mountPoint" in ready_of(found)["message"]
    assert "spec.sharedMemory.size" in ready_of(found)["message"]
    assert found["status"]["service"]["readyReplicas"] == 1
    written = writes_of_metacontroller(cluster, mark)
    assert [(write.resource, write.subresource) for write in written] == [("dynamocomponentdeployments", "status")]
    assert uids(cluster) == objects
