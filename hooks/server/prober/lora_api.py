"""The calls that an engine's system server takes, and what its answers mean.

A 2xx answer to a load does not prove that the adapter is loaded: a worker whose handler raised an exception answers
200 too. Only the list proves it.

Source: Dynamo runtime, lib/runtime/src/system_status_server.rs; Dynamo operator, internal/modelendpoint/lora.go.
"""

import errno
import os
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from http.client import HTTPException, RemoteDisconnected
from typing import Any
from urllib.parse import quote

import orjson
import requests
from requests.adapters import HTTPAdapter
from urllib3 import Timeout
from urllib3.exceptions import HTTPError, ReadTimeoutError

from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer, EngineCall
from hooks.model.prober.engine_rules import EngineRules
from hooks.model.prober.engine_texts import read_text
from hooks.server.exchange.connections import BoundedAdapter
from hooks.server.exchange.documents import Unreadable, parse_json
from hooks.server.prober.connections import CONNECTIONS_PER_ENGINE, MOST_OPEN_ENGINES
from hooks.server.serving.call_id import TRACE

CONNECT_SECONDS = 2.0
MAX_BODY_BYTES = 2**20

_UNSUPPORTED = "LoRA management not available"
_NO_ROUTE = "Route not found"
_PASSING = frozenset({401, 403, 408, 409, 423, 425, 429})
"""Refusals that may pass: permissions that are granted later, a load already under way, too many requests."""
_GENERAL_REASONS = {
    400: "the engine refuses the request",
    401: "the engine asks for credentials",
    403: "the engine denies access",
    404: "the engine does not know the adapter or its source",
    408: "the engine timed out",
    409: "another change is under way",
    422: "the engine refuses the request",
    429: "the engine gets too many requests",
    500: "the engine failed",
    502: "no engine answers behind a proxy",
    503: "the engine is not available",
    504: "no engine answers behind a proxy in time",
}
_NAME_KEYS = ("lora_name", "name", "id", "model")
_LIST_KEYS = ("loras", "adapters", "data")
_WRAPPER_KEYS = frozenset({"status", "message"})
"""Keys that the runtime adds to every answer; if there is no list beside them, the worker's handler returned none."""


def open_transport(hosts: int = MOST_OPEN_ENGINES) -> HTTPAdapter:
    """The transport to all engines, which keeps connections open for `hosts` of them.

    Calls go straight to it: a session would add proxies and cookies, and take two fifths of a call's processor time.
    """
    return BoundedAdapter(MAX_BODY_BYTES, pool_connections=hosts, pool_maxsize=CONNECTIONS_PER_ENGINE)


def perform(transport: HTTPAdapter, call: EngineCall, *, rules: EngineRules) -> EngineAnswer:
    """Make a call and judge the answer; nothing that an engine does raises an exception.

    What the rules refuse is not called, whoever asks for it.
    """
    if refusal := rules.find_refusal(call):
        return EngineAnswer(outcome=CallOutcome.FAILED, message=refusal)
    try:
        match call.action:
            case EngineAction.LIST:
                return list_adapters(transport, call.address, call.timeout)
            case EngineAction.LOAD:
                return load_adapter(
                    transport, call.address, call.adapter, call.uri, timeout=call.timeout, trace=call.traceparent
                )
            case EngineAction.UNLOAD:
                return unload_adapter(transport, call.address, call.adapter, call.timeout, trace=call.traceparent)
    except (requests.RequestException, HTTPError, HTTPException, OSError, ValueError) as error:
        return _judge_failure(error, call.timeout)


def _judge_failure(error: Exception, timeout: float) -> EngineAnswer:
    """The answer for a call that failed without a valid HTTP answer."""
    if isinstance(error, requests.ConnectTimeout):
        return EngineAnswer(
            outcome=CallOutcome.TIMEOUT, message=f"no connection within {min(CONNECT_SECONDS, timeout):g} s"
        )
    inner = error.args[0] if error.args else None
    if isinstance(error, (requests.Timeout, ReadTimeoutError)) or isinstance(inner, ReadTimeoutError):
        return EngineAnswer(outcome=CallOutcome.TIMEOUT, message=f"no answer within {timeout:g} s")
    if isinstance(error, requests.ConnectionError):
        return EngineAnswer(outcome=CallOutcome.UNREACHABLE, message=_describe_connection(error))
    return EngineAnswer(outcome=CallOutcome.FAILED, message="no valid HTTP answer")


def list_adapters(transport: HTTPAdapter, address: str, timeout: float) -> EngineAnswer:
    """`GET /v1/loras`: the adapters of an engine; NO_LIST if it does not have the route, or answers another document.

    FAILED if it should answer a list and does not; then the answer says nothing about any adapter.
    """
    status, body = _send(transport, "GET", f"{address}/v1/loras", timeout)
    document = _parse(body)
    if _says_unsupported(document, body):
        return EngineAnswer(outcome=CallOutcome.UNSUPPORTED, message=_message(status, document, body))
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}:
        return EngineAnswer(outcome=CallOutcome.NO_LIST)
    if not _is_success(status, document):
        return EngineAnswer(outcome=CallOutcome.FAILED, message=_message(status, document, body))
    names = read_names(document)
    if names is not None:
        return EngineAnswer(outcome=CallOutcome.OK, names=names)
    if document is not None and not _is_wrapper(document):
        return EngineAnswer(outcome=CallOutcome.NO_LIST)
    return EngineAnswer(outcome=CallOutcome.FAILED, message=_describe_no_list(status, body))


def _is_wrapper(document: Any) -> bool:
    return isinstance(document, Mapping) and not _WRAPPER_KEYS.isdisjoint(document)


def _describe_no_list(status: int, body: bytes) -> str:
    if len(body) >= MAX_BODY_BYTES:
        return f"HTTP {status} without a list of adapters: more than {MAX_BODY_BYTES // 2**20} MiB"
    return f"HTTP {status} without a list of adapters{'' if body.strip() else ': empty body'}"


def read_names(document: Any) -> frozenset[str] | None:
    """The names in a list of adapters: a map by name, a list of names, or of objects with a name; else None."""
    if isinstance(document, Mapping):
        key = next((key for key in _LIST_KEYS if key in document), None)
        if key is None:
            return None
        document = [] if document[key] is None else document[key]
        if isinstance(document, Mapping):
            return frozenset(str(name) for name in document)
    if not isinstance(document, list):
        return None
    names = [_read_name(entry) for entry in document]
    return None if None in names else frozenset(name for name in names if name is not None)


def _read_name(entry: Any) -> str | None:
    if isinstance(entry, Mapping):
        entry = next((entry[key] for key in _NAME_KEYS if key in entry), None)
    return entry if isinstance(entry, str) else None


def load_adapter(
    transport: HTTPAdapter, address: str, adapter: str, uri: str, *, timeout: float, trace: str = ""
) -> EngineAnswer:
    """`POST /v1/loras`: load an adapter; OK means that the engine accepted the call, not that it loaded the adapter."""
    body = orjson.dumps({"lora_name": adapter, "source": {"uri": uri}})
    status, text = _send(transport, "POST", f"{address}/v1/loras", timeout, body=body, trace=trace)
    document = _parse(text)
    message = _message(status, document, text, uri)
    if _says_unsupported(document, text) or (status == HTTPStatus.NOT_FOUND and _NO_ROUTE in _decode(text)):
        return EngineAnswer(outcome=CallOutcome.UNSUPPORTED, message=message)
    if _is_success(status, document):
        if _is_empty_success(document):
            return EngineAnswer(
                outcome=CallOutcome.FAILED, message=f"HTTP {status} without the adapter's name, so it is not loaded"
            )
        if _is_markup(text):
            return EngineAnswer(outcome=CallOutcome.FAILED, message=_describe_markup(status))
        return EngineAnswer(outcome=CallOutcome.OK)
    is_refused = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _PASSING
    meaning = read_text(_said(document, text), uri)
    if is_refused or (meaning is not None and meaning.is_final):
        return EngineAnswer(outcome=CallOutcome.TERMINAL, message=message)
    return EngineAnswer(outcome=CallOutcome.FAILED, message=message)


def _is_empty_success(document: Any) -> bool:
    """Whether the answer is that of a worker whose handler raised an exception: success, and nothing else."""
    return bool(document == {"status": "success"})


def _is_markup(body: bytes) -> bool:
    """Whether the body is a page, which a proxy sends in an engine's place; engines send JSON, or nothing."""
    return body.lstrip()[:1] == b"<"


def _describe_markup(status: int) -> str:
    return f"HTTP {status} with a page of HTML or XML in place of JSON; another server answers in the engine's place"


def unload_adapter(
    transport: HTTPAdapter, address: str, adapter: str, timeout: float, *, trace: str = ""
) -> EngineAnswer:
    """`DELETE /v1/loras/<name>`: unload an adapter; slashes in the name are encoded, and the engine decodes them."""
    status, body = _send(transport, "DELETE", f"{address}/v1/loras/{quote(adapter, safe='')}", timeout, trace=trace)
    document = _parse(body)
    if _is_success(status, document):
        if _is_markup(body):
            return EngineAnswer(outcome=CallOutcome.FAILED, message=_describe_markup(status))
        return EngineAnswer(outcome=CallOutcome.OK)
    message = _message(status, document, body)
    if _says_unsupported(document, body):
        return EngineAnswer(outcome=CallOutcome.UNSUPPORTED, message=message)
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return EngineAnswer(outcome=CallOutcome.GONE, message=message)
    return EngineAnswer(outcome=CallOutcome.FAILED, message=message)


def _send(
    transport: HTTPAdapter, method: str, url: str, timeout: float, *, body: bytes | None = None, trace: str = ""
) -> tuple[int, bytes]:
    """The status and at most `MAX_BODY_BYTES` of the body; `timeout` limits the time for the whole answer.

    Raises:
        requests.RequestException: the engine cannot be reached, is too slow, or does not speak HTTP.
    """
    limits = Timeout(total=timeout, connect=min(CONNECT_SECONDS, timeout))
    prepared = _prepare(method, url, body)
    if trace:
        prepared = prepared.copy()
        prepared.headers[TRACE] = trace
    with transport.send(prepared, stream=True, timeout=limits) as response:  # type: ignore[arg-type]  # not in the stubs
        return response.status_code, _read_body(response)


@lru_cache(maxsize=MOST_OPEN_ENGINES)
def _prepare(method: str, url: str, body: bytes | None) -> requests.PreparedRequest:
    """The request, made once, because engines get the same one every few seconds."""
    headers = {"User-Agent": "dynamo-hooks", "Accept": "*/*", "Accept-Encoding": "identity"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    return requests.Request(method, url, headers=headers, data=body).prepare()


def _read_body(response: requests.Response) -> bytes:
    """At most `MAX_BODY_BYTES`, as sent: nothing is unpacked, because a small body may unpack to a huge one."""
    parts: list[bytes] = []
    size = 0
    for chunk in response.raw.stream(64 * 1024, decode_content=False):
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            break
    return b"".join(parts)[:MAX_BODY_BYTES]


def _parse(body: bytes) -> Any:
    try:
        return parse_json(body)
    except Unreadable:
        return None


def _decode(body: bytes) -> str:
    return body.decode("utf-8", "replace")


def _is_success(status: int, document: Any) -> bool:
    says_error = isinstance(document, Mapping) and document.get("status") == "error"
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES and not says_error


def _says_unsupported(document: Any, body: bytes) -> bool:
    text = _engine_text(document)
    return (text if text is not None else _decode(body)).startswith(_UNSUPPORTED)


def _engine_text(document: Any) -> str | None:
    if isinstance(document, Mapping):
        return next((str(document[key]) for key in ("message", "error", "detail") if document.get(key)), None)
    return None


def _said(document: Any, body: bytes) -> str:
    """What the engine says in words: the message in its document, else the whole body."""
    return _engine_text(document) or _decode(body)


def _message(status: int, document: Any, body: bytes, uri: str = "") -> str:
    """`HTTP 500: the engine is out of memory; see the engine's log`: the status and a reason of ours.

    An engine's own text never gets into a status: whoever may write an EndpointSlice would read there what any server
    that the prober reaches answers.
    """
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return f"HTTP {status}: redirects are not followed"
    meaning = read_text(_said(document, body), uri)
    reason = meaning.reason if meaning else _GENERAL_REASONS.get(status, "the engine reports an error")
    return f"HTTP {status}: {reason}; see the engine's log"


def _describe_connection(error: requests.ConnectionError) -> str:
    """The operating system's words for the cause, such as `Connection refused`; never what the engine sent."""
    causes: list[BaseException] = [error]
    for cause in causes:
        inner = [getattr(cause, "reason", None), cause.__cause__, cause.__context__, *cause.args]
        causes += [one for one in inner if isinstance(one, BaseException) and one not in causes]
    number = next((one.errno for one in causes if isinstance(one, OSError) and one.errno), None)
    if number is not None and number in errno.errorcode:
        return os.strerror(number)
    if any(isinstance(one, RemoteDisconnected) for one in causes):
        return "the engine closed the connection without an answer"
    return "the connection broke"
