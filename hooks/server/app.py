"""The hooks over HTTP: reads a call, answers by the route table, carries out effects, one log line per call.

It reads the body and the clock, and knows no rule of Dynamo. Only this module catches all exceptions.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from flask import Flask, Response, g, request

from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.language.api.base import build_models
from hooks.server.clients.model_questions import AskProber
from hooks.server.routes import Hook, Sync, served_hooks
from hooks.server.serving.call_id import SYNC_ID, trace_fields
from hooks.server.serving.call_report import report_call
from hooks.server.serving.callers import RefuseCaller
from hooks.server.serving.logs import log_bodies, log_call, logger
from hooks.server.serving.metrics import Metrics, create_metrics, record_call, record_effects, record_read, record_reads
from hooks.server.serving.metrics_page import serve_prober_page
from hooks.server.serving.web import BY_ITSELF, ServedBy, create_bare_app, expect_token, read_body
from hooks.wire.metacontroller.controllers import expected_keys
from hooks.wire.metacontroller.effects import (
    Effect,
    EffectOutcome,
    EffectResult,
    EffectSource,
    describe_faults,
    permitted_effects,
)
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.metacontroller.request_body import JsonCache
from hooks.wire.metacontroller.resting import Resting, RestingAnswers
from hooks.wire.metacontroller.wire import (
    parse_customize_request,
    parse_sync_request,
    write_customize_answer,
    write_sync_answer,
)
from hooks.wire.policy.conditions import reference_of

CarryOut = Callable[[tuple[Effect, ...], EffectSource], Sequence[EffectResult]]
"""Carries out the effects that an object's sync wants, and returns the outcome of each."""

COUNT_READ = "dynamo-hooks-count-read"
STALE_SECONDS = 15.0
"""After how long a controller asks again that wants another revision of the hooks than the one that answered."""

_KNOWN_PATHS = "a hook; hooks are POST /<hook>/sync, /<hook>/finalize and /<hook>/customize"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppContext:
    """What every call needs besides its request."""

    settings: Settings
    clock: Callable[[], datetime]
    carry_out: CarryOut | None
    metrics: Metrics
    json_cache: JsonCache
    resting: RestingAnswers
    refuse: RefuseCaller | None
    revision: str

    def facts(self) -> Facts:
        """The current time and the settings, for one call."""
        return Facts(now=self.clock(), settings=self.settings)


def create_app(
    settings: Settings,
    clock: Callable[[], datetime],
    ask_prober: AskProber | None = None,
    *,
    carry_out: CarryOut | None = None,
    served_by: ServedBy = BY_ITSELF,
    hooks: Mapping[str, Hook] | None = None,
) -> Flask:
    """Build the application.

    `clock` returns the time, aware and in UTC. By default the prober is that of the settings, effects are only logged
    (`carry_out`), everybody may call, and all hooks are served. Its extension `COUNT_READ` counts what is read beside
    calls: namespace, bytes, seconds.
    """
    build_models()
    app = create_bare_app("hooks", _KNOWN_PATHS, settings.max_body_bytes, served_by)
    context = AppContext(
        settings=settings,
        clock=clock,
        carry_out=carry_out,
        metrics=create_metrics(app),
        json_cache=JsonCache(),
        resting=RestingAnswers(served_by.resting_bytes),
        refuse=served_by.refuse,
        revision=served_by.revision,
    )
    for name, hook in (served_hooks(settings, ask_prober) if hooks is None else hooks).items():
        _add_hook(app, name, hook, context)
    app.extensions[COUNT_READ] = partial(record_read, context.metrics)
    serve_prober_page(app, settings.prober_url)
    app.after_request(lambda response: _end(response, context))
    return app


def _add_hook(app: Flask, name: str, hook: Hook, context: AppContext) -> None:
    calls: dict[str, Callable[[], bytes]] = {
        "sync": lambda: _recall_or(hook, context) if hook.rests else _sync(hook, hook.sync, context),
        "customize": lambda: _customize(hook, context),
    }
    if hook.finalize is not None:
        finalize = hook.finalize
        calls["finalize"] = lambda: _sync(hook, finalize, context)
    for call, answer in calls.items():

        def view(call: str = call, answer: Callable[[], bytes] = answer) -> Response:
            g.hook, g.call, g.kind = name, call, hook.kind.kind
            expect_token(context.refuse)
            return Response(answer(), mimetype="application/json")

        app.add_url_rule(f"/{name}/{call}", f"{name}/{call}", view, methods=["POST"])


def _recall_or(hook: Hook, context: AppContext) -> bytes:
    """What is remembered of a sync call; if nothing is, what is computed now."""
    body = read_body(context.settings.max_body_bytes)
    key = context.resting.make_key(request.full_path, body)
    found = context.resting.find(key)
    if found is None or not _still_holds(hook, found, context):
        return _answer(hook, hook.sync, context, body=body, key=key)
    g.parent, g.answer, g.counts = found.parent, found.answer, found.counts
    return found.unpack()


def _still_holds(hook: Hook, found: Resting, context: AppContext) -> bool:
    """Whether a remembered answer may be given again: the namespace is ours, and frontends say what they said."""
    if hook.find_claim is not None and hook.find_claim(found.parent["metadata"]["namespace"]) is not None:
        return False
    asked = found.answer.asked
    return asked is None or hook.still_holds is None or hook.still_holds(asked, context.settings)


def _sync(hook: Hook, function: Sync, context: AppContext) -> bytes:
    return _answer(hook, function, context, body=read_body(context.settings.max_body_bytes))


def _answer(hook: Hook, function: Sync, context: AppContext, *, body: bytes, key: bytes = b"") -> bytes:
    """Compute the answer to a sync or finalize call, and remember it by its key, if it has one and is at rest."""
    read, expected = context.json_cache.read_call, partial(expected_keys, hook.kind)
    call = parse_sync_request(body, hook.kind, decorator=hook.is_decorator, read=read, expected=expected)
    g.parent = call.parent
    g.answer = answer = _come_back(function(call, context.facts()), context.revision)
    written = write_sync_answer(answer, call.children, decorator=hook.is_decorator, expected=expected)
    if key and "found" not in g:
        context.resting.remember(key, call, answer, written)
    if effects := permitted_effects(answer.effects, context.settings):
        source = EffectSource(
            parent=reference_of(call.parent), generation=call.generation, declared=call.children.optional_kinds()
        )
        g.effects = _carry_out(effects, source, context)
    return written


def _come_back(answer: SyncAnswer, own: str) -> SyncAnswer:
    """The answer; if the caller's URL names another revision than ours, one after which it soon asks again.

    During an upgrade the controllers have the new URL before the new pods are ready, so old pods answer first.
    """
    wanted = request.args.get("revision", "") if own and request.query_string else ""
    if wanted in {"", own}:
        return answer
    seconds = min(answer.resync_after_seconds or STALE_SECONDS, STALE_SECONDS)
    note = f"answered by revision {own}; the controller wants {wanted}, so it is to ask again"
    return replace(answer, resync_after_seconds=seconds, notes=(*answer.notes, note))


def _customize(hook: Hook, context: AppContext) -> bytes:
    call = parse_customize_request(read_body(context.settings.max_body_bytes), hook.kind)
    g.parent = call.parent
    return write_customize_answer(hook.customize(call, context.facts()))


def _carry_out(effects: tuple[Effect, ...], source: EffectSource, context: AppContext) -> str:
    """Carry out effects after the answer is written, and return the outcome as text; a failure never fails the sync."""
    names = ", ".join(sorted({type(effect).__name__ for effect in effects}))
    if context.carry_out is None:
        return f"not carried out: {names}"
    try:
        results = context.carry_out(effects, source)
    except Exception as error:
        logger.exception("effects failed", extra={"fields": {"sync_id": g.sync_id, "effects": names}})
        reason = f"a bug of the hook ({type(error).__name__})"
        results = [EffectResult(effect=effect, outcome=EffectOutcome.FAILED, reason=reason) for effect in effects]
    record_effects(context.metrics, results)
    return describe_faults(results) or f"carried out: {names}"


def _end(response: Response, context: AppContext) -> Response:
    """Add the sync id to the response, count the call, log it; health probes are neither counted nor logged."""
    known: dict[str, Any] = vars(g._get_current_object())  # faster than g's proxy, which costs 0.3 µs at each access
    response.headers[SYNC_ID] = known["sync_id"]
    if "hook" not in known and request.endpoint is not None and "fault" not in known:
        return response
    report = report_call(response, known)
    if "hook" in known:
        record_call(context.metrics, report)
    record_reads(context.metrics, known.get("found", {}))
    more: dict[str, str] = {key: known[key] for key in ("fault", "effects") if key in known}
    if "fault" in known:
        more["peer"] = request.remote_addr or ""
    if "traceparent" in known:
        more |= trace_fields(known["traceparent"])
    log_call(report, sync_id=known["sync_id"], known=known, more=more)
    if logger.isEnabledFor(logging.DEBUG) and "parent" in known:
        log_bodies(known["sync_id"], known["body"], response.get_data())
    return response
