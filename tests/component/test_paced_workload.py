"""A worker's Deployment at the pace of its graph: its strategy, and what the annotations of a service ask."""

from collections.abc import Mapping
from typing import Any

import pytest

from hooks.component.plan.strategy import find_spare, find_surge, pace_strategy
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, name_of
from hooks.ground.k8s.workloads import delay_availability, release_groups, restore_availability, rolling_update
from tests import make
from tests.component.groups import INSTALLED, SETS
from tests.component.groups import spec as groups_spec
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


PAUSED = {contract.ANNOTATION_ROLLOUT_PAUSED: "true"}


def paced(pace: str, own: Mapping[str, str] | None = None, **spec: Any) -> Manifest:
    component = make.component("c", "g", **spec)
    annotations = {**({contract.ANNOTATION_PACE: pace} if pace else {}), **(own or {})}
    return {**component, "metadata": {**component["metadata"], "annotations": annotations}}


def deployment(pace: str, own: Mapping[str, str] | None = None, **spec: Any) -> Manifest:
    return only(answer(paced(pace, own, **spec)).children, "Deployment")


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


def paused(pace: str, own: Mapping[str, str] = PAUSED, **spec: Any) -> Manifest:
    """The Deployment of a component whose pods run."""
    running = make.observed(deployment(""), status={"replicas": 1, "availableReplicas": 1})
    found: Manifest = only(answer(paced(pace, own, **spec), [running]).children, "Deployment")["spec"]
    return found


def test_deployment_is_paused_only_while_it_has_a_pace() -> None:
    found, free = paused("1/1"), deployment("")
    assert found["paused"] is True
    assert found["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert found["template"] == free["spec"]["template"]
    assert restore_availability({**free, "spec": found}, free["spec"]["strategy"])["spec"] == free["spec"]
    assert "paused" not in paused("")
    assert "paused" not in paused("1/1", {contract.ANNOTATION_ROLLOUT_PAUSED: "no"})
    assert paused("1/1", annotations={STRATEGY: "Recreate"})["paused"] is True


def test_deployment_without_pods_is_not_paused_before_it_has_some() -> None:
    assert "paused" not in deployment("1/1", PAUSED)["spec"]


LIVE: dict[str, tuple[dict[str, int], int]] = {
    "one more than wanted": ({"replicas": 2, "availableReplicas": 1, "unavailableReplicas": 1}, 1),
    "two generations more": ({"replicas": 3, "availableReplicas": 3}, 2),
    "some that a quota denies": ({"replicas": 1, "availableReplicas": 1, "unavailableReplicas": 3}, 3),
    "its own alone": ({"replicas": 1}, 1),
}


@pytest.mark.parametrize(("status", "surge"), LIVE.values(), ids=LIVE)
def test_paused_deployment_has_room_for_all_pods_that_it_has(status: dict[str, int], surge: int) -> None:
    running = make.observed(deployment("1/2"), status=status)
    found = only(answer(paced("1/2", PAUSED), [running]).children, "Deployment")["spec"]
    assert found["strategy"]["rollingUpdate"] == {"maxSurge": surge, "maxUnavailable": 0}


AMOUNTS: dict[str, tuple[dict[str, str], dict[str, str], tuple[int | str, int | str]]] = {
    "nothing": ({}, {}, ("25%", "25%")),
    "a setting": ({"rollout_max_surge": "2"}, {}, (2, "25%")),
    "an annotation first": ({"rollout_max_surge": "2"}, {SURGE: "3"}, (3, "25%")),
    "one of each": ({"rollout_max_unavailable": "10%"}, {SURGE: "3"}, (3, "10%")),
    "never two zeros": ({"rollout_max_unavailable": "0"}, {SURGE: "0"}, (0, "25%")),
}


@pytest.mark.parametrize(("settings", "annotations", "rolling"), AMOUNTS.values(), ids=AMOUNTS)
def test_settings_give_the_amounts_that_no_annotation_gives(
    settings: dict[str, str], annotations: dict[str, str], rolling: tuple[int | str, int | str]
) -> None:
    parent = make.component("c", "g", replicas=4, annotations=annotations)
    found = only(answer(parent, facts=make.facts(make.NOW, **settings)).children, "Deployment")["spec"]["strategy"]
    assert found["rollingUpdate"] == {"maxSurge": rolling[0], "maxUnavailable": rolling[1]}


GROUPS: dict[str, tuple[int, str, dict[str, tuple[int, int]]]] = {
    "the only one stays beside a new one": (1, "1/2", {"c-0": (1, 2)}),
    "it is replaced, and the new one stays": (1, "0/2", {"c-0": (0, 2)}),
    "the first two of three stay": (3, "2/4", {"c-0": (1, 2), "c-1": (1, 1), "c-2": (0, 1)}),
    "two more than two": (2, "2/5", {"c-0": (1, 3), "c-1": (1, 2)}),
    "none more": (2, "1/2", {"c-0": (1, 1), "c-1": (0, 1)}),
}


@pytest.mark.parametrize(("replicas", "pace", "sets"), GROUPS.values(), ids=GROUPS)
def test_groups_keep_their_template_by_partition(replicas: int, pace: str, sets: dict[str, tuple[int, int]]) -> None:
    found = {name_of(one): one["spec"] for one in leader_worker_sets(pace, replicas)}
    free = {name_of(one): one["spec"] for one in leader_worker_sets("", replicas)}
    strategies = {name: spec["rolloutStrategy"]["rollingUpdateConfiguration"] for name, spec in found.items()}
    assert {name: (strategies[name]["partition"], spec["replicas"]) for name, spec in found.items()} == sets
    for name, spec in found.items():
        kept, count = sets[name]
        assert (strategies[name]["maxSurge"], strategies[name]["maxUnavailable"]) == (0, max(1, count - kept))
        assert spec["leaderWorkerTemplate"] == free[name]["leaderWorkerTemplate"]
        assert "rolloutStrategy" not in free[name]


def test_groups_of_before_are_released() -> None:
    paced_, free = leader_worker_sets("0/2", 1)[0], leader_worker_sets("", 1)[0]
    assert release_groups(paced_, 1) == free
    assert release_groups(free, 1) is free


def leader_worker_sets(pace: str, replicas: int) -> list[Manifest]:
    children = answer(paced(pace, **groups_spec(nodes=2, replicas=replicas)), installed=INSTALLED).children
    return [one for one in children if one["kind"] == SETS]
