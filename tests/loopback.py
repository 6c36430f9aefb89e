"""Engines of played pods on this machine: no EndpointSlice may have a loopback address, and no other is ours.

A relay between the hooks and the prober moves the pods' network to one of 127.0.0.0/8, where the engines listen. So the
hooks see the addresses that the API server has, and judge them as in a cluster.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import requests

from tests.waiting import PATIENCE

PODS, LOOPBACK = "10.0.", "127.77."
"""Beginning of every pod's address, by kwok's `--cidr`, and what it becomes."""


def on_loopback(address: str) -> str:
    """Where the engine of the pod with that address listens."""
    assert address.startswith(PODS), f"{address} is no pod's address"
    return LOOPBACK + address.removeprefix(PODS)


@contextmanager
def relay(url: str) -> Iterator[str]:
    """A server that passes every call on to the prober's URL, with the pods' addresses moved; gives its own URL."""
    outside, inside = (f'"http://{network}'.encode() for network in (PODS, LOOPBACK))

    class Relay(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name: found for name in ("Authorization", "Content-Type") if (found := self.headers.get(name))}
            moved = body.replace(outside, inside)
            answer = requests.request(self.command, f"{url}{self.path}", data=moved, headers=headers, timeout=PATIENCE)
            content = answer.content.replace(inside, outside)
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self._pass_on()

        def do_POST(self) -> None:
            self._pass_on()

        def do_PUT(self) -> None:
            self._pass_on()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing: the prober's own log tells of each call."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Relay)) as own:
        yield own


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[str]:
    """Serve in a thread until the end; gives the URL."""
    with server:
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
