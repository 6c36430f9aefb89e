"""An outage is told from a slow start, from a change, and from what nobody wants to run."""

from datetime import timedelta
from typing import Any

import pytest

from hooks.graph.report.outage import Part, find_outages, find_served
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


def serving(found: dict[str, Any], truth: str, reason: str = "NotRouted", field: Any = None) -> dict[str, Any]:
    """The graph with a condition Serving, and with `status.serving`."""
    conditions = [*found["status"]["conditions"], {"type": "Serving", "status": truth, "reason": reason}]
    return {**found, "status": {**found["status"], "conditions": conditions, "serving": field}}


OUTAGES_BY_SERVING: dict[str, tuple[dict[str, Any], set[Part]]] = {
    "requests fail though all runs": (serving(graph(RUNNING), "False"), {Part.REQUESTS}),
    "requests fail, and Ready does not follow": (serving(graph(RUNNING, truth="True"), "False"), {Part.REQUESTS}),
    "a part has no replica": (serving(graph(ENDED), "False"), {Part.FRONTEND}),
    "requests are answered": (serving(graph(ENDED), "True", "Answering"), set()),
    "nobody can be asked": (serving(graph(ENDED), "Unknown", "NotAsked"), {Part.FRONTEND}),
    "slow start": (serving(graph(RUNNING, after=5), "False"), set()),
    "scaled to zero": (serving(graph(RUNNING), "False", "ScaledToZero"), set()),
    "being deleted": (serving(graph(RUNNING, deletionTimestamp=format_time(make.NOW)), "False"), set()),
}


@pytest.mark.parametrize("name", OUTAGES_BY_SERVING)
def test_serving_decides_about_an_outage_where_it_is_known(name: str) -> None:
    found, lost = OUTAGES_BY_SERVING[name]
    assert find_outages(found) == lost


MODELS = {"models": [{"name": "a", "frontends": "2/2"}, {"name": "b", "frontends": "1/2"}]}
SERVED: dict[str, tuple[dict[str, Any], dict[str, bool]]] = {
    "all": (serving(graph(RUNNING), "True", "Answering", MODELS), {"a": True, "b": True}),
    "one": (serving(graph(RUNNING), "False", "NotRouted", MODELS), {"a": True, "b": False}),
    "none": (serving(graph(RUNNING), "False", "NoModel"), {"": False}),
    "by objects": (serving(graph(RUNNING), "False", "NoEndpoints", "text"), {"": False}),
    "unknown": (serving(graph(RUNNING), "Unknown", "NotAsked", MODELS), {}),
    "scaled to zero": (serving(graph(RUNNING), "False", "ScaledToZero"), {}),
    "no condition": (graph(RUNNING), {}),
    "being deleted": (serving(graph(RUNNING, deletionTimestamp=format_time(make.NOW)), "False"), {}),
    "forged": (serving(graph(RUNNING), "False", "NoModel", {"models": [1, {"name": "a"}]}), {"a": False}),
}


@pytest.mark.parametrize("name", SERVED)
def test_models_are_routed_by_all_frontends_or_not(name: str) -> None:
    found, models = SERVED[name]
    assert find_served(found) == models
