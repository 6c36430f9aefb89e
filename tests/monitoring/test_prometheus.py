"""Alerts and panels against running processes, and against a real Prometheus where one is installed."""

import re
from collections.abc import Iterator

import pytest

from tests.monitoring.processes import Processes, running_processes
from tests.monitoring.prometheus import Prometheus, running_prometheus
from tests.monitoring.queries import METACONTROLLERS, OURS, alerts, all_selectors, panel_queries, selectors

ALREADY = {
    "DynamoCertificateEnds",
    "DynamoDeletionHangs",
    "DynamoGraphDown",
    "DynamoResourceNotProcessed",
    "DynamoResourceNotReady",
    "DynamoRolloutStalled",
}
"""The alerts about what the processes find when they start: the cluster's objects, and a certificate for an hour."""


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with running_processes(tmp_path_factory.mktemp("processes")) as started:
        started.act()
        yield started


@pytest.fixture(scope="module")
def prometheus(processes: Processes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with running_prometheus(tmp_path_factory.mktemp("prometheus"), processes.targets) as started:
        yield started


def test_every_metric_of_alerts_and_panels_is_on_a_page(processes: Processes) -> None:
    shown = set(re.findall(r"^([a-z_]+)(?:\{.*\})? \S+$", processes.pages(), re.MULTILINE))
    wanted = set(all_selectors(OURS).values())
    assert len(wanted) > 20
    assert wanted - shown == set()


def test_every_query_names_a_metric_that_a_test_looks_for() -> None:
    for query in [*(rule["expr"] for rule in alerts()), *(query for _, query in panel_queries())]:
        assert [name for name, _ in selectors(query) if name.startswith((*OURS, *METACONTROLLERS))]


def test_prometheus_finds_every_series_and_alerts_fire_when_their_fault_is_made(
    processes: Processes, prometheus: Prometheus
) -> None:
    processes.act()
    prometheus.wait_until(
        "the alerts about what is there fire, and no other",
        lambda: prometheus.firing() - {"DynamoEffectsFail"} == ALREADY,
    )
    (down,) = prometheus.query('ALERTS{alertname="DynamoGraphDown", alertstate="firing"}')
    assert (down["metric"]["namespace"], down["metric"]["graph"]) == ("team", "down"), "not the hooks' own namespace"
    processes.fail_calls(1)
    prometheus.wait_for_series(all_selectors(OURS))
    processes.fail_calls(5)
    processes.lose_adapter()
    made = {"DynamoHookErrors", "DynamoAdapterLost"}
    prometheus.wait_until("the alerts about faults fire", lambda: prometheus.firing() >= made)


def test_every_panel_of_ours_shows_something(processes: Processes, prometheus: Prometheus) -> None:
    processes.act()
    ours = {query for _, query in panel_queries() if selectors(query)[0][0].startswith(OURS)}
    prometheus.wait_for_series(ours)


def test_every_expression_is_valid(prometheus: Prometheus) -> None:
    for query in [*(rule["expr"] for rule in alerts()), *(query for _, query in panel_queries())]:
        prometheus.query(query)
