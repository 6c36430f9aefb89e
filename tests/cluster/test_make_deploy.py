"""`make deploy` and `make undeploy` on a real API server, by Helm and by kubectl."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hooks.wire.metacontroller import install_files
from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import DYNAMO, GRAPH, ROOT, load_example
from tests.contract.backend import METACONTROLLER
from tests.waiting import PATIENCE

IMAGE = "registry.example.com/ai/dynamo-hooks"
TAG = "9.9"


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A folder that looks like `.venv` to make, with the command of this checkout."""
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").symlink_to(sys.executable)
    command = folder / "bin/dynamo-hooks"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m hooks "$@"\n')
    command.chmod(0o755)
    (folder / ".installed").touch()
    return folder


def make(plane: ControlPlane, venv: Path, *words: str) -> str:
    """What make prints; the programs are those of the tests."""
    path = os.pathsep.join((str(plane.binaries.helm.parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(plane.kubeconfig())}
    environment["KUBECACHEDIR"] = str(venv.parent / "cache")
    for name in ("MAKEFLAGS", "MAKELEVEL", "KUBERNETES_SERVICE_HOST"):
        environment.pop(name, None)
    given = ("REGISTRY=registry.example.com/ai", f"TAG={TAG}", f"VENV={venv}")
    command = ["make", "--no-print-directory", *words, *given]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def images(found: ApiClient, namespace: str) -> set[str]:
    deployment = found.get("apps/v1", "Deployment", "dynamo-hooks", namespace)
    assert deployment is not None
    return {container["image"] for container in deployment["spec"]["template"]["spec"]["containers"]}


def assert_only_the_installation_is_gone(admin: ApiClient, namespace: str) -> None:
    assert admin.get("apps/v1", "Deployment", "dynamo-hooks", namespace) is None
    assert admin.list(METACONTROLLER, "CompositeController") == []
    assert admin.get("v1", "Namespace", namespace) is not None
    left = {item["metadata"]["name"] for item in admin.list("apiextensions.k8s.io/v1", "CustomResourceDefinition")}
    assert {crd["metadata"]["name"] for crd in install_files.crds()} <= left


@pytest.mark.parametrize("deployer", ["helm", "kubectl"])
def test_what_is_deployed_is_removed_and_graphs_stay(
    deployer: str, plane: ControlPlane, api: ApiClient, admin: ApiClient, venv: Path
) -> None:
    api.create(load_example("vllm-agg"))
    namespace = api.namespace if deployer == "helm" else "dynamo-system"
    place = (f"DEPLOYER={deployer}", f"NAMESPACE={namespace}")
    try:
        # The CRDs are there already, from the control plane's start.
        make(plane, venv, "deploy", *place, "DEPLOY_OPTIONS=--take-ownership --wait --timeout=60s")
        assert images(admin, namespace) == {f"{IMAGE}:{TAG}"}
        assert {found["metadata"]["name"] for found in admin.list(METACONTROLLER, "CompositeController")} >= {
            "dynamo-graph"
        }
    finally:
        make(plane, venv, "undeploy", *place)
    assert_only_the_installation_is_gone(admin, namespace)
    assert api.get(DYNAMO, GRAPH, "vllm-agg") is not None
