"""Quantities as the API server writes them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.ground.k8s.quantities import canonical_quantity, parse_quantity

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "e3", "E6", "e-3"]


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("2048Mi", "2Gi"),
        ("8192Mi", "8Gi"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1", "1"),
        (1, "1"),
        (0.1, "100m"),
        ("100k", "100k"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("1e3", "1e3"),
        ("2.5e3", "2500"),
        ("1E", "1E"),
        ("0", "0"),
        ("0Gi", "0"),
        ("-500m", "-500m"),
        ("0.0000000001", "1n"),
    ],
)
def test_quantity_is_written_as_the_server_stores_it(written: str | float, stored: str) -> None:
    assert canonical_quantity(written) == stored


@pytest.mark.parametrize(
    "text", ["", "Gi", "1 Gi", "1GB", "one", "1ki", "0x10", "1_000", "--1", "9" * 65, "9" * 100_000]
)
def test_text_that_is_no_quantity_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"^.{1,90} is not a quantity; write a number"):
        canonical_quantity(text)


@given(st.integers(0, 10**6), st.sampled_from(SUFFIXES))
def test_canonical_form_is_stable_and_keeps_the_value(number: int, suffix: str) -> None:
    text = f"{number}{suffix}"
    canonical = canonical_quantity(text)
    assert canonical_quantity(canonical) == canonical
    assert parse_quantity(canonical) == parse_quantity(text)


@given(st.decimals(0, 1000, places=12, allow_nan=False))
def test_what_is_finer_than_a_nano_is_rounded_up(number: object) -> None:
    before, after = parse_quantity(f"{number:f}"), parse_quantity(canonical_quantity(f"{number:f}"))
    assert before <= after < before + Fraction(1, 10**9)
