"""Which pod's prober acts: that of the pod that holds a Lease. With one pod its own, until the pod is about to end.

Two probers that act at the same time deceive each other, because an engine's list has names and no sources. The hooks
hold the Lease, because a prober has no rights. They tell their prober until when it acts; both have the same clock. It
stops some seconds before another pod may take the Lease. A pod that ends stops its prober, then gives the Lease up.

Source: Kubernetes API reference, coordination.k8s.io/v1 Lease; client-go, tools/leaderelection.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from hooks.clients.api_server import ApiServer, Conversation, Refused
from hooks.clients.namespace_locks import Lease, lease_path, parse_lease, put_lease
from hooks.errors import LeaveAlone, ProberUnavailable
from hooks.k8s import kinds
from hooks.model.prober_client import ProberClient
from hooks.model.prober_messages import Term
from hooks.serving.logs import logger

LEASE_SECONDS, RENEW_SECONDS, TICK_SECONDS = 15, 4.0, 2.0
_MARGIN_SECONDS = 3.0
"""How long before the Lease's end the prober stops: a call that started just before reaches its engine meanwhile."""
_LONGEST_GAP = 3 * TICK_SECONDS
_REQUEST_SECONDS = 2.0
_HOLDER = re.compile(r"(?P<pod>[^ ]+) (?P<url>http://([0-9.]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Which prober acts, as far as this process knows: the own one, that of the hooks at `url`, or none.

    `fault` is why the last check failed; empty if it did not.
    """

    is_own: bool = False
    url: str = ""
    fault: str = ""


class LeaseTurns(Protocol):
    """Says which prober acts, and keeps that true; `keep` never raises."""

    def look(self) -> Standing:
        """Which prober acts."""

    def keep(self, is_draining: Callable[[], bool]) -> None:
        """Check it once, and do what is due; `is_draining` says whether this pod is about to end."""


@dataclass(slots=True, kw_only=True)
class OnlyPod:
    """The only hooks pod: its prober acts until the pod is about to end, and so makes room for the next pod's."""

    prober: ProberClient
    _has_ended: bool = field(default=False, init=False)

    def look(self) -> Standing:
        """The own prober acts; at its end it refuses requests by itself."""
        return Standing(is_own=True)

    def keep(self, is_draining: Callable[[], bool]) -> None:
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
    _standing: Standing = field(default_factory=Standing, init=False)
    _seen: tuple[object, float] = field(default=(object(), 0.0), init=False)
    """The Lease's version at the last check, and since when it is that."""
    _checked: float = field(default=0.0, init=False)

    def look(self) -> Standing:
        """The result of the last check."""
        return self._standing

    def keep(self, is_draining: Callable[[], bool]) -> None:
        """Check the Lease: take it once its holder does not renew it, renew it, or give it up when the pod ends."""
        try:
            with self.server.converse(_REQUEST_SECONDS) as talk:
                found = talk.find(self._path, kinds.LEASE)
                holder = self._give_up(talk, found) if is_draining() else self._renew(talk, found)
        except (Refused, ProberUnavailable, LeaveAlone) as error:
            if str(error) != self._standing.fault:
                logger.warning("the Lease of the probers is not kept: %s", error)
            self._standing = replace(self._standing, fault=str(error))
            return
        self._standing = read_standing(holder, self.holder)

    def _renew(self, talk: Conversation, found: Mapping[str, Any] | None) -> str:
        """Renew or take the Lease if that is due, and return who holds it."""
        lease, is_over = parse_lease(found or {}), self._is_over(found)
        is_own = lease.holder == self.holder
        if not is_own and not is_over:
            return lease.holder
        self.prober.check()  # a pod whose prober does not answer leaves the Lease to another pod
        if is_own and lease.renewed and 0 <= (self.now() - lease.renewed).total_seconds() < RENEW_SECONDS:
            return lease.holder
        began, number = self.clock(), self._count_term(found, is_own=is_own)
        if not self._write(talk, found, Lease(holder=self.holder, renewed=self.now(), seconds=LEASE_SECONDS), number):
            return self.holder if is_own else ""  # another process was faster, of this pod or of another one
        self.prober.set_term(Term(number=number, until=began + LEASE_SECONDS - _MARGIN_SECONDS))
        return self.holder

    def _give_up(self, talk: Conversation, found: Mapping[str, Any] | None) -> str:
        """Give the Lease up if this pod holds it, once its prober has stopped, and return who holds it."""
        lease = parse_lease(found or {})
        if lease.holder != self.holder:
            return lease.holder
        number = self._count_term(found, is_own=True)
        self.prober.set_term(Term(number=number))
        self._write(talk, found, Lease(renewed=self.now(), seconds=1), number)
        return ""

    def _is_over(self, found: Mapping[str, Any] | None) -> bool:
        """Whether the Lease is free: its holder gave it up, or has not written it for the Lease's seconds.

        These are counted by this process's own clock, because the clocks of two machines differ. A Lease that is not
        there may have been deleted, and its holder may still act.
        """
        version, now = (found or {}).get("metadata", {}).get("resourceVersion"), self.clock()
        is_gap = found is None and now - self._checked > _LONGEST_GAP  # it may have been there and deleted again
        if self._seen[0] != version or is_gap:
            self._seen = (version, now)
        self._checked = now
        if found is not None and not parse_lease(found).holder:
            return True
        return now - self._seen[1] >= LEASE_SECONDS

    def _count_term(self, found: Mapping[str, Any] | None, *, is_own: bool) -> int:
        """The number of the term; that of a new Lease is above those of one that was deleted."""
        if found is None:
            return int(self.now().timestamp())
        return int((found.get("spec") or {}).get("leaseTransitions") or 0) + (not is_own)

    def _write(self, talk: Conversation, found: Mapping[str, Any] | None, lease: Lease, number: int) -> bool:
        """Write the Lease; False if another process was faster."""
        return put_lease(talk, found, lease, namespace=self.namespace, name=self.name, transitions=number)

    @property
    def _path(self) -> str:
        return lease_path(self.namespace, self.name)


def read_standing(holder: str, own: str) -> Standing:
    """Whose prober acts while a pod with this name holds the Lease; a name that is no pod's of ours is nobody's."""
    if holder == own:
        return Standing(is_own=True)
    written = _HOLDER.fullmatch(holder)
    return Standing(url=written["url"]) if written else Standing()
