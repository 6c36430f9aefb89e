"""The options with which commands for a person find the cluster and the user: as `kubectl` does, or by an address."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hooks.tools.cli.values import parse_positive
from hooks.tools.operating.kubeconfig import Access, InvalidKubeconfig, User, find_files, read_files, resolve_access

if TYPE_CHECKING:
    from hooks.server.clients.api_server import ApiServer
    from hooks.tools.operating.cluster import Cluster

SECONDS = 30.0
"""How long a command waits for each answer of the API server."""
_FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What a user said about the cluster; each request may take `timeout` seconds."""

    kubeconfig: Path | None = None
    context: str = ""
    server: str = ""
    token_file: Path | None = None
    ca_file: Path | None = None
    timeout: float = SECONDS

    def find_access(self, account: "ApiServer | None") -> Access:
        """The API server and the user; `account` is the pod's, for when there is nothing else.

        Raises:
            InvalidKubeconfig: a kubeconfig is broken, or there is none, and this is not a pod with an account.
            click.UsageError: options contradict each other.
        """
        if self.server or self.token_file or self.ca_file:
            return self._find_by_address()
        files = find_files(self.kubeconfig, os.environ, Path.home())
        if files:
            return resolve_access(read_files(files), self.context)
        if account is None or self.context:
            raise InvalidKubeconfig(
                "there is no kubeconfig; give --kubeconfig FILE, set KUBECONFIG, or give --server, --token-file and "
                "--ca-file"
            )
        return Access(
            url=account.url,
            authorities=account.ca_file,
            namespace=account.own_namespace or "default",
            user=User(token_file=account.token_file),
        )

    def _find_by_address(self) -> Access:
        if not (self.server and self.token_file and self.ca_file):
            raise click.UsageError("--server, --token-file and --ca-file belong together; give all three or none")
        if self.kubeconfig or self.context:
            raise click.UsageError("--server does not go with --kubeconfig or --context; give one or the other")
        user = User(token_file=self.token_file)
        return Access(url=self.server.rstrip("/"), authorities=self.ca_file, user=user)


@contextmanager
def connect(connection: Connection) -> "Iterator[Cluster]":
    """The cluster that the options name; if they name none, ends the process with a message and exit status 2."""
    from hooks.server.clients.api_server import ApiServer  # noqa: PLC0415 - many commands need no cluster, nor requests
    from hooks.tools.operating.cluster import open_cluster  # noqa: PLC0415

    with guard_kubeconfig():
        access = connection.find_access(ApiServer.in_cluster())
        with open_cluster(access, connection.timeout) as cluster:
            yield cluster


@contextmanager
def guard_kubeconfig() -> Iterator[None]:
    """A context in which a broken kubeconfig, or a plugin without a credential, ends the process with status 2."""
    try:
        yield
    except InvalidKubeconfig as error:
        click.echo(str(error), err=True)
        sys.exit(2)


_OPTIONS = (
    click.option(
        "--kubeconfig", type=_FILE, metavar="FILE", help="A kubeconfig. Default: $KUBECONFIG, then ~/.kube/config."
    ),
    click.option(
        "--context", default="", metavar="NAME", help="A context of the kubeconfig. Default: the current one."
    ),
    click.option("--server", default="", metavar="URL", help="An API server, instead of a kubeconfig."),
    click.option("--token-file", type=_FILE, metavar="FILE", help="Bearer token for --server."),
    click.option(
        "--ca-file",
        type=_FILE,
        metavar="FILE",
        help="CA certificate that signed the API server's certificate, for --server.",
    ),
)


def connection_options(
    command: Callable[..., None], *, seconds: float = SECONDS, limited: str = "each answer of the API server"
) -> Callable[..., None]:
    """Give a command the options, and the keyword argument `connection`, a `Connection`.

    `seconds` are the default of `--timeout`, which limits what `limited` says.
    """
    names = tuple(Connection.__dataclass_fields__)
    timeout = click.option(
        "--timeout",
        default=f"{seconds:g}",
        show_default=True,
        metavar="SECONDS",
        callback=parse_positive,
        help=f"How long to wait for {limited}.",
    )

    @wraps(command)
    def connected(**values: Any) -> None:
        given = {name: values.pop(name) for name in names}
        command(**values, connection=Connection(**given))

    for option in reversed((*_OPTIONS, timeout)):
        connected = option(connected)
    return connected
