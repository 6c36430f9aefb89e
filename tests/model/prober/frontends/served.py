"""Frontends as HTTP servers on loopback addresses, as Dynamo's answer."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from hooks.wire.prober.frontends import FrontendTarget

READY = {
    "ready": True,
    "namespaces": {"ns-new": {"ready": True, "worker_types": {"decode": {"workers": 1, "needs": []}}}},
}
NEEDS = {
    "ready": False,
    "reason": "no namespace has all required worker types live",
    "namespaces": {
        "ns-new": {
            "ready": False,
            "reason": "missing worker types: prefill",
            "worker_types": {"decode": {"workers": 1, "needs": [["prefill"]]}},
            "present": ["decode"],
            "missing_worker_types": ["prefill"],
        }
    },
}


@dataclass(slots=True)
class Served:
    """A frontend: the models that it lists, and what it says of one model; may be changed while it serves.

    `status` is that of `/ready` for a model that is not ready, by its release. `asked` are the paths.
    """

    models: list[str] = field(default_factory=list)
    ready: dict[str, Any] = field(default_factory=dict)
    status: int = 503
    asked: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    connections: int = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Served

    def setup(self) -> None:
        super().setup()
        self.served.connections += 1

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""

    def do_GET(self) -> None:
        self.served.asked.append(self.path)
        self.served.headers = dict(self.headers)
        if self.path == "/v1/models":
            data = [{"id": name, "object": "model", "created": 1, "owned_by": "nvidia"} for name in self.served.models]
            return self._send(200, {"object": "list", "data": data})
        name = unquote(self.path.removeprefix("/v1/models/").removesuffix("/ready"))
        if name not in self.served.ready:
            return self._send(404, {"message": "Model not found", "type": "Not Found", "code": 404})
        said = {"model": name, **self.served.ready[name]}
        return self._send(200 if said["ready"] else self.served.status, said)

    def _send(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def run_frontend(served: Served, number: int = 0) -> Iterator[FrontendTarget]:
    """Serve one frontend on 127.0.0.<number + 2>, at any free port."""
    host = f"127.0.0.{number + 2}"
    server = ThreadingHTTPServer((host, 0), type("Handler", (_Handler,), {"served": served}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield FrontendTarget(address=f"http://{host}:{server.server_address[1]}", pod=f"f{number}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
