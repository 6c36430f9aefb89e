"""Which pod's prober acts: that of the pod that holds a Lease. With one pod its own, until the pod is about to end.

Two probers that act at the same time deceive each other, because an engine's list has names and no sources. The hooks
hold the Lease, because a prober has no rights. They tell their prober until when it acts; both have the same clock. It
stops some seconds before another pod may take the Lease. Its time counts from before the Lease was written, so an
answer that comes late prolongs nothing. A pod that ends stops its prober, then gives the Lease up.

Each time that a pod takes the Lease, its prober begins a term with a number that is one above its last. The Lease has
the number for the other processes of the pod. If it is another one than the prober's, because somebody wrote or
restored the Lease, or the prober has started again, the next term begins. No decision depends on the time of day.

Source: Kubernetes API reference, coordination.k8s.io/v1 Lease; client-go, tools/leaderelection.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import ReadManifest
from hooks.model.prober.messages import Term
from hooks.server.clients.api_server import REQUEST_SECONDS, ApiServer, Conversation, Refused
from hooks.server.clients.namespace_locks import Lease, lease_path, parse_lease, put_lease, write_lease
from hooks.server.clients.prober_client import ProberClient
from hooks.server.serving.logs import logger

LEASE_SECONDS, RENEW_SECONDS, TICK_SECONDS = 15, 4.0, 2.0
_MARGIN_SECONDS = 3.0
"""How long before the Lease's end the prober stops: a call that started just before reaches its engine meanwhile."""
_TERM_SECONDS = LEASE_SECONDS - _MARGIN_SECONDS
_GIVEN_UP_SECONDS = 1
"""The duration of a Lease without a holder that may be taken at once."""
_MOST_TRANSITIONS = 2**31 - 1
_CHECK_SECONDS = 10.0
"""How long a check, of two requests, may take. A renewal is one request; if its answer takes less than five seconds,
the next one is answered before the term ends.

Source: client-go, tools/leaderelection: a Lease of 15 s is renewed within 10 s, at first without reading it.
"""
TERM_ANNOTATION = "nvidia.com/dynamo-hooks-term"
"""Annotation of the Lease with the number of its holder's term."""
_HOLDER = re.compile(r"(?P<pod>[^ ]+) (?P<url>http://([0-9.]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseState:
    """Which prober acts, as far as this process knows: the own one, that of the hooks at `url`, or none.

    `fault` is why the last check failed; empty if it did not.
    """

    is_own: bool = False
    url: str = ""
    fault: str = ""


class LeaseTurns(Protocol):
    """Says which prober acts, and keeps that true; `renew` never raises."""

    def find_state(self) -> LeaseState:
        """Which prober acts."""

    def renew(self, is_draining: Callable[[], bool]) -> None:
        """Check it once, and do what is due; `is_draining` says whether this pod is about to end."""


@dataclass(slots=True, kw_only=True)
class OnlyPod:
    """The only hooks pod: its prober acts until the pod is about to end, and so makes room for the next pod's."""

    prober: ProberClient
    _has_ended: bool = field(default=False, init=False)

    def find_state(self) -> LeaseState:
        """The own prober acts; at its end it refuses requests by itself."""
        return LeaseState(is_own=True)

    def renew(self, is_draining: Callable[[], bool]) -> None:
        """Stop the prober once the pod is about to end."""
        if self._has_ended or not is_draining():
            return
        try:
            self.prober.set_term(Term(number=0))
        except (ProberUnavailable, LeaveAlone) as error:
            logger.warning("the prober was not stopped: %s", error)
            return
        self._has_ended = True


@dataclass(slots=True, kw_only=True)
class SharedLease:
    """The Lease that all hooks pods of an installation share; each process of a pod keeps it for the pod.

    `holder` is the pod's name and its hooks' URL, with a space between. `clock` is the machine's monotonic clock, `now`
    the time of day.
    """

    server: ApiServer
    prober: ProberClient
    namespace: str
    name: str
    holder: str
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _state: LeaseState = field(default_factory=LeaseState, init=False)
    _seen: tuple[object, float] = field(default=(object(), 0.0), init=False)
    """The Lease's version at the last check, and since when it is that."""
    _written: tuple[ReadManifest, float] | None = field(default=None, init=False)
    """The Lease as this process stored it last, and when it is renewed; None if it may be another one by now."""

    def find_state(self) -> LeaseState:
        """The result of the last check."""
        return self._state

    def renew(self, is_draining: Callable[[], bool]) -> None:
        """Check the Lease: take it once its holder does not renew it, renew it, or give it up when the pod ends."""
        drains, written, holder = is_draining(), self._written, None
        try:
            with self.server.converse(_CHECK_SECONDS, REQUEST_SECONDS) as talk:
                if written is not None and not drains and self.clock() >= written[1]:
                    holder = self._renew(talk, written[0])
                if holder is None:
                    found = talk.find(lease_path(self.namespace, self.name), kinds.LEASE)
                    holder = self._give_up(talk, found) if drains else self._renew(talk, found)
                if holder is None:
                    holder = self.holder if self.clock() < self.prober.read_term().until else ""
        except (Refused, ProberUnavailable, LeaveAlone) as error:
            self._written = None
            if str(error) != self._state.fault:
                logger.warning("the Lease of the probers is not kept: %s", error)
            self._state = replace(self._state, fault=str(error))
            return
        self._state = read_lease_state(holder, self.holder)

    def _renew(self, talk: Conversation, found: Mapping[str, Any] | None) -> str | None:
        """Make, renew or take the Lease if that is due, and return who holds it; None if another process was faster."""
        if found is None:
            put_lease(talk, self._write(None, Lease(seconds=LEASE_SECONDS)))
            return ""
        lease, is_over = parse_lease(found), self._is_over(found)
        is_own = lease.holder == self.holder
        if not is_own and not is_over:
            return lease.holder
        term = self.prober.read_term()  # a pod whose prober does not answer leaves the Lease to another pod
        is_same = is_own and bool(term.until) and _read_number(found) == str(term.number)
        began = self.clock()
        if is_same and term.until - began > _TERM_SECONDS - RENEW_SECONDS:
            return lease.holder
        term = Term(number=term.number if is_same else term.number + 1, until=began + _TERM_SECONDS)
        held = Lease(holder=self.holder, renewed=self.now(), seconds=LEASE_SECONDS)
        stored = put_lease(talk, _write_number(self._write(found, held), term.number, is_taken=not is_own))
        self._written = None if stored is None else (stored, began + RENEW_SECONDS)
        if stored is None:
            return None
        self.prober.set_term(term)
        return self.holder if self.clock() < term.until else ""

    def _give_up(self, talk: Conversation, found: Mapping[str, Any] | None) -> str:
        """Give the Lease up if this pod holds it, once its prober has stopped, and return who holds it."""
        lease = parse_lease(found or {})
        if lease.holder != self.holder:
            return lease.holder
        # Another process of this pod may have written the next number, and be about to tell the prober.
        self.prober.set_term(Term(number=self.prober.read_term().number + 1))
        put_lease(talk, self._write(found, Lease(renewed=self.now(), seconds=_GIVEN_UP_SECONDS)))
        return ""

    def _is_over(self, found: Mapping[str, Any]) -> bool:
        """Whether the Lease is free: its holder gave it up, or nobody has written it for the Lease's seconds.

        These are counted by this process's own clock, because the clocks of two machines differ. So a Lease that was
        made anew is free only after this time: the holder of one that was deleted may still act.
        """
        version, now = (found.get("metadata") or {}).get("resourceVersion"), self.clock()
        if self._seen[0] != version:
            self._seen = (version, now)
        lease = parse_lease(found)
        is_given_up = not lease.holder and 0 < lease.seconds <= _GIVEN_UP_SECONDS
        return is_given_up or now - self._seen[1] >= LEASE_SECONDS

    def _write(self, found: Mapping[str, Any] | None, lease: Lease) -> dict[str, Any]:
        return write_lease(found, lease, namespace=self.namespace, name=self.name)


def _read_number(found: Mapping[str, Any]) -> str:
    """The number of its holder's term, as written in the Lease."""
    return str(((found.get("metadata") or {}).get("annotations") or {}).get(TERM_ANNOTATION) or "")


def _write_number(lease: dict[str, Any], number: int, *, is_taken: bool) -> dict[str, Any]:
    """The Lease with the number of its holder's term; if another pod takes it, that is one transition more."""
    metadata, spec = lease["metadata"], lease["spec"]
    annotations = {**(metadata.get("annotations") or {}), TERM_ANNOTATION: str(number)}
    transitions = min(int(spec.get("leaseTransitions") or 0) + is_taken, _MOST_TRANSITIONS)
    return {
        **lease,
        "metadata": {**metadata, "annotations": annotations},
        "spec": {**spec, "leaseTransitions": transitions},
    }


def read_lease_state(holder: str, own: str) -> LeaseState:
    """Whose prober acts while a pod with this name holds the Lease; a name that is no pod's of ours is nobody's."""
    if holder == own:
        return LeaseState(is_own=True)
    written = _HOLDER.fullmatch(holder)
    return LeaseState(url=written["url"]) if written else LeaseState()
