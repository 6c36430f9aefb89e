"""Options of the whole test run."""

import pytest

pytest.register_assert_rewrite("tests.contract")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cluster",
        action="store_true",
        default=False,
        help="run tests/cluster too: a real kube-apiserver, built with Go on first use, and etcd",
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        default=False,
        help="rewrite the golden answers instead of comparing with them",
    )
    parser.addoption(
        "--steps",
        type=int,
        default=100_000,
        metavar="N",
        help="how many steps tests/sequences takes in the simulated cluster, over all roads (default: 100000)",
    )
    parser.addoption(
        "--sequence",
        action="append",
        default=[],
        metavar="ROAD:SEED",
        help="take this sequence of tests/sequences again instead of those of --steps; a failure says which it was",
    )
