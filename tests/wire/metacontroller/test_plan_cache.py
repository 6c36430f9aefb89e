"""What follows from a parent is cached by number and by bytes, and never changes an answer."""

from collections.abc import Iterator

import pytest

from hooks.wire.metacontroller.plan_cache import GRAPHS, PART_BYTES, PlanCache, cache_graphs

LARGE = b"x" * (3 * PART_BYTES)


@pytest.fixture(autouse=True)
def three_graphs() -> Iterator[None]:
    cache_graphs(3)
    yield
    cache_graphs(GRAPHS)


def measured(key: bytes, more: int = 0) -> int:
    if key == b"bad":
        raise ValueError(key)
    return len(key) + more


def test_as_many_are_kept_as_there_are_graphs_and_those_used_last() -> None:
    cached = PlanCache(measured, times=1)
    assert [cached(key) for key in (b"a", b"bb", b"ccc", b"a")] == [1, 2, 3, 1]
    assert cached.misses == 3
    assert [cached(key) for key in (b"dddd", b"a", b"bb")] == [4, 1, 2]
    assert cached.misses == 5


def test_large_one_counts_as_several() -> None:
    cached = PlanCache(measured, times=2)
    for key in (b"a", b"bb", LARGE, b"a", b"bb", LARGE):
        assert cached(key) == len(key)
    assert cached.misses == 3
    assert cached(b"ccc") == 3
    assert cached(b"a") == 1
    assert cached.misses == 5


def test_one_that_is_too_large_is_not_kept() -> None:
    cached = PlanCache(measured, times=1)
    for _ in range(2):
        assert cached(LARGE) == len(LARGE)
    assert cached.misses == 2


def test_every_argument_counts_and_what_is_raised_is_raised_again() -> None:
    cached = PlanCache(measured, times=1)
    assert (cached(b"a", 1), cached(b"a", 2)) == (2, 3)
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            cached(b"bad")
    assert (cached.misses, cached.__wrapped__(b"a", 5)) == (2, 6)
    cached.cache_clear()
    assert (cached(b"a", 1), cached.misses) == (2, 1)
