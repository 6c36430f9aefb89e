"""Admission over HTTP: `POST /admission/validate/<plural>` and `/admission/mutate/<plural>` for the five kinds.

The same server answers `POST /convert`, see `hooks.server.admission.conversion`.

The API server calls them; the rules are those of `hooks.server.admission.rules`. An object in a namespace that another
operator has locked is allowed without these rules. Answering changes nothing, so a dry run is like any other request.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from flask import Flask, Response, g, request

from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.types import GroupVersionKind, Json, plural_of
from hooks.ground.problems import HERE, texts_of
from hooks.ground.settings import Settings
from hooks.language.api.base import build_models
from hooks.language.rules import reading
from hooks.language.validation.review import Review, Verdict
from hooks.server.admission.conversion import PATH, add_conversion
from hooks.server.admission.wire import AdmissionCall, parse_admission_review, write_allowed, write_denied
from hooks.server.admission.written import in_written_version
from hooks.server.serving.call_id import SYNC_ID, trace_fields
from hooks.server.serving.logs import logger
from hooks.server.serving.metrics import AdmissionMetrics, create_admission_metrics, record_review
from hooks.server.serving.web import BY_ITSELF, ServedBy, create_bare_app, read_body
from hooks.wire.metacontroller.controllers import OUR_KINDS
from hooks.wire.metacontroller.parent_key import make_parent_key

Rule = Callable[[Review], Verdict]
Default = Callable[[Review], Sequence[Mapping[str, Json]]]

KINDS: Mapping[str, GroupVersionKind] = {plural_of(kind): kind for kind in OUR_KINDS}
"""Plural in the path to kind."""

_KNOWN_PATHS = (
    "an admission hook; hooks are POST /admission/validate/<plural> and /admission/mutate/<plural> "
    f"for {', '.join(KINDS)}, and POST {PATH}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """The namespaces of other operators: `contains` says which; of the rules, only these hold there, by plural."""

    contains: Callable[[str], bool]
    rules: Mapping[str, Rule] = field(default_factory=dict)


NOTHING_LOCKED = Locked(contains=lambda _namespace: False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionContext:
    """What every call needs: settings, rules and defaults by plural, namespaces that are locked, metrics.

    `installed` are the optional kinds that the controllers declare; None where they are not known.
    """

    settings: Settings
    rules: Mapping[str, Rule]
    defaults: Mapping[str, Default]
    locked: Locked
    installed: frozenset[GroupVersionKind] | None
    metrics: AdmissionMetrics


def create_admission_app(
    settings: Settings,
    rules: Mapping[str, Rule],
    defaults: Mapping[str, Default],
    *,
    locked: Locked = NOTHING_LOCKED,
    installed: frozenset[GroupVersionKind] | None = None,
    served_by: ServedBy = BY_ITSELF,
) -> Flask:
    """Build the application; `rules` and `defaults` are by plural, and a kind may have none."""
    build_models()
    app = create_bare_app("admission", _KNOWN_PATHS, settings.max_body_bytes, served_by)
    context = AdmissionContext(
        settings=settings,
        rules=rules,
        defaults=defaults,
        locked=locked,
        installed=installed,
        metrics=create_admission_metrics(app, served_by.certificate),
    )
    for plural in KINDS:
        _add_hook(app, "validate", plural, partial(_validate, plural, context))
        _add_hook(app, "mutate", plural, partial(_mutate, plural, context))
    add_conversion(app, settings.max_body_bytes, context.metrics.conversions)
    app.config["metrics"] = context.metrics
    app.after_request(_end)
    return app


def _add_hook(app: Flask, call: str, plural: str, answer: Callable[[], bytes]) -> None:
    def view() -> Response:
        g.call, g.plural = call, plural
        return Response(answer(), mimetype="application/json")

    app.add_url_rule(f"/admission/{call}/{plural}", f"{call}/{plural}", view, methods=["POST"])


def _validate(plural: str, context: AdmissionContext) -> bytes:
    call = _read(plural, context)
    verdict = in_written_version(_judge(plural, call, context), call)
    problems, reasons = texts_of(verdict.problems), verdict.reasons
    warnings = texts_of(verdict.warnings)
    g.fields["allowed"] = not verdict.problems
    if verdict.problems:
        g.fields.update(problems=list(problems), reasons=list(reasons))
    seconds = time.perf_counter() - g.started
    record_review(context.metrics, KINDS[plural].kind, call.operation, reasons=reasons, seconds=seconds)
    if verdict.problems:
        return write_denied(call.uid, problems, warnings)
    return write_allowed(call.uid, warnings)


def _judge(plural: str, call: AdmissionCall, context: AdmissionContext) -> Verdict:
    if call.new is None or not call.is_judged:
        return Verdict(problems=())
    rule = (context.locked.rules if _is_left_alone(call, context) else context.rules).get(plural)
    if rule is None:
        return Verdict(problems=())
    if call.is_too_deep:
        return Verdict(problems=(reading.DEPTH.at(HERE),))
    try:
        make_parent_key(call.new)
        return rule(_review(call, context))
    except InvalidSpec as error:  # nested more deeply than the hooks can write
        return Verdict(problems=error.problems)
    except RecursionError:  # JSON may be nested more deeply than anything that means something
        return Verdict(problems=(reading.DEPTH.at(HERE),))


def _mutate(plural: str, context: AdmissionContext) -> bytes:
    call = _read(plural, context)
    default = context.defaults.get(plural)
    is_skipped = default is None or call.new is None or not call.is_judged or call.is_too_deep
    if default is None or is_skipped or _is_left_alone(call, context):
        return write_allowed(call.uid)
    patch = default(_review(call, context))
    g.fields["changes"] = len(patch)
    return write_allowed(call.uid, patch=patch)


def _read(plural: str, context: AdmissionContext) -> AdmissionCall:
    call = parse_admission_review(read_body(context.settings.max_body_bytes), KINDS[plural])
    g.fields = {"uid": call.uid, "operation": call.operation.value, "dry_run": call.dry_run}
    if call.new is not None:
        g.fields["object"] = f"{call.new['metadata']['namespace']}/{call.new['metadata']['name']}"
    return call


def _is_left_alone(call: AdmissionCall, context: AdmissionContext) -> bool:
    if not call.namespace or not context.locked.contains(call.namespace):
        return False
    g.fields["notes"] = ["the namespace belongs to another operator"]
    return True


def _review(call: AdmissionCall, context: AdmissionContext) -> Review:
    assert call.new is not None  # noqa: S101 - both callers have looked
    return Review(new=call.new, old=call.old, user=call.user, settings=context.settings, installed=context.installed)


def _end(response: Response) -> Response:
    """Return the id and write the call's line; probes of the server itself are not logged."""
    response.headers[SYNC_ID] = g.sync_id
    if "call" not in g and request.endpoint is not None:
        return response
    is_conversion = g.get("call") == "convert"
    place = {} if is_conversion else {"call": g.get("call", ""), "resource": g.get("plural", "")}
    fields = {"sync_id": g.sync_id, **trace_fields(g.get("traceparent", "")), **place, **g.get("fields", {})}
    if "fault" in g:
        fields.update(fault=g.fault, peer=request.remote_addr or "")
    fields.update(status=response.status_code, duration_ms=round((time.perf_counter() - g.started) * 1000, 3))
    logger.info("conversion" if is_conversion else "admission", extra={"fields": fields})
    return response
