"""The dashboards of the chart as data, and the JSON that Grafana reads; `make golden` writes it into the chart.

Source: Dynamo operator, deploy/observability/k8s/grafana-operator-dashboard-configmap.yaml.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.monitoring.panel_texts import DASHBOARDS as ABOUT
from tests.monitoring.panel_texts import PANELS

_COLUMNS, _HEIGHT = 24, 8
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_NAMESPACE = 'namespace=~"$namespace"'
_CONTROLLER = f'name=~"(Composite|Decorator)Controller-dynamo-.*", {_NAMESPACE}'
_GRAPHS = 'resource_type="DynamoGraphDeployment"'
_OF_METACONTROLLER = f'controller_name=~"dynamo-.*", {_NAMESPACE}'
_REQUESTS = (
    "sum by (method, code) "
    f"(rate(rest_client_requests_total{{{_NAMESPACE}}}[5m]) "
    "and on (job, instance) metacontroller_sync_in_flight_requests)"
)
_IN_FLIGHT = f"sum by (controller_name) (metacontroller_sync_in_flight_requests{{{_OF_METACONTROLLER}}})"
_LONGEST = f"max by (resource_type, namespace, reason) (dynamo_hooks_not_ready_seconds{{{_NAMESPACE}}}) > 0"
_PROCESSES = f'server=~"hooks|admission|prober", {_NAMESPACE}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel: its queries with their legends. `unit` is Grafana's; `kind` is timeseries, stat, gauge or table."""

    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """One dashboard: rows of panels; `namespaces` is the query for the variable `namespace`.

    It is that of the resources, or of the processes, where these have no resources.
    """

    uid: str
    title: str
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]
    namespaces: str


def _quantile(part: float, metric: str, *labels: str, where: str = "") -> str:
    by = ", ".join((*labels, "le"))
    selector = f"{{{where}}}" if where else ""
    return f"histogram_quantile({part}, sum by ({by}) (rate({metric}_bucket{selector}[5m])))"


def _rate(metric: str, *labels: str, where: str = "") -> str:
    selector = f"{{{where}}}" if where else ""
    return f"sum by ({', '.join(labels)}) (rate({metric}{selector}[5m]))"


def _ours(operation: str, expression: str) -> str:
    """The expression for the processes of hooks, admission and prober, of which each shows its version too."""
    joined = f"{expression} * on (job, instance, endpoint) group_left () dynamo_hooks_build_info{{{_NAMESPACE}}}"
    return f"{operation} by (pod, endpoint) ({joined})"


def _percent(metric: str, good: str, label: str) -> str:
    return (
        f"100 * sum by ({label}) (rate({metric}{{{good}, {_NAMESPACE}}}[5m])) "
        f"/ sum by ({label}) (rate({metric}{{{_NAMESPACE}}}[5m]))"
    )


GRAPHS = Dashboard(
    uid="dynamo-operator",
    title="Dynamo graphs",
    namespaces="label_values(dynamo_operator_reconcile_total, namespace)",
    rows=(
        (
            "Resources",
            (
                Panel(
                    title="Graphs by state",
                    queries=(
                        (
                            f"sum by (namespace, status) (dynamo_operator_resources_total{{{_GRAPHS}, {_NAMESPACE}}})",
                            "{{namespace}} {{status}}",
                        ),
                    ),
                ),
                Panel(
                    title="Resources by kind and state",
                    queries=(
                        (
                            f"sum by (resource_type, status) (dynamo_operator_resources_total{{{_NAMESPACE}}})",
                            "{{resource_type}} {{status}}",
                        ),
                    ),
                ),
                Panel(
                    title="Models that are not routed",
                    queries=(
                        (
                            f"max by (namespace, graph, model) (dynamo_hooks_graph_serving{{{_NAMESPACE}}}) == 0",
                            "{{namespace}}/{{graph}} {{model}}",
                        ),
                    ),
                ),
                Panel(
                    title="Not ready, by reason",
                    queries=(
                        (
                            f"sum by (resource_type, namespace, reason) (dynamo_hooks_not_ready{{{_NAMESPACE}}}) > 0",
                            "{{namespace}} {{resource_type}} {{reason}}",
                        ),
                    ),
                ),
                Panel(
                    title="Not ready, the longest time",
                    queries=(
                        (
                            _LONGEST,
                            "{{namespace}} {{resource_type}} {{reason}}",
                        ),
                    ),
                    unit="s",
                ),
            ),
        ),
        (
            "Reconciliation",
            (
                Panel(
                    title="Reconciliation rate",
                    queries=(
                        (
                            _rate("dynamo_operator_reconcile_total", "resource_type", "result", where=_NAMESPACE),
                            "{{resource_type}} {{result}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Reconciliation duration (P95)",
                    queries=(
                        (
                            _quantile(
                                0.95, "dynamo_operator_reconcile_duration_seconds", "resource_type", where=_NAMESPACE
                            ),
                            "{{resource_type}}",
                        ),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Reconciliation errors",
                    queries=(
                        (
                            _rate(
                                "dynamo_operator_reconcile_errors_total",
                                "resource_type",
                                "error_type",
                                where=_NAMESPACE,
                            ),
                            "{{resource_type}} {{error_type}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Reconciliation success rate",
                    queries=(
                        (
                            _percent("dynamo_operator_reconcile_total", 'result=~"success|requeue"', "resource_type"),
                            "{{resource_type}}",
                        ),
                    ),
                    unit="percent",
                    kind="gauge",
                ),
            ),
        ),
        (
            "Admission",
            (
                Panel(
                    title="Admission rate",
                    queries=(
                        (
                            _rate("dynamo_operator_webhook_requests_total", "resource_type", "operation", "result"),
                            "{{resource_type}} {{operation}} {{result}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Admission duration (P95)",
                    queries=(
                        (
                            _quantile(0.95, "dynamo_operator_webhook_duration_seconds", "resource_type", "operation"),
                            "{{resource_type}} {{operation}}",
                        ),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Admission denials",
                    queries=(
                        (
                            _rate("dynamo_operator_webhook_denials_total", "resource_type", "operation", "reason"),
                            "{{resource_type}} {{operation}} {{reason}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Days until the certificate ends",
                    queries=(("(min(dynamo_hooks_certificate_end_timestamp_seconds) - time()) / 86400", "days"),),
                    kind="stat",
                ),
            ),
        ),
    ),
)

HOOKS = Dashboard(
    uid="dynamo-hooks",
    title="Dynamo hooks",
    namespaces="label_values(dynamo_hooks_build_info, namespace)",
    rows=(
        (
            "Calls",
            (
                Panel(
                    title="Calls by outcome",
                    queries=(
                        (
                            _rate("dynamo_hooks_calls_total", "hook", "outcome", where=_NAMESPACE),
                            "{{hook}} {{outcome}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Duration of calls",
                    queries=(
                        (
                            _quantile(0.5, "dynamo_hooks_call_duration_seconds", "hook", where=_NAMESPACE),
                            "{{hook}} P50",
                        ),
                        (
                            _quantile(0.99, "dynamo_hooks_call_duration_seconds", "hook", where=_NAMESPACE),
                            "{{hook}} P99",
                        ),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Size of requests (P99)",
                    queries=(
                        (
                            _quantile(0.99, "dynamo_hooks_request_bytes", "hook", "call", where=_NAMESPACE),
                            "{{hook}} {{call}}",
                        ),
                    ),
                    unit="bytes",
                ),
                Panel(
                    title="Size of answers (P99)",
                    queries=(
                        (
                            _quantile(0.99, "dynamo_hooks_answer_bytes", "hook", "call", where=_NAMESPACE),
                            "{{hook}} {{call}}",
                        ),
                    ),
                    unit="bytes",
                ),
                Panel(
                    title="Effects by outcome",
                    queries=(
                        (
                            _rate("dynamo_hooks_effects_total", "effect", "outcome", where=_NAMESPACE),
                            "{{effect}} {{outcome}}",
                        ),
                    ),
                    unit="ops",
                ),
            ),
        ),
        (
            "Processes",
            (
                Panel(
                    title="Versions",
                    queries=((f"count by (server, version) (dynamo_hooks_build_info{{{_PROCESSES}}})", ""),),
                    kind="table",
                ),
                Panel(
                    title="Processor",
                    queries=(
                        (
                            _ours("sum", "rate(process_cpu_seconds_total[5m])"),
                            "{{pod}} {{endpoint}}",
                        ),
                    ),
                ),
                Panel(
                    title="Memory",
                    queries=(
                        (
                            _ours("sum", "process_resident_memory_bytes"),
                            "{{pod}} {{endpoint}}",
                        ),
                    ),
                    unit="bytes",
                ),
                Panel(
                    title="Time since the start",
                    queries=(
                        (
                            _ours("min", "(time() - process_start_time_seconds)"),
                            "{{pod}} {{endpoint}}",
                        ),
                    ),
                    unit="s",
                ),
            ),
        ),
    ),
)

METACONTROLLER = Dashboard(
    uid="dynamo-metacontroller",
    title="Dynamo Metacontroller",
    namespaces="label_values(metacontroller_sync_in_flight_requests, namespace)",
    rows=(
        (
            "Queue",
            (
                Panel(
                    title="Objects that wait",
                    queries=((f"max by (name) (workqueue_depth{{{_CONTROLLER}}})", "{{name}}"),),
                ),
                Panel(
                    title="Time in the queue (P95)",
                    queries=(
                        (_quantile(0.95, "workqueue_queue_duration_seconds", "name", where=_CONTROLLER), "{{name}}"),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Duration of a sync (P95)",
                    queries=(
                        (_quantile(0.95, "workqueue_work_duration_seconds", "name", where=_CONTROLLER), "{{name}}"),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Repeated syncs",
                    queries=((_rate("workqueue_retries_total", "name", where=_CONTROLLER), "{{name}}"),),
                    unit="ops",
                ),
            ),
        ),
        (
            "Hooks and API server",
            (
                Panel(
                    title="Syncs by answer",
                    queries=(
                        (
                            _rate(
                                "metacontroller_sync_requests_total",
                                "controller_name",
                                "code",
                                where=_OF_METACONTROLLER,
                            ),
                            "{{controller_name}} {{code}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Time that a hook takes, as Metacontroller sees it (P95)",
                    queries=(
                        (
                            _quantile(
                                0.95,
                                "metacontroller_sync_request_duration_histogram_seconds",
                                "controller_name",
                                where=_OF_METACONTROLLER,
                            ),
                            "{{controller_name}}",
                        ),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Calls of hooks under way",
                    queries=(
                        (
                            _IN_FLIGHT,
                            "{{controller_name}}",
                        ),
                    ),
                ),
                Panel(
                    title="Requests to the API server of Metacontroller",
                    queries=(
                        (
                            _REQUESTS,
                            "{{method}} {{code}}",
                        ),
                    ),
                    unit="ops",
                ),
            ),
        ),
    ),
)

LORA = Dashboard(
    uid="dynamo-lora",
    title="Dynamo LoRA",
    namespaces="label_values(dynamo_prober_adapters_wanted, namespace)",
    rows=(
        (
            "Adapters",
            (
                Panel(
                    title="Wanted",
                    queries=((f"sum(dynamo_prober_adapters_wanted{{{_NAMESPACE}}})", ""),),
                    kind="stat",
                    width=8,
                ),
                Panel(
                    title="Loaded",
                    queries=((f"sum(dynamo_prober_adapters_loaded{{{_NAMESPACE}}})", ""),),
                    kind="stat",
                    width=8,
                ),
                Panel(
                    title="Failed",
                    queries=((f"sum(dynamo_prober_adapters_failed{{{_NAMESPACE}}})", ""),),
                    kind="stat",
                    width=8,
                ),
                Panel(
                    title="Adapters by phase",
                    queries=((f"sum by (phase) (dynamo_prober_adapters{{{_NAMESPACE}}}) > 0", "{{phase}}"),),
                ),
                Panel(
                    title="Adapters lost, in 15 minutes",
                    queries=(
                        (f"sum(increase(dynamo_prober_loss_detection_seconds_count{{{_NAMESPACE}}}[15m]))", "lost"),
                    ),
                ),
                Panel(
                    title="Time to load",
                    queries=(
                        (_quantile(0.5, "dynamo_prober_load_seconds", where=_NAMESPACE), "P50"),
                        (_quantile(0.95, "dynamo_prober_load_seconds", where=_NAMESPACE), "P95"),
                    ),
                    unit="s",
                ),
                Panel(
                    title="Time until a loss is noticed (P95)",
                    queries=((_quantile(0.95, "dynamo_prober_loss_detection_seconds", where=_NAMESPACE), "P95"),),
                    unit="s",
                ),
            ),
        ),
        (
            "Engines",
            (
                Panel(
                    title="Requests to engines",
                    queries=(
                        (
                            _rate("dynamo_prober_engine_requests_total", "action", "outcome", where=_NAMESPACE),
                            "{{action}} {{outcome}}",
                        ),
                    ),
                    unit="ops",
                ),
                Panel(
                    title="Duration of requests to engines (P95)",
                    queries=(
                        (
                            _quantile(0.95, "dynamo_prober_engine_request_seconds", "action", where=_NAMESPACE),
                            "{{action}}",
                        ),
                    ),
                    unit="s",
                ),
            ),
        ),
    ),
)

DASHBOARDS = (GRAPHS, HOOKS, METACONTROLLER, LORA)


def build(dashboard: Dashboard) -> dict[str, Any]:
    """The dashboard as Grafana's JSON."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": ABOUT[dashboard.uid],
        "tags": ["dynamo", "operator", "kubernetes"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": list(_variables(dashboard))},
        "panels": list(_panels(dashboard)),
    }


def _variables(dashboard: Dashboard) -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    yield {
        "name": "namespace",
        "label": "Namespace",
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": dashboard.namespaces, "refId": "namespace"},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panels(dashboard: Dashboard) -> Iterator[dict[str, Any]]:
    number, y = 1, 0
    for title, panels in dashboard.rows:
        yield _row(title, number, y)
        number, y, x = number + 1, y + 1, 0
        for panel in panels:
            if x + panel.width > _COLUMNS:
                x, y = 0, y + _HEIGHT
            yield _panel(panel, number, x, y)
            number, x = number + 1, x + panel.width
        y += _HEIGHT


def _row(title: str, number: int, y: int) -> dict[str, Any]:
    place = {"x": 0, "y": y, "w": _COLUMNS, "h": 1}
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": place, "panels": []}


def _panel(panel: Panel, number: int, x: int, y: int) -> dict[str, Any]:
    targets = [
        {
            "refId": chr(ord("A") + index),
            "datasource": _SOURCE,
            "expr": expression,
            "legendFormat": legend or "__auto",
            **({"format": "table", "instant": True} if panel.kind == "table" else {}),
        }
        for index, (expression, legend) in enumerate(panel.queries)
    ]
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": PANELS[panel.title].about,
        "datasource": _SOURCE,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": _HEIGHT},
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "noValue": PANELS[panel.title].nothing, **_limits(panel)},
            "overrides": [],
        },
        "targets": targets,
    }


def _limits(panel: Panel) -> dict[str, Any]:
    """A gauge's scale, with the operator's colours: red, from 95 yellow, from 99 green."""
    if panel.kind != "gauge":
        return {}
    steps = [{"color": "red", "value": None}, {"color": "yellow", "value": 95}, {"color": "green", "value": 99}]
    return {"min": 0, "max": 100, "thresholds": {"mode": "absolute", "steps": steps}}
