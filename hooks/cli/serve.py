"""`dynamo-hooks serve`: the hooks over HTTP, until SIGTERM."""

import click

from hooks.cli.assembly import Assembly
from hooks.cli.options import parse_bind, read_prober_token, read_settings, settings_option
from hooks.cli.secure_port import secure_port_options
from hooks.cli.server import DRAIN_SECONDS, SecurePort, ServerOptions, run_server
from hooks.cli.standard_input import end_with_stdin_option
from hooks.logs import set_up_logging


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
    help="Where to listen; port 0 takes a free one and logs it.",
)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes.")
@click.option("--threads", type=click.IntRange(1, 64), default=4, show_default=True, help="Threads of each process.")
@click.option(
    "--drain",
    type=click.FloatRange(0, 300),
    default=DRAIN_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long to go on accepting after SIGTERM, with /readyz saying 503.",
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

    On SIGTERM every request is still answered: the server first drains, so that a Service stops sending, then finishes
    what is in flight. SIGINT ends it at once. Log lines go to standard error as JSON.
    """
    settings = read_settings(set_values)
    read_prober_token()  # refused here in one sentence, as it would be in every worker
    set_up_logging(settings.log_level)
    assembly = Assembly.of(settings, serves_admission=secure_port is not None)
    options = ServerOptions(
        bind=bind,
        workers=workers,
        threads=threads,
        drain=drain,
        secure_port=secure_port,
        begin=assembly.begin,
        end=assembly.locks.release,
        end_with_stdin=end_with_stdin,
    )
    run_server(options, assembly.load)
