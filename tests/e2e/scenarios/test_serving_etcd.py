"""Ready and Serving beside what a real chat gets, each second, where processes find each other by a real etcd."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.ground import contract
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import DYNAMO, GRAPH
from tests.cluster.processes import Server, running
from tests.e2e.bench import Bench
from tests.e2e.graphs import explained, load_graph
from tests.e2e.watched import WATCHED_SECONDS, Report, Watched, asking_hooks, lines
from tests.etcd_server import etcd_server

MOMENT_SECONDS, AWAY_SECONDS = 4.0, 45.0
"""Shorter than any lease, and so long that processes of every release end themselves."""
RESTARTED_SECONDS = 300.0
"""They are started again after pauses that become longer."""
LEASE_SECONDS = 40.0
"""Beyond the longest lease, of 1.6.1 with 25 s: then what a killed worker had registered is gone.

Until then a chat is sent there now and then and fails, although the worker is back."""


@pytest.fixture
def etcd(bench: Bench, tag: str, tmp_path: Path) -> Iterator[Server]:
    """An etcd that runs, and hooks with a prober that know it, in place of the bench's."""
    server = etcd_server(tmp_path)
    with running(server), asking_hooks(bench, tag, tmp_path, etcd_address=server.url):
        yield server


def test_graph_that_is_found_by_etcd(bench: Bench, api: ApiClient, tag: str, report: Report, etcd: Server) -> None:
    graph = load_graph("mocker-agg", tag, MockerWorker=1)
    graph["metadata"]["annotations"] = {contract.ANNOTATION_DISCOVERY_BACKEND: "etcd"}
    seen = Watched(bench=bench, api=api, name=graph["metadata"]["name"], tag=tag, report=report)
    with seen.state("etcd: coming up"):
        api.create(graph, strict=True)
    assert api.list(DYNAMO, "DynamoWorkerMetadata") == [], "nothing is registered at the API server"
    with seen.state("etcd: worker dies (SIGKILL), and is back") as samples:
        seen.signal("mockerworker", signal.SIGKILL)
        time.sleep(LEASE_SECONDS + WATCHED_SECONDS)
    last = max((one.seconds for one in samples.found if one.said), default=0.0)
    report(f"etcd: worker dies, {tag}: the last chat fails after {last:.0f} s")
    assert last <= LEASE_SECONDS, lines(samples)
    with seen.state("etcd: frontend dies (SIGKILL), and is back"):
        seen.signal("frontend", signal.SIGKILL)
        time.sleep(WATCHED_SECONDS)
    with seen.state(f"etcd: etcd is away for {MOMENT_SECONDS:.0f} seconds"):
        etcd.kill()
        time.sleep(MOMENT_SECONDS)
        etcd.start()
        time.sleep(WATCHED_SECONDS)
    with seen.state(f"etcd: etcd is away for {AWAY_SECONDS:.0f} seconds", settled_seconds=RESTARTED_SECONDS):
        etcd.kill()
        time.sleep(AWAY_SECONDS)
        etcd.start()
    api.delete(DYNAMO, GRAPH, seen.name)
    with explained(bench, api):
        wait_for(lambda: api.get(DYNAMO, GRAPH, seen.name) is None, "the graph is gone, and its keys", 120)
