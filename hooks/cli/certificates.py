"""`dynamo-hooks certificates`: makes the certificate of the admission port, and renews it before it expires."""

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from hooks.admission.certificates.authority import Issued, issue, why_renew
from hooks.admission.certificates.bundle import Trust
from hooks.admission.certificates.store import PARTS, CertificateStore, WrittenMeanwhile
from hooks.cli.account_options import account_options
from hooks.clients.api_server import ApiServer, Refused

_ATTEMPTS = 3
"""Another process may write at the same time: an upgrade of the chart, another renewal."""
_SECONDS = 60.0
_SECRET = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The certificate's names and lifetime. `now` is the current time; with `dry_run` nothing is written."""

    names: tuple[str, ...]
    lifetime: timedelta
    now: datetime
    dry_run: bool = False


def keep_in_cluster(store: CertificateStore, wish: Wish) -> list[str]:
    """Keep in the Secret a valid certificate that the webhooks trust; returns what was done, in sentences.

    The webhooks get a new authority before the Secret gets its certificate, and keep those that they have until every
    server shows the new one. So the API server always trusts what a server shows, also if the Secret was deleted.

    Raises:
        Refused: the API server refuses.
        WrittenMeanwhile: another process wrote in between.
    """
    stored = store.read()
    reason = why_renew(stored.issued, wish.names, wish.now) if stored.secret is not None else "there is none yet"
    if not reason:
        keeps_former = not stored.is_settled(wish.now)
        trust = Trust(authorities=stored.issued.authorities, keeps_former=keeps_former, now=wish.now)
        return store.publish(trust, dry_run=wish.dry_run)
    if wish.dry_run:
        return [f"the certificate in {store.namespace}/{store.name} would be made anew: {reason}"]
    issued = issue(wish.names, wish.now, wish.lifetime, stored.issued.authorities)
    said = store.publish(Trust(authorities=issued.authorities, keeps_former=True, now=wish.now))
    store.write(stored, issued)
    return [*said, f"the certificate in {store.namespace}/{store.name} was made anew: {reason}"]


def keep_in_folder(folder: Path, wish: Wish) -> list[str]:
    """Keep a valid certificate in the files tls.crt, tls.key and ca.crt; returns what was done, in sentences.

    Raises:
        OSError: the folder cannot be read or written.
    """
    files = {part: folder / name for part, name in PARTS.items()}
    found = Issued(**{part: path.read_text(errors="replace") if path.exists() else "" for part, path in files.items()})
    is_new = not any(path.exists() for path in files.values())
    reason = "there is none yet" if is_new else why_renew(found, wish.names, wish.now)
    if not reason:
        return []
    if wish.dry_run:
        return [f"the certificate in {folder} would be made anew: {reason}"]
    issued = issue(wish.names, wish.now, wish.lifetime, found.authorities)
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("authorities", "key", "certificate"):
        _write_file(files[part], getattr(issued, part), is_secret=part == "key")
    return [f"the certificate in {folder} was made anew: {reason}"]


def _write_file(path: Path, text: str, *, is_secret: bool) -> None:
    """Swap the file in whole: a reader sees the old text or the new one."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.touch(0o600 if is_secret else 0o644)
    fresh.write_text(text)
    fresh.replace(path)


def _try_again(act: Callable[[], list[str]]) -> list[str]:
    for _ in range(_ATTEMPTS - 1):
        with suppress(WrittenMeanwhile):
            return act()
    return act()


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

    def keep(self, wish: Wish) -> list[str]:
        if (self.secret is None) == (self.directory is None):
            raise click.UsageError("give --secret, to keep the certificate in a cluster, or --directory")
        if self.directory is not None:
            return keep_in_folder(self.directory, wish)
        with self.find_server().converse(_SECONDS) as talk:
            store = CertificateStore.of(talk, self.secret or "", validating=self.validating, mutating=self.mutating)
            trusted = store.with_definitions(self.definitions, wish.names)
            return _try_again(lambda: keep_in_cluster(trusted, wish))


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
        said = target.keep(wish)
    except (Refused, WrittenMeanwhile, OSError) as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    for line in said or ["the certificate is good and trusted; nothing was done"]:
        click.echo(line)
