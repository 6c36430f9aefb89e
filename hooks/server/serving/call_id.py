"""The call that a request or a log line belongs to: its sync id, and the trace of whoever called.

A trace is W3C's header `traceparent`. It is passed on as it came: these programs record no spans of their own.

Source: W3C Trace Context, version 00.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from werkzeug.datastructures import Headers

SYNC_ID, TRACE = "X-Request-Id", "traceparent"
"""The headers, in requests to the hooks and of them."""

_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]{1,256})?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallId:
    """A call: its sync id, and the `traceparent` of its caller; empty for none."""

    sync_id: str = ""
    traceparent: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request that is part of the call."""
        named = {SYNC_ID: self.sync_id, TRACE: self.traceparent}
        return {name: value for name, value in named.items() if value}


UNKNOWN = CallId()
"""Of a request that is part of no call."""


def read_call_id(headers: Headers | Mapping[str, str]) -> CallId:
    """The call that a request says it is part of."""
    return CallId(sync_id=headers.get(SYNC_ID, ""), traceparent=read_trace(headers))


def read_trace(headers: Headers | Mapping[str, str]) -> str:
    """The `traceparent` of a request; empty if there is none, or one that breaks the standard."""
    found = headers.get(TRACE, "")
    if not found or _TRACEPARENT.fullmatch(found) is None or (found.startswith("00") and len(found) != 55):
        return ""
    return found


def trace_fields(traceparent: str) -> dict[str, str]:
    """The field of a log line with the trace's id, which is the same in all programs; none without a trace."""
    return {"trace_id": traceparent.split("-")[1]} if traceparent else {}
