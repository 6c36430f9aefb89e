"""What hooks and admission have in common: request ids, bodies of limited size, health probes, errors as one line."""

import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import orjson
from flask import Flask, Response, current_app, g, has_app_context, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from hooks.ground.errors import BodyTooLarge, HookError, InvalidRequest, InvalidSpec, LeaveAlone, UnknownCaller
from hooks.ground.k8s.messages import one_line
from hooks.ground.problems import describe_problem
from hooks.server.exchange.call_time import begin_call, end_call
from hooks.server.serving.call_id import SYNC_ID, CallId, read_trace, trace_fields
from hooks.server.serving.callers import RefuseCaller
from hooks.server.serving.logs import logger
from hooks.server.serving.strangers import CALLER, NOBODY, Caller
from hooks.server.serving.turns import AT_ONCE, Turns
from hooks.wire.metacontroller.resting import MAX_RESTING_BYTES

MAX_ID_CHARACTERS = 128
MAX_MESSAGE_CHARACTERS = 2000
"""Metacontroller shows the body of an error as the message of an Event."""

_TURNS = "turns"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedBy:
    """What an application takes from its server.

    Whether the server is draining, how many calls a process computes at once, which callers of hooks are refused (None:
    nobody), which revision of image and settings it is (an empty one is that of every caller), the file of its
    certificate, None without TLS, and how many bytes of whole answers a process remembers.
    """

    is_draining: Callable[[], bool] = lambda: False
    at_once: int = AT_ONCE
    refuse: RefuseCaller | None = None
    revision: str = ""
    certificate: Path | None = None
    resting_bytes: int = MAX_RESTING_BYTES


BY_ITSELF = ServedBy()
"""For an application that no server of ours runs, such as a test's."""


def create_bare_app(name: str, known_paths: str, max_body_bytes: int, served_by: ServedBy) -> Flask:
    """Build an application that has only the health probes, and answers every error with one line.

    `known_paths` completes the message about an unknown path: "/x is not <known_paths>". While the server is draining,
    `/readyz` answers 503.
    """
    app = Flask(name, static_folder=None)
    app.extensions[_TURNS] = Turns(served_by.at_once)
    app.config["MAX_CONTENT_LENGTH"] = max_body_bytes + 1
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.url_map.merge_slashes = False
    app.add_url_rule("/healthz", "healthz", lambda: _text("alive"), methods=["GET"])
    app.add_url_rule("/readyz", "readyz", lambda: _report_readiness(served_by.is_draining()), methods=["GET"])
    app.before_request(_begin)
    app.teardown_request(_end_turn)
    app.register_error_handler(HTTPException, lambda error: _refuse_request(error, known_paths))
    app.register_error_handler(Exception, _answer_failure)
    return app


def find_caller() -> Caller:
    """What the server is told about the peer of the current request."""
    caller: Caller = request.environ.get(CALLER, NOBODY)
    return caller


def expect_token(refuse: RefuseCaller | None) -> None:
    """Let the current request pass if its caller shows the token; None lets everybody pass.

    Raises:
        UnknownCaller: it does not show it.
    """
    if refuse is not None:
        if reason := refuse(request.headers.get("Authorization", "")):
            raise UnknownCaller(reason)
        find_caller().know()


def read_body(limit: int) -> bytes:
    """The whole body of the current request; returns when the request may be computed.

    Flask silently cuts a chunked body at its own limit. That limit is one byte higher than ours, so the cut is noticed.

    Raises:
        BodyTooLarge: it has more than `limit` bytes. InvalidRequest: its chunks are malformed, or it ends too early.
        TooBusy: it arrived while many calls wait for their turn.
    """
    length = request.content_length
    if length is not None and length > limit:
        raise _too_large(limit)
    caller = find_caller()
    caller.announce(limit if length is None else length)
    try:
        g.body = body = request.get_data(cache=False)
    except RequestEntityTooLarge as error:
        raise _too_large(limit) from error
    except _faults_of_reading() as error:
        raise InvalidRequest(f"the body cannot be read: {error or type(error).__name__}") from error
    if len(body) > limit:
        raise _too_large(limit)
    caller.spare()
    current_app.extensions[_TURNS].take(len(body))
    g.turn = len(body)
    return body


@contextmanager
def turn_lent() -> Iterator[bool]:
    """Let another call be computed while the current one waits; False if so many wait already that it should not."""
    if not has_app_context() or "turn" not in g:
        yield True
        return
    with current_app.extensions[_TURNS].lend(g.turn) as is_lent:
        yield is_lent


def _faults_of_reading() -> tuple[type[Exception], ...]:
    """What reading a body raises: gunicorn's parser has an exception of its own. Windows has no gunicorn."""
    errors = sys.modules.get("gunicorn.http.errors")
    return (OSError,) if errors is None else (OSError, errors.ParseException)


def _end_turn(_error: BaseException | None) -> None:
    end_call()
    if "turn" in g:
        current_app.extensions[_TURNS].give_back(g.pop("turn"))


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body is larger than {limit} bytes; raise the setting max_body_bytes")


def _report_readiness(is_draining: bool) -> Response:
    return _text("draining: this server is about to stop", 503) if is_draining else _text("ready")


def _fault(status: int, error: Exception | None = None) -> Response:
    """The fault of the current request: one line of text for Metacontroller, JSON for a caller that asks for it."""
    if request.accept_mimetypes.best_match(("text/plain", "application/json")) != "application/json":
        return _text(g.fault, status)
    document: dict[str, object] = {"message": g.fault, "missing": list(getattr(error, "missing", ()))}
    if isinstance(error, InvalidSpec):
        document["problems"] = [describe_problem(problem) for problem in error.problems]
    return Response(orjson.dumps(document), status=status, mimetype="application/json")


def _text(line: str, status: int = 200) -> Response:
    return Response(f"{_one_line(line)}\n", status=status, mimetype="text/plain")


def _one_line(text: str) -> str:
    return one_line(text, MAX_MESSAGE_CHARACTERS)


def _begin() -> None:
    begin_call()
    g.started = time.perf_counter()
    g.sync_id = _choose_id(request.headers.get(SYNC_ID, ""))
    if found := read_trace(request.headers):
        g.traceparent = found


def find_call_id() -> CallId:
    """The current call, as other programs are told of it."""
    return CallId(sync_id=g.sync_id, traceparent=g.get("traceparent", ""))


def _choose_id(asked: str) -> str:
    """The printable ASCII characters of the caller's id; a new id if there are none."""
    kept = "".join(c for c in asked[: 4 * MAX_ID_CHARACTERS] if "!" <= c <= "~")[:MAX_ID_CHARACTERS]
    return kept or uuid.uuid4().hex


def _refuse_request(error: HTTPException, known_paths: str) -> Response:
    """Answer a request that Flask itself refuses: an unknown path, a wrong method."""
    status = error.code or 500
    if status == HTTPStatus.NOT_FOUND:
        line = f"{request.path} is not {known_paths}"
    elif status == HTTPStatus.METHOD_NOT_ALLOWED:
        right = ", ".join(sorted(set(getattr(error, "valid_methods", None) or ()) - {"HEAD", "OPTIONS"}))
        line = f"{request.method} {request.path} is not allowed; use {right}"
    else:
        line = error.description or error.name
    g.fault = _one_line(line)
    response = _fault(status)
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        response.headers.extend(h for h in error.get_headers() if h[0] == "Allow")
    return response


def _answer_failure(error: Exception) -> Response:
    """Answer a hook's refusal, or a bug of ours: then the traceback is logged, and the caller gets one sentence."""
    if isinstance(error, HookError) and error.status != HTTPStatus.INTERNAL_SERVER_ERROR:
        g.fault = _one_line(str(error))
    else:
        fields = {"sync_id": g.sync_id, **trace_fields(g.get("traceparent", "")), "path": request.path}
        logger.error("the hook failed", exc_info=error, extra={"fields": fields})
        reason = str(error) if isinstance(error, HookError) else f"a bug of the hook ({type(error).__name__})"
        g.fault = _one_line(f"{reason}; nothing was changed, the hooks' log has more under sync id {g.sync_id}")
    response = _fault(error.status if isinstance(error, HookError) else 500, error)
    if isinstance(error, UnknownCaller):
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, LeaveAlone):
        response.headers["Retry-After"] = str(error.retry_after)
    return response
