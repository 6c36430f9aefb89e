"""Log lines as JSON on standard error, and request bodies without secrets.

This decides how a line looks; `app` decides what is logged.
"""

import json
import logging
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from pydantic import ValidationError

from hooks.ground.k8s import kinds
from hooks.ground.k8s.messages import without_user
from hooks.ground.k8s.private_fields import PAIR_LISTS, SECRET_FIELDS, SHOWN_OF_PAIR
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.ground.problems import texts_of
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.protocol import SyncAnswer

logger = logging.getLogger("hooks")

REDACTED = "(redacted)"
_LAST_APPLIED = "last-applied-configuration"
"""The end of the annotation keys under which kubectl and Metacontroller keep a whole object with all its values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReport:
    """One answered call: which one, its outcome, and its cost.

    `namespace` is empty if the body could not be read. `error_type` is empty for a success, otherwise one of the
    operator's categories. `comes_back`: Metacontroller will call again even if nothing changes.
    """

    hook: str
    call: str
    kind: str
    namespace: str
    outcome: str
    error_type: str
    comes_back: bool
    status: int
    seconds: float
    request_bytes: int
    answer_bytes: int


class JsonFormatter(logging.Formatter):
    """One JSON object per line: `time` (UTC), `level`, `message`, the record's `fields`, and a traceback if any."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one record: the fixed keys first, then the record's `fields`."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.name != logger.name:
            line["logger"] = record.name
        if record.exc_info and record.exc_info[1] is not None:
            line["traceback"] = _format_failure(record.exc_info[1])
        try:
            return orjson.dumps(line, default=str).decode()
        except orjson.JSONEncodeError:  # text that is not Unicode, such as a file's name
            return json.dumps(line, default=str)


def set_up_logging(level: str) -> None:
    """Send all log lines of this process from `level` (the setting's value) upwards to standard error, as JSON.

    Records have no thread and no process: no line shows them, and finding them takes most of a record's time.
    """
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("urllib3").setLevel(max(logging.INFO, root.level))


def log_call(report: CallReport, *, sync_id: str, known: Mapping[str, Any], more: Mapping[str, str]) -> None:
    """Write the one line of a call: its parent, its answer, why, and its cost.

    `known` may have the parent, the answer, and the counts of its children by kind, which are those of the answer if it
    has none. `more` are further fields, such as `fault`.
    """
    parent: ReadManifest | None = known.get("parent")
    answer: SyncAnswer | None = known.get("answer")
    if not logger.isEnabledFor(logging.INFO):
        return
    fields: dict[str, Any] = {"sync_id": sync_id, "hook": report.hook, "call": report.call}
    if parent is not None:
        metadata = parent["metadata"]
        fields["parent"] = f"{metadata['namespace']}/{metadata['name']}"
        fields.update({key: metadata[key] for key in ("uid", "generation") if key in metadata})
    if answer is not None:
        fields["children"] = dict(known["counts"] if "counts" in known else Children.of(answer.children).counts)
        texts = {"notes": answer.notes, "problems": texts_of(answer.problems)}
        fields.update({key: list(lines) for key, lines in texts.items() if lines})
    fields.update(more)
    fields.update(outcome=report.outcome, status=report.status, duration_ms=round(report.seconds * 1000, 3))
    # Not `logger.info`: it walks the stack to find its caller, which we do not log, and costs most of the time.
    logger.handle(logger.makeRecord(logger.name, logging.INFO, "", 0, "call", (), None, extra={"fields": fields}))


def log_bodies(sync_id: str, request: bytes, answer: bytes) -> None:
    """Write a call's bodies at DEBUG, without secrets; the message of an error is in the call's own line."""
    fields: dict[str, Any] = {"sync_id": sync_id, "request": _redact_text(request), "answer": _redact_text(answer)}
    logger.debug("bodies", extra={"fields": fields})


def _redact_text(text: bytes) -> Json:
    """The JSON value without secrets; None if it is not JSON, as parts of a request may be that no hook reads."""
    try:
        return redact(orjson.loads(text))
    except orjson.JSONDecodeError:
        return None


def redact(value: Json) -> Json:
    """The JSON value with `(redacted)` for data of Secrets, values of variables and headers, last-applied objects."""
    if isinstance(value, Mapping):
        return _redact_object(value, is_secret=value.get("kind") == kinds.SECRET.kind)
    if isinstance(value, (list, tuple)):
        return [redact(item) for item in value]
    return without_user(value) if isinstance(value, str) else value


def _redact_object(value: Mapping[str, Json], *, is_secret: bool) -> Json:
    return {key: _redact_entry(key, item, is_secret=is_secret) for key, item in value.items()}


def _redact_entry(key: str, item: Json, *, is_secret: bool) -> Json:
    if key.endswith(_LAST_APPLIED):
        return REDACTED
    if is_secret and key in SECRET_FIELDS:
        return dict.fromkeys(item, REDACTED) if isinstance(item, Mapping) else REDACTED
    if key == kinds.SECRET.key and isinstance(item, Mapping):
        return {name: _redact_secret(found) for name, found in item.items()}
    if key in PAIR_LISTS:
        return [_redact_pair(pair) for pair in item] if isinstance(item, list) else REDACTED
    return redact(item)


def _redact_secret(found: Json) -> Json:
    """An object among the observed Secrets, whatever kind it says."""
    return _redact_object(found, is_secret=True) if isinstance(found, Mapping) else REDACTED


def _redact_pair(pair: Json) -> Json:
    if not isinstance(pair, Mapping):
        return REDACTED
    return {key: redact(item) if key in SHOWN_OF_PAIR else REDACTED for key, item in pair.items()}


def _format_failure(error: BaseException | None) -> str:
    """Frames and message of an error and of the errors that caused it, the last one first."""
    parts: list[str] = []
    while error is not None:
        frames = "".join(traceback.format_tb(error.__traceback__))
        parts.append(f"{frames}{type(error).__name__}: {_describe(error)}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\nwhile handling:\n".join(parts)


def _describe(error: BaseException) -> str:
    """The error's message; pydantic's own would quote the input, so its faults are listed without it."""
    if not isinstance(error, ValidationError):
        return str(error)
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in faults)
