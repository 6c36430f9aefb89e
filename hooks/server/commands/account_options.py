"""The options for commands that act on a cluster with a ServiceAccount: the pod's own, or one that the options give."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from hooks.server.clients.api_server import ApiServer


def account_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `find_server`, which returns the API server, in place of the options that name it."""

    @wraps(command)
    def with_server(*, server: str | None, token_file: Path | None, ca_file: Path | None, **others: Any) -> None:
        command(find_server=lambda: _find_server(server, token_file, ca_file), **others)

    options = (
        click.option(
            "--server", metavar="URL", help="The API server. Default: that of the pod, with the pod's ServiceAccount."
        ),
        click.option("--token-file", type=click.Path(dir_okay=False, path_type=Path), help="Token for --server."),
        click.option(
            "--ca-file",
            type=click.Path(dir_okay=False, path_type=Path),
            help="CA certificate that signed the API server's certificate.",
        ),
    )
    for option in reversed(options):
        with_server = option(with_server)
    return with_server


def _find_server(url: str | None, token_file: Path | None, ca_file: Path | None) -> ApiServer:
    if url and token_file and ca_file:
        return ApiServer(url=url.rstrip("/"), token_file=token_file, ca_file=ca_file)
    if url or token_file or ca_file:
        raise click.UsageError("--server, --token-file and --ca-file belong together; give all three or none")
    server = ApiServer.in_cluster()
    if server is None:
        raise click.UsageError("this is not a pod with a ServiceAccount; give --server, --token-file and --ca-file")
    return server
