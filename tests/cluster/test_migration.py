"""Graphs of the Go operator, taken over on the real API server under the real Metacontroller.

The objects are as the Go operator's generators made them where the corpus is at hand, else a small stand-in. The
command is the real process, killed on the way.
"""

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hooks.ground import contract
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    CHILD_KINDS,
    COMPONENT,
    DYNAMO,
    GRAPH,
    SCALING_ADAPTER,
    condition,
    running_controllers,
    the_graph,
    wait_for_silence,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.groves_kinds import GROVE, POD_CLIQUE_SET, installed_grove
from tests.cluster.programs import HttpServer
from tests.cluster.way_back import everything, go_back
from tests.contract.backend import Manifest
from tests.tools.operating.migration import left_behind
from tests.tools.operating.migration.left_behind import Entry
from tests.waiting import PATIENCE

CLAIM = "models"
PARTS = ("PodClique", "PodCliqueScalingGroup")
UID = "controller-uid"
_WRITTEN = ("name", "namespace", "labels", "annotations", "ownerReferences", "finalizers")


@pytest.fixture
def entry(api: ApiClient) -> Entry:
    """A graph whose second service, or only one, an autoscaler has scaled to two replicas."""
    found = left_behind.entry_named("sglang-agg")
    graph = {**found["graph"], "spec": {**found["graph"]["spec"], "pvcs": [{"name": CLAIM, "create": True, **SIZE}]}}
    service = max(graph["spec"]["services"])
    return left_behind.in_namespace(left_behind.scaled({**found, "graph": graph}, service, 2), api.namespace)


SIZE = {"size": "1Gi", "storageClass": "fast", "volumeAccessMode": "ReadWriteOnce"}


def store(api: ApiClient, manifest: Manifest) -> Manifest:
    """Create an object, with its status where it has one; the API server gives it a uid of its own."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key in _WRITTEN}
    stored = api.create({**manifest, "metadata": {**metadata, "namespace": api.namespace}})
    if manifest["kind"] in {COMPONENT, *PARTS}:
        change = {"status": manifest["status"]}
        stored = api.patch(manifest["apiVersion"], manifest["kind"], metadata["name"], change, sub="status")
    return stored


def leave_behind(api: ApiClient, entry: Entry) -> Manifest:
    """Everything that the Go operator made for a graph on the path of components, with all pods ready."""
    graph = store(api, {**left_behind.graph_of(entry), "apiVersion": DYNAMO, "kind": GRAPH})
    component: Manifest = {}
    for manifest in left_behind.components_of(entry, graph):
        if manifest["kind"] == COMPONENT:
            component = store(api, manifest)
            continue
        is_of_component = manifest["metadata"]["ownerReferences"][0]["kind"] == COMPONENT
        store(api, owned(manifest, component) if is_of_component else manifest)
    service = max(entry["graph"]["spec"]["services"])
    store(api, left_behind.adapter_of(graph, service, 2))
    store(api, left_behind.claim_of(graph, CLAIM))
    store(api, left_behind.model_service_of(component, "Qwen/Qwen3-0.6B"))
    for manifest in left_behind.shared_access_of(api.namespace):
        store(api, manifest)
    wait_for(lambda: all(is_up(one) for one in api.list("apps/v1", "Deployment")), "all pods are ready")
    return graph


def owned(manifest: Manifest, owner: Manifest) -> Manifest:
    reference = {**manifest["metadata"]["ownerReferences"][0], "uid": owner["metadata"]["uid"]}
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [reference]}}


def is_up(deployment: Manifest) -> bool:
    return bool(deployment.get("status", {}).get("readyReplicas", 0) == deployment["spec"]["replicas"])


def command(plane: ControlPlane, api: ApiClient, *words: str) -> list[str]:
    where = [f"--kubeconfig={plane.kubeconfig()}", "-n", api.namespace]
    return [sys.executable, "-m", "hooks", "migrate", *where, *words]


def run(plane: ControlPlane, api: ApiClient, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(plane, api, *words), capture_output=True, text=True, check=False, timeout=PATIENCE)


def run_killed(plane: ControlPlane, api: ApiClient, steps: int) -> None:
    """Start the command, and kill it after that many steps."""
    words = command(plane, api, "--apply")
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        for _ in range(steps):
            assert process.stderr.readline()
        process.kill()


def pods(api: ApiClient) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in api.list("v1", "Pod")}


def templates(api: ApiClient) -> dict[str, Any]:
    """What pods are made from: the templates of Deployments, the specs of components."""
    found = {one["metadata"]["name"]: one["spec"]["template"] for one in api.list("apps/v1", "Deployment")}
    return found | {f"{COMPONENT} {one['metadata']['name']}": one["spec"] for one in api.list(DYNAMO, COMPONENT)}


def uids(api: ApiClient) -> dict[str, str]:
    """The uid of every object, by kind and name."""
    found = ((kind, one) for version, kind in CHILD_KINDS for one in api.list(version, kind))
    return {f"{kind} {one['metadata']['name']}": one["metadata"]["uid"] for kind, one in found}


def orphans(api: ApiClient) -> list[str]:
    """Objects that carry a parent's uid in their label, or none at all, and that this parent does not own."""
    found = ((kind, one) for version, kind in CHILD_KINDS if kind != "Pod" for one in api.list(version, kind))
    return [f"{kind} {one['metadata']['name']}" for kind, one in found if not has_owner(one) and is_of_graph(one)]


def has_owner(manifest: Manifest) -> bool:
    owners = {owner["uid"] for owner in manifest["metadata"].get("ownerReferences", ())}
    label = manifest["metadata"].get("labels", {}).get(UID)
    return bool(owners) and (label is None or label in owners)


def is_of_graph(manifest: Manifest) -> bool:
    return manifest["metadata"]["name"] not in {"kube-root-ca.crt", "default"}


@contextmanager
def kept_as_it_is(api: ApiClient) -> Iterator[None]:
    """Whatever happens within: no object is created again, no pod restarts, and no template changes."""
    before = uids(api), pods(api), templates(api)
    yield
    after = uids(api)
    assert {name: uid for name, uid in after.items() if name in before[0]} == before[0]
    assert pods(api) == before[1]
    assert templates(api) == before[2]


def warnings(api: ApiClient, reason: str = "SyncError") -> list[str]:
    found = api.list("v1", "Event", fieldSelector=f"reason={reason}")
    return [str(event["message"]) for event in found]


def test_graph_is_taken_over_by_a_command_that_was_killed_twice(
    plane: ControlPlane,
    api: ApiClient,
    admin: ApiClient,
    metacontroller: HttpServer,
    hooks: HttpServer,
    entry: Entry,
    audit: Audit,
    tmp_path: Path,
) -> None:
    name = leave_behind(api, entry)["metadata"]["name"]
    before = everything(api)
    with kept_as_it_is(api):
        plan = run(plane, api)
        assert plan.returncode == 0, plan.stderr
        assert "No pod starts, stops or restarts." in plan.stdout
        run_killed(plane, api, 2)
        run_killed(plane, api, 6)
        done = run(plane, api, "--apply")
        assert done.returncode == 0, done.stderr
        assert "There is nothing to migrate." in run(plane, api).stdout
        with running_controllers(admin, hooks.url):
            wait_until_ready(api, name)
            wait_for_silence(audit)
            check_taken_over(api, name)
        go_back(plane, api, tmp_path, "0.9.0")
    after = everything(api)
    assert {title: after.get(title) for title in before} == before
    api.delete(DYNAMO, GRAPH, name)
    for kind in ("RoleBinding", "ServiceAccount"):
        for one in left_behind.shared_access_of(api.namespace):
            if one["kind"] == kind:
                api.delete(one["apiVersion"], kind, one["metadata"]["name"])
    wait_until_nothing_is_left(api)


def test_graph_that_our_controllers_have_met_is_taken_over(
    plane: ControlPlane,
    api: ApiClient,
    admin: ApiClient,
    metacontroller: HttpServer,
    hooks: HttpServer,
    entry: Entry,
    audit: Audit,
) -> None:
    name = leave_behind(api, entry)["metadata"]["name"]
    with kept_as_it_is(api), running_controllers(admin, hooks.url):
        wait_for(lambda: is_released(api), "Metacontroller has released the components and Deployments")
        wait_for_silence(audit)
        run_killed(plane, api, 3)
        run_killed(plane, api, 4)
        done = run(plane, api, "--apply")
        assert done.returncode == 0, done.stderr
        wait_until_ready(api, name)
        wait_for_silence(audit)
        # A claim has no labels, so nothing proves that it is the graph's once it lost its owner.
        check_taken_over(api, name, but=[f"PersistentVolumeClaim {CLAIM}"])
    with running_controllers(admin, hooks.url):
        api.delete(DYNAMO, GRAPH, name)
        api.delete("v1", "PersistentVolumeClaim", CLAIM)
        wait_until_nothing_is_left(api)


def is_released(api: ApiClient) -> bool:
    found = [*api.list("apps/v1", "Deployment"), *api.list(DYNAMO, COMPONENT)]
    return not any(one["metadata"].get("ownerReferences") for one in found)


def check_taken_over(api: ApiClient, name: str, but: Iterable[str] = ()) -> None:
    graph = the_graph(api, name)
    assert contract.GO_FINALIZER not in graph["metadata"].get("finalizers", ())
    assert orphans(api) == list(but)
    for one in [*api.list("apps/v1", "Deployment"), *api.list(DYNAMO, COMPONENT)]:
        assert contract.GO_FINALIZER not in one["metadata"].get("finalizers", ())
        assert one["metadata"]["labels"][UID] == one["metadata"]["ownerReferences"][0]["uid"]
    (adapter,) = api.list(DYNAMO, SCALING_ADAPTER)
    assert adapter["spec"]["replicas"] == 2
    assert condition(graph, "Ready")["status"] == "True"
    assert warnings(api) == []


def test_operator_that_runs_is_a_refusal(plane: ControlPlane, api: ApiClient, entry: Entry) -> None:
    operator = {"app.kubernetes.io/name": "dynamo-operator", "control-plane": "controller-manager"}
    pod = {"containers": [{"name": "manager", "image": "example.com/operator:1"}]}
    template = {"metadata": {"labels": operator}, "spec": pod}
    deployment = "dynamo-platform-dynamo-operator-controller-manager"
    metadata = {"name": deployment, "labels": operator}
    spec = {"replicas": 1, "selector": {"matchLabels": operator}, "template": template}
    api.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    graph = store(api, {**left_behind.graph_of(entry), "apiVersion": DYNAMO, "kind": GRAPH})
    refused = run(plane, api, "--apply")
    assert refused.returncode == 1
    assert "the Go operator runs" in refused.stderr
    assert f"-n {api.namespace} --replicas=0" in refused.stderr
    assert contract.GO_FINALIZER in the_graph(api, graph["metadata"]["name"])["metadata"]["finalizers"]
    forced = run(plane, api, "--apply", "--force")
    assert forced.returncode == 0, forced.stderr
    assert contract.GO_FINALIZER not in the_graph(api, graph["metadata"]["name"])["metadata"].get("finalizers", ())
    api.delete("apps/v1", "Deployment", deployment)
    api.delete(DYNAMO, GRAPH, graph["metadata"]["name"])


def test_pod_clique_set_is_neither_refused_nor_changed(
    plane: ControlPlane, api: ApiClient, admin: ApiClient, metacontroller: HttpServer, hooks: HttpServer, audit: Audit
) -> None:
    entry = left_behind.in_namespace(left_behind.entry_named("glm5-sglang"), api.namespace)
    with installed_grove(admin):
        graph = store(api, {**left_behind.graph_of(entry), "apiVersion": DYNAMO, "kind": GRAPH})
        name = graph["metadata"]["name"]
        for manifest in (*left_behind.grove_of(entry, graph), *left_behind.parts_of(entry, graph)):
            store(api, manifest)
        before = api.get(GROVE, POD_CLIQUE_SET, name)
        assert before is not None
        done = run(plane, api, "--apply")
        assert done.returncode == 0, done.stderr
        with running_controllers(admin, hooks.url, ["grove"]):
            wait_for(lambda: condition(the_graph(api, name), "Ready"), "the graph has a status")
            time.sleep(1)
            wait_for_silence(audit)
            after = api.get(GROVE, POD_CLIQUE_SET, name)
            assert after is not None
            assert after["spec"] == before["spec"]
            assert after["metadata"]["generation"] == before["metadata"]["generation"]
            assert condition(the_graph(api, name), "Held")["reason"] == "NewDefaultsWait"
            assert after["metadata"]["labels"][UID] == graph["metadata"]["uid"]
            assert warnings(api) == []
            api.delete(DYNAMO, GRAPH, name)
            wait_for(lambda: api.get(DYNAMO, GRAPH, name) is None, "the graph is gone")
