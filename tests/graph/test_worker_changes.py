"""What counts as a change of a worker, and what becomes of generations while more than one thing changes."""

import json
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, labels_of, name_of
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy import rendering_mark
from tests import make
from tests.graph import world
from tests.graph.test_worker_generation import (
    CHANGED,
    GO,
    HASH,
    SERVICES,
    ask,
    frontend,
    of_go,
    on_each_path,
    partly,
    settle,
    suffix_of,
    without_generation,
    worker,
)

Services = dict[str, Any]
PREFIX = contract.ANNOTATION_NAMESPACE_PREFIX


def with_main(tag: str = "1.6.1", pod: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A worker with more fields of its main container, or of its pod."""
    found = worker(tag)
    main = {**found["extraPodSpec"]["mainContainer"], **fields}
    return {**found, "extraPodSpec": {**found["extraPodSpec"], **(pod or {}), "mainContainer": main}}


IDLE: dict[str, Services] = {
    "default written out": {"decode": with_main(pod={"dnsPolicy": "ClusterFirst"})},
    "empty list": {"decode": worker(envs=[])},
    "empty labels": {"decode": worker(labels={}, annotations={})},
    "default of a port": {"decode": with_main(imagePullPolicy="IfNotPresent")},
}
REAL: dict[str, Services] = {
    "image": {"decode": worker("1.6.2")},
    "Kubernetes' default instead of ours": {"decode": with_main(pod={"terminationGracePeriodSeconds": 30})},
    "label": {"decode": worker(labels={"a": "b"})},
}
NEW: dict[str, Services] = {
    "another worker": {"other": worker()},
    "a worker of another name": {"decode": None, "decoder": worker()},
}
"""Not under Grove, which refuses another clique."""


def changed(change: Services) -> Services:
    return {name: spec for name, spec in {**SERVICES, **change}.items() if spec is not None}


def generations(answer: SyncAnswer, services: Services) -> str:
    return suffix_of(answer, *(name for name, spec in services.items() if spec["componentType"] == "worker"))


def reported(services: Services) -> dict[str, Any]:
    return {"services": {name: {} for name in services}}


def again(
    services: Services, children: list[Manifest], before: Services, installed: tuple[str, ...] = ()
) -> SyncAnswer:
    return ask(services, children, status=reported(before), installed=installed)


@on_each_path
@pytest.mark.parametrize("idle", IDLE.values(), ids=IDLE)
def test_change_that_changes_no_pod_changes_no_generation(idle: Services, installed: tuple[str, ...]) -> None:
    children = settle((), ask(SERVICES, installed=installed))
    own, services = suffix_of(children), changed(idle)
    assert suffix_of(again(services, children, SERVICES, installed)) == own
    assert suffix_of(again(services, of_go(children), SERVICES, installed)) == GO
    assert suffix_of(again(services, without_generation(children), SERVICES, installed)) == ""


@on_each_path
@pytest.mark.parametrize("real", REAL.values(), ids=REAL)
def test_change_of_pods_gives_all_workers_the_next_generation(real: Services, installed: tuple[str, ...]) -> None:
    children = settle((), ask(SERVICES, installed=installed))
    services = changed(real)
    fresh = generations(ask(services, installed=installed), services)
    for live in (children, of_go(children), without_generation(children)):
        assert generations(again(services, live, SERVICES, installed), services) == fresh != suffix_of(children)


@pytest.mark.parametrize("new", NEW.values(), ids=NEW)
def test_new_worker_gives_all_workers_the_next_generation(new: Services) -> None:
    test_change_of_pods_gives_all_workers_the_next_generation(new, ())


def test_worker_that_is_added_with_another_spec_meets_none_of_before() -> None:
    """Nobody was called between the two edits, and somebody deleted the component in the meantime."""
    children = [one for one in settle((), ask(SERVICES)) if name_of(one) != "g-prefill"]
    services = {**SERVICES, "prefill": worker("mine")}
    assert suffix_of(again(services, children, SERVICES)) == ""
    services = {**SERVICES, "prefill": worker("1.6.2")}
    assert suffix_of(again(services, children, SERVICES)) not in {"", suffix_of(ask(SERVICES))}


def test_deleted_component_gives_workers_of_before_no_generation() -> None:
    children = without_generation(settle((), ask(SERVICES)))
    left = [one for one in children if name_of(one) != "g-decode"]
    assert suffix_of(again(SERVICES, left, SERVICES)) == ""


def test_labels_and_annotations_that_somebody_takes_away_change_no_generation() -> None:
    children = settle((), ask(SERVICES))
    stripped = [
        {**one, "metadata": {k: v for k, v in one["metadata"].items() if k not in {"labels", "annotations"}}}
        for one in children
    ]
    assert suffix_of(ask(SERVICES, stripped)) == suffix_of(children)


# More than one change


def test_second_rollout_before_the_first_ends_has_a_generation_of_its_own() -> None:
    children = settle((), ask(SERVICES))
    second = ask(CHANGED, children)
    rolling = settle(children, second, **{"g-decode": "its pods start", "g-prefill": "its pods start"})
    third = {**CHANGED, "prefill": worker("1.6.2")}
    last = suffix_of(ask(third, rolling))
    assert last == suffix_of(ask(third)) not in {suffix_of(children), suffix_of(second)}
    half = partly(rolling, ask(third, rolling), "prefill")
    assert suffix_of(ask(third, half)) == last


def test_revert_in_the_middle_goes_back_to_the_generation_that_still_serves() -> None:
    children = settle((), ask(SERVICES))
    rolling = settle(children, ask(CHANGED, children), **{"g-decode": "its pods start"})
    assert suffix_of(ask(SERVICES, rolling)) == suffix_of(children)


def test_worker_of_before_generations_leaves_its_generation_and_comes_back_with_one() -> None:
    children = settle((), ask(SERVICES))
    older = {**SERVICES, "decode": worker("1.0.1")}
    first = ask(older, children)
    assert suffix_of(first) == ""
    after = settle(children, first)
    assert suffix_of(ask({**older, "decode": worker("1.0.0")}, after)) == ""
    assert suffix_of(ask(SERVICES, after)) == suffix_of(children)


def test_frontend_of_1_4_and_workers_of_1_6_follow_a_change_as_all_do() -> None:
    services = {**SERVICES, "front": frontend("1.4.0")}
    children = settle((), ask(services))
    front = world.child(children, contract.COMPONENT.kind, "g-front")
    assert front["spec"]["annotations"][PREFIX] == "true"
    answer = ask({**CHANGED, "front": frontend("1.4.0")}, children)
    assert suffix_of(answer) not in {"", suffix_of(children)}
    assert world.child(answer.children, contract.COMPONENT.kind, "g-front")["spec"] == front["spec"]


# A frontend of unknown release that the Go operator gave the prefix


def test_frontend_of_unknown_release_beside_workers_of_a_go_operator_still_sees_them() -> None:
    services = {**SERVICES, "front": frontend("mine")}
    live = [_taken_over(one) for one in settle((), ask(services))]
    assert PREFIX not in front_of(ask(services, live))["spec"].get("annotations", {}), "it is left as it is"

    edited = {**services, "front": frontend("mine", envFromSecret="s")}
    first = ask(edited, live)
    assert _label_of(first) == GO
    assert front_of(first)["spec"]["annotations"][PREFIX] == "true"
    after = settle(live, first)
    second = ask({**edited, "decode": worker("1.6.2")}, after)
    assert suffix_of(second) not in {"", GO}
    assert front_of(second)["spec"] == front_of(first)["spec"]

    older = {**edited, "decode": worker("1.0.1")}
    third = ask(older, settle(after, second))
    assert suffix_of(third) == ""
    assert front_of(third)["spec"] == front_of(first)["spec"], "it restarts only when it changes"


def front_of(answer: SyncAnswer) -> Manifest:
    return world.child(answer.children, contract.COMPONENT.kind, "g-front")


def _taken_over(child: Manifest) -> Manifest:
    """A component that the Go operator made: the generation of a worker is in its label alone."""
    mark = rendering_mark.read_mark(child)
    if mark is None:
        return child
    applied = json.loads(child["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED])
    if labels_of(child)[contract.LABEL_COMPONENT] != "front":
        applied["metadata"]["labels"][HASH] = GO
    found = make.observed(rendering_mark.mark(applied, mark.digest, rendering_mark.FOREIGN_REVISION))
    return {**found, "metadata": {**found["metadata"], "generation": 1}, "status": child["status"]}


def _label_of(answer: SyncAnswer) -> str:
    """The generation in the label of all workers; those of a Go operator have it nowhere else in their component."""
    workers = [world.child(answer.children, contract.COMPONENT.kind, name) for name in ("g-decode", "g-prefill")]
    (found,) = {labels_of(one)[HASH] for one in workers}
    return found


def test_frontend_of_unknown_release_that_never_saw_a_generation_is_not_trusted() -> None:
    services = {**SERVICES, "front": frontend("mine")}
    children = settle((), ask(services))
    answer = ask({**services, "decode": worker("1.6.2")}, children)
    assert suffix_of(answer) == ""
    done = ask(services, settle(children, answer))
    assert PREFIX not in front_of(done)["spec"].get("annotations", {})
