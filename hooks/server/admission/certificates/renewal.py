"""Keeps a valid certificate in a Secret or in files, and makes it new before it expires."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from hooks.server.admission.certificates.authority import Issued, issue, why_renew
from hooks.server.admission.certificates.bundle import Trust
from hooks.server.admission.certificates.store import PARTS, CertificateStore, WrittenMeanwhile

_ATTEMPTS = 3
"""Another process may write at the same time: an upgrade of the chart, another renewal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The certificate's names and lifetime. `now` is the current time; with `dry_run` nothing is written."""

    names: tuple[str, ...]
    lifetime: timedelta
    now: datetime
    dry_run: bool = False


def renew_in_cluster(store: CertificateStore, wish: Wish) -> list[str]:
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
        return [f"the certificate in {store.namespace}/{store.name} would be issued: {reason}"]
    issued = issue(wish.names, wish.now, wish.lifetime, stored.issued.authorities)
    said = store.publish(Trust(authorities=issued.authorities, keeps_former=True, now=wish.now))
    store.write(stored, issued)
    return [*said, f"the certificate in {store.namespace}/{store.name} was issued: {reason}"]


def renew_in_folder(folder: Path, wish: Wish) -> list[str]:
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
        return [f"the certificate in {folder} would be issued: {reason}"]
    issued = issue(wish.names, wish.now, wish.lifetime, found.authorities)
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("authorities", "key", "certificate"):
        _write_file(files[part], getattr(issued, part), is_secret=part == "key")
    return [f"the certificate in {folder} was issued: {reason}"]


def _write_file(path: Path, text: str, *, is_secret: bool) -> None:
    """Swap the file in whole: a reader sees the old text or the new one."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.touch(0o600 if is_secret else 0o644)
    fresh.write_text(text)
    fresh.replace(path)


def try_again(act: Callable[[], list[str]]) -> list[str]:
    """What `act` returns, at the third attempt at the latest.

    Raises:
        WrittenMeanwhile: another process wrote each time.
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(WrittenMeanwhile):
            return act()
    return act()
