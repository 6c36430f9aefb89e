"""Metacontroller and the project's hooks as processes."""

import os
import shutil
import sys
from pathlib import Path

import requests

from tests.cluster.control_plane import METACONTROLLER, READING_ACCOUNT, ControlPlane
from tests.cluster.processes import Server
from tests.ports import free_port
from tests.waiting import PATIENCE


class HttpServer(Server):
    """A server that says over HTTP when it is ready; `start` returns only then. `trusted` are authorities for HTTPS."""

    def __init__(
        self, name: str, command: list[str], folder: Path, *, url: str, health: str, trusted: Path | None = None
    ) -> None:
        super().__init__(name, command, folder)
        self.url = url
        self._health = health
        self._trusted: str | bool = True if trusted is None else str(trusted)

    def start(self) -> "HttpServer":
        """Start it and wait until it is ready."""
        super().start()
        self.wait_until(lambda: requests.get(self._health, timeout=PATIENCE, verify=self._trusted).ok)
        return self


def find_metacontroller() -> Path | None:
    """Find Metacontroller's binary: $METACONTROLLER, else `metacontroller` on PATH; None when there is none."""
    found = os.environ.get("METACONTROLLER") or shutil.which("metacontroller")
    return Path(found).resolve() if found else None


def metacontroller_server(plane: ControlPlane, folder: Path, user: str = METACONTROLLER) -> HttpServer:
    """A Metacontroller, not yet started, that acts as the user; fast enough not to be what a test waits for."""
    program = find_metacontroller()
    assert program is not None, "the tests that need Metacontroller are skipped without it"
    metrics, health = (f"127.0.0.1:{free_port()}" for _ in range(2))
    command = [
        str(program),
        f"--kubeconfig={plane.kubeconfig(user)}",
        f"--metrics-address={metrics}",
        f"--health-probe-bind-address={health}",
        "--discovery-interval=1s",
        "--client-go-qps=300",
        "--client-go-burst=600",
        "--events-qps=100",
        "--workers=20",
        "--zap-log-level=4",
    ]
    return HttpServer("metacontroller", command, folder, url=f"http://{metrics}", health=f"http://{health}/healthz")


NO_EFFECTS = ("effect_events=off", "effect_scale=off", "effect_write_back=off")


def hooks_server(
    folder: Path, port: int, *settings: str, token_file: Path | None = None, plane: ControlPlane | None = None
) -> HttpServer:
    """The project's hooks, not yet started; settings are `key=value`; with a token file they ask for the token.

    With a control plane they read objects there on demand, and have no effects.
    """
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "hooks", "serve", f"--bind=127.0.0.1:{port}"]
    if plane is not None:
        account = folder / "reading-token"
        account.write_text(plane.tokens[READING_ACCOUNT])
        where = [plane.server, str(account), str(plane.certificate)]
        command[2:4] = ["tests.cluster.hooks_in_pod", *where, "serve"]
        settings = (*settings, *NO_EFFECTS)
    command += [f"--token-file={token_file}"] if token_file else []
    command += [word for setting in settings for word in ("--set", setting)]
    return HttpServer("hooks", command, folder, url=url, health=f"{url}/readyz")


def prober_server(folder: Path, port: int, *settings: str) -> HttpServer:
    """The project's prober, not yet started; settings are `key=value`."""
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "hooks", "prober", f"--bind=127.0.0.1:{port}"]
    command += [word for setting in settings for word in ("--set", setting)]
    return HttpServer("prober", command, folder, url=url, health=f"{url}/healthz")
