"""The path by which the hooks of other pods reach this pod's prober."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient

from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.server.clients.prober_client import RELAY_PATH
from hooks.server.commands.serve import serve
from hooks.server.serving.call_id import CallId
from hooks.server.serving.callers import OF_HOOKS_PODS, CallerToken
from hooks.server.serving.prober_relay import Send, serve_relay
from tests import make
from tests.server.serving.servers import running

PATH = f"{RELAY_PATH}/v1/models/default/m"
TOKEN = {"Authorization": "Bearer the-token"}


@pytest.fixture
def relaying(tmp_path: Path) -> Callable[[Send], FlaskClient]:
    """Gives a function that makes a client of hooks whose prober is asked by the function given."""
    file = tmp_path / "token"
    file.write_text("the-token\n")

    def make_client(send: Send) -> FlaskClient:
        app = create_app(parse_settings({}, {"max_body_bytes": "1024"}), lambda: make.NOW)
        serve_relay(app, RELAY_PATH, {"models": send}, CallerToken(file, use=OF_HOOKS_PODS).refusal)
        return app.test_client()

    return make_client


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def never(*_anything: object) -> bytes:
    raise AssertionError("the prober was asked")


def test_request_and_answer_pass_unchanged(relaying: Callable[[Send], FlaskClient]) -> None:
    sent = []

    def send(namespace: str, name: str, body: bytes, call_id: CallId) -> bytes:
        sent.append((namespace, name, body, call_id))
        return b'{"endpoints": []}'

    answer = relaying(send).put(
        PATH, data=b"\x00 any bytes", headers={**TOKEN, "X-Request-Id": "of-the-caller", "traceparent": TRACE}
    )
    assert (answer.status_code, answer.data) == (200, b'{"endpoints": []}')
    assert sent == [("default", "m", b"\x00 any bytes", CallId(sync_id="of-the-caller", traceparent=TRACE))]


@pytest.mark.parametrize("shown", [{}, {"Authorization": "Bearer another"}], ids=["none", "another"])
def test_stranger_does_not_reach_the_prober(
    shown: dict[str, str], relaying: Callable[[Send], FlaskClient], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    answer = relaying(never).put(PATH, data=b"{}", headers=shown)
    assert answer.status_code == 401
    assert "bearer token" in answer.text
    (line,) = (vars(record)["fields"] for record in caplog.records if record.message == "call")
    assert (line["status"], line["peer"]) == (401, "127.0.0.1")
    assert ("--relay-token-file" in answer.text, "Metacontroller" in answer.text) == (True, False)


def test_body_above_the_limit_does_not_reach_the_prober(relaying: Callable[[Send], FlaskClient]) -> None:
    answer = relaying(never).put(PATH, data=b"x" * 1025, headers=TOKEN)
    assert (answer.status_code, "larger than 1024 bytes" in answer.text) == (413, True)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", PATH), ("DELETE", PATH), ("PUT", f"{RELAY_PATH}/v1/term"), ("GET", f"{RELAY_PATH}/")]
)
def test_nothing_else_of_the_prober_can_be_reached(
    method: str, path: str, relaying: Callable[[Send], FlaskClient]
) -> None:
    assert relaying(never).open(path, method=method, headers=TOKEN).status_code in {404, 405}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (LeaveAlone("the prober does not act", retry_after=1), 429),
        (ProberUnavailable("the prober does not answer"), 503),
    ],
    ids=["does not act", "no answer"],
)
def test_refusal_of_the_prober_reaches_the_caller(
    error: Exception, status: int, relaying: Callable[[Send], FlaskClient]
) -> None:
    def send(*_anything: object) -> bytes:
        raise error

    answer = relaying(send).put(PATH, data=b"{}", headers=TOKEN)
    assert (answer.status_code, str(error) in answer.text) == (status, True)


@pytest.mark.parametrize(("replicas", "status"), [(1, 404), (2, 401)])
def test_path_exists_only_with_several_hooks_pods(replicas: int, status: int, tmp_path: Path) -> None:
    (tmp_path / "relay").write_text("shared")
    options = ("--workers", "1", f"--relay-token-file={tmp_path / 'relay'}", "--set", f"hook_replicas={replicas}")
    with running(tmp_path, "-m", "hooks", "serve", "--bind", "127.0.0.1:0", *options) as server:
        assert server.ask("PUT", PATH, b"{}")[0] == status


def test_token_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    options = ["--set", "hook_replicas=2", "--relay-token-file", str(tmp_path / "none")]
    result = CliRunner().invoke(serve, options)
    assert (result.exit_code, f"--relay-token-file {tmp_path / 'none'} cannot be read" in result.output) == (2, True)
