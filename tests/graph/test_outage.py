"""An outage is told from a slow start, from a change, and from what nobody wants to run."""

from datetime import timedelta
from typing import Any

import pytest

from hooks.graph.report.outage import Part, find_outages
from hooks.ground.k8s.conditions import format_time
from tests import make

CREATED = make.NOW - timedelta(hours=1)
SERVICES: dict[str, Any] = {
    "Frontend": {"componentType": "frontend"},
    "Prefill": {"componentType": "worker", "subComponentType": "prefill", "replicas": 2},
    "Decode": {"componentType": "decode"},
    "Planner": {"componentType": "planner"},
}
RUNNING = {name: {"replicas": 1, "readyReplicas": 1} for name in SERVICES}
NONE = {"replicas": 1, "readyReplicas": 0}


def graph(
    said: dict[str, Any], *, truth: str = "False", after: float = 1800, services: Any = None, **metadata: Any
) -> dict[str, Any]:
    """A graph whose Ready changed so many seconds after its creation."""
    ready = {"type": "Ready", "status": truth, "lastTransitionTime": format_time(CREATED + timedelta(seconds=after))}
    return {
        "metadata": {"name": "g", "creationTimestamp": format_time(CREATED), **metadata},
        "spec": {"services": services or SERVICES},
        "status": {"conditions": [ready], "services": said},
    }


ENDED = {**RUNNING, "Frontend": NONE}
CASES: dict[str, tuple[dict[str, Any], set[Part]]] = {
    "no frontend": (graph(ENDED), {Part.FRONTEND}),
    "no engine": (graph({**RUNNING, "Prefill": NONE, "Decode": {"replicas": 1}}), {Part.ENGINES}),
    "nothing": (graph(dict.fromkeys(RUNNING, NONE)), {Part.FRONTEND, Part.ENGINES}),
    "one engine of two": (graph({**RUNNING, "Decode": NONE}), set()),
    "only the planner": (graph({**RUNNING, "Planner": NONE}), set()),
    "a scaling group, which does not count ready ones": (
        graph({**RUNNING, "Prefill": {"replicas": 2, "availableReplicas": 1}, "Decode": NONE}),
        set(),
    ),
    "slow start": (graph(ENDED, after=5), set()),
    "ready": (graph(ENDED, truth="True"), set()),
    "being deleted": (graph(ENDED, deletionTimestamp=format_time(make.NOW)), set()),
    "scaled to zero": (
        graph(ENDED, services={**SERVICES, "Frontend": {"componentType": "frontend", "replicas": 0}}),
        set(),
    ),
    "scaled to zero by its adapter": (
        graph(
            {**RUNNING, "Frontend": {"replicas": 0, "readyReplicas": 0}},
            services={**SERVICES, "Frontend": {"componentType": "frontend", "scalingAdapter": {"enabled": True}}},
        ),
        set(),
    ),
}


@pytest.mark.parametrize(("found", "parts"), CASES.values(), ids=CASES)
def test_outage_is_a_part_that_was_ready_and_serves_nobody(found: dict[str, Any], parts: set[Part]) -> None:
    assert find_outages(found) == parts


def test_graph_without_a_status_has_no_outage() -> None:
    assert find_outages(make.graph()) == frozenset()
