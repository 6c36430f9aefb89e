import os

import click
import pytest
import requests
import responses
from click.testing import CliRunner

from hooks.ground.errors import ProberUnavailable
from hooks.model.prober.messages import AdapterPhase, EndpointReport, LoadReport, LoadRequest, Term
from hooks.server.clients.prober_client import ProberClient
from hooks.server.clients.prober_token import TOKEN_VARIABLE, read_token
from hooks.server.commands.prober import prober
from hooks.server.commands.serve import serve
from hooks.server.serving.call_id import CallId
from hooks.wire.prober.messages import read_message, write_message

BASE = "http://127.0.0.1:9191"
URL = f"{BASE}/v1/models/default/m"
WANTED = LoadRequest(namespace="default", name="m")
REPORT = LoadReport(endpoints=(EndpointReport(address="http://10.0.0.1:9090", phase=AdapterPhase.LOADED),))


@responses.activate
def test_request_carries_token_and_sync_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    responses.put(URL, body=write_message(REPORT))
    assert ProberClient("http://127.0.0.1:9191/").ask(WANTED, CallId(sync_id="id-1")) == REPORT
    sent = responses.calls[0].request
    assert isinstance(sent.body, bytes)
    assert read_message(sent.body, LoadRequest) == WANTED
    assert (sent.headers["Authorization"], sent.headers["X-Request-Id"]) == ("Bearer secret", "id-1")


@pytest.mark.parametrize(
    ("environment", "token"),
    [
        ({}, ""),
        ({TOKEN_VARIABLE: ""}, ""),
        ({TOKEN_VARIABLE: "secret"}, "secret"),
        ({TOKEN_VARIABLE: " secret\n"}, "secret"),
    ],
    ids=["unset", "empty", "plain", "a file's"],
)
def test_token_is_read_without_blanks_around_it(environment: dict[str, str], token: str) -> None:
    assert read_token(environment) == token


@pytest.mark.parametrize(
    ("token", "sentence"),
    [
        ("\n", f"{TOKEN_VARIABLE} is blank"),
        ("two\nlines", f"{TOKEN_VARIABLE} holds a character that a token must not have"),
        ("schlüssel", f"{TOKEN_VARIABLE} holds a character that a token must not have"),
        ("鍵", f"{TOKEN_VARIABLE} holds a character that a token must not have"),
        ("\udcff", f"{TOKEN_VARIABLE} holds a character that a token must not have"),
    ],
    ids=["blank", "two lines", "latin-1", "chinese", "no utf-8"],
)
@pytest.mark.parametrize("command", [serve, prober])
def test_token_that_cannot_be_sent_is_refused_at_the_start(
    command: click.Command, token: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, TOKEN_VARIABLE: token})
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 2
    assert result.output.startswith(sentence)
    assert result.output.count("\n") == 1
    assert token.strip() == "" or token not in result.output


@responses.activate
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"status": 401, "body": "the token is missing\nmore"}, "the prober answered HTTP 401: the token is missing"),
        ({"status": 302, "headers": {"Location": "http://127.0.0.1/"}}, "the prober answered HTTP 302"),
        ({"body": "{}garbage"}, "the prober's answer is not a report"),
        ({"body": requests.ReadTimeout()}, "the prober did not answer within 1 s"),
        ({"body": requests.ConnectTimeout()}, "the prober cannot be reached at http://127.0.0.1:9191"),
        ({"body": requests.ConnectionError()}, "the prober cannot be reached at http://127.0.0.1:9191"),
    ],
    ids=["refused", "redirect", "garbage", "slow", "no connection", "down"],
)
def test_anything_but_a_report_is_unavailable(answer: dict[str, object], message: str) -> None:
    responses.put(URL, **answer)
    with pytest.raises(ProberUnavailable, match=message) as failure:
        ProberClient("http://127.0.0.1:9191", token="").ask(WANTED)
    assert "\n" not in str(failure.value)


@responses.activate
def test_term_of_the_prober_is_read() -> None:
    responses.get(f"{BASE}/v1/term", body=b'{"number":3,"until":12.5}')
    assert ProberClient(BASE, "").read_term() == Term(number=3, until=12.5)
    responses.replace(responses.GET, f"{BASE}/v1/term", body="the dispatcher's thread has ended\n", status=503)
    with pytest.raises(ProberUnavailable, match="HTTP 503: the dispatcher's thread has ended"):
        ProberClient(BASE, "").read_term()
    responses.replace(responses.GET, f"{BASE}/v1/term", body=b"[]")
    with pytest.raises(ProberUnavailable, match="not a term; run hooks and prober of one version"):
        ProberClient(BASE, "").read_term()
