"""Certificates for the admission port: each has an authority of its own.

The authority's key is not stored, so it cannot sign again. Each renewal creates a new authority, and the previous
authority stays trusted for a while. This module decides when to renew; it knows neither files nor a cluster.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hooks.server.admission.certificates.bundle import parse_bundle, write_bundle

AUTHORITY_NAME = "Dynamo hooks admission"
_SKEW = timedelta(minutes=5)
"""Certificates are valid from a little before now, for machines with slow clocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """A certificate, its key, and the authorities to trust for it (the newest first), each as PEM text."""

    certificate: str
    key: str
    authorities: str


def issue(names: Sequence[str], now: datetime, lifetime: timedelta, known: str = "") -> Issued:
    """Create an authority and a certificate for these DNS names and IP addresses, valid from now.

    `known` are the authorities trusted so far. The newest of them stays trusted, because a server may still use a
    certificate that it signed.
    """
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, AUTHORITY_NAME)])
    authority = (
        _begin(subject, subject, authority_key.public_key(), (now, lifetime))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    certificate = (
        _begin(x509.Name([]), subject, key.public_key(), (now, lifetime))
        .add_extension(x509.SubjectAlternativeName([_write_name(name) for name in names]), critical=True)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    kept = [found for found in parse_bundle(known).certificates[:1] if found.not_valid_after_utc > now]
    return Issued(
        certificate=write_bundle([certificate]),
        key=private.decode(),
        authorities=write_bundle((authority, *kept)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """From when until when a certificate is valid, and for which names."""

    since: datetime
    until: datetime
    names: tuple[str, ...]
    certificate: x509.Certificate

    def is_trusted_by(self, bundle: str, now: datetime) -> bool:
        """Whether an authority of the PEM bundle that is valid now has signed it, or is it."""
        valid = [
            found
            for found in parse_bundle(bundle).certificates
            if found.not_valid_before_utc <= now < found.not_valid_after_utc
        ]
        return any(found == self.certificate or _is_signed_by(self.certificate, found) for found in valid)


def inspect(text: str) -> Inspected | None:
    """The first certificate of a PEM text; None if there is none that can be read."""
    try:
        certificate = x509.load_pem_x509_certificate(text.encode())
        names = tuple(_names_of(certificate))
    except x509.ExtensionNotFound:
        names = ()
    except ValueError:
        return None
    return Inspected(
        since=certificate.not_valid_before_utc,
        until=certificate.not_valid_after_utc,
        names=names,
        certificate=certificate,
    )


def why_renew(issued: Issued, names: Sequence[str], now: datetime) -> str:
    """Why a certificate must be replaced, as half a sentence for a log; empty while it is good.

    It is good if it covers these names, has its key and its authority, and more than a third of its lifetime is left.
    """
    try:
        certificate = x509.load_pem_x509_certificate(issued.certificate.encode())
        key = serialization.load_pem_private_key(issued.key.encode(), password=None)
        authorities = x509.load_pem_x509_certificates(issued.authorities.encode())
        covered = set(_names_of(certificate))
    except (ValueError, TypeError, x509.ExtensionNotFound) as error:
        return f"it cannot be read: {error}"
    if key.public_key() != certificate.public_key():
        return "the key does not match the certificate"
    if not any(_is_signed_by(certificate, authority) for authority in authorities):
        return "none of its authorities has signed it"
    if lacking := sorted(set(names) - covered):
        return f"it does not cover {', '.join(lacking)}"
    left, whole = (
        certificate.not_valid_after_utc - now,
        certificate.not_valid_after_utc - certificate.not_valid_before_utc,
    )
    return f"it is valid only until {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC" if left * 3 <= whole else ""


def _begin(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, period: tuple[datetime, timedelta]
) -> x509.CertificateBuilder:
    now, lifetime = period
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _names_of(certificate: x509.Certificate) -> list[str]:
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = (str(address) for address in names.get_values_for_type(x509.IPAddress))
    return [*names.get_values_for_type(x509.DNSName), *addresses]


def _is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether the authority signed the certificate; all authorities have the same name, so the signature decides."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
