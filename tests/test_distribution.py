"""Which tests share a worker, which worker takes them, and which begin first."""

import os
from pathlib import Path

import pytest

from tests.distribution import LONG, LONGEST, PLANES, choose_units, count_workers, rank_of, unit_of

TESTS = Path(__file__).parent
CLUSTER, OTHER = "tests/cluster/test_rules.py", "tests/ground/k8s/test_names.py"


def test_longest_modules_exist() -> None:
    assert {path.stem for path in (TESTS / "cluster").glob("test_*.py")} > set(LONGEST)
    assert all((TESTS.parent / path).is_file() for path in LONG)


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        (f"{CLUSTER}::test_a", CLUSTER),
        ("tests/sequences/test_sequences.py::test_a[lws-1]", "tests/sequences/test_sequences.py::test_a[lws-1]"),
        (f"{OTHER}::test_a[tests/cluster/x::y]", OTHER),
    ],
    ids=["cluster", "slow", "any other"],
)
def test_unit_follows_from_where_a_test_is(test: str, unit: str) -> None:
    assert unit_of(test) == unit


def test_longest_modules_of_the_cluster_begin_first_and_the_slow_tests_before_the_rest() -> None:
    longest = [f"tests/cluster/{name}.py::test_a" for name in LONGEST]
    others = [f"{LONG[0]}::test_a", "tests/tools/offline/simulation/test_run.py::test_a", f"{OTHER}::test_a"]
    tests = [*longest, f"{CLUSTER}::test_a", *others]
    assert sorted([*tests[3:], *tests[:3]], key=rank_of) == tests


def test_worker_with_a_plane_takes_tests_of_the_cluster_first_and_then_the_others() -> None:
    assert choose_units([OTHER, CLUSTER], has_plane=True) == [CLUSTER, OTHER]


def test_worker_without_a_plane_takes_no_test_of_the_cluster() -> None:
    assert choose_units([CLUSTER, OTHER], has_plane=False) == [OTHER]
    assert choose_units([CLUSTER], has_plane=False) == []


def test_every_control_plane_has_a_worker_beside_those_that_compute() -> None:
    cores = os.cpu_count() or 1
    assert count_workers() == cores + PLANES
