"""The metrics of all custom resources: how many there are in which state, and which are not ready, why and since when.

`/metrics` of the hooks shows them; one process of an installation sets them.
"""

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Gauge

from hooks.server.serving.metrics import OTHER_NAMESPACES, bound_namespace
from hooks.server.serving.resource_counts import Key, OfGraph, ResourceCounts

MAX_GRAPHS = 500
"""So many series of outages, as many of rollouts and of models: a graph's name, and a model's, is a user's text."""
OTHER_GRAPHS = "_other"
"""Stands for all further graphs; no graph can have this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceMetrics:
    """The gauges, each by kind, namespace, and state or reason; the others by namespace, graph and a word."""

    resources: Gauge
    not_ready: Gauge
    not_ready_seconds: Gauge
    outages: Gauge
    rollouts: Gauge
    serving: Gauge
    registry: CollectorRegistry
    namespaces: set[str] = field(default_factory=set)
    shown: dict[str, set[Key]] = field(default_factory=dict)
    named: dict[str, set[OfGraph]] = field(default_factory=dict)


def create_resource_metrics() -> ResourceMetrics:
    """Register the operator's metric of its custom resources, and those of resources that are not ready."""
    registry = CollectorRegistry()

    def gauge(name: str, text: str, label: str) -> Gauge:
        labels = ("resource_type", "namespace", label)
        return Gauge(name, text, labels, registry=registry, multiprocess_mode="livemostrecent")

    def of_graph(name: str, text: str, label: str) -> Gauge:
        labels = ("namespace", "graph", label)
        return Gauge(name, text, labels, registry=registry, multiprocess_mode="livemostrecent")

    return ResourceMetrics(
        resources=gauge(
            "dynamo_operator_resources_total",
            "Custom resources in the cluster by their state; one process of an installation counts them.",
            "status",
        ),
        not_ready=gauge("dynamo_hooks_not_ready", "Custom resources that are not ready, by the reason.", "reason"),
        not_ready_seconds=gauge(
            "dynamo_hooks_not_ready_seconds",
            "For how long the longest of the custom resources that are not ready for a reason is not ready.",
            "reason",
        ),
        outages=of_graph(
            "dynamo_hooks_graph_outage",
            "1 for a graph that was ready and of which no frontend, or no engine, has a ready replica; then 0.",
            "part",
        ),
        rollouts=of_graph(
            "dynamo_hooks_graph_rollout",
            "1 for a graph whose workers roll, by the reason of its condition Rollout; then 0.",
            "reason",
        ),
        serving=of_graph(
            "dynamo_hooks_graph_serving",
            "1 for a model that all frontends of the graph route, otherwise 0; model is empty if none is routed. NaN, "
            "or absent: not known, or gone.",
            "model",
        ),
        registry=registry,
    )


def show_resources(metrics: ResourceMetrics, found: ResourceCounts) -> None:
    """Set the numbers; what was counted before and is gone becomes 0."""
    _show(metrics, metrics.resources, "states", found.states)
    _show(metrics, metrics.not_ready, "not ready", {key: len(ages) for key, ages in found.not_ready.items()})
    _show(metrics, metrics.not_ready_seconds, "seconds", {key: max(ages) for key, ages in found.not_ready.items()})
    _show_graphs(metrics, metrics.outages, "outages", found.outages)
    _show_graphs(metrics, metrics.rollouts, "rollouts", found.rollouts)
    _show_serving(metrics, found.serving)


def _show_serving(metrics: ResourceMetrics, found: Mapping[OfGraph, bool]) -> None:
    """Name at most `MAX_GRAPHS` models of graphs; of the others, which share a name, the worst one counts.

    What is no longer known is NaN, since no series can be taken away from other processes' pages.
    """
    named = metrics.named.setdefault("serving", set())
    shown: dict[OfGraph, float] = dict.fromkeys(named, math.nan)
    for one, is_served in sorted(found.items()):
        is_known = one in shown or len(shown) < MAX_GRAPHS
        key = one if is_known else (OTHER_NAMESPACES, OTHER_GRAPHS, OTHER_GRAPHS)
        before = shown.get(key, math.nan)
        shown[key] = float(is_served) if math.isnan(before) else min(before, is_served)
    for labels, value in shown.items():
        metrics.serving.labels(*labels).set(value)
    named.update(shown)


def _show_graphs(metrics: ResourceMetrics, gauge: Gauge, name: str, found: Set[OfGraph]) -> None:
    """Name at most `MAX_GRAPHS` graphs; the others share a name."""
    named = metrics.named.setdefault(name, set())
    shown: dict[OfGraph, int] = dict.fromkeys(named, 0)
    for one in sorted(found):
        key = one if one in shown or len(shown) < MAX_GRAPHS else (OTHER_NAMESPACES, OTHER_GRAPHS, one[2])
        shown[key] = 1
    for labels, value in shown.items():
        gauge.labels(*labels).set(value)
    named.update(shown)


def _show(metrics: ResourceMetrics, gauge: Gauge, name: str, values: Mapping[Key, float]) -> None:
    before = metrics.shown.setdefault(name, set())
    shown: dict[Key, float] = dict.fromkeys(before, 0)
    for (kind, namespace, third), value in values.items():
        key = (kind, bound_namespace(metrics.namespaces, namespace), third)
        shown[key] = max(shown.get(key, 0), value) if name == "seconds" else shown.get(key, 0) + value
    for labels, value in shown.items():
        gauge.labels(*labels).set(value)
    before.update(shown)
