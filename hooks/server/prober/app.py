"""The prober's HTTP server: takes load requests and answers load reports, as `hooks.model.prober.messages` says."""

import hmac
import logging
from collections.abc import Mapping
from functools import lru_cache

import msgspec
import orjson
from flask import Flask, Response, request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from werkzeug.exceptions import HTTPException

from hooks.ground.k8s.messages import one_line
from hooks.model.prober.messages import LoadRequest, Term
from hooks.model.prober.reconciler import NotNow
from hooks.server.prober.dispatcher import Dispatcher
from hooks.server.prober.frontend_dispatcher import FrontendDispatcher
from hooks.server.serving.call_id import read_call_id, trace_fields
from hooks.server.serving.logs import redact
from hooks.wire.prober import frontends as frontend_messages
from hooks.wire.prober.frontends import ChangedGraphs, FrontendQuestion, TakeChanges
from hooks.wire.prober.messages import read_message, write_message

logger = logging.getLogger("hooks.model.prober")

_OPEN_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
_MAX_QUOTED = 300
"""The most characters of what is said of a body: it may quote the body's keys."""
_MAX_LINE = 1000
"""The most characters of an answer in words: it may quote a name that no Kubernetes object could have."""
_CACHED_BYTES = 2**17
"""The longest request that is cached; it has room for about 1,000 engines."""


def create_prober_app(
    dispatcher: Dispatcher, frontends: FrontendDispatcher, *, token: str = "", max_body_bytes: int = 16 * 2**20
) -> Flask:
    """The application of running dispatchers; with a `token`, requests other than health and metrics must carry it."""
    app = Flask("prober", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = max_body_bytes
    app.before_request(lambda: _check_token(token))
    app.register_error_handler(HTTPException, _answer_error)
    app.register_error_handler(NotNow, lambda refusal: _text(str(refusal), 409))

    @app.put("/v1/models/<namespace>/<name>")
    def put_model(namespace: str, name: str) -> Response:
        return _take_request(dispatcher, frontends, namespace, name)

    @app.put("/v1/term")
    def put_term() -> Response:
        return _set_term(dispatcher)

    @app.get("/v1/term")
    def get_term() -> Response:
        if not dispatcher.is_alive:
            return show_health()
        return Response(write_message(dispatcher.term), mimetype="application/json")

    @app.get("/v1/models/<namespace>/<name>")
    def get_model(namespace: str, name: str) -> Response:
        return _show_model(dispatcher, f"{namespace}/{name}")

    @app.get("/v1/models")
    def list_models() -> Response:
        return _json({"models": dispatcher.keys()})

    _add_frontends(app, frontends)

    @app.get("/healthz")
    @app.get("/readyz")
    def show_health() -> Response:
        if dispatcher.is_alive and frontends.is_alive:
            return _text("alive")
        return _text("a dispatcher's thread has ended; restart the container", 503)

    @app.get("/metrics")
    def show_metrics() -> Response:
        return Response(generate_latest(dispatcher.metrics.registry), content_type=CONTENT_TYPE_LATEST)

    return app


def _add_frontends(app: Flask, frontends: FrontendDispatcher) -> None:
    @app.put("/v1/frontends/<namespace>/<name>")
    def put_frontends(namespace: str, name: str) -> Response:
        return _take_question(frontends, namespace, name)

    @app.get("/v1/frontends/<namespace>/<name>")
    def get_frontends(namespace: str, name: str) -> Response:
        return _show_frontends(frontends, f"{namespace}/{name}")

    @app.get("/v1/frontends")
    def list_graphs() -> Response:
        return _json({"graphs": frontends.keys()})

    @app.post("/v1/frontends/changes")
    def take_changes() -> Response:
        return _take_changes(frontends)


def _check_token(token: str) -> Response | None:
    if not token or request.path in _OPEN_PATHS:
        return None
    given = request.headers.get("Authorization", "").encode()
    if hmac.compare_digest(given, f"Bearer {token}".encode()):
        return None
    logger.warning("refused", extra={"fields": {"peer": request.remote_addr or ""}})
    return _text("the token is missing or wrong; give hooks and prober the same DYNAMO_PROBER_TOKEN", 401)


def _take_request(dispatcher: Dispatcher, frontends: FrontendDispatcher, namespace: str, name: str) -> Response:
    try:
        body = request.get_data(cache=False)
        wanted = _parse_cached(body) if len(body) <= _CACHED_BYTES else read_message(body, LoadRequest)
    except (msgspec.MsgspecError, ValueError) as error:
        return _refuse_body("load request", error)
    if (wanted.namespace, wanted.name) != (namespace, name):
        return _text(f"the body names the model {wanted.key}, the path {namespace}/{name}", 400)
    call_id = read_call_id(request.headers)
    report = dispatcher.ask(wanted, call_id.traceparent)
    report = msgspec.structs.replace(report, offers=frontends.find_offers(wanted))
    if logger.isEnabledFor(logging.DEBUG):
        fields = {
            "sync_id": call_id.sync_id,
            **trace_fields(call_id.traceparent),
            "model": wanted.key,
            "targets": len(wanted.targets),
        }
        logger.debug("asked", extra={"fields": fields})
    return Response(write_message(report), mimetype="application/json")


def _take_question(frontends: FrontendDispatcher, namespace: str, name: str) -> Response:
    try:
        question = read_message(request.get_data(cache=False), FrontendQuestion)
    except (msgspec.MsgspecError, ValueError) as error:
        return _refuse_body("question", error)
    if (question.namespace, question.name) != (namespace, name):
        return _text(f"the body names the graph {question.key}, the path {namespace}/{name}", 400)
    return Response(write_message(frontends.ask(question)), mimetype="application/json")


def _take_changes(frontends: FrontendDispatcher) -> Response:
    try:
        taken = read_message(request.get_data(cache=False), TakeChanges)
    except (msgspec.MsgspecError, ValueError) as error:
        return _refuse_body("request for changes", error)
    changed = ChangedGraphs(graphs=frontends.take_changes(taken.could_write))
    return Response(write_message(changed), mimetype="application/json")


def _show_frontends(frontends: FrontendDispatcher, key: str) -> Response:
    found = frontends.look_up(key)
    if found is None:
        return _text(f"no question about {key} within the last {frontend_messages.QUESTION_SECONDS:g} s", 404)
    question, report = found
    return _json({"question": msgspec.to_builtins(question), "report": msgspec.to_builtins(report)})


def _set_term(dispatcher: Dispatcher) -> Response:
    try:
        term = read_message(request.get_data(cache=False), Term)
    except (msgspec.MsgspecError, ValueError) as error:
        return _refuse_body("term", error)
    dispatcher.set_term(term)
    return _text("taken")


def _refuse_body(what: str, error: Exception) -> Response:
    return _text(f"the body is not a valid {what}: {str(error)[:_MAX_QUOTED]}", 400)


@lru_cache(maxsize=32)
def _parse_cached(body: bytes) -> LoadRequest:
    """The request of a body; hooks send the same body again and again."""
    return read_message(body, LoadRequest)


def _show_model(dispatcher: Dispatcher, key: str) -> Response:
    found = dispatcher.look_up(key)
    if found is None:
        return _text(f"no load request for {key} within the last mandate", 404)
    wanted, report = found
    return _json({"request": redact(msgspec.to_builtins(wanted)), "report": redact(msgspec.to_builtins(report))})


def _answer_error(error: HTTPException) -> Response:
    return _text(error.description or error.name, error.code or 500)


def _text(line: str, status: int = 200) -> Response:
    return Response(f"{one_line(line, _MAX_LINE)}\n", status=status, mimetype="text/plain")


def _json(document: Mapping[str, object]) -> Response:
    return Response(orjson.dumps(document, option=orjson.OPT_SORT_KEYS), mimetype="application/json")
