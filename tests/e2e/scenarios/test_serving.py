"""Ready and Serving beside what a real chat gets, each second, in the states through which a graph goes.

A sample is wrong if the graph is called ready and a chat fails, or if it is said not to serve and a chat is answered.
A few in a row may be wrong, with room for a busy machine; what was measured is in docs/status.md.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from tests.cluster.acting_hooks import granted_effects
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import HOOKS_ACCOUNT
from tests.cluster.dynamo import DYNAMO, GRAPH
from tests.cluster.processes import running
from tests.cluster.programs import hooks_server, prober_server
from tests.e2e.bench import Bench, messages, stopped_hooks
from tests.e2e.graphs import explained, load_graph
from tests.e2e.sampling import Sample, Samples, sampling
from tests.loopback import relay
from tests.ports import free_port

LATE_SECONDS, LOST_SECONDS, WATCHED_SECONDS, SETTLED_SECONDS = 15.0, 15.0, 20.0, 120.0
Report = Callable[[str], None]


MOST_WRONG_YES, MOST_WRONG_NO = 6, 8
"""Samples in a row that may be wrong. A frontend is asked each 5 s at most, and its answer takes a sync to be told."""


@pytest.fixture
def asking(bench: Bench, tag: str, tmp_path: Path) -> Iterator[None]:
    """Hooks with a prober, and with the rights of the plain manifests, in place of the bench's."""
    with ExitStack() as stack:
        needed = stack.enter_context(messages(tag, tmp_path))
        prober = stack.enter_context(running(prober_server(tmp_path, free_port(), "engine_addresses=any")))
        url = stack.enter_context(relay(prober.url))
        stack.enter_context(granted_effects(bench.admin))
        port = stack.enter_context(stopped_hooks(bench))
        settings = {"prober_url": url, **needed}
        server = hooks_server(tmp_path, port, *(f"{one}={value}" for one, value in settings.items()), plane=bench.plane)
        (tmp_path / "reading-token").write_text(bench.plane.tokens[HOOKS_ACCOUNT])
        stack.enter_context(running(server))
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A graph that is looked at, and where rows about it go."""

    bench: Bench
    api: ApiClient
    name: str
    tag: str
    report: Report

    @contextmanager
    def state(self, what: str) -> Iterator[Samples]:
        """Sample during the block and until all is well again; then judge them."""
        with sampling(self.api, self.name) as samples:
            yield samples
            with explained(self.bench, self.api):
                wait_for(samples.are_settled, lambda: f"{what}: well again\n{lines(samples)}", SETTLED_SECONDS)
        self._judge(what, samples)

    def _judge(self, what: str, samples: Samples) -> None:
        yes, no = samples.longest(is_wrong_yes), samples.longest(is_wrong_no)
        self.report(f"| {what} | {self.tag} | {yes} | {no} |")
        found = f"{what}: {yes} wrong yes, {no} wrong no\n{lines(samples)}"
        assert yes <= MOST_WRONG_YES, found
        assert no <= MOST_WRONG_NO, found

    def pods_of(self, service: str) -> list[Manifest]:
        """The pods of a service that are not being deleted."""
        start = f"{self.name}-{service}".lower()
        found = self.api.list("v1", "Pod")
        return [
            one
            for one in found
            if one["metadata"]["name"].startswith(start) and "deletionTimestamp" not in one["metadata"]
        ]

    def signal(self, service: str, number: signal.Signals) -> None:
        """Send a signal to the processes of a service's pods, where they run."""
        for pod in self.pods_of(service):
            with suppress(LookupError, ProcessLookupError):
                process = (
                    self.bench.kubelet.worker_of(self.api.namespace, pod["metadata"]["name"]).containers[0].process
                )
                if process is not None:
                    os.killpg(process.pid, number)

    def keep_dead(self, service: str, seconds: float) -> None:
        """Kill a service's processes for so long, as often as they start."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.signal(service, signal.SIGKILL)
            time.sleep(0.2)


def is_wrong_yes(one: Sample) -> bool:
    return one.is_wrong_yes


def is_wrong_no(one: Sample) -> bool:
    return one.is_wrong_no


def lines(samples: Samples) -> str:
    return "\n".join(map(str, samples.in_order()))


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
