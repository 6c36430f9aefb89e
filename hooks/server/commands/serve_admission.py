"""`dynamo-hooks serve-admission`: admission over HTTPS, until SIGTERM."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from hooks.ground.settings import Settings
from hooks.server.admission.access import guard_alone, guard_requests
from hooks.server.admission.labels import warn_of_labels
from hooks.server.admission.neighbours import warn_of_neighbours
from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.locks import Locks, set_up_locks
from hooks.server.commands.kind_options import known_kinds_option
from hooks.server.commands.server_options import Capacity, capacity_options
from hooks.server.commands.settings_options import parse_bind, read_settings, settings_option
from hooks.server.serving.logs import set_up_logging
from hooks.server.serving.server import ServerOptions, WsgiApp, run_server
from hooks.server.serving.tls import CertificateFiles
from hooks.server.serving.web import ServedBy
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS


@click.command(
    "serve-admission",
    epilog="""\b
Examples:
  dynamo-hooks serve-admission --tls-cert tls.crt --tls-key tls.key
  dynamo-hooks serve-admission --bind 0.0.0.0:9443 --tls-cert tls.crt --tls-key tls.key --workers 1""",
)
@click.option(
    "--bind",
    default="127.0.0.1:9443",
    show_default=True,
    metavar="HOST:PORT",
    callback=parse_bind,
    help="The address to listen on. Port 0 takes a free port and logs it.",
)
@click.option(
    "--tls-cert",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="PEM certificate; read again for each connection.",
)
@click.option(
    "--tls-key", required=True, type=click.Path(path_type=Path), metavar="FILE", help="PEM key of the certificate."
)
@capacity_options
@known_kinds_option
@settings_option
def serve_admission(
    *,
    bind: str,
    tls_cert: Path,
    tls_key: Path,
    capacity: Capacity,
    installed: frozenset[str] | None,
    set_values: tuple[str, ...],
) -> None:
    """Serve admission over HTTPS, for the API server to call before it stores an object.

    Runs beside the hooks as a process of its own. Health probes and /metrics are on the same port. On SIGTERM open
    requests are finished. SIGINT ends it at once. Log lines are JSON on standard error.
    """
    settings = read_settings(set_values)
    set_up_logging(settings.log_level)
    served = ServedAdmission(
        settings=settings,
        at_once=capacity.at_once,
        locks=set_up_locks(settings, holds=False),
        installed=installed,
        certificate=tls_cert,
    )
    options = ServerOptions(
        bind=bind,
        workers=capacity.workers,
        strangers=capacity.peers,
        drain_file=capacity.drain_file,
        certificate=_read_certificate(tls_cert, tls_key),
        end_with_stdin=capacity.end_with_stdin,
    )
    run_server(options, served.load)


def _read_certificate(certificate: Path, key: Path) -> CertificateFiles:
    """The files; ends the process with a message and exit status 2 if they cannot be used."""
    files = CertificateFiles(certificate=certificate, key=key)
    try:
        files.check()
    except OSError as error:
        click.echo(f"--tls-cert {certificate}, --tls-key {key}: not a certificate and its key: {error}", err=True)
        sys.exit(2)
    return files


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedAdmission:
    """The parts of the server; `installed` are keys of `OPTIONAL_KINDS`, None if they are not known."""

    settings: Settings
    at_once: int
    locks: Locks
    installed: frozenset[str] | None
    certificate: Path

    def load(self, is_draining: Callable[[], bool]) -> WsgiApp:
        """Build the WSGI application."""
        from hooks.server.admission.app import Locked, create_admission_app  # noqa: PLC0415 - reads the environment when imported
        from hooks.server.admission.rules import DEFAULTS, RULES  # noqa: PLC0415 - takes long

        server, known = ApiServer.in_cluster(), self.installed
        return create_admission_app(
            self.settings,
            guard_requests(warn_of_neighbours(warn_of_labels(RULES), server), server),
            DEFAULTS,
            locked=Locked(contains=self.locks.is_locked, rules=guard_alone(server)),
            installed=None if known is None else frozenset(OPTIONAL_KINDS[name].kind for name in known),
            served_by=ServedBy(is_draining=is_draining, at_once=self.at_once, certificate=self.certificate),
        )
