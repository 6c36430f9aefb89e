"""`copy-output` as a pod's own account on a real API server: what its role grants is enough, and is little."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from hooks.request.plan.profiling_job import build_profiling_access, build_profiling_job
from hooks.request.spec.names import account_name
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ADMIN, ControlPlane
from tests.contract.backend import Manifest
from tests.installation import named, plain
from tests.request import jobs
from tests.waiting import PATIENCE

GRAPH = "config_with_planner.yaml"
ROLE = "dynamo-hooks-profiling"


@pytest.fixture
def role(admin: ApiClient) -> Iterator[None]:
    """The role of the plain manifests; nothing else is granted to the account."""
    admin.create(named(plain("rbac.yaml"), "ClusterRole", ROLE))
    yield
    admin.delete("rbac.authorization.k8s.io/v1", "ClusterRole", ROLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A profiler's pod: its API, the folder that it writes to, and the account that is mounted into it."""

    api: ApiClient
    server: str
    files: Path
    account: Path

    def report(self, state: dict[str, Any], phase: str = "Running") -> None:
        """Write what the kubelet would say of the profiler's container."""
        container = {"name": "profiler", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        self.api.patch("v1", "Pod", "p", {"status": {"phase": phase, "containerStatuses": [container]}}, sub="status")

    def output(self) -> Manifest | None:
        return self.api.get("v1", "ConfigMap", "dgdr-output-qwen")

    @contextmanager
    def copying(self) -> Iterator[subprocess.Popen[str]]:
        """Run the command of the Job's container, with the folders of this test."""
        job = build_profiling_job(jobs.plan())
        copier = job["spec"]["template"]["spec"]["containers"][1]
        arguments = [f"--folder={self.files}" if a.startswith("--folder=") else a for a in copier["args"]]
        place = urlsplit(self.server)
        environment = {
            "KUBERNETES_SERVICE_HOST": str(place.hostname),
            "KUBERNETES_SERVICE_PORT": str(place.port),
            "POD_NAME": "p",
            "POD_NAMESPACE": self.api.namespace,
        }
        command = [sys.executable, "-m", "hooks", *copier["command"][1:], *arguments]
        command.append(f"--account-folder={self.account}")
        root = Path(__file__).parents[2]
        with subprocess.Popen(command, env=environment, cwd=root, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture
def pod(role: None, api: ApiClient, plane: ControlPlane, tmp_path: Path) -> Pod:
    parent = jobs.request()
    parent["metadata"]["namespace"] = api.namespace
    plan = jobs.plan(parent)
    for child in build_profiling_access(jobs.access(plan)):
        api.create(child, strict=True)
    template = build_profiling_job(plan)["spec"]["template"]
    held = {"name": "p", "annotations": {"test/hold": "true"}}
    api.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], **held}, "spec": template["spec"]}
    )
    account, files = tmp_path / "account", tmp_path / "data"
    account.mkdir()
    files.mkdir()
    (account / "token").write_text(request_token(plane, api.namespace, account_name("qwen")))
    (account / "ca.crt").write_bytes(plane.certificate.read_bytes())
    return Pod(api=api, server=plane.server, files=files, account=account)


def request_token(plane: ControlPlane, namespace: str, account: str) -> str:
    """A token as the kubelet gets one for a pod."""
    answer = requests.post(
        f"{plane.server}/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
        json={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
        headers={"Authorization": f"Bearer {plane.tokens[ADMIN]}"},
        verify=str(plane.certificate),
        timeout=PATIENCE,
    )
    answer.raise_for_status()
    return str(answer.json()["status"]["token"])


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline().strip()


def test_output_is_applied_when_the_profiler_has_ended(pod: Pod) -> None:
    pod.report({"running": {}})
    with pod.copying() as process:
        assert read_line(process) == "the profiler is running, 0 s so far"
        (pod.files / GRAPH).write_text("kind: DynamoGraphDeployment\n")
        (pod.files / "profiler_status.yaml").write_text("status: success\n")
        pod.report({"terminated": {"exitCode": 0}})
        assert read_line(process) == f"ConfigMap dgdr-output-qwen holds {GRAPH}, profiler_status.yaml, profiler_status"
        assert process.wait(timeout=PATIENCE) == 0
    output = pod.output()
    assert output is not None
    files = {GRAPH: "kind: DynamoGraphDeployment\n", "profiler_status.yaml": "status: success\n"}
    assert output["data"] == {**files, "profiler_status": "success"}
    assert "ownerReferences" not in output["metadata"]
    assert output["metadata"]["labels"] == {"dgdr.nvidia.com/name": "qwen", "nvidia.com/managed-by": "dynamo-operator"}
    assert [entry["operation"] for entry in output["metadata"]["managedFields"]] == ["Apply"]


def test_second_run_replaces_what_the_first_wrote_and_takes_over_what_others_did(pod: Pod) -> None:
    metadata = {"name": "dgdr-output-qwen", "namespace": pod.api.namespace}
    pod.api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {GRAPH: "older"}})
    pod.report({"terminated": {"exitCode": 0}})
    (pod.files / GRAPH).write_text("first")
    (pod.files / "mocker_config_with_planner.yaml").write_text("first")
    with pod.copying() as process:
        assert process.wait(timeout=PATIENCE) == 0
    (pod.files / GRAPH).write_text("second")
    (pod.files / "mocker_config_with_planner.yaml").unlink()
    with pod.copying() as process:
        assert process.wait(timeout=PATIENCE) == 0
    output = wait_for(pod.output, "the output is there")
    assert output["data"] == {GRAPH: "second"}


def test_failed_profiler_leaves_no_output_but_why_it_failed(pod: Pod) -> None:
    (pod.files / GRAPH).write_text("half of it")
    pod.report({"terminated": {"exitCode": 3, "reason": "Error"}})
    with pod.copying() as process:
        assert process.wait(timeout=PATIENCE) == 1
        assert read_line(process) == "the profiler failed with exit code 3 (Error)"
    output = pod.output()
    assert output is not None
    assert output["data"] == {
        "profiler_error": "the profiler failed with exit code 3 (Error)",
        "profiler_status": "failed",
    }


def test_account_may_read_no_secret_and_reaches_no_other_namespace(pod: Pod) -> None:
    headers = {"Authorization": f"Bearer {(pod.account / 'token').read_text()}"}
    for path, status in (
        (f"namespaces/{pod.api.namespace}/pods/p", 200),
        (f"namespaces/{pod.api.namespace}/secrets", 403),
        ("namespaces/default/pods/p", 403),
        ("nodes", 403),
    ):
        url = f"{pod.server}/api/v1/{path}"
        answer = requests.get(url, headers=headers, verify=str(pod.account / "ca.crt"), timeout=PATIENCE)
        assert answer.status_code == status, path
