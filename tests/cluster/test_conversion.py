"""Both versions on a real API server under a real Metacontroller: one object, two views, and an outage of the webhook.

While nobody converts, v1alpha1 and all that runs go on. v1beta1, the deletion of namespaces and the garbage collector
wait: the last two ask for the newest version.
"""

import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from hooks.ground import contract
from tests.cluster.admission import shown_by, wait_for_more, writing
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.binaries import Binaries
from tests.cluster.control_plane import ControlPlane
from tests.cluster.conversion import BETA, DEFINITION, NAMES, Converted, converted_plane, paused_graph
from tests.cluster.dynamo import (
    DYNAMO,
    GRAPH,
    SCALING_ADAPTER,
    condition,
    running_controllers,
    wait_for_silence,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer
from tests.contract.backend import ApiRefused, Manifest
from tests.waiting import PATIENCE

ADAPTER = "g-worker"
GRAPHS = f"dynamographdeployments.{contract.GROUP}"
FAILED = "conversion webhook for"


@pytest.fixture(scope="module")
def converted(programs: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Converted]:
    with converted_plane(programs, tmp_path_factory.mktemp("plane")) as started:
        yield started


@pytest.fixture(scope="module")
def plane(converted: Converted) -> ControlPlane:
    """A control plane of this module's own: its CRDs would be in the way of other tests."""
    return converted.plane


@pytest.fixture(scope="module")
def admin(plane: ControlPlane) -> ApiClient:
    return plane.client()


@pytest.fixture(scope="module", autouse=True)
def controllers(admin: ApiClient, metacontroller: HttpServer, hooks: HttpServer) -> Iterator[None]:
    with running_controllers(admin, hooks.url):
        yield


def graph(name: str = "g") -> Manifest:
    """A graph with an adapter."""
    pod = {"mainContainer": {"image": "my-registry/vllm-runtime:1.6.1"}}
    services = {
        "Frontend": {"componentType": "frontend", "replicas": 1, "extraPodSpec": pod},
        "Worker": {
            "componentType": "worker",
            "replicas": 1,
            "scalingAdapter": {"enabled": True},
            "extraPodSpec": pod,
        },
    }
    return {"apiVersion": DYNAMO, "kind": GRAPH, "metadata": {"name": name}, "spec": {"services": services}}


def beta_graph(name: str = "g") -> Manifest:
    """The same graph as users of 1.x write it."""
    template = {"spec": {"containers": [{"name": "main", "image": "my-registry/vllm-runtime:1.6.1"}]}}
    components = [
        {"name": "Frontend", "type": "frontend", "replicas": 1, "podTemplate": template},
        {"name": "Worker", "type": "worker", "replicas": 1, "scalingAdapter": {}, "podTemplate": template},
    ]
    return {"apiVersion": BETA, "kind": GRAPH, "metadata": {"name": name}, "spec": {"components": components}}


def replicas(api: ApiClient) -> dict[str, int]:
    """Deployment to its ready replicas."""
    found = api.list("apps/v1", "Deployment")
    return {one["metadata"]["name"]: one.get("status", {}).get("readyReplicas", 0) for one in found}


def refusal(api: ApiClient, version: str = BETA) -> str:
    """Why the API server shows no list of graphs; empty if it does."""
    try:
        api.list(version, GRAPH)
    except ApiRefused as refused:
        return refused.message
    return ""


@contextmanager
def nobody_converts(converted: Converted) -> Iterator[None]:
    """An outage: the server is killed, and started again at the end."""
    converted.server.kill()
    try:
        yield
    finally:
        converted.server.start()


@pytest.mark.parametrize("written", [graph(), beta_graph()], ids=["v1alpha1", "v1beta1"])
def test_graph_of_either_version_becomes_ready_in_both(api: ApiClient, written: Manifest) -> None:
    api.create(written, strict=True)
    alpha = wait_until_ready(api, "g")
    beta = api.get(BETA, GRAPH, "g")
    assert beta is not None
    assert set(alpha["spec"]["services"]) == {one["name"] for one in beta["spec"]["components"]}
    assert beta["metadata"]["generation"] == alpha["metadata"]["generation"]
    assert beta["status"]["observedGeneration"] == alpha["status"]["observedGeneration"]
    assert condition(beta, "Ready") == condition(alpha, "Ready")
    assert replicas(api) == {"g-frontend": 1, "g-worker": 1}
    api.patch(BETA, SCALING_ADAPTER, ADAPTER, {"spec": {"replicas": 2}}, sub="scale")
    wait_for(lambda: replicas(api) == {"g-frontend": 1, "g-worker": 2}, "the worker is scaled")
    api.delete(BETA, GRAPH, "g")
    wait_until_nothing_is_left(api)


def test_nothing_is_converted_at_rest(api: ApiClient, audit: Audit, converted: Converted) -> None:
    api.create(graph())
    wait_until_ready(api, "g")
    wait_for_silence(audit)
    before = converted.conversions()
    time.sleep(3)
    assert converted.conversions() == before
    api.delete(DYNAMO, GRAPH, "g")
    wait_until_nothing_is_left(api)


def test_outage_stops_v1beta1_alone(
    api: ApiClient, admin: ApiClient, converted: Converted, metacontroller: HttpServer
) -> None:
    for name in ("g", "doomed"):
        api.create(graph(name))
    for name in ("g", "doomed"):  # a component that the garbage collector has not seen yet, it would go on asking for
        wait_until_ready(api, name)
    with nobody_converts(converted):
        wait_for(lambda: FAILED in refusal(api), "v1beta1 is refused")
        assert refusal(api, DYNAMO) == ""
        for kind in ("dgd", "dgd.v1alpha1.nvidia.com"):  # of a short name, kubectl forgets the version
            assert FAILED in kubectl_refusal(converted.plane, api, "get", kind)
        whole_name = f"dynamographdeployments.{contract.VERSION}.{contract.GROUP}"
        shown = converted.plane.kubectl("-n", api.namespace, "get", whole_name)
        assert "doomed" in shown

        change_everything(api)

        metacontroller.kill()
        metacontroller.start()
        api.create(graph("later"))
        wait_until_ready(api, "later")
        assert FAILED in refusal(api)
        assert "doomed-worker" in replicas(api), "the garbage collector waits too"
    wait_for(lambda: refusal(api) == "", "v1beta1 is served again")
    wait_for(lambda: api.get(BETA, GRAPH, "applied") is None, "a graph that waits for what it owns is gone")
    for name in ("g", "later"):
        api.delete(BETA, GRAPH, name)
    wait_until_nothing_is_left(api)


def change_everything(api: ApiClient) -> None:
    """All that users do with v1alpha1, and what the controllers make of it."""
    api.patch(DYNAMO, GRAPH, "g", {"spec": {"services": {"Frontend": {"replicas": 2}}}})
    api.patch(DYNAMO, SCALING_ADAPTER, ADAPTER, {"spec": {"replicas": 3}}, sub="scale")
    wait_for(lambda: replicas(api).get("g-frontend") == 2, "a patched graph is carried out")
    wait_for(lambda: replicas(api).get("g-worker") == 3, "a scaled adapter is carried out")
    assert wait_until_ready(api, "g")["metadata"]["generation"] > 1
    api.apply({**graph("applied"), "metadata": {"name": "applied", "namespace": api.namespace}})
    wait_until_ready(api, "applied")
    api.delete(DYNAMO, GRAPH, "applied", propagation="Foreground")
    api.delete(DYNAMO, GRAPH, "doomed")
    wait_for(lambda: api.get(DYNAMO, GRAPH, "doomed") is None, "a deleted graph is gone")


def kubectl_refusal(plane: ControlPlane, api: ApiClient, *words: str) -> str:
    """What kubectl says, which asks for the version that the API server prefers."""
    with pytest.raises(AssertionError) as refused:
        plane.kubectl("-n", api.namespace, *words)
    return str(refused.value)


def test_deleted_secret_of_the_certificate_is_made_anew_without_a_refused_read(
    api: ApiClient, converted: Converted
) -> None:
    """The server shows its old certificate until it gets the new files."""
    api.create(paused_graph())
    certificates, old = converted.certificates, shown_by(converted.server)
    with writing([converted.plane.client().within(api.namespace)], refusal) as readers:
        certificates.lose()
        assert "was issued: there is none yet" in certificates.run()[-1]
        wait_for_more(readers)
        assert shown_by(converted.server) == old
        certificates.mount()
        wait_for_more(readers)
        assert shown_by(converted.server) != old
        said = certificates.run_later(timedelta(days=1))
        assert [line.partition("; ")[2] for line in said] == ["former authorities left out: 1"] * len(NAMES)
        wait_for_more(readers)
    assert [reader.refused for reader in readers] == [[]]
    api.delete(DYNAMO, GRAPH, "lookout")


def test_namespace_is_deleted_once_somebody_converts_again(admin: ApiClient, converted: Converted) -> None:
    name = f"test-{uuid.uuid4().hex[:8]}"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    api = admin.within(name)
    api.create(paused_graph())
    with nobody_converts(converted):
        wait_for(lambda: FAILED in refusal(api), "v1beta1 is refused")
        admin.delete("v1", "Namespace", name)
        wait_for(lambda: FAILED in failure_of_deletion(admin, name), "the namespace says what it waits for")
        assert api.get(DYNAMO, GRAPH, "lookout") is not None
    wait_for(lambda: admin.get("v1", "Namespace", name) is None, "the namespace is gone")


def failure_of_deletion(admin: ApiClient, namespace: str) -> str:
    found: dict[str, Any] = admin.get("v1", "Namespace", namespace) or {}
    return str(condition(found, "NamespaceDeletionContentFailure").get("message", ""))


def test_api_server_counts_failed_conversions_as_the_alert_expects(api: ApiClient, converted: Converted) -> None:
    api.create(paused_graph())
    with nobody_converts(converted):
        wait_for(lambda: FAILED in refusal(api), "v1beta1 is refused")
    page = converted.plane.kubectl("get", "--raw", "/metrics")
    name = "apiserver_crd_conversion_webhook_duration_seconds_count"
    lines = [line for line in page.splitlines() if line.startswith(name) and 'succeeded="false"' in line]
    assert any(f'crd_name="dynamographdeployments.{contract.GROUP}"' in line for line in lines)


def test_objects_stored_as_v1beta1_are_stored_anew_and_need_no_webhook_then(
    api: ApiClient, admin: ApiClient, converted: Converted
) -> None:
    store_graphs_as(admin, contract.BETA_VERSION)
    wait_for(lambda: is_stored_as_beta(api, converted), "a graph is stored as v1beta1")
    said = migrate(converted.plane, "--store-v1alpha1")
    assert f"{GRAPHS}: " in said
    assert "perhaps stored as v1beta1" in said
    migrate(converted.plane, "--store-v1alpha1", "--apply")
    assert (admin.get(*DEFINITION, GRAPHS) or {})["status"]["storedVersions"] == [contract.VERSION]
    with nobody_converts(converted):
        wait_for(lambda: FAILED in refusal(api), "v1beta1 is refused")
        assert refusal(api, DYNAMO) == ""
    migrate(converted.plane, "--drop-v1beta1", "--apply")
    spec = (admin.get(*DEFINITION, GRAPHS) or {})["spec"]
    assert [one["name"] for one in spec["versions"] if one["served"]] == [contract.VERSION]
    assert spec["conversion"] == {"strategy": "None"}
    wait_for(lambda: refusal(api), "v1beta1 is no longer served")
    assert FAILED not in refusal(api)
    assert refusal(api, DYNAMO) == ""


def store_graphs_as(admin: ApiClient, version: str) -> None:
    """Let the CRD of graphs store a version, as that of the Go operator does."""
    found = admin.get(*DEFINITION, GRAPHS)
    assert found is not None
    versions = [{**one, "storage": one["name"] == version} for one in found["spec"]["versions"]]
    admin.patch(*DEFINITION, GRAPHS, {"spec": {"versions": versions}})


def is_stored_as_beta(api: ApiClient, converted: Converted) -> bool:
    """Create a graph; whether v1alpha1 cannot be read without a conversion then."""
    api.create(paused_graph(f"stored-{uuid.uuid4().hex[:8]}"))
    with nobody_converts(converted):
        return FAILED in refusal(api, DYNAMO)


def migrate(plane: ControlPlane, *words: str) -> str:
    """Run the command; what it printed."""
    command = [sys.executable, "-m", "hooks", "migrate", f"--kubeconfig={plane.kubeconfig()}", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout
