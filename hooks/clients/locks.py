"""Which namespace locks `dynamo-hooks serve` minds, by its settings: those of others are read, one of its own held."""

import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

import click

from hooks.clients.api_server import ApiServer, Refused
from hooks.clients.namespace_locks import LockReader, Look, OwnLock, start_keeping
from hooks.serving.logs import logger
from hooks.settings import Settings, Switch


@dataclass(frozen=True, slots=True, kw_only=True)
class Locks:
    """What is asked before a parent is looked after, and the lock that is held meanwhile, if any."""

    look: Look
    own: OwnLock | None = None

    def is_locked(self, namespace: str) -> bool:
        """Whether the namespace is known to be another operator's; what nobody can tell is none."""
        hold = self.look(namespace)
        return hold is not None and hold.is_certain

    def keep(self, is_draining: Callable[[], bool]) -> None:
        """Look after our own lock in this process, until it ends."""
        if self.own is not None:
            start_keeping(self.own, is_draining)

    def release(self) -> None:
        """Let our own lock go, as far as the API server lets us: it ends by itself soon."""
        if self.own is None:
            return
        try:
            self.own.release()
        except Refused as refused:
            logger.warning("namespace lock not released: %s", refused)


NO_LOCKS = Locks(look=lambda _namespace: None)


def set_up_locks(settings: Settings) -> Locks:
    """The locks that the settings ask for; ends the process with one sentence and status 2 where they cannot be had."""
    if settings.namespace_locks is Switch.OFF:
        return NO_LOCKS
    server = ApiServer.in_cluster()
    if server is None:
        _refuse("no service account's token is mounted here, by which Leases could be read")
    if not settings.installation:
        reader = LockReader(server=server, clock=_now)
        return Locks(look=reader.look)
    if not settings.installation_namespace:
        _refuse("the setting installation has a value and installation_namespace has none")
    own = OwnLock(
        server=server,
        clock=_now,
        namespace=settings.installation_namespace,
        installation=settings.installation,
        process=socket.gethostname(),
        is_alone=settings.hook_replicas == 1,
    )
    return Locks(look=own.look, own=own)


def _now() -> datetime:
    return datetime.now(UTC)


def _refuse(reason: str) -> NoReturn:
    click.echo(f"setting namespace_locks is on, but {reason}", err=True)
    sys.exit(2)
