"""`dynamo-hooks enforce-admission`: webhooks fail closed once admission answers, and no sooner."""

import base64
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hooks.server.admission.certificates.authority import Issued, issue
from hooks.server.admission.enforcing import Address, Enforcement, Silent, ask_readiness
from hooks.server.clients.api_server import Refused
from hooks.server.commands.main import main
from tests.played_api_server import PlayedApiServer, played_api_server
from tests.ports import free_port

GROUP = "/apis/admissionregistration.k8s.io/v1"
NAMES = ("validatingwebhookconfigurations/hooks", "mutatingwebhookconfigurations/hooks")
VALIDATING, MUTATING = (f"{GROUP}/{name}" for name in NAMES)
SERVICE = {"name": "hooks-admission", "namespace": "system", "path": "/admission/validate/dynamomodels", "port": 8443}
DONE = [f"{name}: failurePolicy is Fail now" for name in NAMES]


def webhook(name: str, policy: str = "Ignore", bundle: str = "", **client: Any) -> dict[str, Any]:
    encoded = base64.b64encode(bundle.encode()).decode()
    config = {**(client or {"service": SERVICE}), **({"caBundle": encoded} if bundle else {})}
    return {"name": name, "clientConfig": config, "failurePolicy": policy, "timeoutSeconds": 7}


@pytest.fixture
def played(tmp_path: Path) -> Iterator[PlayedApiServer]:
    with played_api_server(tmp_path) as server:
        server.put(VALIDATING, {"webhooks": [webhook("a", bundle="A"), webhook("b", bundle="A")]})
        server.put(MUTATING, {"webhooks": [webhook("c", bundle="B")]})
        yield server


def policies(played: PlayedApiServer) -> list[str]:
    return [hook["failurePolicy"] for path in (VALIDATING, MUTATING) for hook in played.objects[path]["webhooks"]]


class Waiting:
    """A clock that moves only while somebody waits; `faults` are what the servers say, one after the other.

    `meanwhile` happens at each wait.
    """

    def __init__(self, *faults: str) -> None:
        self.faults = list(faults)
        self.asked: list[Address] = []
        self.said: list[str] = []
        self.now = 0.0
        self.meanwhile: Callable[[], None] = lambda: None

    def ask(self, address: Address) -> str:
        self.asked.append(address)
        return self.faults.pop(0) if self.faults else ""

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.meanwhile()

    def enforce(self, played: PlayedApiServer, seconds: float = 60, paths: tuple[str, ...] = NAMES) -> list[str]:
        with played.server.converse(60) as talk:
            return Enforcement(
                talk=talk, paths=paths, ask=self.ask, say=self.said.append, wait=self.wait, clock=lambda: self.now
            ).enforce(seconds)


def test_webhooks_fail_closed_when_every_server_answers(played: PlayedApiServer) -> None:
    waiting = Waiting()
    assert waiting.enforce(played) == DONE
    assert policies(played) == ["Fail"] * 3
    assert waiting.asked == [Address(host="hooks-admission.system.svc", port=8443, authorities=pem) for pem in "AB"]
    assert waiting.now == 0
    hooks = played.objects[VALIDATING]["webhooks"]
    assert hooks[0] == {**webhook("a", bundle="A"), "failurePolicy": "Fail"}


def test_nothing_is_written_before_the_last_server_answers(played: PlayedApiServer) -> None:
    waiting = Waiting("refused", "refused", "", "untrusted")

    def watch(method: str, _path: str) -> None:
        assert method == "GET" or not waiting.faults

    played.before = watch
    assert waiting.enforce(played) == DONE
    assert waiting.said == ["refused", "untrusted"]
    assert waiting.now == 3


def test_server_that_stays_away_leaves_the_webhooks_as_they_are(played: PlayedApiServer) -> None:
    with pytest.raises(Silent, match="refused"):
        Waiting(*["refused"] * 100).enforce(played, 10)
    assert played.writes() == []


def test_bundle_that_comes_later_is_used(played: PlayedApiServer) -> None:
    waiting = Waiting("untrusted")
    waiting.meanwhile = lambda: played.put(VALIDATING, {"webhooks": [webhook("a", bundle="NEW")]})
    waiting.enforce(played)
    assert [address.authorities for address in waiting.asked] == ["A", "NEW", "B"]


def test_webhooks_that_fail_closed_are_left_and_nobody_is_asked(played: PlayedApiServer) -> None:
    for path in (VALIDATING, MUTATING):
        played.put(path, {"webhooks": [webhook("a", "Fail")]})
    waiting = Waiting("refused")
    assert waiting.enforce(played) == []
    assert (waiting.asked, played.writes()) == ([], [])


def test_change_by_others_is_kept(played: PlayedApiServer) -> None:
    def write_first(method: str, path: str) -> None:
        if (method, path) == ("PATCH", MUTATING):
            played.before = lambda _method, _path: None
            played.put(MUTATING, {"webhooks": [webhook("c", bundle="NEW")]})

    played.before = write_first
    assert Waiting().enforce(played) == DONE
    assert played.objects[MUTATING]["webhooks"] == [{**webhook("c", bundle="NEW"), "failurePolicy": "Fail"}]


def test_configuration_that_does_not_exist_is_named(played: PlayedApiServer) -> None:
    del played.objects[MUTATING]
    with pytest.raises(Refused, match="mutatingwebhookconfigurations/hooks does not exist"):
        Waiting().enforce(played)
    assert played.writes() == []


# A real server


@contextmanager
def server(issued: Issued, folder: Path, status: int = 200) -> Iterator[int]:
    """Answers every GET with the status over HTTPS; gives its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/readyz" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    (folder / "tls.pem").write_text(issued.certificate + issued.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.pem")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.socket = context.wrap_socket(listening.socket, server_side=True)
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        try:
            yield listening.server_port
        finally:
            listening.shutdown()
            thread.join()


def issued(name: str = "127.0.0.1") -> Issued:
    return issue([name], datetime.now(UTC), timedelta(days=1))


GOOD, OTHER = issued(), issued("other")


@pytest.mark.parametrize(
    ("certificate", "trusted", "status", "fault"),
    [
        (GOOD, lambda one: one.authorities, 200, ""),
        (GOOD, lambda one: OTHER.authorities + one.authorities, 200, ""),
        (GOOD, lambda one: one.certificate, 200, ""),
        (GOOD, lambda one: one.authorities, 503, "is not ready: it answers 503"),
        (GOOD, lambda _one: OTHER.authorities, 200, "does not answer: "),
        (GOOD, lambda _one: "", 200, "does not answer: "),
        (GOOD, lambda _one: "no certificate", 200, "does not answer: "),
        (OTHER, lambda one: one.authorities, 200, "does not answer: "),
    ],
    ids=["trusted", "bundle", "itself", "draining", "untrusted", "no bundle", "malformed", "other name"],
)
def test_server_answers_if_the_api_server_would_trust_it(
    tmp_path: Path, certificate: Issued, trusted: Callable[[Issued], str], status: int, fault: str
) -> None:
    with server(certificate, tmp_path, status) as port:
        said = ask_readiness(Address(host="127.0.0.1", port=port, authorities=trusted(certificate)))
    assert said.startswith(f"https://127.0.0.1:{port}/readyz {fault}" if fault else "")
    assert bool(said) == bool(fault)


def test_port_that_nobody_serves_does_not_answer() -> None:
    assert "refused" in ask_readiness(Address(host="127.0.0.1", port=free_port(), authorities=GOOD.authorities))


# The command


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["enforce-admission", *arguments])


def in_cluster(played: PlayedApiServer, *arguments: str) -> Result:
    account = played.server
    where = ["--server", account.url, "--token-file", str(account.token_file), "--ca-file", str(account.ca_file)]
    return run("--validating", "hooks", "--mutating", "hooks", *where, *arguments)


def test_command_says_what_it_did(played: PlayedApiServer, tmp_path: Path) -> None:
    with server(GOOD, tmp_path) as port:
        for path in (VALIDATING, MUTATING):
            client = {"url": f"https://127.0.0.1:{port}/admission/validate/dynamomodels"}
            played.put(path, {"webhooks": [webhook("a", bundle=GOOD.authorities, **client)]})
        first, second = in_cluster(played), in_cluster(played)
    assert (first.exit_code, first.stdout.splitlines()) == (0, DONE)
    assert (second.exit_code, second.stdout) == (0, "all webhooks have failurePolicy Fail already; nothing was done\n")


def test_command_that_waits_in_vain_says_what_is_wrong(played: PlayedApiServer) -> None:
    url = f"https://127.0.0.1:{free_port()}"
    played.put(VALIDATING, {"webhooks": [webhook("a", url=f"{url}/admission/validate/dynamomodels")]})
    result = in_cluster(played, "--seconds", "1")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{url}/readyz does not answer: ")
    assert "the webhooks keep failurePolicy Ignore" in result.stderr
    assert played.writes() == []


def test_command_that_is_refused_says_why(played: PlayedApiServer) -> None:
    played.before = lambda _method, _path: 403
    result = in_cluster(played)
    assert (result.exit_code, result.stderr) == (1, f"GET {VALIDATING}: 403 refused with 403\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name webhook configurations with --validating or --mutating"),
        (
            ["--validating", "a", "--server", "https://127.0.0.1"],
            "--server, --token-file and --ca-file belong together",
        ),
    ],
    ids=["nothing", "no token"],
)
def test_wrong_usage_is_refused_with_one_sentence(arguments: list[str], sentence: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())
