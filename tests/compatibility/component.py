"""A pod's process for tests of the node: `/live` at once, `/health` after a while; ends at SIGTERM, or does not.

`python component.py ADDRESS PORT SECONDS ends|stays|fails`
"""

import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

address, port, seconds, end = sys.argv[1:]
ready_at = time.monotonic() + float(seconds)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_good = self.path == "/live" or (self.path == "/health" and time.monotonic() > ready_at)
        self.send_response(200 if is_good else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing."""


if end == "fails":
    sys.exit("cannot start")
signal.signal(signal.SIGTERM, signal.SIG_IGN if end == "stays" else lambda *_: sys.exit(0))
HTTPServer((address, int(port)), Handler).serve_forever()
