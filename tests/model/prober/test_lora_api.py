"""Every known answer of an engine, and some that only a broken one gives."""

from typing import Any

import pytest
import requests
import responses

from hooks.model.prober.calls import Action, CallOutcome, EngineAnswer, EngineCall
from hooks.model.prober.lora_api import MAX_BODY_BYTES, open_session, perform

ENGINE = "http://10.0.0.1:9090"
LORAS = f"{ENGINE}/v1/loras"
NOT_AVAILABLE = "LoRA management not available: no endpoint load_lora"


def call(action: Action, adapter: str = "a") -> EngineCall:
    return EngineCall(
        action=action, address=ENGINE, pod="w0", timeout=1.0, started=0.0, adapter=adapter, uri="s3://b/a"
    )


def make_call(action: Action, adapter: str = "a") -> EngineAnswer:
    return perform(open_session(), call(action, adapter))


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
        ([], set()),
        ({"status": "success", "loras": None, "count": 0}, set()),
    ],
    ids=["map", "empty map", "names", "objects", "openai", "bare list", "bare empty list", "null"],
)
def test_every_shape_of_list_is_read(body: Any, names: set[str]) -> None:
    responses.get(LORAS, json=body)
    assert make_call(Action.LIST) == EngineAnswer(outcome=CallOutcome.OK, names=frozenset(names))


@responses.activate
@pytest.mark.parametrize(
    ("answer", "outcome", "message"),
    [
        ({"status": 404, "body": "Route not found"}, CallOutcome.NO_LIST, ""),
        ({"status": 405}, CallOutcome.NO_LIST, ""),
        ({"status": 501}, CallOutcome.NO_LIST, ""),
        ({"json": {"loras": [1, 2]}}, CallOutcome.NO_LIST, ""),
        ({"json": {"object": "error"}}, CallOutcome.NO_LIST, ""),
        ({"json": {"status": "success"}}, CallOutcome.FAILED, 'HTTP 200 without a list of adapters: {"stat'),
        ({"json": {"message": "wait"}}, CallOutcome.FAILED, 'HTTP 200 without a list of adapters: {"message": '),
        ({"json": {"status": "success", "loras": "?"}}, CallOutcome.FAILED, "HTTP 200 without a list of adapters"),
        ({"body": "<html>"}, CallOutcome.FAILED, "HTTP 200 without a list of adapters: <html>"),
        ({"body": '{"loras": {"a": 1'}, CallOutcome.FAILED, 'HTTP 200 without a list of adapters: {"loras": {'),
        ({"status": 204}, CallOutcome.FAILED, "HTTP 204 without a list of adapters: empty body"),
        (
            {"status": 500, "json": {"status": "error", "message": NOT_AVAILABLE}},
            CallOutcome.UNSUPPORTED,
            NOT_AVAILABLE,
        ),
        ({"status": 500, "json": {"message": "boom"}}, CallOutcome.FAILED, "HTTP 500: boom"),
        ({"json": {"status": "error", "message": "boom"}}, CallOutcome.FAILED, "HTTP 200: boom"),
        ({"status": 503}, CallOutcome.FAILED, "HTTP 503"),
        (
            {"status": 307, "headers": {"Location": "http://10.9.9.9/"}},
            CallOutcome.FAILED,
            "redirects are not followed",
        ),
    ],
    ids=[
        "no route", "405", "501", "numbers", "other document", "handler raised", "only a message", "no names", "html",
        "broken off", "204", "no lora", "500", "error in 200", "503", "redirect",
    ],
)  # fmt: skip
def test_answer_without_a_list_is_judged(answer: dict[str, Any], outcome: CallOutcome, message: str) -> None:
    responses.get(LORAS, **answer)
    found = make_call(Action.LIST)
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
        ({"json": {"status": "error", "message": "disk full"}}, CallOutcome.FAILED, "HTTP 200: disk full"),
        (
            {"status": 500, "json": {"status": "error", "message": "no memory"}},
            CallOutcome.FAILED,
            "HTTP 500: no memory",
        ),
        ({"status": 500, "json": {"message": "NoSuchKey: key"}}, CallOutcome.TERMINAL, "HTTP 500: NoSuchKey: key"),
        ({"status": 500, "json": {"message": "404 Client Error for url"}}, CallOutcome.TERMINAL, "404 Client Error"),
        ({"status": 404, "json": {"message": "source not found"}}, CallOutcome.TERMINAL, "HTTP 404: source not found"),
        ({"status": 400, "body": "bad"}, CallOutcome.TERMINAL, "HTTP 400: bad"),
        ({"status": 422, "body": "missing field source"}, CallOutcome.TERMINAL, "HTTP 422: missing field source"),
        ({"status": 415, "body": "Expected json"}, CallOutcome.TERMINAL, "HTTP 415"),
        ({"status": 404, "body": "Route not found"}, CallOutcome.UNSUPPORTED, "HTTP 404: Route not found"),
        ({"status": 500, "json": {"message": NOT_AVAILABLE}}, CallOutcome.UNSUPPORTED, NOT_AVAILABLE),
        ({"status": 403}, CallOutcome.FAILED, "HTTP 403"),
        ({"status": 409, "json": {"detail": "loading"}}, CallOutcome.FAILED, "HTTP 409: loading"),
        ({"status": 429}, CallOutcome.FAILED, "HTTP 429"),
        ({"status": 503}, CallOutcome.FAILED, "HTTP 503"),
        ({"status": 308, "headers": {"Location": "http://10.9.9.9/"}}, CallOutcome.FAILED, "HTTP 308: redirects"),
        ({"status": 500, "body": "line\n" * 1000}, CallOutcome.FAILED, "line line"),
    ],
    ids=[
        "200", "201", "204", "handler raised", "error in 200", "500", "no key", "hf 404", "404", "400", "422", "415",
        "no route", "no lora", "403", "409", "429", "503", "redirect", "long",
    ],
)  # fmt: skip
def test_load_is_judged(answer: dict[str, Any], outcome: CallOutcome, message: str) -> None:
    responses.post(LORAS, **answer)
    found = make_call(Action.LOAD)
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
    assert make_call(Action.LOAD).outcome is CallOutcome.OK


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
    assert make_call(Action.UNLOAD).outcome is outcome


@responses.activate
@pytest.mark.parametrize(
    ("name", "path"),
    [("org/my lora", "org%2Fmy%20lora"), ("a/../b", "a%2F..%2Fb"), ("ä?#%", "%C3%A4%3F%23%25")],
    ids=["slash", "dots", "signs"],
)
def test_name_is_one_encoded_segment_of_the_path(name: str, path: str) -> None:
    responses.delete(f"{LORAS}/{path}", status=200)
    assert make_call(Action.UNLOAD, name).outcome is CallOutcome.OK
    assert responses.calls[0].request.url == f"{LORAS}/{path}"


@responses.activate
@pytest.mark.parametrize(
    ("error", "outcome", "message"),
    [
        (requests.ConnectTimeout(), CallOutcome.TIMEOUT, "no connection within 1 s"),
        (requests.ReadTimeout(), CallOutcome.TIMEOUT, "no answer within 1 s"),
        (requests.ConnectionError("gone"), CallOutcome.UNREACHABLE, "gone"),
        (requests.exceptions.ChunkedEncodingError("broken"), CallOutcome.FAILED, "no valid HTTP answer: broken"),
    ],
    ids=["connect", "read", "refused", "broken"],
)
def test_each_kind_of_missing_answer_has_its_outcome(error: Exception, outcome: CallOutcome, message: str) -> None:
    responses.get(LORAS, body=error)
    assert make_call(Action.LIST) == EngineAnswer(outcome=outcome, message=message)


def test_refused_connection_has_a_short_message() -> None:
    refused = EngineCall(action=Action.LIST, address="http://127.0.0.1:1", pod="w0", timeout=1.0, started=0.0)
    assert perform(open_session(), refused) == EngineAnswer(
        outcome=CallOutcome.UNREACHABLE, message="Connection refused"
    )


@responses.activate
def test_endless_body_is_cut() -> None:
    responses.get(LORAS, body=b"[" + b'"a",' * MAX_BODY_BYTES)
    message = "HTTP 200 without a list of adapters: more than 1 MiB"
    assert make_call(Action.LIST) == EngineAnswer(outcome=CallOutcome.FAILED, message=message)


@responses.activate
def test_cookies_of_engines_are_not_kept() -> None:
    responses.get(LORAS, json=[], headers={"Set-Cookie": "a=b"})
    session = open_session()
    perform(session, call(Action.LIST))
    perform(session, call(Action.LIST))
    assert "Cookie" not in responses.calls[1].request.headers
