"""The Prometheus metrics of conversion, beside those of admission in the same server."""

from collections import Counter as Counts
from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram

_REVIEW_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionMetrics:
    """The metrics of the API server's calls for another version."""

    seconds: Histogram
    reviews: Counter
    objects: Counter


def register_conversion_metrics(registry: CollectorRegistry) -> ConversionMetrics:
    """Register the metrics."""
    return ConversionMetrics(
        seconds=Histogram(
            "dynamo_hooks_conversion_duration_seconds",
            "Seconds from reading a review of objects in another version to its answer.",
            buckets=_REVIEW_SECONDS,
            registry=registry,
        ),
        reviews=Counter(
            "dynamo_hooks_conversions_total",
            "Reviews by outcome: converted, refused (the answer is a failure), malformed (HTTP 400), failed (a bug).",
            ("outcome",),
            registry=registry,
        ),
        objects=Counter(
            "dynamo_hooks_converted_objects_total",
            "Objects converted, by the version that the API server wanted.",
            ("resource_type", "version"),
            registry=registry,
        ),
    )


def record_conversion(
    metrics: ConversionMetrics, outcome: str, *, seconds: float, version: str = "", kinds: Iterable[str] = ()
) -> None:
    """Count one review; `kinds` are those of its objects, one for each."""
    metrics.seconds.observe(seconds)
    metrics.reviews.labels(outcome).inc()
    for kind, number in Counts(kinds).items():
        metrics.objects.labels(kind, version).inc(number)
