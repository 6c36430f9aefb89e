"""The chart and the plain manifests on a real API server, and Metacontroller with no more rights than they give it."""

import base64
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.ground.settings import Settings
from hooks.server.admission.certificates.authority import issue
from hooks.tools.offline.manifests.together import render_manifests
from hooks.tools.offline.rendering import every_child
from hooks.wire.metacontroller import install_files
from tests.cluster.admission import KINDS
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import CHART_ACCOUNT, ControlPlane
from tests.cluster.conversion import DEFINITION
from tests.cluster.dynamo import (
    CHART,
    COMPONENT,
    DYNAMO,
    EXAMPLES,
    GRAPH,
    RELEASE,
    ROOT,
    completed,
    condition,
    light_chart,
    running_controllers,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.processes import Server, running
from tests.cluster.programs import HttpServer
from tests.contract.backend import METACONTROLLER, Manifest
from tests.effort import cover
from tests.stored import load_stored
from tests.third_party import OPTIONAL_KINDS, needs_schemas

PLAIN = ROOT / "metacontroller"
BUNDLE = base64.b64encode(issue(["x"], datetime.now(UTC), timedelta(days=1)).authorities.encode()).decode()
"""An authority, as the certificates' Job writes it; the pods of these tests run nothing."""

VALUES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "everything optional": {
        "istio": "on",
        "inferencePool": "on",
        "lws": "on",
        "volcano": "on",
        "grove": "on",
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "podLabels": {"team": "inference"},
        "podAnnotations": {"note": "hello"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "image": {"pullSecrets": [{"name": "registry"}], "digest": f"sha256:{'0' * 64}"},
    },
    "nothing optional": {
        "istio": "off",
        "inferencePool": "off",
        "lws": "off",
        "volcano": "off",
        "grove": "off",
        "replicas": 1,
        "crds": {"install": False},
        "podDisruptionBudget": {"enabled": False},
        "metacontroller": {"rbac": {"create": False}},
    },
    "admission": {
        "admission": {
            "enabled": True,
            "failurePolicy": "Ignore",
            "matchConditions": [{"name": "not-by-robots", "expression": "request.userInfo.username != 'robot'"}],
        }
    },
    "admission with a certificate from elsewhere": {
        "admission": {"enabled": True, "certificates": {"source": "external", "caBundle": BUNDLE, "secretName": "mine"}}
    },
    "both versions": {"v1beta1": {"enabled": True}},
    "what an installation may add": {
        "admission": {"enabled": True, "port": 19443},
        "server": {"port": 18080},
        "commonLabels": {"team": "inference"},
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "hostNetwork": True,
        "mpi": {"generateKey": True},
        "registry": {"server": "nvcr.io", "username": "$oauthtoken", "password": "key"},
        "resources": {"limits": {"memory": "1e9", "cpu": 0.5}},
    },
    "restricted to a namespace": {
        "admission": {"enabled": True},
        "crds": {"install": False},
        "settings": {"installation": "team-a", "installationNamespace": "default", "namespaceLocks": "on"},
    },
    "development": yaml.safe_load((ROOT / "chart/values-dev.yaml").read_text()),
    "production": yaml.safe_load((ROOT / "chart/values-prod.yaml").read_text()),
    "etcd": {"settings": {"discoveryBackend": "etcd", "etcdAddress": "http://etcd:2379", "maxBodyBytes": 33554432}},
}


MONITORED = "production"
"""The values with which the chart has objects of Prometheus' operator."""


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(values, id=name, marks=needs_schemas if name == MONITORED else ())
        for name, values in VALUES.items()
    ],
)
def test_every_object_of_the_chart_is_accepted(
    values: dict[str, Any], plane: ControlPlane, api: ApiClient, tmp_path: Path
) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    options = ("--namespace", api.namespace, "--values", str(path), "--dry-run=server")
    objects = [
        found for found in yaml.load_all(plane.helm("template", RELEASE, CHART, *options), yaml.CSafeLoader) if found
    ]
    assert {"Deployment", "Service", "CompositeController"} <= {found["kind"] for found in objects}
    for found in objects:
        api.apply(found, strict=True, dry_run=True)


def test_optional_kinds_of_the_chart_follow_the_cluster(plane: ControlPlane, api: ApiClient) -> None:
    options = ("--namespace", api.namespace, "--set=crds.install=false", "--validate")
    out = plane.helm("template", RELEASE, CHART, *options)
    graph = next(
        found for found in yaml.load_all(out, yaml.CSafeLoader) if found and found["metadata"]["name"] == "dynamo-graph"
    )
    declared = {(rule["apiVersion"], rule["resource"]) for rule in graph["spec"]["childResources"]}
    expected = next(
        found for found in install_files.controllers("", OPTIONAL_KINDS) if found["metadata"]["name"] == "dynamo-graph"
    )
    assert declared == {(rule["apiVersion"], rule["resource"]) for rule in expected["spec"]["childResources"]}


def test_release_is_installed_upgraded_and_removed(plane: ControlPlane, api: ApiClient, admin: ApiClient) -> None:
    place = ("--namespace", api.namespace)
    # The CRDs are there already, from the control plane's start.
    plane.helm("install", RELEASE, CHART, *place, "--take-ownership", "--wait", "--timeout=60s")
    names = {item["metadata"]["name"]: item["status"]["readyReplicas"] for item in api.list("apps/v1", "Deployment")}
    assert names == {RELEASE: 2}
    tokens = chart_tokens(api)
    plane.helm("upgrade", RELEASE, CHART, *place, "--set=istio=off,replicas=3", "--wait", "--timeout=60s")
    assert chart_tokens(api) == tokens, "pods that still run know only the token that they started with"
    graph = admin.get(METACONTROLLER, "CompositeController", "dynamo-graph")
    assert graph is not None
    assert "virtualservices" not in {rule["resource"] for rule in graph["spec"]["childResources"]}
    plane.helm("uninstall", RELEASE, *place, "--wait")
    assert admin.list(METACONTROLLER, "CompositeController") == []
    left = {item["metadata"]["name"] for item in admin.list("apiextensions.k8s.io/v1", "CustomResourceDefinition")}
    assert {crd["metadata"]["name"] for crd in install_files.crds()} <= left, "graphs would go with their CRDs"


def test_crds_alone_are_a_release_and_stay(plane: ControlPlane, api: ApiClient, admin: ApiClient) -> None:
    place = ("--namespace", api.namespace)
    plane.helm("install", "dynamo-crds", CHART, *place, "--set=crds.only=true", "--take-ownership", "--wait")
    assert api.list("v1", "Service") == []
    plane.helm("install", RELEASE, CHART, *place, "--set=crds.install=false", "--wait", "--timeout=60s")
    plane.helm("uninstall", "dynamo-crds", RELEASE, *place, "--wait")
    left = {item["metadata"]["name"] for item in admin.list("apiextensions.k8s.io/v1", "CustomResourceDefinition")}
    assert {crd["metadata"]["name"] for crd in install_files.crds()} <= left


def test_release_with_admission_runs_its_jobs_and_keeps_what_they_wrote(
    plane: ControlPlane, api: ApiClient, admin: ApiClient
) -> None:
    place = ("--namespace", api.namespace)
    options = ("--set=crds.install=false,admission.enabled=true", "--wait", "--timeout=60s")
    plane.helm_release("install", RELEASE, light_chart(plane), *place, *options)
    assert [item["metadata"]["name"] for item in api.list("batch/v1", "CronJob")] == [f"{RELEASE}-admission-renewal"]
    accounts = {item["metadata"]["name"] for item in api.list("v1", "ServiceAccount")}
    assert accounts == {"default", RELEASE, f"{RELEASE}-admission", f"{RELEASE}-admission-renewal"}
    registrations = [("admissionregistration.k8s.io/v1", kind, RELEASE) for kind in KINDS]
    for registration in registrations:
        found = admin.get(*registration)
        assert found is not None
        assert {hook["failurePolicy"] for hook in found["webhooks"]} == {"Ignore"}
        hooks = [{**hook, "clientConfig": {**hook["clientConfig"], "caBundle": BUNDLE}} for hook in found["webhooks"]]
        admin.patch(*registration, {"webhooks": [{**hook, "failurePolicy": "Fail"} for hook in hooks]})
    assert completed(api, f"{RELEASE}-admission-enforcement") == 1
    plane.helm_release("upgrade", RELEASE, light_chart(plane), *place, *options, "--set=admission.timeoutSeconds=7")
    for registration in registrations:
        hooks = (admin.get(*registration) or {})["webhooks"]
        left = {(hook["clientConfig"]["caBundle"], hook["timeoutSeconds"], hook["failurePolicy"]) for hook in hooks}
        assert left == {(BUNDLE, 7, "Fail")}
    assert completed(api, f"{RELEASE}-admission-enforcement") == 1
    plane.kubectl("delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", RELEASE)
    plane.helm_release("upgrade", RELEASE, light_chart(plane), *place, *options)
    for registration in registrations:
        assert {hook["failurePolicy"] for hook in (admin.get(*registration) or {})["webhooks"]} == {"Ignore"}
    wait_for(lambda: completed(api, f"{RELEASE}-admission-enforcement") == 2, "the Job that sets Fail ran again")
    plane.helm("uninstall", RELEASE, *place, "--wait")
    assert [admin.get(*registration) for registration in registrations] == [None, None]
    assert {item["metadata"]["name"] for item in api.list("v1", "ServiceAccount")} == {"default"}
    roles = {item["metadata"]["name"] for item in admin.list("rbac.authorization.k8s.io/v1", "ClusterRole")}
    assert not [name for name in roles if name.startswith(f"{RELEASE}-admission")]


def test_release_serves_both_versions_and_then_one_again(plane: ControlPlane, api: ApiClient, admin: ApiClient) -> None:
    definition = (*DEFINITION, "dynamographdeployments.nvidia.com")

    def spec() -> Any:
        return (admin.get(*definition) or {})["spec"]

    place = ("--namespace", api.namespace)
    on = ("--set=v1beta1.enabled=true", "--wait", "--timeout=60s")
    plane.helm_release("install", RELEASE, CHART, *place, "--take-ownership", *on)
    assert [one["name"] for one in spec()["versions"] if one["served"]] == ["v1alpha1", "v1beta1"]
    bundle = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": BUNDLE}}}}}
    admin.patch(*definition, bundle)  # as the Job does
    plane.helm_release("upgrade", RELEASE, CHART, *place, *on, "--set=replicas=3")
    client = spec()["conversion"]["webhook"]["clientConfig"]
    assert (client["caBundle"], client["service"]["name"]) == (BUNDLE, f"{RELEASE}-admission")
    plane.helm_release("upgrade", RELEASE, CHART, *place, "--set=v1beta1.enabled=false", "--wait", "--timeout=60s")
    assert [one["name"] for one in spec()["versions"]] == ["v1alpha1"]
    assert spec()["conversion"] == {"strategy": "None"}
    plane.helm("uninstall", RELEASE, *place, "--wait")


def chart_tokens(api: ApiClient) -> set[str]:
    """Of the hooks' callers, of hooks and prober, and of hooks pods among each other."""
    secrets = [api.get("v1", "Secret", f"{RELEASE}-{whose}") for whose in ("callers", "prober", "relay")]
    tokens = {secret["data"]["token"] for secret in secrets if secret is not None}
    assert len(tokens) == 3
    return tokens


@pytest.fixture
def plain_manifests(plane: ControlPlane, admin: ApiClient, system_namespace: str) -> Iterator[None]:
    """The plain manifests as their README says, without the controllers, which the tests aim at their own hooks."""
    for name in ("dynamo-hooks-callers", "dynamo-hooks-relay"):
        secret = (f"--namespace={system_namespace}", "create", "secret", "generic", name)
        plane.kubectl(*secret, "--from-literal=token=secret")
    plane.kubectl("apply", "-k", str(PLAIN))
    for controller in install_files.controllers(""):
        admin.delete(METACONTROLLER, controller["kind"], controller["metadata"]["name"])
    yield
    # Not with -k: the CRDs stay for the other tests.
    plane.kubectl("delete", "-f", str(PLAIN / "hooks.yaml"), "-f", str(PLAIN / "rbac.yaml"), "--wait=false")


def test_plain_manifests_bring_the_hooks_up(plain_manifests: None, admin: ApiClient) -> None:
    def ready() -> bool:
        found = admin.get("apps/v1", "Deployment", "dynamo-hooks", "dynamo-system") or {}
        return bool(found.get("status", {}).get("readyReplicas") == 2)

    wait_for(ready, "both pods of the hooks are ready")


def test_rights_of_the_chart_are_enough_for_every_example(
    release: None,
    api: ApiClient,
    admin: ApiClient,
    audit: Audit,
    hooks: HttpServer,
    start_metacontroller: Callable[[str], Server],
) -> None:
    manifests = _sample(EXAMPLES, OPTIONAL_KINDS)
    with running(start_metacontroller(CHART_ACCOUNT)), running_controllers(admin, hooks.url, OPTIONAL_KINDS):
        _live_and_die(api, audit, manifests)


def test_rights_of_the_plain_manifests_are_enough_without_optional_kinds(
    plain_manifests: None,
    api: ApiClient,
    admin: ApiClient,
    audit: Audit,
    hooks: HttpServer,
    start_metacontroller: Callable[[str], Server],
) -> None:
    manifests = _sample([path for path in EXAMPLES if path.stem != "epp"], ())
    with running(start_metacontroller(CHART_ACCOUNT)), running_controllers(admin, hooks.url):
        _live_and_die(api, audit, manifests)


def _sample(examples: list[Path], installed: Iterable[str]) -> list[Manifest]:
    """What can be ready of as many examples as have every kind of child that all of them have."""

    def kinds(example: Path) -> set[str]:
        rendered = render_manifests([str(example)], "default", Settings(), frozenset(installed)).rendered
        return {child["kind"] for child in (*documents[example], *every_child(rendered))}

    documents = {path: [one for one in load_stored(path) if _can_be_ready(one)] for path in examples}
    chosen = cover([path for path in examples if documents[path]], kinds)
    return [manifest for path in chosen for manifest in documents[path]]


def _can_be_ready(manifest: Manifest) -> bool:
    """Not so a model or a request: kwok's pods have no engines and no profilers. Nor services over several nodes."""
    services = (manifest.get("spec") or {}).get("services") or {}
    is_multinode = any("multinode" in service for service in services.values())
    return manifest["kind"] in {GRAPH, COMPONENT} and not is_multinode


def _live_and_die(api: ApiClient, audit: Audit, manifests: list[Manifest]) -> None:
    """Create them all, see them ready, delete them all, see nothing left; nothing was forbidden meanwhile."""
    mark = audit.mark()
    for manifest in manifests:
        api.create(manifest, strict=True)
    for manifest in manifests:
        _wait_until_up(api, manifest)
    for manifest in manifests:
        api.delete(DYNAMO, manifest["kind"], manifest["metadata"]["name"])
    wait_until_nothing_is_left(api)
    writes = audit.writes(mark)
    assert writes
    assert [write for write in writes if write.code == 403] == []
    warnings = [event["message"] for event in api.list("v1", "Event") if event["type"] == "Warning"]
    assert [message for message in warnings if "forbidden" in message] == []


def _wait_until_up(api: ApiClient, manifest: Manifest) -> None:
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    if kind == COMPONENT:
        found = lambda: condition(api.get(DYNAMO, kind, name) or {}, "Available").get("status") == "True"  # noqa: E731
        wait_for(found, f"component {name} is available")
    else:
        wait_until_ready(api, name)
