"""Admission as a process: HTTPS on a port of its own, and a certificate that is renewed under load."""

import http.client
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from hooks.certificates.authority import Issued, issue
from tests import make
from tests.reviews import GRAPHS, review
from tests.serving.test_serve import SYNC, Running, read_log

GOOD = orjson.dumps(review())
BAD = orjson.dumps(review(make.graph(services={})))


def issue_now() -> Issued:
    return issue(["127.0.0.1"], datetime.now(UTC), timedelta(hours=1))


def write(issued: Issued, folder: Path) -> None:
    """Both files at once, as the kubelet does: a new folder, and a link that moves to it."""
    fresh = folder / f"data-{len(list(folder.iterdir()))}"
    fresh.mkdir()
    (fresh / "tls.crt").write_text(issued.certificate)
    (fresh / "tls.key").write_text(issued.key)
    link = folder / "link"
    link.symlink_to(fresh.name)
    link.replace(folder / "data")


@dataclass
class Served:
    """A running server with both ports; `trusted` is the PEM text of the authorities that a client trusts."""

    server: Running
    port: int
    folder: Path
    trusted: str

    def connect(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cadata=self.trusted)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=20, context=context)

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection = self.connect()
        connection.request(method, path, body)
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    def judge(self, body: bytes) -> dict[str, Any]:
        status, data = self.ask("POST", f"/admission/validate/{GRAPHS}", body)
        assert status == 200, data
        response: dict[str, Any] = orjson.loads(data)["response"]
        return response


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Served]:
    issued = issue_now()
    (folder / "tls").mkdir()
    write(issued, folder / "tls")
    files = [f"--tls-cert={folder / 'tls/data/tls.crt'}", f"--tls-key={folder / 'tls/data/tls.key'}"]
    command = [sys.executable, "-m", "hooks", "serve", "--bind=127.0.0.1:0", "--admission-bind=127.0.0.1:0"]
    environment = {key: value for key, value in os.environ.items() if key != "PROMETHEUS_MULTIPROC_DIR"}
    environment["TMPDIR"] = str(folder)
    process = subprocess.Popen([*command, *files, *arguments], stderr=subprocess.PIPE, text=True, env=environment)
    server, listens = Running(process), threading.Event()
    reader = threading.Thread(target=read_log, args=(server, listens), daemon=True)
    reader.start()
    try:
        assert listens.wait(30), server.lines
        server.get("/healthz")
        found = (re.search(r"admission is served at https://127\.0\.0\.1:(\d+)", line) for line in server.lines)
        port = next(int(match[1]) for match in found if match)
        yield Served(server=server, port=port, folder=folder / "tls", trusted=issued.authorities)
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        process.wait(timeout=40)
        reader.join(timeout=10)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served"), "--drain=0") as running:
        yield running


def test_rules_are_asked_over_https(served: Served) -> None:
    assert served.judge(GOOD)["allowed"] is True
    refused = served.judge(BAD)
    assert refused["allowed"] is False
    assert refused["status"]["message"] == "spec.services must have at least one service"


@pytest.mark.parametrize("path", ["/graph/sync", "/metrics"])
def test_secure_port_serves_admission_and_probes_alone(served: Served, path: str) -> None:
    assert served.ask("POST", path, SYNC)[0] == 404
    assert served.ask("GET", "/healthz") == (200, b"alive\n")
    assert served.ask("GET", "/readyz") == (200, b"ready\n")


def test_plain_port_serves_no_admission(served: Served) -> None:
    connection = served.server.connect()
    connection.request("POST", f"/admission/validate/{GRAPHS}", GOOD)
    assert connection.getresponse().status == 404
    connection.close()
    assert served.server.post(SYNC)[0] == 200


def test_reviews_are_on_the_page_of_metrics(served: Served) -> None:
    served.judge(BAD)
    text = served.server.get("/metrics")[1]
    assert re.search(r'^dynamo_operator_webhook_requests_total\{.*result="denied".*\} ', text, re.MULTILINE)
    assert re.search(r"^dynamo_operator_webhook_denials_total\{.*reason=", text, re.MULTILINE)


def test_connection_is_kept_for_further_reviews(served: Served) -> None:
    connection = served.connect()
    for _ in range(3):
        connection.request("POST", f"/admission/validate/{GRAPHS}", GOOD)
        response = connection.getresponse()
        response.read()
        assert (response.status, response.will_close) == (200, False)
    connection.close()


def test_tls_1_1_is_refused(served: Served) -> None:
    context = ssl.create_default_context(cadata=served.trusted)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as plain, pytest.raises(ssl.SSLError):
        context.wrap_socket(plain, server_hostname="127.0.0.1")


@pytest.mark.parametrize("sent", [b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", b"\x16\x03\x01", b""], ids=repr)
def test_who_speaks_no_tls_is_dropped_and_holds_up_nobody(served: Served, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as plain:
        plain.sendall(sent)
        assert served.judge(GOOD)["allowed"] is True
        if sent.startswith(b"GET"):
            with suppress(ConnectionResetError):
                assert b"HTTP/1.1 200" not in plain.recv(1024)


@dataclass
class Client:
    """What one client saw until it was told to stop."""

    served: Served
    keeps: bool
    statuses: set[int] = field(default_factory=set)
    answered: int = 0
    lost: list[str] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        connection = self.served.connect()
        while not stop.is_set():
            try:
                connection.request("POST", f"/admission/validate/{GRAPHS}", GOOD)
                response = connection.getresponse()
                response.read()
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(repr(error))
                return
            self.statuses.add(response.status)
            self.answered += 1
            if not self.keeps:
                connection.close()
                connection = self.served.connect()
        connection.close()


def shown(served: Served) -> str:
    """The certificate that a new connection meets, as PEM text."""
    return ssl.get_server_certificate(("127.0.0.1", served.port))


def test_renewal_under_load_loses_no_request(tmp_path: Path) -> None:
    with serving(tmp_path, "--drain=0") as served:
        renewed = [issue_now() for _ in range(3)]
        served.trusted += "".join(one.authorities for one in renewed)  # the overlap that a renewal publishes first
        clients = [Client(served, keeps=number % 2 == 0) for number in range(4)]
        stop = threading.Event()
        threads = [threading.Thread(target=client.run, args=(stop,)) for client in clients]
        for thread in threads:
            thread.start()
        for one in renewed:
            before = [client.answered for client in clients]
            write(one, served.folder)
            while any(
                client.answered < count + 20 and not client.lost for client, count in zip(clients, before, strict=True)
            ):
                assert shown(served) == one.certificate
        stop.set()
        for thread in threads:
            thread.join(timeout=30)
        assert [client.lost for client in clients] == [[]] * 4
        assert {status for client in clients for status in client.statuses} == {200}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--admission-bind=127.0.0.1:0"], "--admission-bind, --tls-cert and --tls-key belong together"),
        (["--tls-cert=a", "--tls-key=b"], "--admission-bind, --tls-cert and --tls-key belong together"),
        (["--admission-bind=9443", "--tls-cert=a", "--tls-key=b"], "'9443' is not an address; write HOST:PORT"),
        (["--admission-bind=127.0.0.1:0", "--tls-cert=/none/a", "--tls-key=b"], "not a certificate and its key"),
    ],
    ids=["no certificate", "no address", "malformed address", "missing file"],
)
def test_wrong_options_end_with_one_sentence_and_status_2(arguments: list[str], sentence: str) -> None:
    command = [sys.executable, "-m", "hooks", "serve", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


SERVER_WITH_HOOKS = """
import sys
from pathlib import Path
from flask import Flask
from hooks.serving.server import ServerOptions, run_server

folder = Path(sys.argv[1])

def begin(is_draining):
    (folder / "begun").open("a").write(f"{is_draining()}\\n")

def end():
    (folder / "ended").open("a").write("once\\n")

options = ServerOptions(bind="127.0.0.1:0", workers=2, threads=1, drain=0, begin=begin, end=end)
run_server(options, lambda is_draining: Flask("x"))
"""


def test_what_goes_on_beside_requests_begins_in_each_worker_and_ends_once(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "PROMETHEUS_MULTIPROC_DIR"}
    command = [sys.executable, "-c", SERVER_WITH_HOOKS, str(tmp_path)]
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment) as process:
        while process.poll() is None and not (begun.exists() and begun.read_text().count("\n") == 2):
            pass
        assert not ended.exists()
        process.terminate()
        assert process.wait(timeout=40) == 0
    assert begun.read_text() == "False\nFalse\n"
    assert ended.read_text() == "once\n"
