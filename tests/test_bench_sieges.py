"""The bench of sieges counts what it is there to count."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bench.bodies import Case
from bench.page import RELIABILITY, replace_part
from bench.siege_clients import Count, Siege
from bench.sieges import Besieged, measure, write_row, write_table

CALL = Case(name="call", path="/graph/sync", body=b"{}", children=0)


class Handler(BaseHTTPRequestHandler):
    """Answers everything with the server's status; a body that does not come is not waited for."""

    protocol_version = "HTTP/1.1"
    status = 200

    def answer(self) -> None:
        if int(self.headers["Content-Length"] or 0) == len(CALL.body):
            self.rfile.read(len(CALL.body))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        pass


class Failing(Handler):
    status = 503


@contextmanager
def served(handler: type[Handler]) -> Iterator[Besieged]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield Besieged(name="played", port=server.server_address[1], case=CALL)
        server.shutdown()


@pytest.mark.parametrize("siege", [Siege.PIPELINED, Siege.METRICS])
def test_answers_to_peers_are_counted_beside_those_to_good_callers(siege: Siege, tmp_path: Path) -> None:
    with served(Handler) as server:
        found = measure(server, siege, tmp_path, connections=3, seconds=0.5)
    assert found.besiegers > 0
    assert found.calls
    assert found.probes
    row = write_row("played", siege, found)
    assert f"| {len(found.calls)} of {len(found.calls)} |" in row


def test_call_that_fails_is_not_in_time(tmp_path: Path) -> None:
    with served(Failing) as server:
        found = measure(server, None, tmp_path, connections=3, seconds=0.2)
    assert write_row("played", None, found).startswith(f"| played | nobody besieges it | 0 | 0 of {len(found.calls)} |")


def test_count_is_seen_by_another_reader(tmp_path: Path) -> None:
    count = Count.create(tmp_path / "count")
    count.add(3)
    count.add(4)
    assert Count(tmp_path / "count").value == 7


def test_page_has_the_place_of_the_table() -> None:
    text = replace_part(RELIABILITY.read_text(), "sieges", write_table(["| a |"], 400))
    assert "| a |\n<!-- /sieges -->" in text
