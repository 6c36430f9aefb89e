"""What a graph says of itself beside what a chat gets at the same time, looked at each second."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.cluster.api_client import ApiClient
from tests.cluster.dynamo import DYNAMO, GRAPH, condition
from tests.e2e.graphs import complete, frontend_of
from tests.e2e.trickle import NOBODY

PERIOD_SECONDS, CHAT_SECONDS = 1.0, 5.0
NOT_SERVING = "NotServing"
"""What the message of Ready has if nothing but what frontends say is in the way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One look: seconds since the first, `Ready`, `Serving` with its reason, and what was wrong with a chat."""

    seconds: float
    ready: str
    is_gated: bool
    serving: str
    reason: str
    said: str

    @property
    def is_wrong_yes(self) -> bool:
        """Whether the graph is called ready and a chat fails."""
        return self.ready == "True" and bool(self.said)

    @property
    def is_wrong_no(self) -> bool:
        """Whether the graph is said not to serve and a chat is answered."""
        return not self.said and (self.serving == "False" or (self.ready == "False" and self.is_gated))

    def __str__(self) -> str:
        """One line for a failure."""
        gate = " gated" if self.is_gated else ""
        return (
            f"{self.seconds:5.1f} s Ready={self.ready}{gate} Serving={self.serving}/{self.reason} {self.said or 'ok'}"
        )


def longest(samples: Iterable[Sample], is_wrong: Callable[[Sample], bool]) -> int:
    """The most samples in a row of which that is true."""
    most = run = 0
    for one in samples:
        run = run + 1 if is_wrong(one) else 0
        most = max(most, run)
    return most


@dataclass(slots=True)
class Samples:
    """The looks of one block, in their order once it is over."""

    found: list[Sample] = field(default_factory=list)

    def in_order(self) -> list[Sample]:
        """Sorted by time: a chat that hangs is over after those that began later."""
        return sorted(self.found, key=lambda one: one.seconds)

    def longest(self, is_wrong: Callable[[Sample], bool]) -> int:
        """The most samples in a row of which that is true."""
        return longest(self.in_order(), is_wrong)

    def are_settled(self, count: int = 4) -> bool:
        """Whether the last ones are all well."""
        last = self.in_order()[-count:]
        return len(last) == count and all(one.ready == "True" == one.serving and not one.said for one in last)


@contextmanager
def sampling(api: ApiClient, name: str) -> Iterator[Samples]:
    """Look each second during the block; each chat has a thread, so that one that hangs delays no look."""
    samples, over, began = Samples(), threading.Event(), time.monotonic()
    chats: list[threading.Thread] = []

    def look() -> None:
        graph = api.get(DYNAMO, GRAPH, name) or {}
        at, ready, serving = time.monotonic() - began, condition(graph, "Ready"), condition(graph, "Serving")
        url = frontend_of(api, name)
        said = complete(url, CHAT_SECONDS) if url else NOBODY
        sample = Sample(
            seconds=at,
            ready=ready.get("status", "none"),
            is_gated=NOT_SERVING in ready.get("message", ""),
            serving=serving.get("status", "none"),
            reason=serving.get("reason", "none"),
            said=said,
        )
        samples.found.append(sample)

    def run() -> None:
        while not over.is_set():
            chat = threading.Thread(target=look, daemon=True)
            chats.append(chat)
            chat.start()
            over.wait(PERIOD_SECONDS)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        for one in (thread, *chats):
            one.join()
