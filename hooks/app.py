"""The hooks over HTTP: one route table, errors to statuses, one log line a call.

The only place that catches broadly. It reads the body and the clock, asks the prober, and knows no rule of Dynamo's.
"""

import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from hooks import contract
from hooks.component import removal
from hooks.component import sync as component
from hooks.effects import DropReport, Effect, EtcdPrefixDrop, permitted
from hooks.errors import BodyTooLarge, HookError, LeaveAlone
from hooks.etcd_client import EtcdClient
from hooks.facts import Facts
from hooks.graph import sync as graph
from hooks.graph.scaling_adapter import sync as scaling_adapter
from hooks.k8s.types import GroupVersionKind
from hooks.logs import CallReport, log_bodies, log_call, logger
from hooks.metrics import Metrics, create_metrics, record_call
from hooks.model import sync as model
from hooks.model.prober_client import Prober
from hooks.model.probes import LoadReport, LoadRequest
from hooks.protocol import (
    CustomizeRequest,
    RelatedRule,
    SyncAnswer,
    SyncRequest,
    parse_customize_request,
    parse_sync_request,
    write_customize_answer,
    write_sync_answer,
)
from hooks.settings import Settings

Sync = Callable[[SyncRequest, Facts], SyncAnswer]
Customize = Callable[[CustomizeRequest, Facts], list[RelatedRule]]
AskProber = Callable[[LoadRequest, str], LoadReport]
"""Tells the prober what is wanted under a sync id and returns what it knows; raises `ProberUnavailable`."""
DropKeys = Callable[[EtcdPrefixDrop], DropReport]
"""Drops keys in etcd and says what came of it; never raises."""
CarryOut = Callable[[tuple[Effect, ...]], Sequence[str]]
"""Makes effects true outside; returns a sentence for each that is not."""

MAX_ID_CHARACTERS = 128
MAX_MESSAGE_CHARACTERS = 2000
"""An error's body becomes the message of an Event."""

_OUTCOMES: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request", "bad_request"),
    404: ("not_found", "not_found"),
    405: ("wrong_method", "bad_request"),
    413: ("too_large", "bad_request"),
    422: ("invalid_spec", "validation"),
    429: ("left_alone", ""),
    503: ("prober_unavailable", "unavailable"),
}
"""Status to our word for it and the operator's category of error, which is empty where nothing went wrong."""
_FAILED = ("failed", "internal")
_DONE = ("done", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """What the paths `/<name>/…` answer: about which kind of parent, by which functions."""

    kind: GroupVersionKind
    sync: Sync
    customize: Customize
    finalize: Sync | None = None
    is_decorator: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """What every call needs of the world."""

    settings: Settings
    clock: Callable[[], datetime]
    carry_out: CarryOut | None
    metrics: Metrics

    def facts(self) -> Facts:
        """The time and the settings, as one call knows them."""
        return Facts(now=self.clock(), settings=self.settings)


def all_hooks(ask_prober: AskProber, drop_keys: DropKeys) -> dict[str, Hook]:
    """The route table: name in the path to hook."""
    return {
        "graph": Hook(kind=contract.GRAPH, sync=graph.sync, finalize=graph.finalize, customize=graph.customize),
        "component": Hook(
            kind=contract.COMPONENT,
            sync=component.sync,
            finalize=_drop_first(drop_keys),
            customize=component.customize,
        ),
        "model": Hook(
            kind=contract.MODEL,
            sync=_report_first(model.sync, ask_prober),
            finalize=_report_first(model.finalize, ask_prober),
            customize=model.customize,
            is_decorator=True,
        ),
        "scaling-adapter": Hook(
            kind=contract.SCALING_ADAPTER,
            sync=scaling_adapter.sync,
            customize=scaling_adapter.customize,
            is_decorator=True,
        ),
    }


def _report_first(function: Callable[[SyncRequest, Facts, LoadReport | None], SyncAnswer], ask: AskProber) -> Sync:
    """A hook that first asks the prober, where there is something to load."""

    def sync(call: SyncRequest, facts: Facts) -> SyncAnswer:
        wanted = model.wanted(call, facts)
        return function(call, facts, None if wanted is None else ask(wanted, g.sync_id))

    return sync


def _drop_first(drop_keys: DropKeys) -> Sync:
    """The component's finalize hook, which first drops keys in etcd, where there is something to drop."""

    def finalize(call: SyncRequest, facts: Facts) -> SyncAnswer:
        drop = removal.wanted_drop(call, facts)
        return removal.finalize(call, facts, None if drop is None else drop_keys(drop))

    return finalize


def create_app(
    settings: Settings,
    clock: Callable[[], datetime],
    ask_prober: AskProber | None = None,
    *,
    carry_out: CarryOut | None = None,
    is_draining: Callable[[], bool] = lambda: False,
    hooks: Mapping[str, Hook] | None = None,
) -> Flask:
    """Build the application.

    `clock` returns the time, aware and in UTC. Without `ask_prober` the prober of the settings is asked, without
    `carry_out` effects are only logged, without `hooks` all hooks are served. While `is_draining`, `/readyz` says 503.
    """
    app = Flask("hooks", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_bytes + 1
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.url_map.merge_slashes = False
    shell = Shell(settings=settings, clock=clock, carry_out=carry_out, metrics=create_metrics(app))
    ask = ask_prober or Prober(settings.prober_url).ask
    table = all_hooks(ask, EtcdClient.at(settings.etcd_address).drop) if hooks is None else hooks
    for name, hook in table.items():
        _add_hook(app, name, hook, shell)
    app.add_url_rule("/healthz", "healthz", lambda: _text("alive"), methods=["GET"])
    app.add_url_rule("/readyz", "readyz", lambda: _tell_readiness(is_draining()), methods=["GET"])
    app.before_request(_begin)
    app.register_error_handler(HTTPException, _refuse_request)
    app.register_error_handler(Exception, _answer_failure)
    app.after_request(lambda response: _end(response, shell))
    return app


def _add_hook(app: Flask, name: str, hook: Hook, shell: Shell) -> None:
    calls: dict[str, Callable[[], bytes]] = {
        "sync": lambda: _sync(hook, hook.sync, shell),
        "customize": lambda: _customize(hook, shell),
    }
    if hook.finalize is not None:
        finalize = hook.finalize
        calls["finalize"] = lambda: _sync(hook, finalize, shell)
    for call, answer in calls.items():

        def view(call: str = call, answer: Callable[[], bytes] = answer) -> Response:
            g.hook, g.call, g.kind = name, call, hook.kind.kind
            return Response(answer(), mimetype="application/json")

        app.add_url_rule(f"/{name}/{call}", f"{name}/{call}", view, methods=["POST"])


def _sync(hook: Hook, function: Sync, shell: Shell) -> bytes:
    call = parse_sync_request(_read_body(shell.settings.max_body_bytes), hook.kind, decorator=hook.is_decorator)
    g.parent = call.parent
    g.answer = answer = function(call, shell.facts())
    body = write_sync_answer(answer, call.children, decorator=hook.is_decorator)
    if effects := permitted(answer.effects, shell.settings):
        g.effects = _carry_out(effects, shell.carry_out)
    return body


def _customize(hook: Hook, shell: Shell) -> bytes:
    call = parse_customize_request(_read_body(shell.settings.max_body_bytes), hook.kind)
    g.parent = call.parent
    return write_customize_answer(hook.customize(call, shell.facts()))


def _read_body(limit: int) -> bytes:
    """The whole body, unless it is longer than `limit` bytes.

    Flask cuts a body that comes in chunks at its own limit and says nothing; that limit is one byte higher for this.
    """
    try:
        g.body = request.get_data(cache=False)
    except RequestEntityTooLarge as error:
        raise _too_large(limit) from error
    if len(g.body) > limit:
        raise _too_large(limit)
    body: bytes = g.body
    return body


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body is larger than {limit} bytes; raise the setting max_body_bytes")


def _carry_out(effects: tuple[Effect, ...], carry_out: CarryOut | None) -> str:
    """Carry effects out after the answer is written, and say how it went; a failure never fails the sync."""
    names = ", ".join(sorted({type(effect).__name__ for effect in effects}))
    if carry_out is None:
        return f"not carried out: {names}"
    try:
        faults = carry_out(effects)
    except Exception:
        logger.exception("effects failed", extra={"fields": {"sync_id": g.sync_id, "effects": names}})
        return f"failed: {names}"
    return f"failed: {'; '.join(faults)}" if faults else f"carried out: {names}"


def _tell_readiness(is_draining: bool) -> Response:
    return _text("draining: this server is about to stop", 503) if is_draining else _text("ready")


def _text(line: str, status: int = 200) -> Response:
    return Response(f"{_one_line(line)}\n", status=status, mimetype="text/plain")


def _one_line(text: str) -> str:
    """The text without line breaks and other control characters, at a length that an Event can show."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= MAX_MESSAGE_CHARACTERS else f"{line[: MAX_MESSAGE_CHARACTERS - 1]}…"


def _begin() -> None:
    g.started = time.perf_counter()
    g.sync_id = _choose_id(request.headers.get("X-Request-Id", ""))


def _choose_id(asked: str) -> str:
    """The caller's id as far as it is printable ASCII, or a new one."""
    kept = "".join(c for c in asked[: 4 * MAX_ID_CHARACTERS] if "!" <= c <= "~")[:MAX_ID_CHARACTERS]
    return kept or uuid.uuid4().hex


def _refuse_request(error: HTTPException) -> Response:
    """What Flask itself refuses: an unknown path, a wrong method."""
    status = error.code or 500
    if status == HTTPStatus.NOT_FOUND:
        line = f"{request.path} is no hook; hooks are POST /<hook>/sync, /<hook>/finalize and /<hook>/customize"
    elif status == HTTPStatus.METHOD_NOT_ALLOWED:
        right = ", ".join(sorted(set(getattr(error, "valid_methods", None) or ()) - {"HEAD", "OPTIONS"}))
        line = f"{request.method} {request.path} is not allowed; use {right}"
    else:
        line = error.description or error.name
    g.fault = _one_line(line)
    response = _text(line, status)
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        response.headers.extend(h for h in error.get_headers() if h[0] == "Allow")
    return response


def _answer_failure(error: Exception) -> Response:
    """A hook's own refusal, or a bug of ours: its traceback is logged once, and the caller gets one sentence."""
    if isinstance(error, HookError) and error.status != HTTPStatus.INTERNAL_SERVER_ERROR:
        g.fault = _one_line(str(error))
    else:
        logger.error("the hook failed", exc_info=error, extra={"fields": {"sync_id": g.sync_id, "path": request.path}})
        reason = str(error) if isinstance(error, HookError) else f"a bug of the hook ({type(error).__name__})"
        g.fault = _one_line(f"{reason}; nothing was changed, the hooks' log has more under sync id {g.sync_id}")
    response = _text(g.fault, error.status if isinstance(error, HookError) else 500)
    if isinstance(error, LeaveAlone):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _end(response: Response, shell: Shell) -> Response:
    """Return the id, count the call and write its line; probes of the server itself are neither counted nor logged."""
    known: dict[str, Any] = vars(g._get_current_object())  # through the proxy each look costs a third of a microsecond
    response.headers["X-Request-Id"] = known["sync_id"]
    if "hook" not in known and request.endpoint is not None:
        return response
    report = _report(response, known)
    if "hook" in known:
        record_call(shell.metrics, report)
    more: dict[str, str] = {key: known[key] for key in ("fault", "effects") if key in known}
    log_call(report, sync_id=known["sync_id"], parent=known.get("parent"), answer=known.get("answer"), more=more)
    if logger.isEnabledFor(logging.DEBUG) and "parent" in known:
        log_bodies(known["sync_id"], known["body"], response.get_data())
    return response


def _report(response: Response, known: Mapping[str, Any]) -> CallReport:
    answer: SyncAnswer | None = known.get("answer")
    status = response.status_code
    outcome, error_type = _DONE if status == HTTPStatus.OK else _OUTCOMES.get(status, _FAILED)
    if status == HTTPStatus.OK and answer is not None and answer.problems:
        outcome, error_type = _OUTCOMES[HTTPStatus.UNPROCESSABLE_ENTITY]
    return CallReport(
        hook=known.get("hook", ""),
        call=known.get("call", ""),
        kind=known.get("kind", ""),
        namespace=known["parent"]["metadata"]["namespace"] if "parent" in known else "",
        outcome=outcome,
        error_type=error_type,
        comes_back=status == HTTPStatus.TOO_MANY_REQUESTS or (answer is not None and answer.resync_after_seconds > 0),
        status=status,
        seconds=time.perf_counter() - known["started"],
        request_bytes=len(known.get("body", b"")),
        answer_bytes=response.content_length or 0,
    )
