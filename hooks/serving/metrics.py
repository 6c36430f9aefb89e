"""What Prometheus is told about each call, across the server's processes.

Names and labels that mean what the Go operator's mean are the operator's, so that its dashboards and alerts go on
working; the rest begins with `dynamo_hooks_`.

Source: Dynamo operator, internal/observability/metrics.go.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from flask import Flask
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_flask_exporter import PrometheusMetrics
from prometheus_flask_exporter.multiprocess import GunicornInternalPrometheusMetrics

from hooks.effects import EffectResult
from hooks.serving.logs import CallReport

MULTIPROCESS_DIR = "PROMETHEUS_MULTIPROC_DIR"
"""Variable that names the directory where the server's processes keep their values; set before this import."""

MAX_NAMESPACES = 300
"""Further namespaces count under `OTHER_NAMESPACES`: each one costs some 50 series."""
OTHER_NAMESPACES = "(other)"

_RECONCILE_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_CALL_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_REVIEW_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_BYTES = tuple(4.0**power * 1024 for power in range(8))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """What one sort of call adds to."""

    seconds: tuple[Histogram, ...]
    counts: tuple[Counter, ...]
    request_bytes: Histogram
    answer_bytes: Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The counters and histograms of one application; `namespaces` are those that have series of their own."""

    reconcile_seconds: Histogram
    reconciles: Counter
    reconcile_errors: Counter
    call_seconds: Histogram
    calls: Counter
    request_bytes: Histogram
    answer_bytes: Histogram
    effects: Counter
    namespaces: set[str] = field(default_factory=set)
    series: dict[tuple[str, ...], _Series] = field(default_factory=dict)


def create_metrics(app: Flask) -> Metrics:
    """Register the metrics and give the application its page `/metrics`."""
    registry = CollectorRegistry()
    exporter = GunicornInternalPrometheusMetrics if MULTIPROCESS_DIR in os.environ else PrometheusMetrics
    exporter(app, path="/metrics", export_defaults=False, registry=registry)
    result = ("resource_type", "namespace", "result")
    outcome = ("hook", "call", "outcome")
    return Metrics(
        reconcile_seconds=Histogram(
            "dynamo_operator_reconcile_duration_seconds",
            "Seconds that a sync or finalize call took.",
            result,
            buckets=_RECONCILE_SECONDS,
            registry=registry,
        ),
        reconciles=Counter("dynamo_operator_reconcile_total", "Sync and finalize calls.", result, registry=registry),
        reconcile_errors=Counter(
            "dynamo_operator_reconcile_errors_total",
            "Sync and finalize calls that failed or found an invalid spec.",
            ("resource_type", "namespace", "error_type"),
            registry=registry,
        ),
        call_seconds=Histogram(
            "dynamo_hooks_call_duration_seconds",
            "Seconds from reading a call to its answer.",
            outcome,
            buckets=_CALL_SECONDS,
            registry=registry,
        ),
        calls=Counter("dynamo_hooks_calls_total", "Calls answered.", outcome, registry=registry),
        request_bytes=_create_sizes("dynamo_hooks_request_bytes", "Bytes of a call's body.", registry),
        answer_bytes=_create_sizes("dynamo_hooks_answer_bytes", "Bytes of a call's answer.", registry),
        effects=Counter(
            "dynamo_hooks_effects_total", "Effects by what came of them.", ("effect", "outcome"), registry=registry
        ),
    )


def _create_sizes(name: str, text: str, registry: CollectorRegistry) -> Histogram:
    return Histogram(name, text, ("hook", "call"), buckets=_BYTES, registry=registry)


def record_call(metrics: Metrics, report: CallReport) -> None:
    """Count one call; only sync and finalize are what the operator calls a reconcile."""
    namespace = _bound(metrics.namespaces, report.namespace)
    result = "error" if report.error_type else "requeue" if report.comes_back else "success"
    key = (report.hook, report.call, report.outcome, namespace, result)
    series = metrics.series.get(key)
    if series is None:  # finding them by their labels costs more than counting
        series = metrics.series[key] = _find_series(metrics, report, namespace, result)
    for histogram in series.seconds:
        histogram.observe(report.seconds)
    for counter in series.counts:
        counter.inc()
    series.request_bytes.observe(report.request_bytes)
    series.answer_bytes.observe(report.answer_bytes)


def record_effects(metrics: Metrics, results: Iterable[EffectResult]) -> None:
    """Count effects by kind and by what came of them."""
    for result in results:
        metrics.effects.labels(type(result.effect).__name__, result.outcome.value).inc()


def _find_series(metrics: Metrics, report: CallReport, namespace: str, result: str) -> _Series:
    call, reconcile = (report.hook, report.call, report.outcome), (report.kind, namespace, result)
    seconds, counts = [metrics.call_seconds.labels(*call)], [metrics.calls.labels(*call)]
    if report.call != "customize":
        seconds.append(metrics.reconcile_seconds.labels(*reconcile))
        counts.append(metrics.reconciles.labels(*reconcile))
        if report.error_type:
            counts.append(metrics.reconcile_errors.labels(report.kind, namespace, report.error_type))
    return _Series(
        seconds=tuple(seconds),
        counts=tuple(counts),
        request_bytes=metrics.request_bytes.labels(report.hook, report.call),
        answer_bytes=metrics.answer_bytes.labels(report.hook, report.call),
    )


def _bound(known: set[str], namespace: str) -> str:
    """The namespace as a label's value; a set only grows, and two threads may pass the limit by one."""
    if namespace not in known:
        if len(known) >= MAX_NAMESPACES:
            return OTHER_NAMESPACES
        known.add(namespace)
    return namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionMetrics:
    """The counters of validating admission; the server's page `/metrics` shows them with all others."""

    seconds: Histogram
    requests: Counter
    denials: Counter
    registry: CollectorRegistry


def create_admission_metrics() -> AdmissionMetrics:
    """Make the operator's three metrics of its webhooks."""
    registry = CollectorRegistry()
    asked = ("resource_type", "operation")
    return AdmissionMetrics(
        seconds=Histogram(
            "dynamo_operator_webhook_duration_seconds",
            "Seconds that judging an object took.",
            asked,
            buckets=_REVIEW_SECONDS,
            registry=registry,
        ),
        requests=Counter(
            "dynamo_operator_webhook_requests_total",
            "Objects judged; result is allowed or denied.",
            (*asked, "result"),
            registry=registry,
        ),
        denials=Counter(
            "dynamo_operator_webhook_denials_total",
            "Denials by the rule that was broken; one that breaks several counts under each.",
            (*asked, "reason"),
            registry=registry,
        ),
        registry=registry,
    )


def record_review(
    metrics: AdmissionMetrics, kind: str, operation: str, *, reasons: Sequence[str], seconds: float
) -> None:
    """Count one validating review; it was allowed unless there are reasons against it."""
    metrics.seconds.labels(kind, operation).observe(seconds)
    metrics.requests.labels(kind, operation, "denied" if reasons else "allowed").inc()
    for reason in reasons:
        metrics.denials.labels(kind, operation, reason).inc()
