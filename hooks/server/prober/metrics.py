"""Prometheus metrics of adapters and engine calls, and of frontends."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from hooks.model.prober.engine_record import PhaseChange
from hooks.model.prober.messages import AdapterPhase
from hooks.server.serving.process_metrics import BuildInfo
from hooks.wire.prober.frontends import FrontendState

_LOAD_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)
_LOSS_SECONDS = (0.5, 1, 2.5, 5, 7.5, 10, 15, 30, 60)
_FRONTEND_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 3)
_CALL_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 3, 10, 60, 600)


class _AdapterGauges(Collector):
    """Counts pairs of engine and wanted adapter at each scrape."""

    def __init__(self, count: Callable[[], Mapping[AdapterPhase, int]]) -> None:
        self._count = count

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The gauges of wanted, loaded and failed adapters, and one by phase."""
        counts = self._count()
        loaded = sum(number for phase, number in counts.items() if phase.is_ready)
        for name, text, value in (
            ("wanted", "Pairs of engine and adapter that a DynamoModel wants.", sum(counts.values())),
            ("loaded", "Pairs of engine and adapter that are loaded.", loaded),
            ("failed", "Pairs of engine and adapter that failed for good.", counts[AdapterPhase.FAILED]),
        ):
            yield GaugeMetricFamily(f"dynamo_prober_adapters_{name}", text, value=value)
        phases = GaugeMetricFamily(
            "dynamo_prober_adapters", "Pairs of engine and wanted adapter by phase.", labels=["phase"]
        )
        for phase, number in counts.items():
            phases.add_metric([phase.value], number)
        yield phases


class _FrontendGauge(Collector):
    """Counts the frontends that are asked, at each scrape."""

    def __init__(self, count: Callable[[], Mapping[FrontendState, int]]) -> None:
        self._count = count

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The gauge of frontends by state."""
        states = GaugeMetricFamily("dynamo_prober_frontends", "Frontends of graphs by state.", labels=["state"])
        for state, number in self._count().items():
            states.add_metric([state.value], number)
        yield states


class CallMetrics:
    """The metrics of calls to engines, or to frontends (`whom`), in a registry."""

    def __init__(self, registry: CollectorRegistry, whom: str, article: str, buckets: Sequence[float]) -> None:
        """Register them; `article` goes before the name."""
        self._calls = Counter(
            f"dynamo_prober_{whom}_requests_total", f"Calls to {whom}s.", ("action", "outcome"), registry=registry
        )
        self._seconds = Histogram(
            f"dynamo_prober_{whom}_request_seconds",
            f"Seconds that a call to {article} {whom} took.",
            ("action",),
            buckets=buckets,
            registry=registry,
        )

    def record(self, action: StrEnum, outcome: StrEnum, seconds: float) -> None:
        """Count a call."""
        self._calls.labels(action.value, outcome.value).inc()
        self._seconds.labels(action.value).observe(seconds)


def create_frontend_metrics(
    registry: CollectorRegistry, count: Callable[[], Mapping[FrontendState, int]]
) -> CallMetrics:
    """Register the metrics; `count` returns the number of frontends in each state."""
    registry.register(_FrontendGauge(count))
    return CallMetrics(registry, "frontend", "a", _FRONTEND_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProberMetrics:
    """The metrics of one prober, in a registry of their own."""

    registry: CollectorRegistry
    load_seconds: Histogram
    loss_seconds: Histogram
    calls: CallMetrics

    def record_phase_change(self, change: PhaseChange) -> None:
        """Record how long a confirmed load took, or how long a loss went unnoticed."""
        if change.is_loss:
            self.loss_seconds.observe(change.seconds)
        elif change.after.is_ready and change.before is AdapterPhase.LOADING:
            self.load_seconds.observe(change.seconds)


def create_prober_metrics(count: Callable[[], Mapping[AdapterPhase, int]]) -> ProberMetrics:
    """Register the metrics; `count` returns the number of adapters in each phase."""
    registry = CollectorRegistry()
    registry.register(_AdapterGauges(count))
    registry.register(BuildInfo("prober"))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    return ProberMetrics(
        registry=registry,
        load_seconds=Histogram(
            "dynamo_prober_load_seconds",
            "Seconds from the first load call until the adapter was ready.",
            buckets=_LOAD_SECONDS,
            registry=registry,
        ),
        loss_seconds=Histogram(
            "dynamo_prober_loss_detection_seconds",
            "Seconds from the last list with an adapter to the first list without it.",
            buckets=_LOSS_SECONDS,
            registry=registry,
        ),
        calls=CallMetrics(registry, "engine", "an", _CALL_SECONDS),
    )
