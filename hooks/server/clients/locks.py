"""Sets up the namespace locks of a server: by its settings, it reads other operators' or holds its own."""

import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

import click

from hooks.ground.settings import Settings, Switch
from hooks.server.clients.api_server import ApiServer, Refused
from hooks.server.clients.namespace_locks import FindClaim, LockReader, OwnLock, holder_prefix, start_renewing
from hooks.server.serving.logs import logger


@dataclass(frozen=True, slots=True, kw_only=True)
class Locks:
    """`find_claim` says whether a namespace is locked; `own` is the lock of a namespace-restricted installation."""

    find_claim: FindClaim
    own: OwnLock | None = None

    def is_locked(self, namespace: str) -> bool:
        """Whether another operator has certainly locked the namespace."""
        claim = self.find_claim(namespace)
        return claim is not None and claim.is_certain

    def renew(self, is_draining: Callable[[], bool]) -> None:
        """Renew our own lock, if any, until this process ends."""
        if self.own is not None:
            start_renewing(self.own, is_draining)

    def release(self) -> None:
        """Release our own lock, if any; if that fails, the lock expires soon."""
        if self.own is None:
            return
        try:
            self.own.release()
        except Refused as refused:
            logger.warning("namespace lock not released: %s", refused)


NO_LOCKS = Locks(find_claim=lambda _namespace: None)


def set_up_locks(settings: Settings, *, holds: bool) -> Locks:
    """The locks for these settings; if they cannot work, end the process with one sentence and exit status 2.

    One process of a pod `holds` the lock of a namespace-restricted installation; the others only read it.
    """
    if settings.namespace_locks is Switch.OFF:
        return NO_LOCKS
    server = ApiServer.in_cluster()
    if server is None:
        _refuse("this pod mounts no ServiceAccount token, which is needed to read Leases")
    if not settings.installation:
        reader = LockReader(server=server, clock=_now)
        return Locks(find_claim=reader.find_claim)
    if not settings.installation_namespace:
        _refuse("the setting installation needs the setting installation_namespace too")
    if not holds:
        reader = LockReader(server=server, clock=_now, ours=holder_prefix(settings.installation))
        return Locks(find_claim=reader.find_claim)
    own = OwnLock(
        server=server,
        clock=_now,
        namespace=settings.installation_namespace,
        installation=settings.installation,
        process=socket.gethostname(),
        is_alone=settings.hook_replicas == 1,
    )
    return Locks(find_claim=own.find_claim, own=own)


def _now() -> datetime:
    return datetime.now(UTC)


def _refuse(reason: str) -> NoReturn:
    click.echo(f"setting namespace_locks is on, but {reason}", err=True)
    sys.exit(2)
