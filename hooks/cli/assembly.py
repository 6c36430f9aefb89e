"""What `dynamo-hooks serve` serves: the hooks, admission where it is wanted, and what goes on beside their requests."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from hooks.admission.installed_kinds import InstalledKinds
from hooks.cli.locks import Locks, set_up_locks
from hooks.cli.tls import TwoDoors, WsgiApp
from hooks.clients.api_server import ApiServer
from hooks.effects import effects_of_api_server, without_api_server
from hooks.logs import logger
from hooks.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """The parts of one server; without a pod's account nobody knows which kinds are `installed`."""

    settings: Settings
    serves_admission: bool
    locks: Locks
    installed: InstalledKinds | None

    @classmethod
    def of(cls, settings: Settings, *, serves_admission: bool) -> "Assembly":
        """Find out what there is to serve with; ends the process with one sentence where a setting lacks its ground."""
        server = ApiServer.in_cluster() if serves_admission else None
        return cls(
            settings=settings,
            serves_admission=serves_admission,
            locks=set_up_locks(settings),
            installed=InstalledKinds(server=server) if server else None,
        )

    def load(self, is_draining: Callable[[], bool]) -> WsgiApp:
        """Build what answers requests."""
        hooks = self._load_hooks(is_draining)
        return TwoDoors(plain=hooks, secure=self._load_admission(is_draining)) if self.serves_admission else hooks

    def begin(self, is_draining: Callable[[], bool]) -> None:
        """Start, in a worker, what goes on beside its requests."""
        self.locks.keep(is_draining)
        if self.installed:
            self.installed.keep()

    def _load_hooks(self, is_draining: Callable[[], bool]) -> WsgiApp:
        from hooks.app import create_app, guard, served_hooks  # noqa: PLC0415 - reads the environment when imported
        from hooks.clients.effects import EffectsClient  # noqa: PLC0415 - only a server in a cluster has one

        server = find_api_server(self.settings)
        told = self.settings if server else without_api_server(self.settings)
        return create_app(
            told,
            lambda: datetime.now(UTC),
            carry_out=EffectsClient(server=server) if server else None,
            is_draining=is_draining,
            hooks=guard(served_hooks(told), self.locks.look),
        )

    def _load_admission(self, is_draining: Callable[[], bool]) -> WsgiApp:
        from hooks.admission.app import create_admission_app  # noqa: PLC0415 - reads the environment when imported
        from hooks.admission.rules import DEFAULTS, RULES  # noqa: PLC0415 - only admission needs them

        return create_admission_app(
            self.settings,
            RULES,
            DEFAULTS,
            is_locked=self.locks.is_locked,
            installed=self.installed.look if self.installed else lambda: None,
            is_draining=is_draining,
        )


def find_api_server(settings: Settings) -> ApiServer | None:
    """The API server that effects act on; None where none is switched on, or, which is logged, there is none to use."""
    wanted = effects_of_api_server(settings)
    if not wanted:
        return None
    server = ApiServer.in_cluster()
    if server is None:
        reason = "this is no pod of a cluster, or one that mounts no service account token"
        logger.warning("effects are switched off", extra={"fields": {"settings": list(wanted), "reason": reason}})
    return server
