"""Conversion over HTTP: `POST /convert`, which the API server calls for objects in a version that it does not store.

An answer waits for nothing but its turn, and changes nothing. A review that cannot be converted gets the result
Failure; where its uid cannot be read, HTTP 400 and one line.
"""

import time
from collections.abc import Iterator
from enum import StrEnum

import orjson
from flask import Flask, Response, g

from hooks.ground.errors import HookError
from hooks.ground.k8s.nesting import nests_lists
from hooks.ground.k8s.types import ReadManifest
from hooks.language.versions import convert
from hooks.server.admission.conversion_wire import (
    ConversionCall,
    FailedReview,
    describe_object,
    parse_conversion_review,
    write_converted,
    write_failed,
)
from hooks.server.serving.conversion_metrics import ConversionMetrics, record_conversion
from hooks.server.serving.logs import logger
from hooks.server.serving.web import read_body

PATH = "/convert"


class ConversionOutcome(StrEnum):
    """How a review ended; the values are those of the metric's label."""

    CONVERTED = "converted"
    REFUSED = "refused"
    MALFORMED = "malformed"
    FAILED = "failed"


class _Bug(FailedReview):
    """The review fails because of a bug of ours."""


def add_conversion(app: Flask, max_body_bytes: int, metrics: ConversionMetrics) -> None:
    """Add the route to the application."""

    def view() -> Response:
        g.call = "convert"
        return Response(_answer(max_body_bytes, metrics), mimetype="application/json")

    app.add_url_rule(PATH, "convert", view, methods=["POST"])


def _answer(max_body_bytes: int, metrics: ConversionMetrics) -> bytes:
    try:
        call = parse_conversion_review(read_body(max_body_bytes))
        g.fields = {"uid": call.uid, "version": call.version, "objects": len(call.objects)}
        answer = write_converted(call.uid, _convert_all(call))
    except FailedReview as failed:
        outcome = ConversionOutcome.FAILED if isinstance(failed, _Bug) else ConversionOutcome.REFUSED
        g.fields = {**g.get("fields", {}), "uid": failed.uid, "outcome": outcome.value, "fault": str(failed)}
        record_conversion(metrics, outcome, seconds=_seconds())
        return write_failed(failed.uid, str(failed))
    except HookError:
        g.fields = {"outcome": ConversionOutcome.MALFORMED.value}
        record_conversion(metrics, ConversionOutcome.MALFORMED, seconds=_seconds())
        raise
    kinds = [str(found["kind"]) for found in call.objects]
    g.fields = {**g.fields, "kinds": sorted(set(kinds)), "outcome": ConversionOutcome.CONVERTED.value}
    record_conversion(metrics, ConversionOutcome.CONVERTED, seconds=_seconds(), version=call.version, kinds=kinds)
    return answer


def _convert_all(call: ConversionCall) -> Iterator[bytes]:
    """Each object in the wanted version, as JSON.

    Raises:
        FailedReview: an object cannot be converted, because of a bug of ours or because it is nested too deeply.
    """
    for place, found in enumerate(call.objects):
        yield _convert(call, place, found)


def _convert(call: ConversionCall, place: int, found: ReadManifest) -> bytes:
    try:
        if not (call.may_be_too_deep and nests_lists(found)):
            return orjson.dumps(convert(found, call.version))
    except (RecursionError, orjson.JSONEncodeError):
        pass  # as what is refused before
    except Exception as error:
        who = describe_object(place, found)
        logger.error("the conversion failed", exc_info=error, extra={"fields": {"sync_id": g.sync_id, "object": who}})
        bug = f"a bug of the hooks ({type(error).__name__}); the log of admission has more under sync id {g.sync_id}"
        raise _Bug(call.uid, f"{who} cannot be converted: {bug}") from error
    raise FailedReview(call.uid, f"{describe_object(place, found)} is nested more deeply than can be converted")


def _seconds() -> float:
    return float(time.perf_counter() - g.started)
