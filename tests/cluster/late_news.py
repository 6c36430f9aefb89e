"""A Metacontroller that hears of changes of some kinds late: its watches of them are held up on the way.

It asks the API server through a relay on 127.0.0.1, which passes everything on, and keeps those streams back on demand.
"""

import http.client
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

from tests.cluster.control_plane import METACONTROLLER, ControlPlane
from tests.cluster.processes import running
from tests.cluster.programs import metacontroller_server

BLOCK = 1 << 16
_OF_A_CONNECTION = frozenset({"authorization", "connection", "host", "transfer-encoding"})


@dataclass
class News:
    """Watches of the kinds with these plural names; what is held back arrives later, in its order."""

    plurals: frozenset[str]
    _flows: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self._flows.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nothing new of the kinds arrives until the end of the block."""
        self._flows.clear()
        try:
            yield
        finally:
            self._flows.set()

    def await_passage(self, path: str) -> None:
        """Wait until the answer to a call of this path may pass."""
        address = urlsplit(path)
        if "watch=" in address.query and address.path.rpartition("/")[2] in self.plurals:
            self._flows.wait()


@contextmanager
def metacontroller_with_late_news(plane: ControlPlane, folder: Path, *plurals: str) -> Iterator[News]:
    """A running Metacontroller that may do everything, and its news of these kinds."""
    news = News(frozenset(plurals))
    with _relay(plane, news) as url, running(metacontroller_server(replace(plane, server=url, folder=folder), folder)):
        yield news


@contextmanager
def _relay(plane: ControlPlane, news: News) -> Iterator[str]:
    address = urlsplit(plane.server)
    trusted = ssl.create_default_context(cafile=str(plane.certificate))

    way = _Way(
        news=news,
        token=plane.tokens[METACONTROLLER],
        connect=lambda: http.client.HTTPSConnection(str(address.hostname), address.port, context=trusted),
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Relay, way))
    server.daemon_threads = True
    server.block_on_close = False  # a watch ends only with its caller
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """The way to the API server, with the token that Metacontroller sends only over TLS."""

    news: News
    token: str
    connect: Callable[[], http.client.HTTPSConnection]


class _Relay(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, way: _Way, *connection: Any) -> None:
        self._way = way
        super().__init__(*connection)

    def handle(self) -> None:
        with suppress(OSError, http.client.HTTPException):  # one of the two sides is gone
            super().handle()

    def do_GET(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        self._pass_on()

    def do_PUT(self) -> None:
        self._pass_on()

    def do_PATCH(self) -> None:
        self._pass_on()

    def do_DELETE(self) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        sent = {name: value for name, value in self.headers.items() if name.lower() not in _OF_A_CONNECTION}
        with closing(self._way.connect()) as server:
            server.request(self.command, self.path, body, {**sent, "Authorization": f"Bearer {self._way.token}"})
            self._pass_back(server.getresponse())

    def _pass_back(self, answer: http.client.HTTPResponse) -> None:
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _OF_A_CONNECTION:
                self.send_header(name, value)
        if answer.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while block := answer.read1(BLOCK):
            self._way.news.await_passage(self.path)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block) if answer.chunked else block)
        if answer.chunked:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_arguments: object) -> None:
        """Say nothing: the API server's audit log tells of each call."""
