"""Names that always fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.ground.k8s.names import (
    fit_name,
    is_annotation_key,
    is_dns_label,
    is_label_key,
    is_label_value,
    is_port_name,
    to_dns_label,
)


@pytest.mark.parametrize(
    ("name", "valid"),
    [("a", True), ("a-b", True), ("9a", True), ("", False), ("-a", False), ("a-", False), ("a.b", False), ("A", False)],
)
def test_dns_label(name: str, valid: bool) -> None:
    assert is_dns_label(name) is valid


KEYS = {
    "a": (True, True),
    "nv.com/X_y.z": (True, True),
    f"{'.'.join(['a' * 60] * 4)}/b": (True, True),
    f"{'.'.join(['a' * 60] * 5)}/b": (False, False),
    "NV.com/x": (False, True),
    "a" * 64: (False, False),
    "a/b/c": (False, False),
    "/b": (False, False),
    "a/": (False, False),
    "a b": (False, False),
    "a_b/c": (False, False),
    "k\n": (False, False),
    "": (False, False),
}
"""What kube-apiserver 1.36 says of a key of labels, and of annotations."""


@pytest.mark.parametrize(("key", "valid"), KEYS.items())
def test_keys_of_labels_and_annotations(key: str, valid: tuple[bool, bool]) -> None:
    assert (is_label_key(key), is_annotation_key(key)) == valid


@pytest.mark.parametrize(
    ("value", "valid"),
    [("", True), ("A_b.c-1", True), ("a" * 63, True), ("a" * 64, False), ("a-", False), ("a b", False), ("a\n", False)],
)
def test_label_value(value: str, valid: bool) -> None:
    assert is_label_value(value) is valid


@pytest.mark.parametrize(
    ("name", "valid"),
    [("http", True), ("9-a", True), ("a" * 15, True), ("a" * 16, False), ("a--b", False), ("1-2", False), ("A", False)],
)
def test_port_name(name: str, valid: bool) -> None:
    assert is_port_name(name) is valid


def test_dots_and_underscores_become_dashes() -> None:
    assert to_dns_label("My.Graph_1") == "my-graph-1"


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,200}[a-z0-9])?", fullmatch=True), st.integers(20, 63))
def test_fitted_name_is_a_dns_label_and_unchanged_when_short(name: str, limit: int) -> None:
    fitted = fit_name(name, limit)
    assert is_dns_label(fitted, limit)
    assert fitted == name or len(name) > limit


def test_names_that_differ_behind_the_cut_stay_apart() -> None:
    assert fit_name("a" * 80) != fit_name("a" * 81)
