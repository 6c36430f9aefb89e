"""Clients that send chat completions all the time, and count what came of them.

They find the frontend as a Service's client would: by the endpoints that are ready now.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.cluster.api_client import ApiClient
from tests.e2e.graphs import complete, frontend_of

PAUSE_SECONDS = 0.2
NOBODY = "no frontend was ready"


@dataclass(slots=True)
class Trickle:
    """What came of the requests: how many were answered, and how often each failure occurred."""

    answered: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def dropped(self) -> int:
        """Requests that the runtime failed: an answer with its own words, or a connection that it broke."""
        return sum(count for said, count in self.failures.items() if is_dropped(said))

    @property
    def lost(self) -> dict[str, int]:
        """The other failures: nothing was ready, or the frontend knew no worker, which the operator is to prevent."""
        return {said: count for said, count in self.failures.items() if not is_dropped(said)}

    def describe(self) -> str:
        """One line for the run's report."""
        kinds = "; ".join(f"{count} × {said}" for said, count in self.failures.most_common())
        return f"{self.answered} answered, {self.dropped} dropped by the runtime" + (f": {kinds}" if kinds else "")


def is_dropped(said: str) -> bool:
    """Whether a failure is the runtime's own: it was reached, and did not answer what it had taken."""
    return any(part in said for part in (" 500 ", " 503 ", "ConnectionError", "ReadTimeout", "ChunkedEncodingError"))


@contextmanager
def trickling(api: ApiClient, name: str, clients: int = 1) -> Iterator[Trickle]:
    """Let so many clients send requests to the graph's frontend during the block."""
    found, over, counting = Trickle(), threading.Event(), threading.Lock()

    def send() -> None:
        while not over.is_set():
            url = frontend_of(api, name)
            said = complete(url) if url else NOBODY
            with counting:
                found.answered += not said
                found.failures.update([said] if said else [])
            time.sleep(PAUSE_SECONDS)

    threads = [threading.Thread(target=send, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        over.set()
        for thread in threads:
            thread.join()
