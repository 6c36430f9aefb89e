"""Grove's objects: order of cliques, what can never change, when a PodClique, a group or a set is ready."""

from typing import Any

import pytest

from hooks.ground.k8s.grove import (
    Clique,
    ScalingGroup,
    build_pod_clique_set,
    order_cliques,
)
from hooks.ground.k8s.grove_immutables import find_immutable_changes
from hooks.ground.k8s.grove_parts import read_errors, read_scalable, why_unprocessed, why_unready
from hooks.ground.k8s.types import build_metadata

FIELDS = {"PodClique": "readyReplicas", "PodCliqueScalingGroup": "availableReplicas"}


def clique(name: str, **fields: Any) -> Clique:
    given: dict[str, Any] = {
        "replicas": 1,
        "min_available": 1,
        "labels": {},
        "annotations": {},
        "pod_spec": {"containers": []},
        **fields,
    }
    return Clique(name=name, **given)


def spec_of(*cliques: Clique, groups: tuple[ScalingGroup, ...] = ()) -> dict[str, Any]:
    built = build_pod_clique_set(build_metadata("g", "ns"), cliques, groups, termination_delay="15m0s")
    spec: dict[str, Any] = built["spec"]
    return spec


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["planner", "frontend"], ["frontend", "planner"]),
        (["worker", "zworker"], ["zworker", "worker"]),
        (["ldr", "worker-ldr", "worker-wkr"], ["worker-ldr", "ldr", "worker-wkr"]),
        (["c", "bc", "abc"], ["abc", "bc", "c"]),
    ],
    ids=["by name", "suffix", "suffix of a leader", "suffix of a suffix"],
)
def test_clique_stands_behind_those_of_whose_name_its_own_is_the_end(names: list[str], expected: list[str]) -> None:
    assert [found.name for found in order_cliques(clique(name) for name in names)] == expected


def test_startup_is_explicit_as_soon_as_one_clique_waits() -> None:
    assert spec_of(clique("a"))["template"]["cliqueStartupType"] == "CliqueStartupTypeAnyOrder"
    waiting = spec_of(clique("a", starts_after=("b",)), clique("b"))
    assert waiting["template"]["cliqueStartupType"] == "CliqueStartupTypeExplicit"


def test_termination_delay_of_nothing_is_left_to_grove() -> None:
    built = build_pod_clique_set(build_metadata("g", "ns"), [clique("a")], (), termination_delay="0s")
    assert "terminationDelay" not in built["spec"]["template"]


GROUP = ScalingGroup(name="w", clique_names=("w-ldr", "w-wkr"), replicas=2)
MULTINODE = (clique("w-ldr"), clique("w-wkr", replicas=2, min_available=2))


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (spec_of(clique("a")), spec_of(clique("a"), clique("b")), "clique b: absent to present"),
        (spec_of(clique("a"), clique("b")), spec_of(clique("a")), "clique b: present to absent"),
        (
            spec_of(*MULTINODE, groups=(GROUP,)),
            spec_of(clique("w-ldr"), clique("w-wkr", replicas=3, min_available=3), groups=(GROUP,)),
            "clique w-wkr minAvailable: 2 to 3",
        ),
        (
            spec_of(clique("a"), clique("b")),
            spec_of(clique("a", starts_after=("b",)), clique("b")),
            "clique a startsAfter: [] to [b]",
        ),
        (
            spec_of(clique("a")),
            spec_of(clique("a", pod_spec={"containers": [], "schedulerName": "x"})),
            "clique a schedulerName: absent to x",
        ),
        (
            spec_of(*MULTINODE, groups=(GROUP,)),
            spec_of(*MULTINODE),
            "scaling group w: present to absent",
        ),
    ],
    ids=["added", "removed", "nodes", "start-up", "scheduler", "group"],
)
def test_what_grove_keeps_for_ever_is_found(old: dict[str, Any], new: dict[str, Any], change: str) -> None:
    assert change in list(find_immutable_changes(old, new))


def test_what_grove_lets_change_is_no_problem() -> None:
    old = spec_of(clique("a"), *MULTINODE, groups=(GROUP,))
    changed = clique("a", replicas=4, labels={"x": "y"}, pod_spec={"containers": [{"name": "main", "image": "new"}]})
    more = ScalingGroup(name="w", clique_names=("w-ldr", "w-wkr"), replicas=5)
    assert list(find_immutable_changes(old, spec_of(changed, *MULTINODE, groups=(more,)))) == []


def part(kind: str, *, desired: int = 2, generation: int = 1, **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": "p", "generation": generation},
        "spec": {"replicas": desired},
        "status": status,
    }


def counts(kind: str, replicas: int, updated: int, good: int, **more: int) -> dict[str, int]:
    return {"replicas": replicas, "updatedReplicas": updated, FIELDS[kind]: good, **more}


@pytest.mark.parametrize("kind", FIELDS)
def test_part_with_all_replicas_of_its_generation_is_ready(kind: str) -> None:
    found = read_scalable(part(kind, **counts(kind, 2, 2, 2, observedGeneration=1, scheduledReplicas=2)))
    assert why_unready(found) == ""
    names = {"componentKind": kind, "componentName": "p", "componentNames": ["p"]}
    assert found.to_status() == {**names, **counts(kind, 2, 2, 2, scheduledReplicas=2)}


@pytest.mark.parametrize("kind", FIELDS)
def test_part_of_a_version_without_observed_generation_is_judged_by_its_counts(kind: str) -> None:
    assert why_unready(read_scalable(part(kind, generation=7, **counts(kind, 2, 2, 2)))) == ""
    assert why_unready(read_scalable(part(kind, generation=7, **counts(kind, 2, 1, 2)))) == "desired=2, updated=1"


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (None, "resource not found"),
        (part("PodClique", **counts("PodClique", 2, 2, 1)), "desired=2, ready=1"),
        (part("PodCliqueScalingGroup", **counts("PodCliqueScalingGroup", 2, 2, 1)), "desired=2, available=1"),
        (part("PodClique", **counts("PodClique", 2, 1, 2)), "desired=2, updated=1"),
        (part("PodClique", **counts("PodClique", 3, 2, 2)), "performing rolling update: desired=2, replicas=3"),
        (part("PodClique"), "desired=2, ready=0"),
        (
            part("PodClique", generation=3, **counts("PodClique", 2, 2, 2, observedGeneration=2)),
            "spec not yet processed: generation=3, observedGeneration=2",
        ),
        (part("PodClique", desired=0), ""),
    ],
    ids=["absent", "ready", "available", "updated", "old pods", "no status", "old generation", "none wanted"],
)
def test_part_that_is_not_ready_says_why(manifest: dict[str, Any] | None, reason: str) -> None:
    assert why_unready(None if manifest is None else read_scalable(manifest)) == reason


def test_part_that_went_to_0_in_its_update_is_done_when_its_pods_are_gone() -> None:
    progress: dict[str, Any] = {"updateStartedAt": "t", "readyPodsSelectedToUpdate": {"current": "p-0"}}
    status: dict[str, Any] = {"observedGeneration": 1, "updateProgress": progress}
    behind = "spec not yet processed: generation=3, observedGeneration=1"
    assert why_unready(read_scalable(part("PodClique", desired=0, generation=3, **status))) == ""
    assert why_unready(read_scalable(part("PodClique", desired=0, generation=3, replicas=1, **status))) == behind
    ended = {**status, "updateProgress": {**progress, "updateEndedAt": "t"}}
    assert why_unready(read_scalable(part("PodClique", desired=0, generation=3, **ended))) == behind


def test_part_on_its_way_out_is_not_ready() -> None:
    manifest = part("PodClique", desired=0)
    manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert why_unready(read_scalable(manifest)) == "it is being deleted"


@pytest.mark.parametrize(
    ("generation", "status", "reason"),
    [
        (1, {}, ""),
        (2, {}, "observedGeneration is nil"),
        (2, {"observedGeneration": 1}, "spec not yet processed: generation=2, observedGeneration=1"),
        (2, {"observedGeneration": 2}, ""),
        (2, {"observedGeneration": 2, "updateProgress": {"updateStartedAt": "t"}}, "performing rolling update"),
        (2, {"observedGeneration": 2, "rollingUpdateProgress": {"updateStartedAt": "t"}}, "performing rolling update"),
        (2, {"observedGeneration": 2, "updateProgress": {"updateStartedAt": "t", "updateEndedAt": "t"}}, ""),
    ],
    ids=["first", "untold", "behind", "current", "updating", "updating before alpha.7", "updated"],
)
def test_set_is_processed_when_its_children_are_of_its_template(
    generation: int, status: dict[str, Any], reason: str
) -> None:
    found = {"metadata": {"name": "g", "generation": generation}, "status": status}
    assert why_unprocessed(found).startswith(reason)
    assert bool(why_unprocessed(found)) == bool(reason)


def test_errors_of_grove_are_read_as_it_says_them() -> None:
    errors = [{"code": "ERR", "description": "quota exceeded"}, {"code": "ERR_2"}]
    assert read_errors({"metadata": {"name": "g"}, "status": {"lastErrors": errors}}) == ("quota exceeded", "ERR_2")
