"""Which of xdist's workers takes which tests: those of a unit run one after another on one worker.

Tests that need the control plane mostly wait. So some workers, each with a control plane of its own, take these first,
and help the others afterwards; the others never start a control plane. A module's tests stay together, as they share
fixtures; where each takes seconds, each is a unit of its own.
"""

import os
from typing import Any

from xdist.scheduler import LoadScopeScheduling

PLANES = 2
"""Control planes that are started, each on a worker of its own."""

LONGEST = (
    "test_faults",
    "test_metacontroller_contract",
    "test_chart",
    "test_conversion",
    "test_planner",
    "test_doctor",
    "test_multinode",
    "test_late_news",
    "test_whole_way",
    "test_chart_lifecycle",
    "test_migration",
    "test_request",
    "test_v1beta1",
    "test_status",
    "test_effects",
    "test_truth",
    "test_models",
)
"""Modules of tests/cluster that begin first, so that no plane is left alone with one of them at the end."""

LONG = (
    "tests/server/clients/test_lease_exploration.py",
    "tests/test_make_image.py",
    "tests/model/test_pods.py",
    "tests/tools/operating/migration/test_from_1x.py",
    "tests/test_image.py",
    "tests/test_chart.py",
    "tests/docs/test_commands.py",
    "tests/graph/test_properties.py",
    "tests/tools/operating/migration/test_run.py",
    "tests/test_chart_options.py",
    "tests/tools/operating/doctor/test_objects.py",
)
"""Other modules that begin before the slow tests, which are many and fill the cores until the end."""

_CLUSTER = "tests/cluster/"
_SLOW = (
    "tests/sequences/",
    "tests/tools/offline/simulation/",
    "tests/tools/offline/simulator/",
    "tests/server/serving/test_draining",
    "tests/server/serving/test_serve",
    "tests/server/serving/test_sieges",
    "tests/server/serving/test_slow_peers",
    "tests/test_bench",
)


class Distribution(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out the units below, in the order in which the tests were collected, each to a worker that may take it."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        units = self._units_for(node)
        if not units:
            node.shutdown()
            return
        self.workqueue.move_to_end(units[0], last=False)
        super()._assign_work_unit(node)

    def _units_for(self, node: Any) -> list[str]:
        """The units that a worker may take, the best first; planes of workers that died are taken over."""
        alive = [one for one in self.assigned_work if not one.shutting_down]
        return choose_units(list(self.workqueue), has_plane=node in alive[:PLANES])


def choose_units(units: list[str], *, has_plane: bool) -> list[str]:
    """The units that a worker may take, in their order: of the cluster first, or none of the cluster."""
    others = [unit for unit in units if not unit.startswith(_CLUSTER)]
    return [*(unit for unit in units if unit.startswith(_CLUSTER)), *others] if has_plane else others


def unit_of(nodeid: str) -> str:
    """Name the unit that a test belongs to."""
    return nodeid if nodeid.startswith(_SLOW) else nodeid.partition("::")[0]


def rank_of(nodeid: str) -> int:
    """What begins first: tests of the cluster, the longest modules before the others, then what is long or slow."""
    if unit_of(nodeid) in LONG:
        return len(LONGEST) + 1
    if not nodeid.startswith(_CLUSTER):
        return len(LONGEST) + (2 if nodeid.startswith(_SLOW) else 3)
    name = unit_of(nodeid).removeprefix(_CLUSTER).removesuffix(".py")
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


def count_workers() -> int:
    """More than there are cores, because many tests wait: for a control plane, or for the limits of a server."""
    return (os.cpu_count() or 1) + PLANES
