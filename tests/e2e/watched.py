"""A graph that is looked at each second, in states through which a test leads it, and judged by what chats get.

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

from hooks.ground.k8s.types import Manifest
from tests.cluster.acting_hooks import granted_effects
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import HOOKS_ACCOUNT
from tests.cluster.processes import running
from tests.cluster.programs import hooks_server, prober_server
from tests.e2e.bench import Bench, messages, stopped_hooks
from tests.e2e.graphs import explained
from tests.e2e.sampling import Sample, Samples, sampling
from tests.loopback import relay
from tests.ports import free_port

WATCHED_SECONDS, SETTLED_SECONDS = 20.0, 120.0
Report = Callable[[str], None]

MOST_WRONG_YES, MOST_WRONG_NO = 6, 8
"""Samples in a row that may be wrong. A frontend is asked each 5 s at most, and its answer takes a sync to be told."""


@contextmanager
def asking_hooks(bench: Bench, tag: str, folder: Path, **settings: str) -> Iterator[None]:
    """Hooks with a prober, and with the rights of the plain manifests, in place of the bench's."""
    with ExitStack() as stack:
        needed = stack.enter_context(messages(tag, folder))
        prober = stack.enter_context(running(prober_server(folder, free_port(), "engine_addresses=any")))
        url = stack.enter_context(relay(prober.url))
        stack.enter_context(granted_effects(bench.admin))
        port = stack.enter_context(stopped_hooks(bench))
        given = {"prober_url": url, **needed, **settings}
        server = hooks_server(folder, port, *(f"{one}={value}" for one, value in given.items()), plane=bench.plane)
        (folder / "reading-token").write_text(bench.plane.tokens[HOOKS_ACCOUNT])
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
    def state(
        self, what: str, *, most_yes: int = MOST_WRONG_YES, settled_seconds: float = SETTLED_SECONDS
    ) -> Iterator[Samples]:
        """Sample during the block and until all is well again; then judge them."""
        with sampling(self.api, self.name) as samples:
            yield samples
            with explained(self.bench, self.api):
                wait_for(samples.are_settled, lambda: f"{what}: well again\n{lines(samples)}", settled_seconds)
        self._judge(what, samples, most_yes)

    def _judge(self, what: str, samples: Samples, most_yes: int) -> None:
        yes, no = samples.longest(is_wrong_yes), samples.longest(is_wrong_no)
        all_yes = sum(map(is_wrong_yes, samples.found))
        self.report(f"| {what} | {self.tag} | {yes} | {no} | in all {all_yes} wrong yes of {len(samples.found)}")
        found = f"{what}: {yes} wrong yes, {no} wrong no\n{lines(samples)}"
        assert yes <= most_yes, found
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
