"""Which of xdist's workers takes which tests: those of a unit run one after another on one worker.

Tests that need the control plane mostly wait, so they have workers of their own beside those that compute, and begin
first. A module's tests stay together, as they share fixtures; where each takes seconds, each is a unit of its own.
"""

import os

from xdist.scheduler import LoadScopeScheduling

PLANES = 2
"""Control planes that are started: a third waits no better and takes half a GiB more."""

ON_SECOND_PLANE = frozenset(
    {"test_admission", "test_chart", "test_installations", "test_models", "test_request", "test_restart"}
)
"""Modules of tests/cluster, so that both planes take about as long."""

_CLUSTER = "tests/cluster/"
_SLOW = (
    "tests/sequences/",
    "tests/simulation/",
    "tests/simulator/",
    "tests/serving/test_serve",
    "tests/test_bench",
    "tests/testing/test_readme",
)


class Distribution(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out the units below, in the order in which the tests were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def unit_of(nodeid: str) -> str:
    """Name the unit that a test belongs to."""
    module, _, _ = nodeid.partition("::")
    if module.startswith(_CLUSTER):
        name = module.removeprefix(_CLUSTER).removesuffix(".py")
        return "second plane" if name in ON_SECOND_PLANE else "first plane"
    return nodeid if module.startswith(_SLOW) else module


def rank_of(nodeid: str) -> int:
    """What begins first: the planes, then what is slow, so that no worker is left alone with it at the end."""
    if nodeid.startswith(_CLUSTER):
        return 0
    return 1 if nodeid.startswith(_SLOW) else 2


def count_workers(*, with_cluster: bool) -> int:
    """As many as there are cores, and one more for each control plane."""
    return (os.cpu_count() or 1) + (PLANES if with_cluster else 0)
