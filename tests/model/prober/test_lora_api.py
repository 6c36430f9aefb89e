"""Every known answer of an engine, and some that only a broken one gives."""

import gzip
import socket
import threading
from dataclasses import replace
from typing import Any

import pytest
import requests
import responses

from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer, EngineCall
from hooks.model.prober.engine_rules import EngineRules
from hooks.server.prober.lora_api import MAX_BODY_BYTES, open_transport, perform
from tests.model.parts import ANY_ENGINE, ROUTABLE

ENGINE = "http://10.0.0.1:9090"
LORAS = f"{ENGINE}/v1/loras"
NOT_AVAILABLE = "LoRA management not available: no endpoint load_lora"
LOG = "; see the engine's log"
NO_SOURCE = f"the source does not exist; check source.uri{LOG}"
LISTLESS = "HTTP 200 without a list of adapters"


def call(action: EngineAction, adapter: str = "a") -> EngineCall:
    return EngineCall(
        action=action, address=ENGINE, pod="w0", timeout=1.0, started=0.0, adapter=adapter, uri="s3://b/a"
    )


def make_call(action: EngineAction, adapter: str = "a") -> EngineAnswer:
    return perform(open_transport(), call(action, adapter), rules=ROUTABLE)


@responses.activate
@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"status": "success", "loras": {"a": 1, "org/b": 2}, "count": 2}, {"a", "org/b"}),
        ({"status": "success", "loras": {}, "count": 0}, set()),
        ({"loras": ["a", "b"]}, {"a", "b"}),
        ({"loras": [{"lora_name": "a", "lora_id": 1}, {"name": "b"}]}, {"a", "b"}),
        ({"object": "list", "data": [{"id": "a"}]}, {"a"}),
        (["a"], {"a"}),
        (["a", "b", "a"], {"a", "b"}),
        ({"loras": [{"lora_name": "a", "lora_id": 1}, {"lora_name": "a", "lora_id": 2}]}, {"a"}),
        ([], set()),
        ({"status": "success", "loras": None, "count": 0}, set()),
    ],
    ids=[
        "map",
        "empty map",
        "names",
        "objects",
        "openai",
        "bare list",
        "a name twice",
        "objects of one name",
        "bare empty list",
        "null",
    ],
)
def test_every_shape_of_list_is_read(body: Any, names: set[str]) -> None:
    responses.get(LORAS, json=body)
    assert make_call(EngineAction.LIST) == EngineAnswer(outcome=CallOutcome.OK, names=frozenset(names))


@responses.activate
@pytest.mark.parametrize(
    ("answer", "outcome", "message"),
    [
        ({"status": 404, "body": "Route not found"}, CallOutcome.NO_LIST, ""),
        ({"status": 405}, CallOutcome.NO_LIST, ""),
        ({"status": 501}, CallOutcome.NO_LIST, ""),
        ({"json": {"loras": [1, 2]}}, CallOutcome.NO_LIST, ""),
        ({"json": {"object": "error"}}, CallOutcome.NO_LIST, ""),
        ({"json": {"status": "success"}}, CallOutcome.FAILED, LISTLESS),
        ({"json": {"message": "wait"}}, CallOutcome.FAILED, LISTLESS),
        ({"json": {"status": "success", "loras": "?"}}, CallOutcome.FAILED, LISTLESS),
        ({"body": "<html>"}, CallOutcome.FAILED, LISTLESS),
        ({"body": "x" * 40_000}, CallOutcome.FAILED, LISTLESS),
        ({"body": '{"loras": {"a": 1'}, CallOutcome.FAILED, LISTLESS),
        ({"status": 204}, CallOutcome.FAILED, "HTTP 204 without a list of adapters: empty body"),
        (
            {"status": 500, "json": {"status": "error", "message": NOT_AVAILABLE}},
            CallOutcome.UNSUPPORTED,
            "HTTP 500: LoRA management is not available; see the engine's log",
        ),
        ({"status": 500, "json": {"message": "boom"}}, CallOutcome.FAILED, f"HTTP 500: the engine failed{LOG}"),
        (
            {"json": {"status": "error", "message": "boom"}},
            CallOutcome.FAILED,
            f"HTTP 200: the engine reports an error{LOG}",
        ),
        ({"status": 503}, CallOutcome.FAILED, f"HTTP 503: the engine is not available{LOG}"),
        (
            {"status": 307, "headers": {"Location": "http://10.9.9.9/"}},
            CallOutcome.FAILED,
            "redirects are not followed",
        ),
    ],
    ids=[
        "no route", "405", "501", "numbers", "other document", "handler raised", "only a message", "no names", "html",
        "40,000 characters",
        "broken off", "204", "no lora", "500", "error in 200", "503", "redirect",
    ],
)  # fmt: skip
def test_answer_without_a_list_is_judged(answer: dict[str, Any], outcome: CallOutcome, message: str) -> None:
    responses.get(LORAS, **answer)
    found = make_call(EngineAction.LIST)
    assert found.outcome is outcome
    assert message in found.message
    assert len(responses.calls) == 1


@responses.activate
@pytest.mark.parametrize(
    ("answer", "outcome", "message"),
    [
        ({"json": {"status": "success", "message": "ok", "lora_name": "a", "lora_id": 7}}, CallOutcome.OK, ""),
        ({"status": 201, "body": ""}, CallOutcome.OK, ""),
        ({"status": 204}, CallOutcome.OK, ""),
        ({"json": {"status": "success"}}, CallOutcome.FAILED, "without the adapter's name"),
        ({"json": {"status": "error", "message": "disk full"}}, CallOutcome.FAILED, "HTTP 200: the engine reports an"),
        (
            {"status": 500, "json": {"status": "error", "message": "CUDA out of memory"}},
            CallOutcome.FAILED,
            f"HTTP 500: the engine is out of memory{LOG}",
        ),
        ({"status": 500, "json": {"message": "NoSuchKey: key"}}, CallOutcome.TERMINAL, f"HTTP 500: {NO_SOURCE}"),
        ({"status": 500, "json": {"message": "404 Client Error for url"}}, CallOutcome.TERMINAL, NO_SOURCE),
        ({"status": 404, "json": {"message": "source not found"}}, CallOutcome.TERMINAL, "the engine does not know"),
        ({"status": 400, "body": "bad"}, CallOutcome.TERMINAL, "HTTP 400: the engine refuses the request"),
        ({"status": 422, "body": "missing field source"}, CallOutcome.TERMINAL, "HTTP 422: the engine refuses"),
        ({"status": 415, "body": "Expected json"}, CallOutcome.TERMINAL, "HTTP 415"),
        ({"status": 404, "body": "Route not found"}, CallOutcome.UNSUPPORTED, "HTTP 404: the engine has no such route"),
        ({"status": 500, "json": {"message": NOT_AVAILABLE}}, CallOutcome.UNSUPPORTED, "HTTP 500: LoRA management"),
        ({"status": 403}, CallOutcome.FAILED, "HTTP 403"),
        ({"status": 409, "json": {"detail": "loading"}}, CallOutcome.FAILED, "HTTP 409: another change is under way"),
        ({"status": 429}, CallOutcome.FAILED, "HTTP 429"),
        ({"status": 503}, CallOutcome.FAILED, "HTTP 503"),
        ({"status": 308, "headers": {"Location": "http://10.9.9.9/"}}, CallOutcome.FAILED, "HTTP 308: redirects"),
        ({"status": 500, "body": "line\n" * 1000}, CallOutcome.FAILED, "HTTP 500: the engine failed"),
    ],
    ids=[
        "200", "201", "204", "handler raised", "error in 200", "500", "no key", "hf 404", "404", "400", "422", "415",
        "no route", "no lora", "403", "409", "429", "503", "redirect", "long",
    ],
)  # fmt: skip
def test_load_is_judged(answer: dict[str, Any], outcome: CallOutcome, message: str) -> None:
    responses.post(LORAS, **answer)
    found = make_call(EngineAction.LOAD)
    assert found.outcome is outcome
    assert message in found.message
    assert len(found.message) <= 256
    assert "\n" not in found.message
    assert len(responses.calls) == 1


@responses.activate
def test_load_sends_what_the_engine_reads() -> None:
    matcher = responses.matchers.json_params_matcher({"lora_name": "a", "source": {"uri": "s3://b/a"}})
    header = responses.matchers.header_matcher({"Content-Type": "application/json"})
    responses.post(LORAS, json={"lora_name": "a"}, match=[matcher, header])
    assert make_call(EngineAction.LOAD).outcome is CallOutcome.OK


@responses.activate
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"json": {"status": "success", "lora_name": "a"}}, CallOutcome.OK),
        ({"status": 204}, CallOutcome.OK),
        ({"status": 404}, CallOutcome.GONE),
        ({"status": 410}, CallOutcome.GONE),
        ({"status": 500, "json": {"message": "unknown adapter"}}, CallOutcome.FAILED),
        ({"status": 500, "json": {"message": NOT_AVAILABLE}}, CallOutcome.UNSUPPORTED),
    ],
    ids=["200", "204", "404", "410", "500", "no lora"],
)
def test_unload_is_judged(answer: dict[str, Any], outcome: CallOutcome) -> None:
    responses.delete(f"{LORAS}/a", **answer)
    assert make_call(EngineAction.UNLOAD).outcome is outcome


@responses.activate
@pytest.mark.parametrize(
    ("name", "path"),
    [("org/my lora", "org%2Fmy%20lora"), ("a/../b", "a%2F..%2Fb"), ("ä?#%", "%C3%A4%3F%23%25")],
    ids=["slash", "dots", "signs"],
)
def test_name_is_one_encoded_segment_of_the_path(name: str, path: str) -> None:
    responses.delete(f"{LORAS}/{path}", status=200)
    assert make_call(EngineAction.UNLOAD, name).outcome is CallOutcome.OK
    assert responses.calls[0].request.url == f"{LORAS}/{path}"


@responses.activate
@pytest.mark.parametrize(
    ("error", "outcome", "message"),
    [
        (requests.ConnectTimeout(), CallOutcome.TIMEOUT, "no connection within 1 s"),
        (requests.ReadTimeout(), CallOutcome.TIMEOUT, "no answer within 1 s"),
        (requests.ConnectionError("gone"), CallOutcome.UNREACHABLE, "the connection broke"),
        (requests.exceptions.ChunkedEncodingError("broken"), CallOutcome.FAILED, "no valid HTTP answer"),
    ],
    ids=["connect", "read", "refused", "broken"],
)
def test_each_kind_of_missing_answer_has_its_outcome(error: Exception, outcome: CallOutcome, message: str) -> None:
    responses.get(LORAS, body=error)
    assert make_call(EngineAction.LIST) == EngineAnswer(outcome=outcome, message=message)


def test_refused_connection_has_a_short_message() -> None:
    refused = EngineCall(action=EngineAction.LIST, address="http://127.0.0.1:1", pod="w0", timeout=1.0, started=0.0)
    assert perform(open_transport(), refused, rules=ANY_ENGINE) == EngineAnswer(
        outcome=CallOutcome.UNREACHABLE, message="Connection refused"
    )


@responses.activate
def test_endless_body_is_cut() -> None:
    responses.get(LORAS, body=b"[" + b'"a",' * MAX_BODY_BYTES)
    message = "HTTP 200 without a list of adapters: more than 1 MiB"
    assert make_call(EngineAction.LIST) == EngineAnswer(outcome=CallOutcome.FAILED, message=message)


@responses.activate
def test_cookies_of_engines_are_not_kept() -> None:
    responses.get(LORAS, json=[], headers={"Set-Cookie": "a=b"})
    transport = open_transport()
    perform(transport, call(EngineAction.LIST), rules=ROUTABLE)
    perform(transport, call(EngineAction.LIST), rules=ROUTABLE)
    assert "Cookie" not in responses.calls[1].request.headers


SECRET = "aws_secret_access_key=hunter2"


@responses.activate
@pytest.mark.parametrize("status", [200, 201, 204, 301, 307, 400, 401, 404, 409, 418, 422, 429, 500, 502, 503, 599])
@pytest.mark.parametrize(
    "body",
    [
        {"json": {"message": SECRET}},
        {"json": {"status": "error", "error": SECRET}},
        {"json": {"detail": f"LoRA management not available {SECRET}"}},
        {"json": {SECRET: SECRET}},
        {"json": [{SECRET: 1}]},
        {"body": f"NoSuchKey {SECRET}"},
        {"body": SECRET, "headers": {"Location": f"http://10.9.9.9/{SECRET}"}},
    ],
)
@pytest.mark.parametrize("action", EngineAction)
def test_no_word_of_an_answer_becomes_a_message(action: EngineAction, body: dict[str, Any], status: int) -> None:
    for method in (responses.GET, responses.POST):
        responses.add(method, LORAS, status=status, **body)
    responses.delete(f"{LORAS}/a", status=status, **body)
    message = make_call(action).message
    assert "hunter2" not in message
    assert len(message) <= 256


@responses.activate
def test_answer_is_not_unpacked() -> None:
    bomb = gzip.compress(b"[" + b" " * 50_000_000)
    responses.get(LORAS, body=bomb, headers={"Content-Encoding": "gzip"})
    assert make_call(EngineAction.LIST) == EngineAnswer(outcome=CallOutcome.FAILED, message=LISTLESS)
    assert responses.calls[0].request.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 hunter2 hunter2\r\n\r\n",
        b"hunter2 hunter2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nhunter2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: hunter2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhunter2\r\n",
        b"",
    ],
    ids=["status", "first line", "header", "length", "chunk", "nothing"],
)
def test_no_word_of_a_broken_answer_becomes_a_message(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer_once, args=(server, answer), daemon=True).start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        broken = EngineCall(action=EngineAction.LIST, address=address, pod="w0", timeout=2.0, started=0.0)
        found = perform(open_transport(), broken, rules=ANY_ENGINE)
    assert found.outcome in {CallOutcome.FAILED, CallOutcome.UNREACHABLE}
    assert found.message
    assert "hunter2" not in found.message


def _answer_once(server: socket.socket, answer: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(answer)


def test_address_that_no_engine_has_is_not_called() -> None:
    with responses.RequestsMock(), socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        for action in EngineAction:
            asked = EngineCall(action=action, address=address, pod="w0", timeout=1.0, started=0.0, adapter="a", uri="u")
            found = perform(open_transport(), asked, rules=ROUTABLE)
            assert found.outcome is CallOutcome.FAILED
            assert found.message == "not called: its address 127.0.0.1 is a loopback address (setting engine_addresses)"


NO_PORT = "is not that of engines (setting engine_port)"
NO_SCHEME = "not loaded: its source does not start with s3:// or hf://"
NO_FILE = "not loaded: its source is a file (setting lora_file_sources)"
WITHOUT_FILES = replace(ROUTABLE, takes_files=False)


@pytest.mark.parametrize(
    ("asked", "rules", "refusal"),
    [
        ({"address": "http://10.0.0.1:8080"}, ROUTABLE, f"not called: its port 8080 {NO_PORT}"),
        ({"address": "http://[fd00::1]:9091"}, ROUTABLE, f"not called: its port 9091 {NO_PORT}"),
        ({"uri": "file:///etc"}, WITHOUT_FILES, NO_FILE),
        ({"uri": "FILE:///etc"}, ROUTABLE, NO_SCHEME),
        ({"uri": "/etc"}, ANY_ENGINE, NO_SCHEME),
    ],
    ids=["a port", "a port of IPv6", "a file", "another scheme", "a path"],
)
def test_prober_itself_judges_ports_and_sources(asked: dict[str, Any], rules: EngineRules, refusal: str) -> None:
    loading = replace(call(EngineAction.LOAD), **asked)
    with responses.RequestsMock():
        assert perform(open_transport(), loading, rules=rules).message == refusal


@responses.activate
def test_file_is_loaded_and_unloaded_where_the_settings_allow_it() -> None:
    responses.post(LORAS, json={"status": "success", "lora_name": "a"})
    responses.delete(f"{LORAS}/a", json={"status": "success", "lora_name": "a"})
    loading = replace(call(EngineAction.LOAD), uri="file:///adapters/a")
    assert perform(open_transport(), loading, rules=ROUTABLE).outcome is CallOutcome.OK
    unloading = replace(loading, action=EngineAction.UNLOAD)
    assert perform(open_transport(), unloading, rules=WITHOUT_FILES).outcome is CallOutcome.OK


@responses.activate
@pytest.mark.parametrize("action", [EngineAction.LOAD, EngineAction.UNLOAD])
def test_page_in_place_of_json_is_no_success(action: EngineAction) -> None:
    responses.post(LORAS, body="\n<!DOCTYPE html><html>Welcome</html>")
    responses.delete(f"{LORAS}/a", body="<html>Welcome</html>")
    message = "HTTP 200 with a page of HTML or XML in place of JSON; another server answers in the engine's place"
    assert make_call(action) == EngineAnswer(outcome=CallOutcome.FAILED, message=message)


@responses.activate
@pytest.mark.parametrize(
    "body",
    ['{"loras": {"a": 1, "b": 2, "a": 3}}', '["a", "b", "a"]', '{"data": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}'],
    ids=["map", "names", "objects"],
)
def test_list_with_a_name_twice_loses_no_other(body: str) -> None:
    responses.get(LORAS, body=body)
    assert make_call(EngineAction.LIST) == EngineAnswer(outcome=CallOutcome.OK, names=frozenset({"a", "b"}))


@responses.activate
def test_list_with_a_name_of_forty_thousand_characters_is_read_whole() -> None:
    responses.get(LORAS, json={"loras": {"x" * 40_000: 1, "a": 2}})
    assert make_call(EngineAction.LIST).names == {"x" * 40_000, "a"}
