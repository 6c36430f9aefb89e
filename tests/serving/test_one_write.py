"""An answer is one write: head and body in two packets could cost the caller 40 ms (Nagle with delayed ACK)."""

import http.client
import socket
import struct
from collections.abc import Iterator

import orjson
import pytest

from hooks.serving.worker import JoinedWrites
from tests.reviews import conversion_review
from tests.serving.servers import HOOKS, SYNC, SYNC_PATH, Running, running, running_admission

CONVERSION = orjson.dumps(conversion_review())
_SEGMENTS_IN = 152
"""Offset of `tcpi_data_segs_in` in the kernel's `tcp_info`: segments with data that have arrived."""


@pytest.fixture(scope="module", params=["hooks", "admission"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp(request.param)
    start = running_admission(folder) if request.param == "admission" else running(folder, *HOOKS)
    with start as started:
        yield started


def arrived(connection: http.client.HTTPConnection) -> int:
    """How many packets with data the connection has received."""
    info = connection.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    if len(info) < _SEGMENTS_IN + 4:
        pytest.skip("this kernel does not count segments")
    (count,) = struct.unpack_from("I", info, _SEGMENTS_IN)
    return int(count)


@pytest.mark.parametrize("has_body", [True, False], ids=["answer", "probe"])
def test_answer_is_one_packet(server: Running, has_body: bool) -> None:
    path, body = ("/convert", CONVERSION) if server.trusted else (SYNC_PATH, SYNC)
    method, path, sent = ("POST", path, body) if has_body else ("GET", "/healthz", None)
    connection = server.connect()
    try:
        for place in range(4):
            before = arrived(connection)
            connection.request(method, path, sent)
            response = connection.getresponse()
            assert (response.status, len(response.read()) > 0) == (200, True)
            if place:  # with the first answer come the tickets of TLS
                assert arrived(connection) - before == 1
    finally:
        connection.close()


class Recorded:
    """A socket that keeps what was sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def sendall(self, data: bytes) -> None:
        self.sent.append(data)

    def fileno(self) -> int:
        return 7


@pytest.mark.parametrize(
    ("pieces", "sent"),
    [
        ([b"head", b"body"], [b"headbody"]),
        ([b"head"], [b"head"]),
        ([b"head", b"one", b"two"], [b"headone", b"two"]),
        ([], []),
    ],
    ids=["body", "no body", "two pieces", "nothing"],
)
def test_head_goes_with_the_first_piece_of_the_body(pieces: list[bytes], sent: list[bytes]) -> None:
    recorded = Recorded()
    joined = JoinedWrites(recorded)
    for piece in pieces:
        joined.sendall(piece)
    joined.flush()
    assert recorded.sent == sent
    assert joined.fileno() == 7
