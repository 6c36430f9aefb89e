"""The way back to the Go operator, as `migrate --back` prints it, run by a shell on the real API server."""

import os
import subprocess
import sys
from pathlib import Path

from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import CHILD_KINDS, DYNAMO, GRAPH, MODEL, REQUEST
from tests.contract.backend import Manifest
from tests.waiting import PATIENCE


def go_back(plane: ControlPlane, api: ApiClient, folder: Path, release: str) -> None:
    """Run what is printed for the namespace; only Helm is played, because there is no chart of the operator."""
    words = [f"--kubeconfig={plane.kubeconfig()}", "-n", api.namespace, "--back"]
    command = [sys.executable, "-m", "hooks", "migrate", *words]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
    assert f"Back to the Go operator {release} " in printed
    helm = folder / "helm"
    helm.write_text("#!/bin/sh\nexit 0\n")
    helm.chmod(0o755)
    (folder / "kubectl").symlink_to(plane.binaries.kubectl)
    environment = {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "KUBECONFIG": str(plane.kubeconfig()),
        "KUBECACHEDIR": str(folder / "cache"),
    }
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail"],
        input=printed,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr


def everything(api: ApiClient) -> dict[str, Manifest]:
    """What the Go operator wrote: metadata and spec of each object, by kind and name."""
    kinds = [*(kind for kind in CHILD_KINDS if kind[1] != "Pod"), *((DYNAMO, kind) for kind in (GRAPH, MODEL, REQUEST))]
    found = [one for kind in kinds for one in api.list(*kind) if one["metadata"]["name"] != "kube-root-ca.crt"]
    return {f"{one['kind']} {one['metadata']['name']}": _written(one) for one in found}


def _written(manifest: Manifest) -> Manifest:
    kept = {key: manifest["metadata"].get(key) or {} for key in ("labels", "annotations", "ownerReferences")}
    fields = {key: value for key, value in manifest.items() if key not in {"metadata", "status"}}
    return {**fields, "metadata": kept}
