"""`dynamo-hooks certificates`: makes the certificate of the admission port, and renews it before it expires."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from hooks.server.admission.certificates.renewal import Wish, renew_in_cluster, renew_in_folder, try_again
from hooks.server.admission.certificates.store import CertificateStore, WrittenMeanwhile
from hooks.server.clients.api_server import ApiServer, Refused
from hooks.server.commands.account_options import account_options

_SECONDS = 60.0
_SECRET = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


def parse_secret(_context: click.Context, _parameter: click.Parameter, secret: str | None) -> str | None:
    """The text of an option NAMESPACE/NAME, checked by its form."""
    if secret is not None and not _SECRET.fullmatch(secret):
        raise click.BadParameter(
            f"{secret!r} is not a Secret; write NAMESPACE/NAME, such as dynamo-system/admission-tls"
        )
    return secret


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """Where the options say that the certificate is kept."""

    secret: str | None
    validating: tuple[str, ...]
    mutating: tuple[str, ...]
    definitions: tuple[str, ...]
    directory: Path | None
    find_server: Callable[[], ApiServer]

    def renew(self, wish: Wish) -> list[str]:
        if (self.secret is None) == (self.directory is None):
            raise click.UsageError("give --secret, to keep the certificate in a cluster, or --directory")
        if self.directory is not None:
            return renew_in_folder(self.directory, wish)
        with self.find_server().converse(_SECONDS) as talk:
            store = CertificateStore.of(talk, self.secret or "", validating=self.validating, mutating=self.mutating)
            trusted = store.with_definitions(self.definitions, wish.names)
            return try_again(lambda: renew_in_cluster(trusted, wish))


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks certificates --name dynamo-hooks.dynamo-system.svc --secret dynamo-system/dynamo-hooks-admission \\
      --validating dynamo-hooks --mutating dynamo-hooks
  dynamo-hooks certificates --name dynamo-hooks.dynamo-system.svc --secret dynamo-system/dynamo-hooks-admission \\
      --crd dynamographdeployments.nvidia.com
  dynamo-hooks certificates --name localhost --name 127.0.0.1 --directory ./tls
  dynamo-hooks certificates --name dynamo-hooks.dynamo-system.svc --directory ./tls --days 90 --dry-run"""
)
@click.option(
    "--name",
    "names",
    multiple=True,
    required=True,
    metavar="NAME",
    help="DNS name or IP address; can be given several times.",
)
@click.option(
    "--secret", metavar="NAMESPACE/NAME", callback=parse_secret, help="The Secret that holds the certificate."
)
@click.option(
    "--validating",
    multiple=True,
    metavar="NAME",
    help="A ValidatingWebhookConfiguration that must trust the certificate.",
)
@click.option(
    "--mutating", multiple=True, metavar="NAME", help="A MutatingWebhookConfiguration that must trust the certificate."
)
@click.option(
    "--crd",
    "definitions",
    multiple=True,
    metavar="NAME",
    help="A CustomResourceDefinition whose conversion webhook must trust the certificate.",
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for tls.crt, tls.key and ca.crt, instead of a Secret.",
)
@click.option(
    "--days", type=click.IntRange(1, 3650), default=365, show_default=True, help="How long the certificate is valid."
)
@click.option("--dry-run", is_flag=True, help="Print what would be done; write nothing.")
@account_options
def certificates(*, names: tuple[str, ...], days: int, dry_run: bool, **places: object) -> None:
    """Make the certificate of the admission port, or renew it when two thirds of its lifetime are over.

    A good certificate is not changed, so this command may run as often as you like. A new authority signs each new
    certificate; the authority's key is not stored. Before any server shows the new certificate, the webhooks trust the
    new authority, beside those that each of them trusts already. Those that the Secret does not name stay until a run
    an hour or more after the Secret was written. The exit status is 1 if the certificate could not be written.
    """
    target = _Target(**places)  # type: ignore[arg-type]  # click has checked each
    wish = Wish(names=names, lifetime=timedelta(days=days), now=datetime.now(UTC), dry_run=dry_run)
    try:
        said = target.renew(wish)
    except (Refused, WrittenMeanwhile, OSError) as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    for line in said or ["the certificate is good and trusted; nothing was done"]:
        click.echo(line)
