"""`dynamo-hooks serve`: the hooks over HTTP, until SIGTERM."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import click
from flask import Flask

from hooks.api_server import ApiServer
from hooks.cli.options import read_settings, settings_option
from hooks.cli.server import DRAIN_SECONDS, ServerOptions, run_server
from hooks.effects import effects_of_api_server, without_api_server
from hooks.logs import logger, set_up_logging
from hooks.settings import Settings

_BIND = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})")


def parse_bind(_context: click.Context, _parameter: click.Parameter, bind: str) -> str:
    """Check HOST:PORT; port 0 takes any free one.

    Raises:
        click.BadParameter: it is not of that form.
    """
    match = _BIND.fullmatch(bind)
    if match is None or int(match[2]) > 65535:
        raise click.BadParameter(f"{bind!r} is no address; write HOST:PORT, such as 127.0.0.1:8080 or [::]:8080")
    return bind


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks serve
  dynamo-hooks serve --bind 0.0.0.0:8080 --workers 4
  dynamo-hooks serve --set discovery_backend=etcd --set etcd_address=http://etcd:2379
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
@settings_option
def serve(*, bind: str, workers: int, threads: int, drain: float, set_values: tuple[str, ...]) -> None:
    """Serve the hooks over HTTP, for Metacontroller to call.

    On SIGTERM every request is still answered: the server first drains, so that a Service stops sending, then finishes
    what is in flight. SIGINT ends it at once. Log lines go to standard error as JSON.
    """
    settings = read_settings(set_values)
    set_up_logging(settings.log_level)

    def load(is_draining: Callable[[], bool]) -> Flask:
        from hooks.app import create_app  # noqa: PLC0415 - its metrics look at the environment when imported
        from hooks.effects_client import EffectsClient  # noqa: PLC0415 - only a server in a cluster has one

        server = find_api_server(settings)
        client = EffectsClient(server=server) if server else None
        told = settings if server else without_api_server(settings)
        return create_app(told, lambda: datetime.now(UTC), carry_out=client, is_draining=is_draining)

    run_server(ServerOptions(bind=bind, workers=workers, threads=threads, drain=drain), load)


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
