"""The page `/metrics` of a server, and the page with the metrics of the prober, which listens on loopback only."""

import os
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from flask import Flask, Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from prometheus_flask_exporter import PrometheusMetrics
from prometheus_flask_exporter.multiprocess import GunicornInternalPrometheusMetrics

from hooks.errors import ProberUnavailable
from hooks.exchange.asking import MIB, Allowance, Unanswered, open_client

MULTIPROCESS_DIR = "PROMETHEUS_MULTIPROC_DIR"
"""Variable with the directory where the server's processes keep their values; set before this module is imported."""

PROBER_PAGE = "/metrics/prober"
_LIMITS = Allowance(seconds=2.0, most_bytes=16 * MIB)


class _PageOfAllProcesses(GunicornInternalPrometheusMetrics):  # type: ignore[misc]  # the exporter has no types
    """The exporter's page with further collectors."""

    def __init__(self, app: Flask, collectors: Iterable[Collector], **options: Any) -> None:
        self._collectors = tuple(collectors)
        super().__init__(app, **options)

    def generate_metrics(self, accept_header: str | None = None, names: Any = None) -> tuple[str, str]:
        """The text of the page and its content type."""
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # prometheus_client says no types here
        for collector in self._collectors:
            registry.register(collector)
        encode, content_type = choose_encoder(accept_header or "")
        shown: Any = registry.restricted_registry(names) if names else registry
        return encode(shown).decode(), content_type


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

    def show() -> Response:
        client = open_client(_LIMITS.most_bytes)
        try:
            found = client.ask("GET", f"{url.rstrip('/')}/metrics", limits=_LIMITS, headers={})
        except Unanswered as error:
            raise ProberUnavailable("the prober does not answer, so it shows no metrics") from error
        finally:
            client.close()
        if found.status != HTTPStatus.OK:
            raise ProberUnavailable(f"the prober answered HTTP {found.status} instead of its metrics")
        return Response(found.body, content_type=found.headers.get("Content-Type", "text/plain"))

    app.add_url_rule(PROBER_PAGE, "prober_metrics", show, methods=["GET"])
