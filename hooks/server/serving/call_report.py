"""What is counted and logged of an answered call."""

import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from flask import Response

from hooks.server.serving.logs import CallReport
from hooks.wire.metacontroller.protocol import SyncAnswer

_OUTCOMES: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request", "bad_request"),
    404: ("not_found", "not_found"),
    405: ("wrong_method", "bad_request"),
    401: ("unknown_caller", "bad_request"),
    403: ("left_alone", ""),
    413: ("too_large", "bad_request"),
    422: ("invalid_spec", "validation"),
    429: ("left_alone", ""),
    503: ("prober_unavailable", "unavailable"),
}
"""HTTP status to our outcome and the operator's category of error; the category is empty if nothing went wrong."""
_FAILED = ("failed", "internal")
_DONE = ("done", "")


def report_call(response: Response, known: Mapping[str, Any]) -> CallReport:
    """The report of a call; `known` is what was noted of it, by the names of Flask's `g`."""
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
