"""The queries of alerts and panels, and the selectors of series within them."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.installation import ROOT
from tests.monitoring.dashboards import DASHBOARDS

ALERTS = ROOT / "chart" / "files" / "monitoring" / "alerts.yaml"
OURS = ("dynamo_", "process_")
METACONTROLLERS = ("metacontroller_", "workqueue_", "rest_client_")
_SELECTOR = re.compile(rf"\b((?:{'|'.join((*OURS, *METACONTROLLERS))})[a-z_]+)(\{{[^}}]*\}})?")


def alerts() -> list[dict[str, Any]]:
    """The alerting rules of all groups."""
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def panel_queries() -> Iterator[tuple[str, str]]:
    """Each panel's queries, as `<dashboard>: <panel>` and the query for all namespaces."""
    for dashboard in DASHBOARDS:
        for _, panels in dashboard.rows:
            for panel in panels:
                for query, _ in panel.queries:
                    yield f"{dashboard.uid}: {panel.title}", query.replace("$namespace", ".*")


def selectors(query: str) -> list[tuple[str, str]]:
    """Each series of a query: the name of the metric, and the selector with its labels."""
    return [(name, f"{name}{labels}") for name, labels in _SELECTOR.findall(query)]


def all_selectors(prefixes: tuple[str, ...]) -> dict[str, str]:
    """By selector, the name of its metric; of all alerts and panels, for metrics with one of the prefixes."""
    queries = [rule["expr"] for rule in alerts()] + [query for _, query in panel_queries()]
    found = (pair for query in queries for pair in selectors(query))
    return {selector: name for name, selector in found if name.startswith(prefixes)}
