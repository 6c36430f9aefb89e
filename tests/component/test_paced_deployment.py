"""A worker's Deployment at the pace of its graph: its strategy, and what the annotations of a service ask."""

from typing import Any

import pytest

from hooks.component.plan.strategy import find_spare, find_surge, pace_strategy
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.k8s.workloads import delay_availability, restore_availability, rolling_update
from tests import make
from tests.component.render import answer, only

UNAVAILABLE, SURGE = contract.ANNOTATION_MAX_UNAVAILABLE, contract.ANNOTATION_MAX_SURGE
STRATEGY = contract.ANNOTATION_DEPLOYMENT_STRATEGY
ASKED: dict[str, tuple[dict[str, str], int | None, int]] = {
    "nothing": ({}, None, 0),
    "unavailable": ({UNAVAILABLE: "50%"}, 2, 0),
    "none unavailable": ({UNAVAILABLE: "0"}, 0, 0),
    "surge": ({SURGE: "2"}, None, 2),
    "no surge": ({SURGE: "0"}, 1, 0),
    "Recreate": ({STRATEGY: "Recreate"}, 4, 0),
    "slow": ({STRATEGY: "RampedSlowRollout"}, 0, 0),
    "controlled": ({STRATEGY: "BestEffortControlledRollout"}, 1, 0),
}


@pytest.mark.parametrize(("annotations", "spare", "surge"), ASKED.values(), ids=ASKED)
def test_annotations_say_how_many_pods_may_be_missing_or_too_many(
    annotations: dict[str, str], spare: int | None, surge: int
) -> None:
    assert find_spare(annotations, 4) == spare
    assert find_surge(annotations, 4) == surge


PACES = {
    "all stay": (4, 5, 1, 0),
    "one may end": (3, 5, 1, 1),
    "none stays": (0, 4, 0, 4),
    "more than wanted stay": (6, 7, 2, 0),
    "the annotation allows no more": (4, 9, 2, 0),
    "neither more nor less": (4, 4, 1, 0),
}


@pytest.mark.parametrize(("kept", "most", "surge", "unavailable"), PACES.values(), ids=PACES)
def test_strategy_keeps_old_pods(kept: int, most: int, surge: int, unavailable: int) -> None:
    strategy = rolling_update(max_surge="50%", max_unavailable="25%")
    found = pace_strategy(strategy, 4, kept=kept, most=most)
    assert found == rolling_update(max_surge=surge, max_unavailable=unavailable)


def deployment(pace: str, **spec: Any) -> Manifest:
    component = make.component("c", "g", **spec)
    metadata = {**component["metadata"], "annotations": {contract.ANNOTATION_PACE: pace} if pace else {}}
    return only(answer({**component, "metadata": metadata}).children, "Deployment")


def test_pace_changes_no_pod() -> None:
    paced, free = deployment("1/2"), deployment("")
    assert paced["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert paced["spec"]["minReadySeconds"] < paced["spec"]["progressDeadlineSeconds"]
    assert paced["spec"]["template"] == free["spec"]["template"]
    assert paced["metadata"] == free["metadata"]
    assert restore_availability(paced, free["spec"]["strategy"]) == free
    assert delay_availability(free, paced["spec"]["strategy"]) == paced
    assert restore_availability(free, {}) is free


def test_recreate_has_no_pace() -> None:
    annotations = {STRATEGY: "Recreate"}
    assert deployment("1/2", annotations=annotations) == deployment("", annotations=annotations)
