"""Bundles of authorities as PEM text: what is in them, and which authorities of a former bundle stay trusted.

This module knows neither files nor a cluster.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import serialization

LIMIT = 8
"""Authorities in a bundle, unless more are given to `Trust`: however often one is issued, no more stay."""

_BEGIN = "-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The certificates of a PEM text in its order, and the number of those that cannot be read."""

    certificates: tuple[x509.Certificate, ...]
    unreadable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleChange:
    """A bundle in place of a former one, as PEM text.

    `is_new` says that its first authority was not in the former bundle. `dropped` counts the authorities of the former
    one that it leaves out, and `unreadable` the parts of the former one that are no certificates.
    """

    text: str
    is_new: bool
    dropped: int
    unreadable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What a webhook must trust: these authorities as PEM text, the newest first.

    With `keeps_former`, the authorities that it trusts already stay, if they are valid now: a server may still show a
    certificate that one of them signed.
    """

    authorities: str
    keeps_former: bool
    now: datetime

    def replace(self, former: str) -> BundleChange:
        """The bundle in place of a former one."""
        wanted, known = parse_bundle(self.authorities).certificates, parse_bundle(former)
        others = [found for found in dict.fromkeys(known.certificates) if found not in wanted]
        valid = [found for found in others if found.not_valid_after_utc > self.now]
        kept = valid[: max(0, LIMIT - len(wanted))] if self.keeps_former else []
        return BundleChange(
            text=write_bundle((*wanted, *kept)),
            is_new=not set(wanted[:1]) <= set(known.certificates),
            dropped=len(others) - len(kept),
            unreadable=known.unreadable,
        )


def parse_bundle(pem: str) -> Bundle:
    """Read each certificate by itself, as the API server does: one that is malformed does not spoil the others."""
    before, *parts = pem.split(_BEGIN)
    certificates: list[x509.Certificate] = []
    for part in parts:
        try:
            certificates.append(x509.load_pem_x509_certificate((_BEGIN + part).encode()))
        except ValueError:
            continue  # counted below
    unreadable = len(parts) - len(certificates) if parts else int(bool(before.strip()))
    return Bundle(certificates=tuple(certificates), unreadable=unreadable)


def write_bundle(certificates: Iterable[x509.Certificate]) -> str:
    """The PEM text of these certificates."""
    return "".join(found.public_bytes(serialization.Encoding.PEM).decode() for found in certificates)
