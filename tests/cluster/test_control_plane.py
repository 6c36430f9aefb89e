"""The bench itself: pods come up through kwok, may be held, and the audit log sees all."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hooks
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import CHART_ACCOUNT, ControlPlane
from tests.cluster.dynamo import ROOT
from tests.contract.backend import ApiRefused


def deployment(name: str, **annotations: str) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def ready_replicas(api: ApiClient, name: str) -> int:
    found = api.get("apps/v1", "Deployment", name) or {}
    return int(found.get("status", {}).get("readyReplicas", 0))


def test_deployment_with_gpus_becomes_ready(api: ApiClient) -> None:
    api.create(deployment("plain"))
    wait_for(lambda: ready_replicas(api, "plain") == 2, "both pods are ready")


def test_held_pods_stay_pending_until_let_go(api: ApiClient) -> None:
    api.create(deployment("held", **{"test/hold": "true"}))
    wait_for(lambda: len(api.list("v1", "Pod")) == 2, "two pods")
    pods = api.list("v1", "Pod")
    assert {pod["status"]["phase"] for pod in pods} == {"Pending"}
    for pod in pods:
        api.patch("v1", "Pod", pod["metadata"]["name"], {"metadata": {"annotations": {"test/hold": None}}})
    wait_for(lambda: ready_replicas(api, "held") == 2, "both pods are ready once let go")


def test_audit_log_shows_writes_and_their_sender(plane: ControlPlane, api: ApiClient) -> None:
    audit = Audit(plane)
    mark = audit.mark()
    client = plane.client(agent="metacontroller/test").within(api.namespace)
    client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "audited"}})
    client.get("v1", "ConfigMap", "audited")
    seen = [call for call in audit.calls()[mark:] if call.name == "audited"]
    assert [(call.agent, call.verb, call.code) for call in seen] == [("metacontroller/test", "create", 201)]


def test_account_of_the_chart_may_do_nothing_of_itself(plane: ControlPlane, api: ApiClient) -> None:
    client = plane.client(CHART_ACCOUNT).within(api.namespace)
    with pytest.raises(ApiRefused, match="403"):
        client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "forbidden"}})


def test_programs_of_the_project_are_those_beside_the_tests() -> None:
    """Not those of another clone, whose environment this one may use."""
    command = [sys.executable, "-c", "import hooks; print(hooks.__file__)"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(found).parents[1] == Path(hooks.__file__).parents[1] == ROOT


def test_helm_understands_the_servers_version(plane: ControlPlane, tmp_path: Path) -> None:
    chart = tmp_path / "probe"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text('{apiVersion: v2, name: probe, version: 0.1.0, kubeVersion: ">=1.36.0-0"}')
    (chart / "templates" / "map.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: probe}}")
    assert "STATUS: pending-install" in plane.helm("install", "--dry-run=server", "probe", str(chart))
