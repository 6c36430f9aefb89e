"""The Lease of the probers in every order of checks, deletions, jumps of clocks, late terms, late answers, ending pods.

In every state that can be reached: at most one prober acts; none acts by what it learnt before another one acted; a
process that says that its prober acts, without a fault, is right; and some prober acts in the end.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pytest

from hooks.model.prober.messages import Term
from hooks.server.clients.api_server import Conversation
from hooks.server.clients.namespace_locks import Lease, parse_lease, put_lease
from hooks.server.clients.prober_client import ProberClient
from hooks.server.clients.prober_lease import LEASE_SECONDS, RENEW_SECONDS, SharedLease
from tests import effort
from tests.server.clients.lease_exploring import Bounds, explore

ALWAYS = {
    "nothing happens": Bounds(),
    "a deletion": Bounds(deletions=1),
    "a late term": Bounds(delays=1),
    "an ending pod": Bounds(drains=1),
    "a slow check": Bounds(slow=1),
}
IN_FULL = {
    "two slow checks": Bounds(slow=2),
    "a slow check and a deletion": Bounds(slow=1, deletions=1),
    "a slow check and an ending pod": Bounds(slow=1, drains=1),
    "a slow check and a late term": Bounds(slow=1, delays=1),
    "a slow check of two processes": Bounds(slow=1, pods=1, processes=2),
    "a deletion and a clock that jumps": Bounds(deletions=1, jumps=1),
    "a deletion and a late term": Bounds(deletions=1, delays=1),
    "an ending pod and a late term": Bounds(drains=1, delays=1),
    "two deletions and an ending pod": Bounds(deletions=2, drains=1),
}


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("ERROR", "hooks")


@pytest.mark.parametrize("bounds", [pytest.param(bounds, id=name) for name, bounds in ALWAYS.items()])
def test_no_order_of_checks_leads_to_two_probers_or_to_none(bounds: Bounds) -> None:
    states, wrong = explore(bounds)
    assert wrong == []
    assert states > 300


@pytest.mark.skipif(not effort.FULL, reason="takes some ten minutes; FULL=1 runs it")
@pytest.mark.parametrize("bounds", [pytest.param(bounds, id=name) for name, bounds in IN_FULL.items()])
def test_no_order_of_more_steps_does_either(bounds: Bounds) -> None:
    assert explore(bounds)[1] == []


class FormerRule(SharedLease):
    """The rule of before: a new Lease is taken as it is made, its term's number is the time of day."""

    def _renew(self, talk: Conversation, found: Mapping[str, Any] | None) -> str:
        lease = parse_lease(found or {})
        is_own = lease.holder == self.holder
        if not is_own and found is not None and not self._is_over(found):
            return lease.holder
        if found is None and not self._has_been_missing():
            return ""
        if is_own and lease.renewed and 0 <= (self.now() - lease.renewed).total_seconds() < RENEW_SECONDS:
            return lease.holder
        began, spec = self.clock(), (found or {}).get("spec", {})
        number = int(self.now().timestamp()) % 2**31 if found is None else spec["leaseTransitions"] + (not is_own)
        wanted = self._write(found, Lease(holder=self.holder, renewed=self.now(), seconds=LEASE_SECONDS))
        put_lease(talk, {**wanted, "spec": {**wanted["spec"], "leaseTransitions": number}})
        self.prober.set_term(Term(number=number, until=began + LEASE_SECONDS - 3))
        return self.holder

    def _has_been_missing(self) -> bool:
        """Whether this process found no Lease for the Lease's seconds."""
        if self._seen[0] is not None:
            self._seen = (None, self.clock())
        return self.clock() - self._seen[1] >= LEASE_SECONDS


@pytest.mark.parametrize(
    ("bounds", "fault"),
    [
        (Bounds(pods=1, deletions=1, jumps=1), "no prober acts in the end"),
        (Bounds(deletions=1), "the probers of pods [0, 1] act at the same time"),
    ],
    ids=["the clock of the only pod goes back", "two pods"],
)
def test_exploration_finds_the_faults_of_the_former_rule(bounds: Bounds, fault: str) -> None:
    _, wrong = explore(bounds, FormerRule)
    assert "the Lease is deleted" in wrong
    assert fault in wrong[-1]
    if bounds.jumps:
        assert any(step.startswith("the clock of pod 0 goes back") for step in wrong)


class TakesAtOnce(SharedLease):
    """A Lease that was made anew is taken at once."""

    def _is_over(self, found: Mapping[str, Any]) -> bool:
        return super()._is_over(found) or not parse_lease(found).holder


def test_exploration_finds_that_a_new_lease_must_not_be_taken_at_once() -> None:
    _, wrong = explore(Bounds(deletions=1), TakesAtOnce)
    assert "act at the same time" in wrong[-1]


@dataclass
class Prolonging:
    """A prober whose term counts from now on, whenever the API server answered."""

    prober: ProberClient
    clock: Callable[[], float]

    def read_term(self) -> Term:
        return self.prober.read_term()

    def set_term(self, term: Term) -> None:
        until = self.clock() + LEASE_SECONDS - 3 if term.until else 0.0
        self.prober.set_term(Term(number=term.number, until=until))


class CountsFromTheAnswer(SharedLease):
    """A term counts from the answer to the write."""

    def _renew(self, talk: Conversation, found: Mapping[str, Any] | None) -> str | None:
        self.prober = cast("ProberClient", Prolonging(self.prober, self.clock))
        return super()._renew(talk, found)


def test_exploration_finds_that_a_late_answer_must_not_prolong_the_term() -> None:
    assert explore(Bounds(), CountsFromTheAnswer)[1] == [], "it does no harm if answers come at once"
    _, wrong = explore(Bounds(slow=1), CountsFromTheAnswer)
    assert "act at the same time" in wrong[-1]
    assert any(step.endswith("checks slowly") for step in wrong)
