"""The planner of Dynamo 1.6 for tests: calls to its Kubernetes connector, in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

PROCESS = Path(__file__).with_name("planner_process.py")
PACKAGES = ("dynamo", "dynamo.planner", "kubernetes", "sklearn")
LACKING = "needs the planner of Dynamo 1.6: pip install dynamo-hooks[planner], then --no-deps ai-dynamo"
_HIDDEN = {"kubernetes_service_host", "kubernetes_service_port", "http_proxy", "https_proxy", "all_proxy"}
"""Variables by which the planner would find a cluster other than the one of the kubeconfig."""


@dataclass(frozen=True, slots=True)
class Planner:
    """A running process."""

    process: subprocess.Popen[str]
    log: Path

    def ask(self, call: str, graph: str, *, namespace: str = "default", **more: Any) -> dict[str, Any]:
        """The result of one call."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"call": call, "graph": graph, "namespace": namespace, **more}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        answer: dict[str, Any] = json.loads(line)
        return answer


def require_planner() -> None:
    """Skip the test where the planner is not installed, which CI may not do."""
    if not all(find_spec(package) for package in PACKAGES):
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up(LACKING)


@contextmanager
def running_planner(folder: Path, kubeconfig: Path | None = None) -> Iterator[Planner]:
    """Run the planner's connector against the API server of the kubeconfig; without one, each call has a document."""
    require_planner()
    environment = {name: value for name, value in os.environ.items() if name.casefold() not in _HIDDEN}
    log = folder / "planner.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, str(PROCESS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**environment, "KUBECONFIG": str(kubeconfig or os.devnull)},
            text=True,
        )
    with process:
        try:
            yield Planner(process, log)
        finally:
            process.kill()
