"""The Prometheus metrics of each call, added up over the server's processes.

A metric that means the same as one of the Go operator's has its name and labels, so dashboards and alerts keep working.
The names of all others begin with `dynamo_hooks_`.

Source: Dynamo operator, internal/observability/metrics.go.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from flask import Flask
from prometheus_client import CollectorRegistry, Counter, Histogram

from hooks.server.serving.conversion_metrics import ConversionMetrics, register_conversion_metrics
from hooks.server.serving.logs import CallReport
from hooks.server.serving.metrics_page import serve_page
from hooks.server.serving.process_metrics import BuildInfo, CertificateEnd, ServerProcesses
from hooks.wire.metacontroller.effects import EffectResult
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer

MAX_NAMESPACES = 300
"""Further namespaces are counted under `OTHER_NAMESPACES`, because each namespace costs some 50 series."""
OTHER_NAMESPACES = "(other)"

_RECONCILE_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_CALL_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_REVIEW_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_BYTES = tuple(4.0**power * 1024 for power in range(8))


class _Labels(NamedTuple):
    """All labels of a call's series; `result` is the operator's: success, error or requeue."""

    hook: str
    call: str
    outcome: str
    kind: str
    namespace: str
    result: str
    error_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """The histograms and counters to which a call with certain labels is added."""

    seconds: tuple[Histogram, ...]
    counts: tuple[Counter, ...]
    request_bytes: Histogram
    answer_bytes: Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The counters and histograms of one application; `namespaces` have series of their own."""

    reconcile_seconds: Histogram
    reconciles: Counter
    reconcile_errors: Counter
    call_seconds: Histogram
    calls: Counter
    request_bytes: Histogram
    answer_bytes: Histogram
    effects: Counter
    read_bytes: Counter
    read_seconds: Counter
    read_faults: Counter
    namespaces: set[str] = field(default_factory=set)
    series: dict[_Labels, _Series] = field(default_factory=dict)


def create_metrics(app: Flask) -> Metrics:
    """Register the metrics and add the route `/metrics` to the application."""
    registry = serve_page(app, (BuildInfo("hooks"), ServerProcesses(os.getpid())))
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
            "dynamo_hooks_effects_total", "Effects by their outcome.", ("effect", "outcome"), registry=registry
        ),
        read_bytes=_create_reads("bytes", "Bytes read on demand for objects of a namespace.", registry),
        read_seconds=_create_reads("seconds", "Seconds of reading on demand for objects of a namespace.", registry),
        read_faults=_create_reads("faults", "Reads on demand of a namespace that found not all.", registry),
    )


def _create_sizes(name: str, text: str, registry: CollectorRegistry) -> Histogram:
    return Histogram(name, text, ("hook", "call"), buckets=_BYTES, registry=registry)


def _create_reads(what: str, text: str, registry: CollectorRegistry) -> Counter:
    return Counter(f"dynamo_hooks_read_{what}_total", text, ("namespace",), registry=registry)


def record_call(metrics: Metrics, report: CallReport) -> None:
    """Count one call; sync and finalize are what the operator calls a reconcile, customize is not."""
    labels = _Labels(
        hook=report.hook,
        call=report.call,
        outcome=report.outcome,
        kind=report.kind,
        namespace=bound_namespace(metrics.namespaces, report.namespace),
        result="error" if report.error_type else "requeue" if report.comes_back else "success",
        error_type=report.error_type,
    )
    series = metrics.series.get(labels)
    if series is None:  # prometheus_client's search by labels costs more than the counting
        series = metrics.series[labels] = _find_series(metrics, labels)
    for histogram in series.seconds:
        histogram.observe(report.seconds)
    for counter in series.counts:
        counter.inc()
    series.request_bytes.observe(report.request_bytes)
    series.answer_bytes.observe(report.answer_bytes)


def record_effects(metrics: Metrics, results: Iterable[EffectResult]) -> None:
    """Count effects by kind and outcome."""
    for result in results:
        metrics.effects.labels(type(result.effect).__name__, result.outcome.value).inc()


def record_reads(metrics: Metrics, found: Mapping[ObjectQuery, QueryAnswer]) -> None:
    """Count what was read on demand, by the namespace of the objects."""
    for query, answer in found.items():
        record_read(metrics, query.namespace, answer.size, answer.seconds)
        metrics.read_faults.labels(bound_namespace(metrics.namespaces, query.namespace)).inc(bool(answer.fault))


def record_read(metrics: Metrics, namespace: str, size: int, seconds: float) -> None:
    """Count one read of objects of a namespace: its bytes and its seconds."""
    bounded = bound_namespace(metrics.namespaces, namespace)
    metrics.read_bytes.labels(bounded).inc(size)
    metrics.read_seconds.labels(bounded).inc(seconds)


def _find_series(metrics: Metrics, labels: _Labels) -> _Series:
    call = (labels.hook, labels.call, labels.outcome)
    reconcile = (labels.kind, labels.namespace, labels.result)
    seconds, counts = [metrics.call_seconds.labels(*call)], [metrics.calls.labels(*call)]
    if labels.call != "customize":
        seconds.append(metrics.reconcile_seconds.labels(*reconcile))
        counts.append(metrics.reconciles.labels(*reconcile))
        if labels.error_type:
            counts.append(metrics.reconcile_errors.labels(labels.kind, labels.namespace, labels.error_type))
    return _Series(
        seconds=tuple(seconds),
        counts=tuple(counts),
        request_bytes=metrics.request_bytes.labels(labels.hook, labels.call),
        answer_bytes=metrics.answer_bytes.labels(labels.hook, labels.call),
    )


def bound_namespace(known: set[str], namespace: str) -> str:
    """The namespace as a label's value; two threads at once may exceed the limit by one."""
    if namespace not in known:
        if len(known) >= MAX_NAMESPACES:
            return OTHER_NAMESPACES
        known.add(namespace)
    return namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionMetrics:
    """The metrics of validating admission, and of conversion in the same server."""

    seconds: Histogram
    requests: Counter
    denials: Counter
    conversions: ConversionMetrics
    registry: CollectorRegistry


def create_admission_metrics(app: Flask, certificate: Path | None = None) -> AdmissionMetrics:
    """Register the operator's three metrics of its webhooks and ours, and add the route `/metrics` to the application.

    `certificate` is the file of the served certificate.
    """
    own = (BuildInfo("admission"), ServerProcesses(os.getpid()))
    registry = serve_page(app, (*own, CertificateEnd(certificate)) if certificate else own)
    asked = ("resource_type", "operation")
    return AdmissionMetrics(
        seconds=Histogram(
            "dynamo_operator_webhook_duration_seconds",
            "Seconds that the check of an object took.",
            asked,
            buckets=_REVIEW_SECONDS,
            registry=registry,
        ),
        requests=Counter(
            "dynamo_operator_webhook_requests_total",
            "Objects checked; result is allowed or denied.",
            (*asked, "result"),
            registry=registry,
        ),
        denials=Counter(
            "dynamo_operator_webhook_denials_total",
            "Denials by the reason of the broken rule; an object that breaks several rules counts under each reason.",
            (*asked, "reason"),
            registry=registry,
        ),
        conversions=register_conversion_metrics(registry),
        registry=registry,
    )


def record_review(
    metrics: AdmissionMetrics, kind: str, operation: str, *, reasons: Sequence[str], seconds: float
) -> None:
    """Count one validating review: denied if there are `reasons`, otherwise allowed."""
    metrics.seconds.labels(kind, operation).observe(seconds)
    metrics.requests.labels(kind, operation, "denied" if reasons else "allowed").inc()
    for reason in reasons:
        metrics.denials.labels(kind, operation, reason).inc()
