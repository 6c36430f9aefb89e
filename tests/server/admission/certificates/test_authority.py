"""Certificates: what is issued, when it is renewed, and which authorities stay trusted."""

from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography import x509

from hooks.server.admission.certificates.authority import Issued, issue, why_renew
from tests import make

NAMES = ("hooks.system.svc", "hooks.system.svc.cluster.local", "127.0.0.1")
YEAR = timedelta(days=360)
GOOD = issue(NAMES, make.NOW, YEAR)
OTHER = issue(NAMES, make.NOW, YEAR)


def authorities(issued: Issued) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(issued.authorities.encode())


def test_certificate_is_for_all_names_and_signed_by_its_authority() -> None:
    certificate = x509.load_pem_x509_certificate(GOOD.certificate.encode())
    (authority,) = authorities(GOOD)
    certificate.verify_directly_issued_by(authority)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert tuple(names.get_values_for_type(x509.DNSName)) == NAMES[:2]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert certificate.not_valid_after_utc == make.NOW + YEAR
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False


@pytest.mark.parametrize(
    ("issued", "names", "after", "reason"),
    [
        (GOOD, NAMES, timedelta(0), ""),
        (GOOD, NAMES[:1], timedelta(0), ""),
        (GOOD, NAMES, timedelta(days=239), ""),
        (GOOD, NAMES, timedelta(days=241), "it is valid only until 2027-02-24"),
        (GOOD, NAMES, timedelta(days=400), "it is valid only until 2027-02-24"),
        (GOOD, (*NAMES, "more.example"), timedelta(0), "it does not cover more.example"),
        (replace(GOOD, key=OTHER.key), NAMES, timedelta(0), "the key does not match the certificate"),
        (replace(GOOD, authorities=OTHER.authorities), NAMES, timedelta(0), "none of its authorities has signed it"),
        (replace(GOOD, authorities=OTHER.authorities + GOOD.authorities), NAMES, timedelta(0), ""),
        (replace(GOOD, certificate="x"), NAMES, timedelta(0), "it cannot be read"),
        (replace(GOOD, key=""), NAMES, timedelta(0), "it cannot be read"),
        (replace(GOOD, authorities=""), NAMES, timedelta(0), "it cannot be read"),
        (replace(GOOD, certificate=GOOD.authorities), NAMES, timedelta(0), "it cannot be read"),
    ],
    ids=[
        "new",
        "more names than needed",
        "more than a third left",
        "less than a third left",
        "expired",
        "name lacking",
        "other key",
        "other authority",
        "bundle",
        "no certificate",
        "no key",
        "no authority",
        "no names",
    ],
)
def test_certificate_is_renewed_for_a_reason(
    issued: Issued, names: tuple[str, ...], after: timedelta, reason: str
) -> None:
    said = why_renew(issued, names, make.NOW + after)
    assert said.startswith(reason)
    assert bool(said) == bool(reason)


def test_renewed_certificate_keeps_the_authority_before_it_and_drops_older_ones() -> None:
    second = issue(NAMES, make.NOW + timedelta(days=240), YEAR, GOOD.authorities)
    third = issue(NAMES, make.NOW + timedelta(days=480), YEAR, second.authorities)
    assert authorities(second)[1:] == authorities(GOOD)
    assert authorities(third)[1:] == authorities(second)[:1]
    assert why_renew(third, NAMES, make.NOW + timedelta(days=480)) == ""


@pytest.mark.parametrize("known", ["", "no certificate", GOOD.authorities], ids=["none", "malformed", "expired"])
def test_authority_that_nobody_can_use_is_not_kept(known: str) -> None:
    assert len(authorities(issue(NAMES, make.NOW + timedelta(days=361), YEAR, known))) == 1


def test_every_authority_is_a_new_one() -> None:
    assert authorities(GOOD) != authorities(OTHER)
