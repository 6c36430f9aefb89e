"""`dynamo-hooks doctor` on a real API server: a good installation is good; each fault is found, with its remedy."""

import base64
import json
import shlex
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hooks.ground import contract
from hooks.server.admission.certificates.authority import Issued, issue
from hooks.tools.operating.doctor.examination import CHECKS
from hooks.wire.metacontroller.install_files import SecretKey
from tests import third_party
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import CHART_ACCOUNT, HOOKS_ACCOUNT, ControlPlane, install_crds
from tests.cluster.dynamo import (
    DYNAMO,
    GRAPH,
    MODEL,
    RELEASE,
    light_chart,
    load_example,
    model,
    running_controllers,
    the_graph,
    wait_until_ready,
)
from tests.cluster.processes import Server, running
from tests.cluster.programs import hooks_server
from tests.commands import Done, call
from tests.contract.backend import METACONTROLLER
from tests.ports import free_port

NAMESPACE = "doctored"
ADMISSION = f"{RELEASE}-admission"
CRD = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
WORKER_METADATA = "dynamoworkermetadatas.nvidia.com"
FLAGS = [
    "--zap-log-level=4",
    "--discovery-interval=20s",
    "--client-go-qps=100",
    "--client-go-burst=200",
    "--workers=10",
]

DOCTORS_PAUSE = 1.0
"""Seconds between two examinations: each takes half a second of processor time."""

Finding = dict[str, str]


def issue_certificate(now: datetime) -> Issued:
    return issue([f"{ADMISSION}.{NAMESPACE}.svc"], now, timedelta(days=300))


def certificate_secret(issued: Issued) -> dict[str, Any]:
    data = {"tls.crt": issued.certificate, "tls.key": issued.key}
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    metadata = {"name": f"{ADMISSION}-tls", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "data": encoded}


@pytest.fixture(scope="module")
def chart(plane: ControlPlane, admin: ApiClient) -> Iterator[None]:
    """The chart with admission for no namespace; its controllers are aimed at hooks of the tests."""
    issued = issue_certificate(datetime.now(UTC))
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    admin.create(certificate_secret(issued))
    values = {
        "controllers.install": "false",
        "crds.install": "false",
        "metacontroller.serviceAccount": CHART_ACCOUNT.rpartition(":")[2],
        "admission.enabled": "true",
        "admission.namespaceSelector.matchLabels.judged": "never",
        "admission.certificates.source": "external",
        "admission.certificates.caBundle": base64.b64encode(issued.authorities.encode()).decode(),
    }
    options = [f"--set={key}={value}" for key, value in values.items()]
    plane.helm_release("install", RELEASE, light_chart(plane), f"--namespace={NAMESPACE}", *options)
    yield
    plane.helm("uninstall", RELEASE, f"--namespace={NAMESPACE}")
    admin.delete("v1", "Namespace", NAMESPACE)


@pytest.fixture(scope="module")
def workload(admin: ApiClient) -> Iterator[None]:
    """Metacontroller as a StatefulSet, of which the fake node says that it runs; the real one is a process."""
    namespace, name = CHART_ACCOUNT.split(":")[2:]
    metadata = {"name": "metacontroller", "namespace": namespace}
    container = {"name": "metacontroller", "image": "ghcr.io/metacontroller/metacontroller:v4.17.2", "args": FLAGS}
    template = {"metadata": {"labels": {"app": "mc"}}, "spec": {"serviceAccountName": name, "containers": [container]}}
    spec = {"selector": {"matchLabels": {"app": "mc"}}, "serviceName": "", "template": template}
    if admin.get("v1", "Namespace", namespace) is None:
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    admin.create({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec})
    yield
    admin.delete("apps/v1", "StatefulSet", "metacontroller", namespace)


@pytest.fixture(scope="module")
def installation(
    chart: None,
    workload: None,
    admin: ApiClient,
    start_metacontroller: Callable[[str], Server],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ApiClient]:
    """The whole installation, and a graph that is ready in the namespace of the client that it gives."""
    folder, secret = tmp_path_factory.mktemp("doctor"), SecretKey(namespace=NAMESPACE, name=f"{RELEASE}-callers")
    found = admin.get("v1", "Secret", secret.name, NAMESPACE)
    assert found is not None
    (folder / "token").write_bytes(base64.b64decode(found["data"]["token"]))
    server = hooks_server(folder, free_port(), token_file=folder / "token")
    started = running_controllers(admin, server.url, third_party.OPTIONAL_KINDS, token_secret=secret)
    with running(server), running(start_metacontroller(CHART_ACCOUNT)), started:
        api = admin.within(NAMESPACE)
        api.create({**load_example("vllm-agg"), "metadata": {"name": "g"}}, strict=True)
        wait_until_ready(api, "g")
        wait_for(lambda: all_ready(admin), "the workloads are ready")
        yield api
        api.delete(DYNAMO, GRAPH, "g")
        wait_for(lambda: not api.list(DYNAMO, "DynamoComponentDeployment"), "the graph is gone")


def all_ready(admin: ApiClient) -> bool:
    hooks = admin.get("apps/v1", "Deployment", RELEASE, NAMESPACE) or {}
    stateful = admin.get("apps/v1", "StatefulSet", "metacontroller", CHART_ACCOUNT.split(":")[2]) or {}
    return (hooks["status"].get("readyReplicas"), stateful["status"].get("readyReplicas")) == (2, 1)


def call_doctor(plane: ControlPlane, *options: str) -> Done:
    return call("doctor", "--kubeconfig", str(plane.kubeconfig()), *options)


def examine(plane: ControlPlane) -> list[Finding]:
    done = call_doctor(plane, "-o", "json")
    findings: list[Finding] = json.loads(done.stdout)
    assert done.returncode == any(found["level"] == "error" for found in findings), done.stderr
    return findings


def find(plane: ControlPlane, level: str) -> list[Finding]:
    return [found for found in examine(plane) if found["level"] == level]


def find_one(plane: ControlPlane, check: str, level: str = "error") -> Finding:
    """The only finding of that level; it is of that check."""
    findings = find(plane, level)
    assert [found["check"] for found in findings] == [check], findings
    return findings[0]


def run_kubectl(plane: ControlPlane, remedy: str) -> None:
    words = shlex.split(remedy, comments=True)
    assert words[0] == "kubectl"
    plane.kubectl(*words[1:])


def test_good_installation_has_no_problem(installation: ApiClient, plane: ControlPlane) -> None:
    done = call_doctor(plane)
    assert done.returncode == 0, done.stdout
    assert "0 errors, 0 warnings" in done.stdout
    assert {found["check"] for found in examine(plane)} == {check.name for check in CHECKS} - {"reading"}


def test_deleted_crd_is_found_and_comes_back(
    installation: ApiClient, plane: ControlPlane, admin: ApiClient, tmp_path: Path
) -> None:
    admin.delete(*CRD, WORKER_METADATA)
    wait_for(lambda: admin.get(*CRD, WORKER_METADATA) is None, "the CRD is gone")
    found = find_one(plane, "crds")
    assert found["object"] == f"CustomResourceDefinition {WORKER_METADATA}"
    ours, _, apply = found["remedy"].partition(" | ")
    assert ours == "dynamo-hooks crds"
    (tmp_path / "crds.yaml").write_text(call("crds").stdout)
    run_kubectl(plane, apply.replace("-f -", f"-f {tmp_path / 'crds.yaml'}"))
    wait_for(lambda: find(plane, "error") == [], "the CRD is served again", poll=DOCTORS_PAUSE)


def test_deleted_crd_of_an_optional_kind_is_found_and_graphs_go_on_when_it_is_back(
    installation: ApiClient, plane: ControlPlane, admin: ApiClient
) -> None:
    crd = next(one for one in third_party.crds() if one["spec"]["names"]["kind"] == "LeaderWorkerSet")
    admin.delete(*CRD, crd["metadata"]["name"])
    wait_for(lambda: admin.get(*CRD, crd["metadata"]["name"]) is None, "the CRD is gone")
    lost = "discovery: can't find resource leaderworkersets"
    about = f"involvedObject.kind={GRAPH},involvedObject.name=g,reason=SyncError"

    def is_told() -> bool:
        """Metacontroller looks at the kinds each 20 seconds; a write is a sync."""
        installation.patch(DYNAMO, GRAPH, "g", {"metadata": {"annotations": {"written-at": uuid.uuid4().hex}}})
        return any(lost in one["message"] for one in installation.list("v1", "Event", fieldSelector=about))

    wait_for(is_told, "Metacontroller misses the kind", poll=2)
    services = the_graph(installation, "g")["spec"]["services"]
    change = {name: {"annotations": {"changed": "1"}} for name in services}
    installation.patch(DYNAMO, GRAPH, "g", {"spec": {"services": change}})
    found = [one for one in find(plane, "error") if one["check"] == "optional-kinds"]
    assert [one["object"] for one in found] == ["optional kind lws"]
    assert "declare LeaderWorkerSet" in found[0]["finding"]
    install_crds(admin, [crd])
    wait_for(lambda: is_processed(the_graph(installation, "g")), "the change is synced", poll=2)
    wait_for(lambda: find(plane, "error") == [], "no old failure is told", poll=DOCTORS_PAUSE)
    wait_until_ready(installation, "g")


def is_processed(graph: dict[str, Any]) -> bool:
    return bool(graph["status"].get("observedGeneration") == graph["metadata"]["generation"])


def test_wrong_url_of_a_hook_is_found_and_its_end_too(
    installation: ApiClient, plane: ControlPlane, admin: ApiClient
) -> None:
    controller = admin.get(METACONTROLLER, "CompositeController", "dynamo-graph")
    assert controller is not None
    url = controller["spec"]["hooks"]["sync"]["webhook"]["url"]

    def aim(url: str) -> None:
        change = {"spec": {"hooks": {"sync": {"webhook": {"url": url}}}}}
        admin.patch(METACONTROLLER, "CompositeController", "dynamo-graph", change)

    aim(f"http://127.0.0.1:{free_port()}/graph/sync")

    def unsynced() -> list[Finding]:
        return [found for found in find(plane, "error") if found["check"] == "synced"]

    found = wait_for(unsynced, "the failure is found", poll=DOCTORS_PAUSE)[0]
    assert found["object"] == f"{GRAPH} {NAMESPACE}/g"
    assert "connection refused" in found["finding"]
    assert found["remedy"] == "kubectl --namespace metacontroller logs statefulset/metacontroller"
    aim(url)
    wait_for(lambda: find(plane, "error") == [], "the controller was started again", poll=DOCTORS_PAUSE)


def test_low_flags_are_found_and_the_remedy_sets_them(
    installation: ApiClient, plane: ControlPlane, admin: ApiClient
) -> None:
    patch_flags(admin, ["--zap-log-level=4", "--workers", "2"])
    found = find_one(plane, "metacontroller-flags", "warning")
    assert "--client-go-qps is 5, should be 100" in found["finding"]
    assert "--workers is 2, should be 10" in found["finding"]
    run_kubectl(plane, found["remedy"])
    wait_for(lambda: all_ready(admin) and find(plane, "warning") == [], "the flags are good", poll=DOCTORS_PAUSE)
    patch_flags(admin, FLAGS)


def patch_flags(admin: ApiClient, flags: list[str]) -> None:
    namespace = CHART_ACCOUNT.split(":")[2]
    found = admin.get("apps/v1", "StatefulSet", "metacontroller", namespace)
    assert found is not None
    containers = [{**found["spec"]["template"]["spec"]["containers"][0], "args": flags}]
    change = {"spec": {"template": {"spec": {"containers": containers}}}}
    admin.patch("apps/v1", "StatefulSet", "metacontroller", change, namespace)
    wait_for(lambda: all_ready(admin), "the StatefulSet is ready")


def test_expired_certificate_is_found(installation: ApiClient, plane: ControlPlane, admin: ApiClient) -> None:
    good = admin.get("v1", "Secret", f"{ADMISSION}-tls", NAMESPACE)
    assert good is not None
    expired = certificate_secret(issue_certificate(datetime.now(UTC) - timedelta(days=400)))
    admin.patch("v1", "Secret", f"{ADMISSION}-tls", {"data": expired["data"]}, NAMESPACE)
    found = [finding for finding in find(plane, "error") if "expired on" in finding["finding"]]
    assert [finding["object"] for finding in found] == [f"Secret {NAMESPACE}/{ADMISSION}-tls"]
    assert f"create secret tls {ADMISSION}-tls" in found[0]["remedy"]
    admin.patch("v1", "Secret", f"{ADMISSION}-tls", {"data": good["data"]}, NAMESPACE)
    assert find(plane, "error") == []


def test_running_go_operator_is_found_and_stopped(
    installation: ApiClient, plane: ControlPlane, admin: ApiClient
) -> None:
    labels = {"app.kubernetes.io/name": "dynamo-operator"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "operator"}]}}
    metadata = {"name": "old-controller-manager", "namespace": NAMESPACE, "labels": labels}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    admin.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    found = find_one(plane, "go-operator")
    assert found["object"] == f"Deployment {NAMESPACE}/old-controller-manager"
    stop, _, migrate = found["remedy"].partition("; ")
    assert migrate.startswith("dynamo-hooks migrate")
    run_kubectl(plane, stop)
    assert find(plane, "error") == []
    admin.delete("apps/v1", "Deployment", "old-controller-manager", NAMESPACE)


def test_mistyped_label_is_found_and_the_remedy_frees_the_graph(
    installation: ApiClient, plane: ControlPlane, admin: ApiClient
) -> None:
    graph = {**load_example("vllm-agg"), "metadata": {"name": "h", "labels": {contract.LABEL_INSTALLATION: "taem"}}}
    installation.create(graph)
    found = find_one(plane, "installations")
    assert found["object"] == f"namespace {NAMESPACE}"
    assert "there is no installation of that name, so nothing serves them: DynamoGraphDeployment h" in found["finding"]
    run_kubectl(plane, found["remedy"])
    wait_until_ready(installation, "h")
    wait_for(lambda: find(plane, "error") == [], "the graph is served", poll=DOCTORS_PAUSE)
    installation.delete(DYNAMO, GRAPH, "h")


def test_finalizer_of_a_controller_that_is_gone_is_found_and_removed(
    installation: ApiClient, plane: ControlPlane, admin: ApiClient
) -> None:
    gone = "metacontroller.io/decoratorcontroller-dynamo-model-gone"
    left: dict[str, Any] = model("left")
    left["metadata"] = {"name": "left", "finalizers": ["example.com/keep", gone]}
    installation.create(left)
    found = find_one(plane, "installations")
    assert (found["object"], gone in found["finding"]) == (f"{MODEL} {NAMESPACE}/left", True)
    run_kubectl(plane, found["remedy"])
    stored = installation.get(DYNAMO, MODEL, "left")
    assert stored is not None
    assert gone not in stored["metadata"]["finalizers"]
    assert "example.com/keep" in stored["metadata"]["finalizers"]
    assert find(plane, "error") == []
    installation.patch(DYNAMO, MODEL, "left", {"metadata": {"finalizers": None}})
    installation.delete(DYNAMO, MODEL, "left")


def test_label_of_a_namespace_without_its_installation_is_found_and_removed(
    installation: ApiClient, plane: ControlPlane, admin: ApiClient
) -> None:
    admin.patch("v1", "Namespace", NAMESPACE, {"metadata": {"labels": {contract.LABEL_INSTALLATION: "gone"}}})
    found = find_one(plane, "namespaces", "warning")
    assert found["object"] == f"namespace {NAMESPACE}"
    run_kubectl(plane, found["remedy"])
    assert find(plane, "warning") == []


def test_missing_rights_are_found_and_the_remedy_grants_them(
    installation: ApiClient, plane: ControlPlane, admin: ApiClient
) -> None:
    admin.delete("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", f"{RELEASE}-metacontroller")
    found = find_one(plane, "rights")
    assert found["object"] == f"Metacontroller ({CHART_ACCOUNT})"
    assert found["finding"].startswith("may not get, list, watch compositecontrollers.metacontroller.k8s.io; ")
    words = shlex.split(found["remedy"], comments=True)
    plane.helm(*(light_chart(plane) if word == "chart/" else word for word in words[1:]))
    assert find(plane, "error") == []


def test_right_that_lacks_for_an_optional_kind_is_the_first_line(
    installation: ApiClient, plane: ControlPlane, admin: ApiClient
) -> None:
    role = ("rbac.authorization.k8s.io/v1", "ClusterRole", f"{RELEASE}-metacontroller")
    rules = (admin.get(*role) or {})["rules"]
    admin.patch(*role, {"rules": [rule for rule in rules if "leaderworkerset.x-k8s.io" not in rule["apiGroups"]]})
    try:
        first = call_doctor(plane).stdout.splitlines()[:2]
    finally:
        admin.patch(*role, {"rules": rules})
    assert first[0].split() == ["error", "rights", "Metacontroller", f"({CHART_ACCOUNT})"]
    assert "may not get, list, watch, create, update, delete leaderworkersets.leaderworkerset.x-k8s.io, so" in first[1]
    assert "none of their objects is synced" in first[1]


def test_user_who_may_read_little_gets_warnings(installation: ApiClient, plane: ControlPlane) -> None:
    done = call_doctor(plane, "--kubeconfig", str(plane.kubeconfig(HOOKS_ACCOUNT)), "-o", "json")
    warnings = [found for found in json.loads(done.stdout) if found["level"] == "warning"]
    unread = {found["object"] for found in warnings if found["check"] == "reading"}
    assert {"customresourcedefinitions", "deployments", "events"} <= unread
    assert all(found["remedy"] for found in warnings)
    assert (done.returncode, done.stderr) == (0, "")
