"""The page `/metrics` of a server, and the page with the metrics of the prober, which listens on loopback only."""

import math
import os
import threading
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any, Generic, TypeVar

from flask import Flask, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector
from prometheus_flask_exporter import PrometheusMetrics
from prometheus_flask_exporter.multiprocess import GunicornInternalPrometheusMetrics

from hooks.ground.errors import ProberUnavailable
from hooks.server.exchange.http_client import MIB, Allowance, Unanswered, open_client
from hooks.server.serving.web import find_caller

MULTIPROCESS_DIR = "PROMETHEUS_MULTIPROC_DIR"
"""Variable with the directory where the server's processes keep their values; set before this module is imported."""

PROBER_PAGE = "/metrics/prober"
_LIMITS = Allowance(seconds=2.0, most_bytes=16 * MIB)
_OPEN_METRICS = "application/openmetrics-text"
FRESH_SECONDS = 1.0

T = TypeVar("T")


class OnceASecond(Generic[T]):
    """What `make` returned last; who asks while it is made, or for a second afterwards, gets the same.

    Anybody may ask for a page without a token.
    """

    def __init__(self, make: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        """Make nothing yet; `clock` gives seconds."""
        self._make, self._clock = make, clock
        self._lock = threading.Lock()
        self._found: tuple[T, float] | None = None

    def get(self) -> T:
        """What was made; raises what `make` raises, which is not remembered."""
        with self._lock:
            if self._found is None or self._clock() >= self._found[1]:
                made = self._make()
                self._found = made, self._clock() + FRESH_SECONDS
            return self._found[0]


class _AllProcesses(Collector):
    """The values of all processes of the server, from their files."""

    def collect(self) -> Iterable[Metric]:
        """The metrics, added up, without what is NaN; a file that a process has only just created holds none."""
        files = [str(file) for file in Path(os.environ[MULTIPROCESS_DIR]).glob("*.db") if _size_of(file)]
        merged: Iterable[Metric] = MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]  # it has no types
        for metric in merged:
            metric.samples = [sample for sample in metric.samples if not math.isnan(sample.value)]
            yield metric


def _size_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # of a process that has just ended
        return 0


class _PageOfAllProcesses(GunicornInternalPrometheusMetrics):  # type: ignore[misc]  # the exporter has no types
    """The exporter's page with further collectors, in two forms, each made once a second at most.

    Anybody may ask. So what they ask for, by `Accept` and `name[]`, makes no other page.
    """

    def __init__(self, app: Flask, collectors: Iterable[Collector], **options: Any) -> None:
        registry = CollectorRegistry()
        for collector in (_AllProcesses(), *collectors):
            registry.register(collector)
        self._plain = OnceASecond(lambda: generate_latest(registry))
        self._open = OnceASecond[bytes](lambda: openmetrics.generate_latest(registry))  # type: ignore[no-untyped-call]
        super().__init__(app, **options)

    def generate_metrics(self, accept_header: str | None = None, names: Any = None) -> tuple[bytes, str]:  # noqa: ARG002
        """The text of the page and its content type."""
        if _OPEN_METRICS in (accept_header or ""):
            return self._open.get(), openmetrics.CONTENT_TYPE_LATEST
        return self._plain.get(), CONTENT_TYPE_PLAIN_0_0_4


def serve_page(app: Flask, collectors: Iterable[Collector]) -> CollectorRegistry:
    """Add the page `/metrics` with these collectors; in a server it shows the metrics of all processes."""
    registry, more = CollectorRegistry(), tuple(collectors)
    options: dict[str, Any] = {"path": "/metrics", "export_defaults": False, "registry": registry}
    if MULTIPROCESS_DIR in os.environ:
        _PageOfAllProcesses(app, more, **options)
        return registry
    PrometheusMetrics(app, **options)
    for collector in more:
        registry.register(collector)
    return registry


def serve_prober_page(app: Flask, url: str) -> None:
    """Add the page with the metrics of the prober at this URL, because Prometheus cannot reach it."""
    page = OnceASecond(lambda: _ask_prober(f"{url.rstrip('/')}/metrics"))

    def show() -> Response:
        find_caller().leave()
        found = page.get()
        if isinstance(found, str):
            raise ProberUnavailable(found)
        content, content_type = found
        return Response(content, content_type=content_type)

    app.add_url_rule(PROBER_PAGE, "prober_metrics", show, methods=["GET"])


def _ask_prober(url: str) -> tuple[bytes, str] | str:
    """The page and its content type, or why there is none."""
    client = open_client(_LIMITS.most_bytes)
    try:
        found = client.ask("GET", url, limits=_LIMITS, headers={})
    except Unanswered as error:
        said = f"did not answer within {_LIMITS.seconds:g} s" if error.is_slow else "does not answer"
        return f"the prober {said}, so it shows no metrics"
    finally:
        client.close()
    if found.status != HTTPStatus.OK:
        return f"the prober answered HTTP {found.status} instead of its metrics"
    return found.body, found.headers.get("Content-Type", "text/plain")
