"""Ready and Serving beside what a real chat gets, each second, in the states through which a graph goes.

Its processes find each other through the API server; `test_serving_etcd` has the states of discovery by etcd.
"""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import DYNAMO, GRAPH
from tests.e2e.bench import Bench
from tests.e2e.graphs import load_graph
from tests.e2e.sampling import Samples
from tests.e2e.watched import WATCHED_SECONDS, Report, Watched, asking_hooks, lines

LATE_SECONDS, LOST_SECONDS = 15.0, 15.0


@pytest.fixture
def asking(bench: Bench, tag: str, tmp_path: Path) -> Iterator[None]:
    """Hooks with a prober in place of the bench's."""
    with asking_hooks(bench, tag, tmp_path):
        yield


def start_late(worker: Manifest, seconds: float) -> None:
    """Let a worker's process begin so late, as one does that loads weights; its pod is ready once it has begun."""
    main = worker["extraPodSpec"]["mainContainer"]
    words = " ".join([*main["command"], *main.get("args", ())])
    main |= {"command": ["sh", "-c", f"sleep {seconds:.0f}; exec {words}"]}
    main.pop("args", None)


def test_aggregated_graph(bench: Bench, api: ApiClient, tag: str, report: Report, asking: None) -> None:
    graph = load_graph("mocker-agg", tag, MockerWorker=1)
    seen = Watched(bench=bench, api=api, name=graph["metadata"]["name"], tag=tag, report=report)
    with seen.state("coming up"):
        api.create(graph, strict=True)
    with seen.state("worker ends (SIGTERM)"):
        seen.signal("mockerworker", signal.SIGTERM)
        time.sleep(WATCHED_SECONDS)
    with seen.state("worker dies (SIGKILL)"):
        seen.signal("mockerworker", signal.SIGKILL)
        time.sleep(WATCHED_SECONDS)
    with seen.state("frontend is replaced"):
        (pod,) = seen.pods_of("frontend")
        api.delete("v1", "Pod", pod["metadata"]["name"])
        time.sleep(WATCHED_SECONDS)
    with seen.state("frontend loses its label") as samples:
        label = {"metadata": {"labels": {contract.LABEL_COMPONENT_TYPE: None}}}
        (pod,) = seen.pods_of("frontend")
        name, labels = pod["metadata"]["name"], pod["metadata"]["labels"]
        api.patch("v1", "Pod", name, label)
        wait_for(lambda: says_no(samples), lambda: f"the graph says it\n{lines(samples)}", WATCHED_SECONDS)
        api.patch("v1", "Pod", name, {"metadata": {"labels": labels}})
    api.delete(DYNAMO, GRAPH, seen.name)


def says_no(samples: Samples) -> bool:
    """Whether the last look found a graph that says that nobody reaches it."""
    last = samples.in_order()[-1:]
    return all((one.ready, one.reason) == ("False", "NoEndpoints") for one in last) and bool(last)


def test_worker_that_starts_late(bench: Bench, api: ApiClient, tag: str, report: Report, asking: None) -> None:
    graph = load_graph("mocker-agg", tag, MockerWorker=1)
    start_late(graph["spec"]["services"]["MockerWorker"], LATE_SECONDS)
    seen = Watched(bench=bench, api=api, name=graph["metadata"]["name"], tag=tag, report=report)
    with seen.state("worker starts late"):
        api.create(graph, strict=True)
    api.delete(DYNAMO, GRAPH, seen.name)


@pytest.mark.parametrize(
    ("what", "late"),
    [("prefill without decode", "decode"), ("decode without prefill", "prefill")],
    ids=["prefill", "decode"],
)
def test_half_of_a_pair(
    bench: Bench, api: ApiClient, tag: str, report: Report, asking: None, what: str, late: str
) -> None:
    graph = load_graph("mocker-disagg", tag)
    graph["metadata"]["annotations"] = {contract.ANNOTATION_DISCOVERY_BACKEND: "kubernetes"}
    start_late(graph["spec"]["services"][late], LATE_SECONDS)
    seen = Watched(bench=bench, api=api, name=graph["metadata"]["name"], tag=tag, report=report)
    with seen.state(what):
        api.create(graph, strict=True)
    other = "prefill" if late == "decode" else "decode"
    with seen.state(f"{other} dies"):
        seen.keep_dead(other, LOST_SECONDS)
    api.delete(DYNAMO, GRAPH, seen.name)
