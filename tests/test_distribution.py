"""Which tests share a worker, and which begin first."""

from pathlib import Path

import pytest

from tests.distribution import ON_SECOND_PLANE, count_workers, rank_of, unit_of

TESTS = Path(__file__).parent


def test_modules_of_the_second_plane_exist() -> None:
    modules = {path.stem for path in (TESTS / "cluster").glob("test_*.py")}
    assert modules >= ON_SECOND_PLANE
    assert modules - ON_SECOND_PLANE


@pytest.mark.parametrize(
    ("test", "unit", "rank"),
    [
        ("tests/cluster/test_request.py::test_a[x]", "second plane", 0),
        ("tests/cluster/test_rules.py::test_a", "first plane", 0),
        ("tests/sequences/test_sequences.py::test_a[lws-1]", "tests/sequences/test_sequences.py::test_a[lws-1]", 1),
        ("tests/k8s/test_names.py::test_a[tests/cluster/x::y]", "tests/k8s/test_names.py", 2),
    ],
    ids=["second plane", "first plane", "slow", "any other"],
)
def test_unit_and_rank_follow_from_where_a_test_is(test: str, unit: str, rank: int) -> None:
    assert (unit_of(test), rank_of(test)) == (unit, rank)


def test_every_control_plane_has_a_worker_beside_those_that_compute() -> None:
    assert count_workers(with_cluster=True) == count_workers(with_cluster=False) + 2
