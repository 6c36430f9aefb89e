"""Servers as processes: starts them, asks them, and always ends them."""

import http.client
import os
import re
import signal
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

from hooks.server.admission.certificates.authority import Issued, issue
from tests import make
from tests.reviews import GRAPHS, review
from tests.server.serving.forks import Fork
from tests.waiting import PATIENCE

HOOKS = ("-m", "hooks", "serve", "--bind", "127.0.0.1:0")
ADMISSION = ("-m", "hooks", "serve-admission", "--bind", "127.0.0.1:0")

SYNC = orjson.dumps(
    {
        "parent": make.graph(),
        "children": {
            kind: {}
            for kind in (
                "ConfigMap.v1",
                "DynamoComponentDeployment.nvidia.com/v1alpha1",
                "DynamoGraphDeploymentScalingAdapter.nvidia.com/v1alpha1",
                "Ingress.networking.k8s.io/v1",
                "PersistentVolumeClaim.v1",
                "Role.rbac.authorization.k8s.io/v1",
                "RoleBinding.rbac.authorization.k8s.io/v1",
                "Secret.v1",
                "Service.v1",
                "ServiceAccount.v1",
            )
        },
        "related": {},
    }
)
REVIEW = orjson.dumps(review())
SYNC_PATH, REVIEW_PATH = "/graph/sync", f"/admission/validate/{GRAPHS}"


@dataclass
class Running:
    """A server process; `lines` are its log lines so far, `trusted` the PEM text of authorities if it speaks TLS."""

    process: subprocess.Popen[str] | Fork
    trusted: str = ""
    port: int = 0
    lines: list[str] = field(default_factory=list)

    @property
    def call(self) -> tuple[str, bytes]:
        """A path and a body that it answers with 200."""
        return (REVIEW_PATH, REVIEW) if self.trusted else (SYNC_PATH, SYNC)

    @property
    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.trusted)

    def connect(self, timeout: float = 20) -> http.client.HTTPConnection:
        if self.trusted:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=timeout, context=self.context
            )
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        connection.connect()
        return connection

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection = self.connect()
        connection.request(method, path, body)
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    def get(self, path: str) -> tuple[int, str]:
        status, data = self.ask("GET", path)
        return status, data.decode()

    def post(self, body: bytes) -> tuple[int, bytes]:
        return self.ask("POST", SYNC_PATH, body)

    def worker_ids(self) -> list[int]:
        """All workers that ever began, the oldest first."""
        found = (re.search(r"Booting worker with pid: (\d+)", line) for line in list(self.lines))
        return [int(match[1]) for match in found if match]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)


def post_on(connection: http.client.HTTPConnection, path: str, body: bytes) -> tuple[int, bytes, bool]:
    """Status, whole body, and whether the server closes the connection."""
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    data = response.read()
    return response.status, data, response.will_close


@contextmanager
def running(
    folder: Path, *command: str, trusted: str = "", program: Path | str = "", **environment: str
) -> Iterator[Running]:
    """Start a server, wait until it listens, and end it with all its workers.

    Without a program it is a fork of a process that has loaded the hooks, which begins at once.
    """
    variables = {**os.environ, "TMPDIR": str(folder), **environment}
    if "PROMETHEUS_MULTIPROC_DIR" not in environment:
        variables.pop("PROMETHEUS_MULTIPROC_DIR", None)
    process = _start(str(program), command, variables)
    server, listens = Running(process, trusted), threading.Event()
    reader = threading.Thread(target=_read_log, args=(server, listens), daemon=True)
    reader.start()
    try:
        assert listens.wait(PATIENCE), server.lines
        yield server
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=PATIENCE)
        reader.join(timeout=PATIENCE)


def _start(program: str, command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[str] | Fork:
    if not program:
        return Fork(command, variables)
    return subprocess.Popen(
        [program, *command], stderr=subprocess.PIPE, text=True, env=variables, start_new_session=True
    )


@contextmanager
def running_admission(folder: Path, *arguments: str, program: Path | str = "") -> Iterator[Running]:
    """Admission with a certificate in `<folder>/tls/data`."""
    issued = issue_now()
    (folder / "tls").mkdir()
    write_certificate(issued, folder / "tls")
    files = [f"--tls-{kind}={folder / 'tls/data/tls'}.{end}" for kind, end in (("cert", "crt"), ("key", "key"))]
    with running(folder, *ADMISSION, *files, *arguments, trusted=issued.authorities, program=program) as server:
        yield server


def issue_now() -> Issued:
    return issue(["127.0.0.1"], datetime.now(UTC), timedelta(hours=1))


def write_certificate(issued: Issued, folder: Path) -> None:
    """Both files at once, as the kubelet does: a new folder, and a link that moves to it."""
    fresh = folder / f"data-{len(list(folder.iterdir()))}"
    fresh.mkdir()
    (fresh / "tls.crt").write_text(issued.certificate)
    (fresh / "tls.key").write_text(issued.key)
    link = folder / "link"
    link.symlink_to(fresh.name)
    link.replace(folder / "data")


def _read_log(server: Running, listens: threading.Event) -> None:
    assert server.process.stderr is not None
    for line in server.process.stderr:
        server.lines.append(line)
        match = re.search(r"Listening at: https?://127\.0\.0\.1:(\d+)", line)
        if match:
            server.port = int(match[1])
            listens.set()
    server.process.stderr.close()
