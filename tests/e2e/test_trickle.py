"""Which failed requests are the runtime's own, and which were lost on the way to it."""

from collections import Counter

import pytest

from tests.e2e.trickle import NOBODY, Trickle, is_dropped


@pytest.mark.parametrize(
    ("said", "dropped"),
    [
        ("chat completion: 500 {'message': 'engine gone'}", True),
        ("chat completion: 503 Service Unavailable", True),
        ("chat completion: ConnectionError", True),
        ("chat completion: ReadTimeout", True),
        ('chat completion: 404 {"message":"Model not found"}', False),
        ("chat completion: 3 tokens instead of 8", False),
        (NOBODY, False),
    ],
)
def test_failure_is_the_runtimes_if_it_was_reached(said: str, dropped: bool) -> None:
    assert is_dropped(said) is dropped


def test_report_counts_and_names_failures() -> None:
    found = Trickle(answered=9, failures=Counter({"chat completion: 500 x": 2, NOBODY: 1}))
    assert (found.dropped, found.lost) == (2, {NOBODY: 1})
    assert found.describe() == (
        "9 answered, 2 dropped by the runtime: 2 × chat completion: 500 x; 1 × no frontend was ready"
    )
