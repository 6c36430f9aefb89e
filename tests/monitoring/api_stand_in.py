"""Runs a command of the project as in a pod: with an API server that a test plays on loopback.

`python -m tests.monitoring.api_stand_in URL FOLDER serve …`; the folder has the account's files.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hooks.server.clients.api_server import ApiServer
from tests.loopback import serving

LONG_AGO = "2026-01-01T00:00:00Z"


def unready(name: str, reason: str) -> dict[str, Any]:
    """A custom resource that is not ready for very long."""
    ready = {"type": "Ready", "status": "False", "reason": reason, "message": "why", "lastTransitionTime": LONG_AGO}
    return {"metadata": {"name": name, "namespace": "team"}, "status": {"conditions": [ready], "state": "pending"}}


class _Handler(BaseHTTPRequestHandler):
    """Answers lists and takes Leases; every other object cannot be read."""

    server: "_Server"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path in self.server.lists:
            self._send(200, {"items": self.server.lists[path], "metadata": {}})
        elif "/leases" in path:
            self._send(404, {})
        else:
            self._send(500, {"message": "the test does not let this be read"})

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_lease = "/leases" in self.path
        self._send(201 if is_lease else 500, json.loads(sent) if is_lease else {})

    def _send(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    lists: Mapping[str, list[dict[str, Any]]]


@contextmanager
def api_stand_in(lists: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Serve these objects by the path of their list, and no others; gives the URL."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.lists = lists
    with serving(server) as url:
        yield url


def main(url: str, folder: str, *command: str) -> None:
    """Run the command with that API server."""
    from hooks.server.commands.main import main as run  # noqa: PLC0415 - imported after the API server is replaced

    token = Path(folder) / "token"
    server = ApiServer(url=url, token_file=token, ca_file=Path(folder) / "ca.crt")
    ApiServer.in_cluster = classmethod(lambda _cls: server)  # type: ignore[method-assign,assignment]
    run(list(command))


if __name__ == "__main__":
    main(*sys.argv[1:])
