"""Pods' addresses on this machine: the API server takes no EndpointSlice with loopback addresses, and no other is ours.

A relay between Metacontroller and the hooks moves the pods' network to one of 127.0.0.0/8, where engines listen.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import requests

PODS, LOOPBACK = "10.0.", "127.77."
"""Beginning of every pod's address, by kwok's `--cidr`, and what it becomes."""


def on_loopback(address: str) -> str:
    """Where the engine of the pod with that address listens."""
    assert address.startswith(PODS), f"{address} is no pod's address"
    return LOOPBACK + address.removeprefix(PODS)


@contextmanager
def relay(url: str) -> Iterator[str]:
    """A server that passes every call on to the URL, with the pods' addresses in it moved; gives its own URL."""

    class Relay(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            moved = body.replace(f'"{PODS}'.encode(), f'"{LOOPBACK}'.encode())
            answer = requests.post(f"{url}{self.path}", data=moved, timeout=30)
            self.send_response(answer.status_code)
            for name in ("Content-Type", "Retry-After"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing: the hooks' own log tells of each call."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Relay) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
