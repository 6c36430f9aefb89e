"""Launches containers in one line, and runs what they would run: expanded as by the kubelet, other programs faked."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hooks.component.pod.backends import Backend
from hooks.component.pod.backends.launched import Launched
from hooks.component.pod.launch import launch
from hooks.component.pod.placement import Orchestrator, Placement, Role
from hooks.language.api.component_spec import ComponentSpec, ResourceItem, Resources
from tests.waiting import PATIENCE

Container = Mapping[str, Any]

GROVE, LWS = Orchestrator.GROVE, Orchestrator.LWS
LEADER, WORKER = Role.LEADER, Role.WORKER
GROVE_LEADER = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-worker-ldr-0.$(GROVE_HEADLESS_SERVICE)"
LWS_LEADER = "$(LWS_LEADER_ADDRESS)"
SECRET = "g-mpi-ssh"
INJECTED = {
    GROVE: {
        "GROVE_HEADLESS_SERVICE": "g-0.ns.svc.cluster.local",
        "GROVE_PCLQ_POD_INDEX": "1",
        "GROVE_PCSG_INDEX": "2",
        "GROVE_PCSG_NAME": "g-0-worker",
    },
    LWS: {"LWS_GROUP_SIZE": "3", "LWS_LEADER_ADDRESS": "g-worker-0-0.g-worker-0.ns", "LWS_WORKER_INDEX": "2"},
}
PROBES = {
    "livenessProbe": {"httpGet": {"path": "/live", "port": "system"}},
    "readinessProbe": {"httpGet": {"path": "/health", "port": "system"}},
    "startupProbe": {"httpGet": {"path": "/live", "port": "system"}},
}
NASTY = [
    '{"a": [1, "two words"], "b": "it\'s"}',
    "",
    "a  b",
    "$HOME `id` $(date) \\",
    "*",
    "line\nbreak",
    "--x=$(GREETING)",
    "$$(GREETING)",
    "open $(",
]
"""Arguments that a shell would change if they were not quoted for it."""

_FAKE = """\
#!{python}
import json, os, sys
with open({log!r}, "a") as log:
    print(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]), file=log)
"""
_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")


def launched(
    backend: Backend,
    role: Role,
    orchestrator: Orchestrator = GROVE,
    *,
    command: Sequence[str] = ("python3",),
    args: Sequence[str] = (),
    nodes: int = 2,
    limit: str = "",
    request: str = "",
    annotations: Mapping[str, str] | None = None,
    **container: Any,
) -> Launched:
    """A main container of a service `Worker` in its place, with GPUs as the spec's limit and request say."""
    resources = Resources(limits=ResourceItem(gpu=limit), requests=ResourceItem(gpu=request))
    extra = {"mainContainer": {"image": container.get("image", "")}}
    spec = ComponentSpec(resources=resources, annotations=annotations or {}, extra_pod_spec=extra)
    return launch(
        {"name": "main", "command": list(command), "args": list(args), **PROBES, **container},
        Placement(role=role, orchestrator=orchestrator, node_count=nodes, service="Worker"),
        backend=backend,
        spec=spec,
        mpi_secret=SECRET,
    )


def kubelet(text: str, env: Mapping[str, str]) -> str:
    """What the kubelet makes of a command's word.

    Source: Kubernetes, third_party/forked/golang/expansion/expand.go.
    """
    return _REFERENCE.sub(lambda found: "$" if found[0] == "$$" else env.get(found[1], found[0]), text)


def run(
    container: Container,
    tmp_path: Path,
    env: Mapping[str, str],
    *,
    scripts: Mapping[str, str] | None = None,
    paths: Mapping[str, str] | None = None,
) -> list[list[str]]:
    """Run a container's command; give the calls of other programs, in order, each with its arguments.

    `scripts` are shell scripts that stand in for some programs, `paths` replaces paths that do not exist here.
    """
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    log = tmp_path / "log"
    log.unlink(missing_ok=True)
    fake = _FAKE.format(python=sys.executable, log=str(log))
    for name in ("python3", "ray", "mpirun", "sshd", "ssh-keygen", "ssh", "getent", "trtllm-llmapi-launch"):
        _write_program(programs / name, fake)
    for name, text in (scripts or {}).items():
        _write_program(programs / name, text)
    words = [kubelet(word, env) for word in (*container["command"], *container["args"])]
    for old, new in (paths or {}).items():
        words = [word.replace(old, new) for word in words]
    environment = {**env, "HOME": str(tmp_path), "PATH": f"{programs}:/usr/bin:/bin"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in log.read_text().splitlines()]


def _write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
