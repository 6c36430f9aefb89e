"""Namespace locks: Leases with which operators reserve namespaces. Reads those of other operators, and holds our own.

A namespace-restricted operator, the Go one or ours, holds a Lease with a fixed name in its namespace. An operator for
the whole cluster leaves a namespace with this Lease alone.

Source: Dynamo operator, internal/namespace_scope; Kubernetes API reference, coordination.k8s.io/v1 Lease.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any

from hooks import __version__
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.names import is_dns_label
from hooks.ground.k8s.types import ReadManifest
from hooks.server.clients.api_server import (
    REQUEST_SECONDS,
    ApiServer,
    Conversation,
    Refused,
    describe_unreadable,
)
from hooks.server.clients.manifests import check_manifest
from hooks.server.exchange.documents import Unreadable
from hooks.server.serving.background import start_repeating
from hooks.server.serving.logs import logger

Clock = Callable[[], datetime]
"""Returns the time, aware and in UTC."""
FindClaim = Callable[[str], "NamespaceClaim | None"]
"""The reason for leaving a namespace alone, or None."""

CACHE_SECONDS = 10
RETRY_SECONDS = 30
"""How long Metacontroller waits until it calls again about a parent in a locked namespace."""

LEASE_SECONDS = 30
RENEW_SECONDS = 10
TICK_SECONDS = 5.0
"""How often each process of an installation checks the installation's Lease."""

_TAKE_OVER_SECONDS = 15
"""Age at which another process of the same installation takes the Lease over from a holder that stopped renewing."""
_LAST_SECONDS = 10
"""Duration that a stopping holder writes: long enough for another process to take over, and short if there is none."""

_CHECK_SECONDS = 10.0
"""How long a check of our own Lease, of two requests, may take: with a slow API server a Lease of 30 s is kept."""
_MAX_REMEMBERED = 5000
_LONGEST_HOLDER = 300
"""Characters of a holder's name in a message: a name is longer than a process writes it only by intent."""
_LONGEST = 10**6
"""Seconds of a Lease that lasts longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Its holder, the time of its last renewal (None: never), and its duration from then."""

    holder: str = ""
    renewed: datetime | None = None
    seconds: int = 0

    @property
    def expires(self) -> datetime | None:
        """When it expires; None if it was never valid."""
        return None if self.renewed is None or not self.seconds else self.renewed + timedelta(seconds=self.seconds)

    def is_valid(self, now: datetime) -> bool:
        """Whether it has not expired."""
        return self.expires is not None and now < self.expires


NO_LEASE = Lease()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceClaim:
    """Why a namespace is left alone; not `is_certain` if it is unknown whether the namespace is locked."""

    reason: str
    is_certain: bool = True


def _claimed(namespace: str, lease: Lease) -> NamespaceClaim:
    holder = one_line(lease.holder, _LONGEST_HOLDER) or "another operator"
    return NamespaceClaim(reason=f"namespace {namespace} is locked by the Lease of {holder}")


def _path_of(namespace: str) -> str:
    if not is_dns_label(namespace):  # a name from a request may be the path of another object
        raise Refused(f"no namespace can be named {namespace!r}")
    return lease_path(namespace, contract.NAMESPACE_LOCK)


def parse_lease(manifest: Mapping[str, Any]) -> Lease:
    """Read a Lease; without a duration or a renewal time it is not valid."""
    spec = manifest.get("spec") or {}
    holder, seconds = spec.get("holderIdentity") or "", max(0, min(spec.get("leaseDurationSeconds") or 0, _LONGEST))
    try:
        renewed = datetime.fromisoformat(spec.get("renewTime") or "")
    except ValueError:
        return Lease(holder=holder, seconds=seconds)
    if renewed.tzinfo is None:
        renewed = renewed.replace(tzinfo=UTC)
    return Lease(holder=holder, renewed=renewed, seconds=seconds)


def holder_prefix(installation: str) -> str:
    """How the names of all holders of a namespace-restricted installation begin."""
    return f"dynamo-hooks/{installation}/"


@dataclass(slots=True, kw_only=True)
class LockReader:
    """Finds the namespaces that other operators have locked; holders whose name begins with `ours` are our own."""

    server: ApiServer
    clock: Clock
    ours: str = ""
    _seen: dict[str, tuple[datetime, Lease | NamespaceClaim]] = field(default_factory=dict, init=False)

    def find_claim(self, namespace: str) -> NamespaceClaim | None:
        """Why to leave the namespace alone, or None; asks the API server at most every 10 s per namespace."""
        now = self.clock()
        found = self._find(namespace, now)
        if isinstance(found, NamespaceClaim):
            return found
        if not found.is_valid(now) or (self.ours and found.holder.startswith(self.ours)):
            return None
        return _claimed(namespace, found)

    def _find(self, namespace: str, now: datetime) -> Lease | NamespaceClaim:
        known = self._seen.get(namespace)
        if known is not None and timedelta(0) <= now - known[0] < timedelta(seconds=CACHE_SECONDS):
            return known[1]
        try:
            found: Lease | NamespaceClaim = self._read(namespace)
        except Refused as refused:
            logger.warning("namespace lock not read: %s", refused)
            is_enough = known is not None and isinstance(known[1], Lease) and known[1].is_valid(now)
            reason = f"it is unknown whether namespace {namespace} is locked: {refused}"
            found = known[1] if known is not None and is_enough else NamespaceClaim(reason=reason, is_certain=False)
        if len(self._seen) >= _MAX_REMEMBERED:
            self._seen.clear()
        self._seen[namespace] = (now, found)
        return found

    def _read(self, namespace: str) -> Lease:
        with self.server.converse(REQUEST_SECONDS) as talk:
            return parse_lease(talk.find(_path_of(namespace), kinds.LEASE) or {})


@dataclass(slots=True, kw_only=True)
class OwnLock:
    """The Lease of a namespace-restricted installation, shared by all its processes.

    One process is the holder, normally the newest, and renews the Lease. If it stops, another process becomes the
    holder. `is_alone`: there is no other pod. A valid Lease of another operator is never taken over.
    """

    server: ApiServer
    clock: Clock
    namespace: str
    installation: str
    process: str
    is_alone: bool = False
    _lease: Lease = field(default=NO_LEASE, init=False)
    _has_begun: bool = field(default=False, init=False)

    @property
    def ours(self) -> str:
        """The prefix of the names of all holders of this installation."""
        return holder_prefix(self.installation)

    @property
    def holder(self) -> str:
        """This process's name as a holder; it ends with the version, as the Go operator's does."""
        return f"{self.ours}{self.process}@{__version__}"

    def find_claim(self, namespace: str) -> NamespaceClaim | None:
        """Why to leave the namespace alone: it is our own, and we do not hold its Lease; otherwise None."""
        if namespace != self.namespace:
            return None
        lease, now = self._lease, self.clock()
        if lease.is_valid(now):
            if lease.holder.startswith(self.ours):
                return None
            return _claimed(namespace, lease)
        reason = f"the Lease {contract.NAMESPACE_LOCK} of namespace {namespace} is not renewed"
        return NamespaceClaim(reason=reason, is_certain=False)

    def renew(self, *, may_take: bool = True) -> None:
        """Read the Lease, and renew it or take it over if that is due; with `may_take` False, never take it over.

        Raises:
            Refused: the API server refuses a request, or does not answer.
        """
        with self.server.converse(_CHECK_SECONDS, REQUEST_SECONDS) as talk:
            found = talk.find(self._path, kinds.LEASE)
            lease, now = parse_lease(found or {}), self.clock()
            if self._is_due(lease, now, may_take=may_take):
                wanted = Lease(holder=self.holder, renewed=now, seconds=LEASE_SECONDS)
                if put_lease(talk, self._write(found, wanted)) is None:
                    return  # another process was faster; the next check reads its Lease
                lease, self._has_begun = wanted, True
            self._lease = lease

    def release(self) -> None:
        """Release the Lease if this process holds it: at once, or within ten seconds if there are other pods.

        Raises:
            Refused: the API server refuses a request, or does not answer.
        """
        with self.server.converse(_CHECK_SECONDS, REQUEST_SECONDS) as talk:
            found = talk.find(self._path, kinds.LEASE)
            if found is None or parse_lease(found).holder != self.holder:
                return
            gone = (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)
            if self.is_alone:
                condition = {"preconditions": {"resourceVersion": found["metadata"]["resourceVersion"]}}
                talk.ask("DELETE", self._path, condition, also=gone)
            else:
                last = Lease(holder=self.holder, renewed=self.clock(), seconds=_LAST_SECONDS)
                talk.ask("PUT", self._path, self._write(found, last), also=gone)

    def _write(self, found: Mapping[str, Any] | None, lease: Lease) -> dict[str, Any]:
        return write_lease(found, lease, namespace=self.namespace, name=contract.NAMESPACE_LOCK)

    def _is_due(self, lease: Lease, now: datetime, *, may_take: bool) -> bool:
        """Whether this process should write the Lease now."""
        age = now - (lease.renewed or now)
        if lease.is_valid(now) and not lease.holder.startswith(self.ours):
            return False
        if lease.is_valid(now) and lease.holder == self.holder and self._has_begun:
            return age >= timedelta(seconds=RENEW_SECONDS)
        ends = not lease.is_valid(now + timedelta(seconds=_LAST_SECONDS))
        return may_take and (ends or not self._has_begun or age >= timedelta(seconds=_TAKE_OVER_SECONDS))

    @property
    def _path(self) -> str:
        return _path_of(self.namespace)


def write_lease(found: Mapping[str, Any] | None, lease: Lease, *, namespace: str, name: str) -> dict[str, Any]:
    """The Lease as an object; an existing one keeps its resourceVersion, so a change in between is a conflict."""
    spec: dict[str, Any] = {"holderIdentity": lease.holder, "leaseDurationSeconds": lease.seconds}
    if lease.renewed is not None:
        spec["renewTime"] = _write_time(lease.renewed)
    metadata = {**((found or {}).get("metadata") or {}), "name": name, "namespace": namespace}
    kept = {**(found or {}), "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
    return {**kept, "spec": {**(kept.get("spec") or {}), **spec}}


def put_lease(talk: Conversation, manifest: Mapping[str, Any]) -> ReadManifest | None:
    """Write a Lease that `write_lease` made, and return it as it is stored; None if it was changed or deleted before.

    Raises:
        Refused: the API server refuses, or gives no answer that can be used.
    """
    metadata = manifest["metadata"]
    is_new, name = "resourceVersion" not in metadata, metadata["name"]
    method, path = ("POST", "") if is_new else ("PUT", name)
    where = lease_path(metadata["namespace"], path)
    changed = (HTTPStatus.CONFLICT,) if is_new else (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)
    answer = talk.ask(method, where, manifest, also=changed)
    try:
        return None if answer.status in changed else check_manifest(answer.body, kinds.LEASE)
    except Unreadable as unreadable:
        raise describe_unreadable(f"{method} {where}", unreadable) from unreadable


def lease_path(namespace: str, name: str = "") -> str:
    """The path of a Lease; without a name, that of all Leases of the namespace."""
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases{f'/{name}' if name else ''}"


def start_renewing(lock: OwnLock, is_draining: Callable[[], bool]) -> threading.Thread:
    """Check and renew the Lease from now on, in a thread that ends with the process."""
    return start_repeating("namespace-lock", partial(renew_once, lock, is_draining), TICK_SECONDS)


def renew_once(lock: OwnLock, is_draining: Callable[[], bool]) -> None:
    """Check the Lease once, and log a failure; `find_claim` returns a reason once the Lease has expired."""
    try:
        lock.renew(may_take=not is_draining())
    except Refused as refused:
        logger.warning("namespace lock not renewed: %s", refused)


def _write_time(time: datetime) -> str:
    """A MicroTime of the Kubernetes API."""
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
