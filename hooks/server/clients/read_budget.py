"""Who may read from the API server now: few calls at once, one for each namespace, and each within a budget.

Who may write in a namespace makes what is read for it. So the namespace pays, in bytes and in seconds, and one that has
nothing left keeps no other waiting. Both come back over time.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hooks.server.exchange.http_client import MIB
from hooks.wire.metacontroller.queries import BUSY

MOST_READERS = 4
"""Calls of a process that read at the same time."""
MOST_WAITING = 6
"""Calls of one namespace that wait for their turn to read; more are told at once to come again."""
BURST_BYTES, BYTES_A_SECOND = 32 * MIB, 2 * MIB
BURST_SECONDS, SECONDS_A_SECOND = 10.0, 0.5
"""What a namespace may use at once, and what comes back each second."""
MOST_NAMESPACES = 1024

SPENT = "this namespace's share of reads is used up; it is tried again"


@dataclass(slots=True)
class _Account:
    """What a namespace has left, as of a moment; `calls` read or wait."""

    at: float
    size: float = BURST_BYTES
    seconds: float = BURST_SECONDS
    calls: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def refill(self, now: float) -> None:
        passed, self.at = max(0.0, now - self.at), now
        self.size = min(BURST_BYTES, self.size + passed * BYTES_A_SECOND)
        self.seconds = min(BURST_SECONDS, self.seconds + passed * SECONDS_A_SECOND)


class ReadBudget:
    """The readers of a process, and the budgets of namespaces; safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock that never goes back."""
        self._clock = clock
        self._lock = threading.Lock()
        self._readers = threading.BoundedSemaphore(MOST_READERS)
        self._accounts: OrderedDict[str, _Account] = OrderedDict()

    @contextmanager
    def turn(self, namespace: str, seconds: float) -> Iterator[str]:
        """Wait at most so long to read for a namespace; gives why nothing may be read, empty if something may.

        The time from then on is charged to the namespace.
        """
        until = time.monotonic() + seconds
        account, fault = self._enter(namespace)
        if fault:
            yield fault
            return
        try:
            if not account.lock.acquire(timeout=max(0.0, until - time.monotonic())):
                yield BUSY
                return
            try:
                if not self._readers.acquire(timeout=max(0.0, until - time.monotonic())):
                    yield BUSY
                    return
                try:
                    yield from self._measure(account)
                finally:
                    self._readers.release()
            finally:
                account.lock.release()
        finally:
            with self._lock:
                account.calls -= 1

    def spend(self, namespace: str, size: int) -> bool:
        """Charge bytes to a namespace; whether it has some left."""
        with self._lock:
            if (account := self._accounts.get(namespace)) is None:
                return False
            account.size -= size
            return account.size > 0

    def _enter(self, namespace: str) -> tuple[_Account, str]:
        now = self._clock()
        with self._lock:
            account = self._accounts.setdefault(namespace, _Account(at=now))
            self._accounts.move_to_end(namespace)
            account.refill(now)
            if account.size <= 0 or account.seconds <= 0:
                return account, SPENT
            if account.calls > MOST_WAITING:
                return account, BUSY
            account.calls += 1
            while len(self._accounts) > MOST_NAMESPACES:
                self._accounts.popitem(last=False)
            return account, ""

    def _measure(self, account: _Account) -> Iterator[str]:
        began = self._clock()
        try:
            yield ""
        finally:
            with self._lock:
                account.seconds -= self._clock() - began
