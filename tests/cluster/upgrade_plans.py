"""`dynamo-hooks upgrade-plan` about a namespace of the control plane."""

import json
import subprocess
import sys
from typing import Any

from tests.cluster.control_plane import ControlPlane


def plan_upgrade(plane: ControlPlane, namespace: str, *options: str) -> dict[str, Any]:
    """What the command says of a namespace, as JSON, and with its exit status."""
    command = [sys.executable, "-m", "hooks", "upgrade-plan", f"--kubeconfig={plane.kubeconfig()}", "-o", "json"]
    arguments = ["-n", namespace, "--exit-code", *options]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return {**json.loads(done.stdout), "status": done.returncode}
