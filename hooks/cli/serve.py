"""`dynamo-hooks serve`: the hooks over HTTP, until SIGTERM."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import click

from hooks.admission.access import guard_requests
from hooks.admission.installed_kinds import InstalledKinds
from hooks.cli.options import parse_bind, read_prober_token, read_settings, settings_option
from hooks.cli.secure_port import secure_port_options
from hooks.clients.api_server import ApiServer
from hooks.clients.locks import Locks, set_up_locks
from hooks.effects import effects_of_api_server, without_api_server
from hooks.serving.logs import logger, set_up_logging
from hooks.serving.server import DRAIN_SECONDS, SecurePort, ServerOptions, run_server
from hooks.serving.standard_input import end_with_stdin_option
from hooks.serving.tls import AppByPort, WsgiApp
from hooks.settings import Settings


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks serve
  dynamo-hooks serve --bind 0.0.0.0:8080 --workers 4
  dynamo-hooks serve --set discovery_backend=etcd --set etcd_address=http://etcd:2379
  dynamo-hooks serve --admission-bind 0.0.0.0:9443 --tls-cert tls.crt --tls-key tls.key
  DYNAMO_HOOKS_LOG_LEVEL=debug dynamo-hooks serve --drain 0"""
)
@click.option(
    "--bind",
    default="127.0.0.1:8080",
    show_default=True,
    metavar="HOST:PORT",
    callback=parse_bind,
    help="The address to listen on. Port 0 takes a free port and logs it.",
)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Number of processes.")
@click.option(
    "--threads", type=click.IntRange(1, 64), default=4, show_default=True, help="Number of threads in each process."
)
@click.option(
    "--drain",
    type=click.FloatRange(0, 300),
    default=DRAIN_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long requests are accepted after SIGTERM; /readyz answers 503 meanwhile.",
)
@secure_port_options
@end_with_stdin_option
@settings_option
def serve(  # noqa: PLR0913 - one parameter for each option
    *,
    bind: str,
    workers: int,
    threads: int,
    drain: float,
    secure_port: SecurePort | None,
    end_with_stdin: bool,
    set_values: tuple[str, ...],
) -> None:
    """Serve the hooks over HTTP, for Metacontroller to call, and admission over HTTPS, for the API server.

    On SIGTERM the server still answers every request: it first drains, so that the Service stops sending, then finishes
    the open requests. SIGINT ends it at once. Log lines are JSON on standard error.
    """
    settings = read_settings(set_values)
    read_prober_token()  # refused here, once, instead of in every worker
    set_up_logging(settings.log_level)
    served = ServedApps.of(settings, serves_admission=secure_port is not None)
    options = ServerOptions(
        bind=bind,
        workers=workers,
        threads=threads,
        drain=drain,
        secure_port=secure_port,
        begin=served.begin,
        end=served.locks.release,
        end_with_stdin=end_with_stdin,
    )
    run_server(options, served.load)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedApps:
    """The parts of one server; `installed` is None without a ServiceAccount, which discovery needs."""

    settings: Settings
    serves_admission: bool
    locks: Locks
    installed: InstalledKinds | None

    @classmethod
    def of(cls, settings: Settings, *, serves_admission: bool) -> "ServedApps":
        """The parts of this process's server; ends the process with a message if a setting cannot work."""
        server = ApiServer.in_cluster() if serves_admission else None
        return cls(
            settings=settings,
            serves_admission=serves_admission,
            locks=set_up_locks(settings),
            installed=InstalledKinds(server=server) if server else None,
        )

    def load(self, is_draining: Callable[[], bool]) -> WsgiApp:
        """Build the WSGI application."""
        hooks = self._load_hooks(is_draining)
        return AppByPort(plain=hooks, secure=self._load_admission(is_draining)) if self.serves_admission else hooks

    def begin(self, is_draining: Callable[[], bool]) -> None:
        """Start a worker's background threads."""
        self.locks.keep(is_draining)
        if self.installed:
            self.installed.keep()

    def _load_hooks(self, is_draining: Callable[[], bool]) -> WsgiApp:
        from hooks.app import create_app, respect_locks, served_hooks  # noqa: PLC0415 - reads the environment when imported
        from hooks.clients.effects import EffectsClient  # noqa: PLC0415 - only a server in a cluster has one

        server = find_api_server(self.settings)
        settings = self.settings if server else without_api_server(self.settings)
        return create_app(
            settings,
            lambda: datetime.now(UTC),
            carry_out=EffectsClient(server=server, settings=settings) if server else None,
            is_draining=is_draining,
            hooks=respect_locks(served_hooks(settings, server=server), self.locks.look),
        )

    def _load_admission(self, is_draining: Callable[[], bool]) -> WsgiApp:
        from hooks.admission.app import create_admission_app  # noqa: PLC0415 - reads the environment when imported
        from hooks.admission.rules import DEFAULTS, RULES  # noqa: PLC0415 - only admission needs them

        return create_admission_app(
            self.settings,
            guard_requests(RULES, ApiServer.in_cluster()),
            DEFAULTS,
            is_locked=self.locks.is_locked,
            installed=self.installed.look if self.installed else lambda: None,
            is_draining=is_draining,
        )


def find_api_server(settings: Settings) -> ApiServer | None:
    """The API server that effects act on; None if no effect is switched on, or (logged) no API server can be found."""
    wanted = effects_of_api_server(settings)
    if not wanted:
        return None
    server = ApiServer.in_cluster()
    if server is None:
        reason = "this is not a pod, or the pod does not mount a service account token"
        logger.warning("effects are switched off", extra={"fields": {"settings": list(wanted), "reason": reason}})
    return server
