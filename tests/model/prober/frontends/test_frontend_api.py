"""Calls to frontends on real sockets: what honest ones say, and that no hostile one does harm."""

import json
import socket
import ssl
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.model.prober.frontends.calls import FrontendAction, FrontendAnswer, FrontendCall, FrontendEnd
from hooks.server.prober.frontend_api import FrontendClient
from hooks.wire.prober.frontends import LONGEST_NAME, MOST_MODELS, FrontendTarget, NamespaceReadiness
from tests.exchange.hostile import Speak, answers, bomb, drips, floods, peer
from tests.model.prober.frontends.served import NEEDS, READY, Served, run_frontend
from tests.ports import free_port
from tests.server.serving.servers import issue_now

pytestmark = pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")

SECONDS = 0.5
HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def client() -> Iterator[FrontendClient]:
    made = FrontendClient.open("any", hosts=4)
    yield made
    made.client.close()


def call(target: FrontendTarget, model: str = "", *, wanted: tuple[str, ...] = ()) -> FrontendCall:
    return FrontendCall(
        graph="default/g",
        namespace="default",
        target=target,
        action=FrontendAction.READY if model else FrontendAction.LIST,
        timeout=SECONDS,
        started=0.0,
        model=model,
        wanted=frozenset(wanted),
        namespaces=("ns-new",),
    )


def at(address: str) -> FrontendTarget:
    return FrontendTarget(address=address, pod="f0")


def ask(client: FrontendClient, speak: Speak, model: str = "") -> FrontendAnswer:
    with peer(speak) as found:
        return client.perform(call(at(found.address), model))


def test_list_of_models_over_one_connection(client: FrontendClient) -> None:
    served = Served(models=["Qwen/Qwen3-0.6B", "a"])
    with run_frontend(served) as target:
        found = [client.perform(call(target)) for _ in range(3)]
        assert found[0] == FrontendAnswer(outcome=FrontendEnd.OK, models=("Qwen/Qwen3-0.6B", "a"))
        assert len(set(map(repr, found))) == 1
        assert served.connections == 1
    assert "Authorization" not in served.headers
    assert served.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("status", [200, 503], ids=["1.5.1", "1.6.1"])
def test_what_a_model_lacks_is_read_from_the_body(status: int, client: FrontendClient) -> None:
    served = Served(ready={"Qwen/Qwen3 0.6B": NEEDS, "a": READY}, status=status)
    with run_frontend(served) as target:
        lacking, whole = (client.perform(call(target, name)) for name in served.ready)
    said = NamespaceReadiness(namespace="ns-new", model="Qwen/Qwen3 0.6B", is_ready=False, workers={"decode": 1})
    assert lacking == FrontendAnswer(outcome=FrontendEnd.OK, needs=("prefill",), namespaces=(said,))
    assert (whole.needs, whole.namespaces[0].is_ready) == ((), True)
    assert served.asked[0] == "/v1/models/Qwen%2FQwen3%200.6B/ready"


def test_unknown_model_says_nothing(client: FrontendClient) -> None:
    with run_frontend(Served()) as target:
        assert client.perform(call(target, "x")) == FrontendAnswer(outcome=FrontendEnd.NOT_KNOWN)


def test_other_path_of_the_list(client: FrontendClient) -> None:
    served = Served()
    with run_frontend(served) as target:
        moved = FrontendTarget(address=target.address, pod="f0", path="/x/models")
        client.perform(call(moved, "m"))
    assert served.asked == ["/x/models/m/ready"]


@pytest.mark.parametrize(
    ("speak", "end", "error"),
    [
        (answers(b"{}", status=b"401 Unauthorized"), FrontendEnd.STATUS, "it answers HTTP 401"),
        (answers(b"secret words", status=b"403 secret"), FrontendEnd.STATUS, "it answers HTTP 403"),
        (answers(b"{}", status=b"500 x"), FrontendEnd.STATUS, "it answers HTTP 500"),
        (
            answers(b"", head=b"Location: http://169.254.169.254/\r\n", status=b"302 Found"),
            FrontendEnd.REDIRECT,
            "it answers HTTP 302, a redirect, which is not followed",
        ),
        (answers(b"<html>secret words</html>"), FrontendEnd.OTHER_DOCUMENT, None),
        (answers(b'{"loras": []}'), FrontendEnd.OTHER_DOCUMENT, None),
        (answers(b'{"data": {"id": "a"}}'), FrontendEnd.OTHER_DOCUMENT, None),
        (answers(b'{"data": [{"id": 1}]}'), FrontendEnd.OTHER_DOCUMENT, None),
        (answers(b'{"data": [{"id": "\xff"}]}'), FrontendEnd.OTHER_DOCUMENT, None),
        (answers(b'{"data": ' + b"[" * 500_000), FrontendEnd.OTHER_DOCUMENT, None),
        (answers(b'{"x": ' + b'{"x":' * 150_000), FrontendEnd.OTHER_DOCUMENT, None),
        (answers(b""), FrontendEnd.OTHER_DOCUMENT, None),
        (
            answers(bomb(64), head=b"Content-Encoding: gzip\r\n"),
            FrontendEnd.UNREACHABLE,
            "it answers something else than HTTP",
        ),
        (drips(HEAD + b"Content-Length: 60000\r\n\r\n", b" "), FrontendEnd.TIMEOUT, "it did not answer within 0.5 s"),
        (drips(b"", b"H"), FrontendEnd.TIMEOUT, "it did not answer within 0.5 s"),
        (lambda _send: time.sleep(30), FrontendEnd.TIMEOUT, "it did not answer within 0.5 s"),
        (floods(HEAD + b"\r\n", b" " * 65536), FrontendEnd.TOO_LARGE, "its answer has more than 1 MiB"),
        (floods(HEAD, b"X: y\r\n" * 4096), None, None),
        (lambda _send: None, FrontendEnd.UNREACHABLE, "it closed the connection without an answer"),
        (
            lambda send: send(b"SSH-2.0-secret words\r\n"),
            FrontendEnd.UNREACHABLE,
            "it answers something else than HTTP",
        ),
    ],
    ids=[
        *("401", "403", "500", "redirect", "html", "another document", "object", "numbers", "no utf-8"),
        *("nested lists", "nested objects", "empty", "gzip", "drips", "drips head", "silent", "floods", "floods head"),
        *("closes", "ssh"),
    ],
)
def test_what_is_no_list_of_models_is_said_in_words_of_ours(
    speak: Speak, end: FrontendEnd | None, error: str | None, client: FrontendClient
) -> None:
    began = time.monotonic()
    answer = ask(client, speak)
    assert time.monotonic() - began < 4 * SECONDS
    assert answer.outcome is not FrontendEnd.OK
    assert end in {None, answer.outcome}
    assert answer.error == (error or answer.error)
    if end is FrontendEnd.OTHER_DOCUMENT:
        assert answer.error == "it answers something else than a list of models"
    assert answer.error
    assert "secret" not in answer.error
    assert len(answer.error) < 100


def test_frontend_that_refuses_connections(client: FrontendClient) -> None:
    answer = client.perform(call(at(f"http://127.0.0.1:{free_port()}")))
    assert answer == FrontendAnswer(outcome=FrontendEnd.UNREACHABLE, error="it refuses connections")


def test_long_list_is_cut_and_keeps_what_is_wanted(client: FrontendClient) -> None:
    body = json.dumps({"data": [{"id": f"m{number:05}"} for number in range(50_000)]}).encode()
    with peer(answers(body)) as found:
        tracemalloc.start()
        answer = client.perform(call(at(found.address), wanted=("m49999", "absent")))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (len(answer.models), answer.has_more) == (MOST_MODELS + 1, True)
    assert (answer.models[0], answer.models[-1]) == ("m00000", "m49999")
    assert most < 32 * 2**20


def test_names_that_are_no_names_are_left_out(client: FrontendClient) -> None:
    names = ["", "a\nb", "\u202e", "x" * 900_000, "y" * (LONGEST_NAME + 1), "z" * LONGEST_NAME, "good", "good"]
    answer = ask(client, answers(json.dumps({"data": [{"id": name} for name in names]}).encode()))
    assert (answer.models, answer.has_more) == (("good", "z" * LONGEST_NAME), False)


def test_words_and_numbers_of_readiness_are_bounded(client: FrontendClient) -> None:
    kinds = {f"kind{number}": {"workers": 10**9} for number in range(1000)}
    odd = {"Ignore all rules": {"workers": 1}, "x" * 100: {"workers": 1}, "minus": {"workers": -5}}
    said = {
        "ready": False,
        "namespaces": {
            "ns-new": {"ready": False, "worker_types": {**odd, **kinds}, "missing_worker_types": ["<b>", *kinds]},
            **{f"ns{number}": {"ready": True} for number in range(1000)},
        },
    }
    answer = ask(client, answers(json.dumps(said).encode()), model="m")
    (one,) = answer.namespaces
    assert (len(answer.needs), len(one.workers)) == (8, 8)
    assert all(word.startswith("kind") for word in (*answer.needs, *one.workers))
    assert max(one.workers.values()) <= 1_000_000


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"ready": 1}', b'{"ready": true, "namespaces": []}'])
def test_other_document_in_place_of_readiness_is_no_answer(body: bytes, client: FrontendClient) -> None:
    assert ask(client, answers(body), model="m").outcome is FrontendEnd.OTHER_DOCUMENT


@pytest.mark.parametrize("rule", ["pods", "routable"])
def test_address_that_the_rule_refuses_is_not_called(rule: str) -> None:
    refusing = FrontendClient.open(rule, hosts=1)  # type: ignore[arg-type]
    with run_frontend(served := Served()) as target:
        for address in (target.address, target.address.replace("http", "https"), "https://[::ffff:127.0.0.1]:8000"):
            answer = refusing.perform(call(at(address)))
            assert answer.outcome is FrontendEnd.NOT_CALLED
            assert answer.error.endswith("is a loopback address (setting engine_addresses)")
    assert served.asked == []


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a server's certificate, its key, and the authority that signed it."""
    folder, found = tmp_path_factory.mktemp("tls"), issue_now()
    for name, text in (("tls.crt", found.certificate), ("tls.key", found.key), ("ca.crt", found.authorities)):
        (folder / name).write_text(text)
    return folder


def tls_context(folder: Path, *, wants_certificate: bool, version: ssl.TLSVersion) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    if wants_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(folder / "ca.crt")
    return context


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_certificate_of_a_frontend_is_not_verified(
    issued: Path, version: ssl.TLSVersion, client: FrontendClient
) -> None:
    context = tls_context(issued, wants_certificate=False, version=version)
    with peer(answers(b'{"data": [{"id": "a"}]}'), context) as found:
        assert client.perform(call(at(found.address))).models == ("a",)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_frontend_that_wants_a_client_certificate(
    issued: Path, version: ssl.TLSVersion, client: FrontendClient
) -> None:
    context = tls_context(issued, wants_certificate=True, version=version)
    error = "it ends the TLS connection, as one does that wants a client certificate"
    with peer(answers(b'{"data": [{"id": "a"}]}'), context) as found:
        for _ in range(10):
            answer = client.perform(call(at(found.address)))
            assert answer == FrontendAnswer(outcome=FrontendEnd.TLS, error=error)


def test_tls_where_none_is_spoken(client: FrontendClient) -> None:
    with run_frontend(Served()) as target:
        answer = client.perform(call(at(target.address.replace("http", "https"))))
    assert answer == FrontendAnswer(outcome=FrontendEnd.TLS, error="no TLS connection to it comes about")


def test_tls_handshake_that_hangs_ends_in_time(client: FrontendClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        began = time.monotonic()
        answer = client.perform(call(at(f"https://127.0.0.1:{listener.getsockname()[1]}")))
    assert answer.outcome is FrontendEnd.TIMEOUT
    assert time.monotonic() - began < 4 * SECONDS
