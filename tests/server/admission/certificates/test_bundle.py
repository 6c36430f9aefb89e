"""Bundles of authorities: what is read from one, and what stays in it beside newer authorities."""

from datetime import timedelta

import pytest

from hooks.server.admission.certificates.authority import issue
from hooks.server.admission.certificates.bundle import LIMIT, Trust, parse_bundle
from tests import make

YEAR = timedelta(days=360)
NEW, OLD, OLDER = (issue(["x"], make.NOW, YEAR).authorities for _ in range(3))
EXPIRED = issue(["x"], make.NOW - 2 * YEAR, YEAR).authorities
BROKEN = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
CUT = OLD[: len(OLD) // 2]


def trust(*, keeps_former: bool = True, authorities: str = NEW) -> Trust:
    return Trust(authorities=authorities, keeps_former=keeps_former, now=make.NOW)


@pytest.mark.parametrize(
    ("text", "found", "unreadable"),
    [
        ("", "", 0),
        (" \n", "", 0),
        ("no certificate", "", 1),
        (BROKEN, "", 1),
        (NEW + BROKEN + OLD, NEW + OLD, 1),
        (CUT + NEW, NEW, 1),
        (CUT, "", 1),
        (f"# ours\n{NEW}\n# theirs\n{OLD}", NEW + OLD, 0),
        (NEW.replace("\n", "\r\n"), NEW, 0),
    ],
    ids=["empty", "blank", "text", "broken", "one broken", "cut off", "nothing but cut off", "comments", "of Windows"],
)
def test_certificates_are_read_one_by_one(text: str, found: str, unreadable: int) -> None:
    bundle = parse_bundle(text)
    assert bundle.certificates == parse_bundle(found).certificates
    assert bundle.unreadable == unreadable


@pytest.mark.parametrize(
    ("former", "kept", "dropped"),
    [
        ("", "", 0),
        (OLD, OLD, 0),
        (OLD + OLDER, OLD + OLDER, 0),
        (OLD + OLD, OLD, 0),
        (OLD + NEW, OLD, 0),
        (NEW + OLD, OLD, 0),
        (EXPIRED + OLD, OLD, 1),
        (BROKEN + OLD, OLD, 0),
    ],
    ids=["nothing", "one", "two", "twice", "new one after", "new one before", "expired", "malformed"],
)
def test_valid_authorities_stay_behind_the_new_ones(former: str, kept: str, dropped: int) -> None:
    change = trust().replace(former)
    assert change.text == NEW + kept
    assert change.dropped == dropped
    assert change.is_new == (NEW not in former)
    assert trust().replace(change.text).text == change.text


def test_nothing_stays_that_is_not_wanted_any_more() -> None:
    change = trust(keeps_former=False, authorities=NEW + OLD).replace(NEW + OLDER + OLD)
    assert (change.text, change.dropped, change.is_new) == (NEW + OLD, 1, False)


def test_oldest_authorities_go_when_there_are_too_many() -> None:
    bundle, issued = "", [issue(["x"], make.NOW, YEAR).authorities for _ in range(LIMIT + 3)]
    for authorities in issued:
        bundle = trust(authorities=authorities).replace(bundle).text
    assert bundle == "".join(reversed(issued[-LIMIT:]))
