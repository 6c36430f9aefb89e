"""A real browser, started once, that measures pages of a site at several widths."""

import json
import shutil
import subprocess
import threading
from collections.abc import Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from tests.waiting import PATIENCE

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no chromium on PATH (apt-get install chromium): the pages are not measured"
SECONDS = 300
MEASURE = Path(__file__).with_name("measure.html")


def find_browser() -> str:
    """The path of Chromium or Chrome; without one, the test is skipped."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        pytest.skip(MISSING)
    return found


def measure(site: Path, folder: Path, pages: Sequence[str], views: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What measure.html finds on each page in each view, which is a width and a style added to the page's own."""
    browser = find_browser()
    (site / "measure.html").write_text(MEASURE.read_text())
    (site / "measure.json").write_text(json.dumps({"pages": list(pages), "views": list(views)}))
    answers: Queue[bytes] = Queue()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Site, answers, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # Without its sandbox, which containers do not allow: it opens nothing but this site.
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    private = [f"--user-data-dir={folder / 'profile'}", "--remote-debugging-port=0"]
    url = f"http://127.0.0.1:{server.server_port}/measure.html"
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen([browser, *options, *private, url], stdout=log, stderr=log)
    try:
        answer = answers.get(timeout=SECONDS)
    except Empty:
        raise AssertionError((folder / "browser.log").read_text(errors="replace")) from None
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
        server.shutdown()
        server.server_close()
    found: list[dict[str, Any]] = json.loads(answer)
    return found


class _Site(SimpleHTTPRequestHandler):
    """Serves the site, and takes the answer of measure.html."""

    def __init__(self, answers: "Queue[bytes]", *args: Any, **options: Any) -> None:
        self.answers = answers
        super().__init__(*args, **options)

    def do_POST(self) -> None:
        """Keep what was measured."""
        self.answers.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
