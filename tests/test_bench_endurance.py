"""The endurance bench notices what it is there to notice, and its page says so."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from bench.broken_clients import CLOSED, Fault, break_until_over
from bench.endurance import PHASES
from bench.endurance_report import find_misses, judge_memory, summarise, was_in_flight, write_load
from bench.good_clients import Call, Failure, Manner, Record, Service, call_until_over
from bench.load import NEW_EACH_TIME
from bench.page import RELIABILITY, replace_part

CALL = Call(path="/graph/sync", body=NEW_EACH_TIME.encode() * 10, answer=b"right")
TOKEN = "the-token"


class Handler(BaseHTTPRequestHandler):
    """Answers right calls rightly, and with `wrong` once in three where it is set."""

    protocol_version = "HTTP/1.1"
    wrong: tuple[int, bytes] | None = None
    turn = 0

    def do_POST(self) -> None:
        if "Content-Length" not in self.headers:
            self.answer(413, b"")
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).turn += 1
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.answer(401, b"")
        elif self.wrong and self.turn % 3 == 0:
            self.answer(*self.wrong)
        else:
            self.answer(200 if len(body) == len(CALL.body) else 400, b"right")

    def do_GET(self) -> None:
        self.answer(200, b"alive")

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        pass


class WrongStatus(Handler):
    wrong = (503, b"right")


class WrongBody(Handler):
    wrong = (200, b"wrong")


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[Service]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield Service(server.server_address[1], TOKEN)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Until(Record):
    """A record that ends the run after some notes."""

    def __init__(self, service: Service, notes: int) -> None:
        super().__init__(phase=PHASES[0])
        self.service, self.left = service, notes

    def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.service.over.set()

    def note_answer(self, milliseconds: float) -> None:
        super().note_answer(milliseconds)
        self.count()

    def note_failure(self, began: float, what: str) -> None:
        super().note_failure(began, what)
        self.count()

    def note_outcome(self, fault: str, outcome: str) -> None:
        super().note_outcome(fault, outcome)
        self.count()


@pytest.mark.parametrize("manner", [Manner.KEEPS, Manner.OPENS])
def test_right_answers_are_counted(manner: Manner) -> None:
    with serving(Handler) as service:
        record = Until(service, 3)
        call_until_over(service, [CALL], manner, record)
    assert (record.answered[PHASES[0]], record.failures) == (3, [])
    assert len(record.milliseconds) == 3


@pytest.mark.parametrize(("handler", "what"), [(WrongStatus, "503"), (WrongBody, "200 with other content")])
def test_wrong_answers_are_failures(handler: type[Handler], what: str) -> None:
    handler.turn = 0
    with serving(handler) as service:
        record = Until(service, 3)
        call_until_over(service, [CALL], Manner.KEEPS, record)
    assert record.answered[PHASES[0]] == 2
    assert [what in failure.what for failure in record.failures] == [True]


def test_refused_connection_is_a_failure() -> None:
    with serving(Handler) as service:
        pass
    record = Until(service, 1)
    call_until_over(service, [CALL], Manner.KEEPS, record)
    assert "ConnectionRefusedError" in record.failures[0].what


@pytest.mark.parametrize(
    ("fault", "outcome"), [(Fault.WRONG_TOKEN, "401"), (Fault.RESET, "nothing"), (Fault.TOO_LARGE, "413")]
)
def test_outcome_of_a_broken_client_is_counted(fault: Fault, outcome: str) -> None:
    with serving(Handler) as service:
        record = Record()
        thread = Thread(target=break_until_over, args=(service, fault, record))
        thread.start()
        while not record.outcomes:
            thread.join(0.01)
        service.over.set()
        thread.join()
    assert {known for known, _ in record.outcomes} == {fault}
    assert {seen for _, seen in record.outcomes} <= {outcome, CLOSED if fault is Fault.TOO_LARGE else outcome}


@pytest.mark.parametrize(
    ("began", "ended", "expected"),
    [(9.0, 10.5, True), (10.5, 12.0, True), (9.0, 9.9, False), (11.1, 11.2, False)],
)
def test_only_calls_at_the_kill_were_in_flight(began: float, ended: float, expected: bool) -> None:
    failure = Failure(phase="p", began=began, ended=ended, what="reset")
    assert was_in_flight(failure, (10.0, 11.0)) is expected


def grow(step: float, seconds: int = 700) -> list[tuple[float, float]]:
    """So many MiB more each minute."""
    return [(float(second), 60 + step * second / 60) for second in range(0, seconds, 2)]


def test_memory_is_judged_after_the_warm_up() -> None:
    judged = judge_memory([(0.0, 20.0), *grow(0.0), (701.0, 90.0)])
    assert judged == {
        "seconds": 701.0,
        "early": 60.0,
        "late": 60.0,
        "slope": 0.0,
        "largest": 90.0,
        "minutes": [60.0] * 12,
    }
    assert judge_memory(grow(0.0)[:5]) is None


def test_workers_that_live_shortly_are_not_judged() -> None:
    assert judge_memory(grow(30.0, 300)) == {
        "seconds": 298.0,
        "largest": 209.0,
        "minutes": [74.5, 104.5, 134.5, 164.5, 194.5],
    }
    assert find_misses(run_result() | {"memory": [judge_memory(grow(30.0, 300))]}) == []


def test_slope_is_said_in_mib_a_minute_and_outliers_do_not_matter() -> None:
    judged = judge_memory([(second, size + (17 if second % 9 == 0 else 0)) for second, size in grow(0.5, 1200)])
    assert judged is not None
    assert judged["slope"] == pytest.approx(0.5, abs=0.02)
    assert len(judged["minutes"]) == 20


def run_result(failed: float = 0.0, growth: float = 0.0) -> dict[str, Any]:
    record = Record(phase=PHASES[1])
    for milliseconds in (1.0, 2.0, 3.0):
        record.note_answer(milliseconds)
    record.note_outcome(Fault.WRONG_TOKEN, "401")
    record.failures.append(Failure(phase=PHASES[1], began=10.1, ended=10.2, what="reset"))
    if failed:
        record.failures.append(Failure(phase=PHASES[2], began=failed, ended=failed, what="timed out"))
    return summarise(record, PHASES, {1: grow(growth)}, (10.0, 11.0)) | {
        "status": 0,
        "tracebacks": 0,
        "hanging_clients": 0,
        "options": {"minutes": 10.0, "connections": 50, "workers": 2},
        "machine": {"processors": 2, "python": "3.11.7"},
        "time": "2026-01-02T03:04:05+00:00",
    }


@pytest.mark.parametrize(
    ("change", "misses"),
    [
        (run_result, []),
        (lambda: run_result(failed=12.0), ["1 calls of good clients failed"]),
        (lambda: run_result(growth=5.0), ["a worker grew by 22.3 MiB, more than 5"]),
        (lambda: run_result() | {"status": -9}, ["the server ended with status -9"]),
        (lambda: run_result() | {"tracebacks": 2}, ["2 tracebacks in the servers' logs"]),
        (lambda: run_result() | {"hanging_clients": 3}, ["3 clients never came to an end"]),
    ],
    ids=["nothing", "a failed call", "growth", "status", "tracebacks", "hanging clients"],
)
def test_misses_are_found(change: Callable[[], dict[str, Any]], misses: list[str]) -> None:
    assert find_misses(change()) == misses


def test_tables_say_what_was_cut_off_and_what_failed() -> None:
    text = write_load(run_result(failed=12.0))
    assert text.startswith("50 connections for 10 minutes, 2 workers, 2 processors")
    assert f"| {PHASES[1]} | 3 | 0 | 1 |\n" in text
    assert f"| {PHASES[2]} | 0 | 1 | none |\n" in text
    assert "| shows a wrong token | 401 | 1 |\n" in text
    assert "| 698 s | 60.0 | 60.0 | 60.0 | +0.00 |\n" in text
    assert "watched longest had, minute by minute, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60 MiB.\n" in text
    assert text.endswith("\nMissed: 1 calls of good clients failed.\n")
    assert write_load(run_result()).endswith("\nAll targets are reached.\n")


def test_page_has_a_place_for_the_tables() -> None:
    page = RELIABILITY.read_text()
    assert replace_part(page, "load", "") != page, "there is a table"
