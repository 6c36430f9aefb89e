"""Readiness in pictures, by the statuses of graphs, components and models."""

from typing import Any

import pytest

from hooks.language.api.base import parse_parent
from hooks.language.api.graph import GraphDeployment
from hooks.language.api.model import Model
from hooks.language.api.status import ServiceReplicaStatus
from hooks.tools.offline.picture.live import read_graph_state, read_model_state, read_service_state, summarize
from hooks.tools.offline.picture.parts import Mood, State
from tests import make
from tests.tools.offline.picture.drawn import model


@pytest.mark.parametrize(
    ("wanted", "status", "reason", "line"),
    [
        (2, {"readyReplicas": 2}, "", "✓ 2 of 2 ready"),
        (2, {"readyReplicas": 1}, "RollingOut", "… 1 of 2 ready: RollingOut"),
        (2, {"readyReplicas": 1}, "CrashLoop", "✗ 1 of 2 ready: CrashLoop"),
        (1, {"availableReplicas": 1}, "", "✓ 1 of 1 ready"),
        (1, {"readyReplicas": 1}, "ImagePull", "✗ 1 of 1 ready: ImagePull"),
        (0, {"readyReplicas": 0}, "", "✓ 0 of 0 ready"),
        (1, None, "", "… 0 of 1 ready"),
    ],
)
def test_service_is_ready_when_all_replicas_are(wanted: int, status: Any, reason: str, line: str) -> None:
    read = None if status is None else ServiceReplicaStatus.model_validate({"componentName": "w", **status})
    assert read_service_state(wanted, read, reason).line == line


@pytest.mark.parametrize(
    ("status", "line"),
    [
        ({"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}, "✓ Ready"),
        (
            {
                "observedGeneration": 1,
                "state": "failed",
                "conditions": [{"type": "Ready", "status": "False", "message": "no"}],
            },
            "✗ not ready: no",
        ),
        ({"observedGeneration": 0, "state": "pending"}, "… not known: the status is about an earlier spec"),
    ],
)
def test_graph_is_ready_by_its_condition(status: Any, line: str) -> None:
    graph = parse_parent(GraphDeployment, make.graph(status=status))
    assert read_graph_state(graph).line == line


@pytest.mark.parametrize(
    ("condition", "mood"),
    [
        ({"status": "True", "reason": "AllEndpointsReady"}, Mood.READY),
        ({"status": "False", "reason": "NotReady"}, Mood.WAITING),
        ({"status": "False", "reason": "LoadFailed"}, Mood.UNREADY),
    ],
)
def test_adapter_counts_engines_that_can_load_it(condition: Any, mood: Mood) -> None:
    status = {
        "readyEndpoints": 1,
        "totalEndpoints": 3,
        "unsupportedEndpoints": 1,
        "conditions": [{"type": "Ready", "message": "x", **condition}],
    }
    state = read_model_state(parse_parent(Model, {**model("a", "m/1"), "status": status}))
    assert state.mood is mood
    assert state.text.startswith("1 of 2 endpoints ready")


def test_several_are_as_ready_as_the_worst() -> None:
    states = [State(mood=mood, text="x") for mood in (Mood.READY, Mood.WAITING, Mood.UNREADY)]
    assert summarize(states).line == "✗ 1 of 3 ready"
