"""The alerts and panels about Metacontroller find their series in a real one that drives the real hooks."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from tests.cluster.api_client import ApiClient
from tests.cluster.dynamo import load_example, running_controllers, wait_until_ready
from tests.cluster.programs import HttpServer
from tests.monitoring.prometheus import Target, running_prometheus
from tests.monitoring.queries import METACONTROLLERS, all_selectors, panel_queries, selectors
from tests.waiting import PATIENCE


@pytest.fixture(scope="module")
def controllers(admin: ApiClient, hooks: HttpServer, metacontroller: HttpServer) -> Iterator[None]:
    with running_controllers(admin, hooks.url):
        yield


@pytest.fixture
def graph(controllers: None, api: ApiClient) -> str:
    """A graph that became ready, so that Metacontroller has called the hooks."""
    api.create(load_example("vllm-agg"), strict=True)
    wait_until_ready(api, "vllm-agg")
    return "vllm-agg"


@pytest.mark.usefixtures("graph")
def test_every_metric_is_on_metacontrollers_page(metacontroller: HttpServer) -> None:
    page = requests.get(f"{metacontroller.url}/metrics", timeout=PATIENCE).text
    shown = set(re.findall(r"^([a-z_]+)(?:\{.*\})? \S+$", page, re.MULTILINE))
    wanted = set(all_selectors(METACONTROLLERS).values())
    assert len(wanted) > 5
    assert wanted - shown == set()


@pytest.mark.usefixtures("graph")
def test_prometheus_finds_every_series_and_every_panel_shows_something(
    metacontroller: HttpServer, tmp_path: Path
) -> None:
    port = urlsplit(metacontroller.url).port
    assert port is not None
    # A test of answers other than 200 would need a fault; the metric is the same.
    answered = {s for s in all_selectors(METACONTROLLERS) if 'code!~"200|429"' not in s}
    panels = {query for _, query in panel_queries() if selectors(query)[0][0].startswith(METACONTROLLERS)}
    with running_prometheus(tmp_path, [Target(endpoint="metacontroller", port=port)]) as prometheus:
        prometheus.wait_for_series(answered | panels)
