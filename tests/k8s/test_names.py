"""Names that always fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.k8s.names import fit_name, is_dns_label, to_dns_label


@pytest.mark.parametrize(
    ("name", "valid"),
    [("a", True), ("a-b", True), ("9a", True), ("", False), ("-a", False), ("a-", False), ("a.b", False), ("A", False)],
)
def test_dns_label(name: str, valid: bool) -> None:
    assert is_dns_label(name) is valid


def test_dots_and_underscores_become_dashes() -> None:
    assert to_dns_label("My.Graph_1") == "my-graph-1"


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,200}[a-z0-9])?", fullmatch=True), st.integers(20, 63))
def test_fitted_name_is_a_dns_label_and_unchanged_when_short(name: str, limit: int) -> None:
    fitted = fit_name(name, limit)
    assert is_dns_label(fitted, limit)
    assert fitted == name or len(name) > limit


def test_names_that_differ_behind_the_cut_stay_apart() -> None:
    assert fit_name("a" * 80) != fit_name("a" * 81)
