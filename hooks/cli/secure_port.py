"""The options under which `dynamo-hooks serve` also serves admission, over HTTPS."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hooks.cli.options import parse_bind
from hooks.serving.server import SecurePort
from hooks.serving.tls import ServedCertificate


def secure_port_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `secure_port`, a `SecurePort` or None, in place of the three options that make it."""

    @functools.wraps(command)
    def with_port(*, admission_bind: str | None, tls_cert: Path | None, tls_key: Path | None, **others: Any) -> None:
        command(secure_port=_open_port(admission_bind, tls_cert, tls_key), **others)

    options = (
        click.option(
            "--admission-bind",
            metavar="HOST:PORT",
            callback=parse_bind,
            help="Where to serve admission, over HTTPS alone. Default: not at all.",
        ),
        click.option(
            "--tls-cert",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="PEM certificate for --admission-bind; read again when it changes.",
        ),
        click.option("--tls-key", type=click.Path(path_type=Path), metavar="FILE", help="PEM key of the certificate."),
    )
    for option in reversed(options):
        with_port = option(with_port)
    return with_port


def _open_port(bind: str | None, certificate: Path | None, key: Path | None) -> SecurePort | None:
    """The port, or None without the three options; ends the process with status 2 if they cannot be used."""
    if bind is None and certificate is None and key is None:
        return None
    if bind is None or certificate is None or key is None:
        raise click.UsageError("--admission-bind, --tls-cert and --tls-key belong together; give all three or none")
    try:
        return SecurePort(bind=bind, certificate=ServedCertificate(certificate, key))
    except OSError as error:
        click.echo(f"--tls-cert {certificate}, --tls-key {key}: not a certificate and its key: {error}", err=True)
        sys.exit(2)
