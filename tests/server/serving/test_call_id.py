"""`traceparent`: which ones are taken, and what a log line has of them."""

import pytest

from hooks.server.serving.call_id import CallId, read_call_id, read_trace, trace_fields

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    "good", [TRACE, TRACE.replace("00-0a", "cc-0a"), TRACE.replace("00-0a", "01-0a") + "-what-comes"]
)
def test_trace_of_the_standard_is_taken_as_it_is(good: str) -> None:
    assert read_trace({"traceparent": good}) == good


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "x",
        TRACE.upper(),
        f"{TRACE}-more",
        TRACE.replace("00-0a", "ff-0a"),
        TRACE.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32),
        TRACE.replace("b7ad6b7169203331", "0" * 16),
        TRACE[:-1],
        f"{TRACE}\n",
        f"01{TRACE[2:]}-{'x' * 300}",
    ],
)
def test_anything_else_is_left_out(bad: str) -> None:
    assert read_trace({"traceparent": bad}) == ""
    assert read_call_id({"traceparent": bad, "X-Request-Id": "i"}).headers == ({"X-Request-Id": "i"})


def test_requests_of_a_call_have_its_id_and_trace() -> None:
    given = {"X-Request-Id": "i", "traceparent": TRACE}
    assert read_call_id(given) == CallId(sync_id="i", traceparent=TRACE)
    assert read_call_id(given).headers == given
    assert CallId().headers == {}


def test_lines_have_the_id_of_the_trace() -> None:
    assert trace_fields(TRACE) == {"trace_id": "0af7651916cd43dd8448eb211c80319c"}
    assert trace_fields("") == {}
