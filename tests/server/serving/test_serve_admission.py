"""Admission as a process: HTTPS, and a certificate that is renewed under load."""

import http.client
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests import make
from tests.reviews import GRAPHS, review
from tests.server.serving.forks import run_to_end
from tests.server.serving.servers import (
    REVIEW,
    REVIEW_PATH,
    SYNC,
    Running,
    issue_now,
    running,
    running_admission,
    write_certificate,
)
from tests.waiting import PATIENCE, wait_for

BAD = orjson.dumps(review(make.graph(services={})))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_admission(tmp_path_factory.mktemp("served")) as running:
        yield running


def judge(served: Running, body: bytes) -> dict[str, Any]:
    status, data = served.ask("POST", REVIEW_PATH, body)
    assert status == 200, data
    response: dict[str, Any] = orjson.loads(data)["response"]
    return response


def test_rules_are_asked_over_https(served: Running) -> None:
    assert judge(served, REVIEW)["allowed"] is True
    refused = judge(served, BAD)
    assert refused["allowed"] is False
    assert refused["status"]["message"] == "spec.services must have at least one service"


def test_no_hooks_are_served_here(served: Running) -> None:
    assert served.ask("POST", "/graph/sync", SYNC)[0] == 404
    assert served.get("/healthz") == (200, "alive\n")
    assert served.get("/readyz") == (200, "ready\n")


def test_reviews_of_all_workers_are_on_the_page_of_metrics(served: Running) -> None:
    pattern = r'^dynamo_operator_webhook_requests_total\{.*result="denied".*\} (\S+)$'

    def denied() -> float:
        return sum(float(value) for value in re.findall(pattern, served.get("/metrics")[1], re.MULTILINE))

    before = denied()
    for _ in range(10):
        judge(served, BAD)
    wait_for(lambda: denied() == before + 10, "the page has all reviews")  # it is made once a second at most
    reason = r"^dynamo_operator_webhook_denials_total\{.*reason="
    wait_for(lambda: re.search(reason, served.get("/metrics")[1], re.MULTILINE), "the page has the reasons")


def test_connection_is_kept_for_further_reviews(served: Running) -> None:
    connection = served.connect()
    for _ in range(3):
        connection.request("POST", f"/admission/validate/{GRAPHS}", REVIEW)
        response = connection.getresponse()
        response.read()
        assert (response.status, response.will_close) == (200, False)
    connection.close()


def test_tls_1_1_is_refused(served: Running) -> None:
    context = ssl.create_default_context(cadata=served.trusted)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as plain, pytest.raises(ssl.SSLError):
        context.wrap_socket(plain, server_hostname="127.0.0.1")


@pytest.mark.parametrize("sent", [b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", b"\x16\x03\x01", b""], ids=repr)
def test_who_speaks_no_tls_gets_no_answer_and_holds_up_nobody(served: Running, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as plain:
        plain.sendall(sent)
        assert judge(served, REVIEW)["allowed"] is True
        if sent.startswith(b"GET"):
            assert b"HTTP/1.1 200" not in plain.recv(1024)


@dataclass
class Client:
    """What one client saw until it was told to stop."""

    served: Running
    keeps: bool
    statuses: set[int] = field(default_factory=set)
    answered: int = 0
    lost: list[str] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        connection = self.served.connect()
        while not stop.is_set():
            try:
                connection.request("POST", REVIEW_PATH, REVIEW)
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


def shown(served: Running) -> str:
    """The certificate that a new connection meets, as PEM text."""
    return ssl.get_server_certificate(("127.0.0.1", served.port))


def test_renewal_under_load_loses_no_request(tmp_path: Path) -> None:
    with running_admission(tmp_path) as served:
        renewed = [issue_now() for _ in range(3)]
        served.trusted += "".join(one.authorities for one in renewed)  # the overlap that a renewal publishes first
        clients = [Client(served, keeps=number % 2 == 0) for number in range(4)]
        stop = threading.Event()
        threads = [threading.Thread(target=client.run, args=(stop,)) for client in clients]
        for thread in threads:
            thread.start()
        for one in renewed:
            before = [client.answered for client in clients]
            write_certificate(one, tmp_path / "tls")
            while any(
                client.answered < count + 20 and not client.lost for client, count in zip(clients, before, strict=True)
            ):
                assert shown(served) == one.certificate
        stop.set()
        for thread in threads:
            thread.join(timeout=PATIENCE)
        assert [client.lost for client in clients] == [[]] * 4
        assert {status for client in clients for status in client.statuses} == {200}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--tls-cert=a"], "Missing option '--tls-key'"),
        (["--tls-key=b"], "Missing option '--tls-cert'"),
        (["--bind=9443", "--tls-cert=a", "--tls-key=b"], "'9443' is not an address; write HOST:PORT"),
        (["--tls-cert=/none/a", "--tls-key=b"], "--tls-cert /none/a, --tls-key b: not a certificate and its key"),
    ],
    ids=["no key", "no certificate", "malformed address", "missing file"],
)
def test_wrong_options_end_with_one_sentence_and_status_2(arguments: list[str], sentence: str) -> None:
    status, written = run_to_end(["-m", "hooks", "serve-admission", *arguments])
    assert status == 2
    assert sentence in written
    assert "Traceback" not in written


SERVER_WITH_HOOKS = """
import sys
from pathlib import Path
from flask import Flask
from hooks.server.serving.logs import set_up_logging
from hooks.server.serving.server import ServerOptions, run_server

set_up_logging("info")
folder = Path(sys.argv[1])

def begin(is_draining):
    (folder / "begun").open("a").write(f"{is_draining()}\\n")

def end():
    (folder / "ended").open("a").write("once\\n")

options = ServerOptions(bind="127.0.0.1:0", workers=2, begin=begin, end=end)
run_server(options, lambda is_draining: Flask("x"))
"""


def test_what_goes_on_beside_requests_begins_in_each_worker_and_ends_once(tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    with running(tmp_path, "-c", SERVER_WITH_HOOKS, str(tmp_path)) as server:
        while server.process.poll() is None and not (begun.exists() and begun.read_text().count("\n") == 2):
            pass
        assert not ended.exists()
        assert server.stop() == 0
    assert begun.read_text() == "False\nFalse\n"
    assert ended.read_text() == "once\n"
