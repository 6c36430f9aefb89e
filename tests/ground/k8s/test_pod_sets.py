"""Which pods each workload makes, from which template, and how many of them are wanted and run."""

from typing import Any

import pytest

from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import (
    count_running_pods,
    count_wanted_pods,
    place_in_workload,
    pods_by_role,
    restarts_pods,
    rolling_part,
    template_of,
    wanted_replicas,
    with_replicas_of,
)
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.ground.problems import HERE, Key
from hooks.tools.offline.diff.pods import find_pod_sets
from hooks.tools.operating.migration.restarts import count_restarts, count_stops
from hooks.wire.world.objects import ObjectId


def workload(kind: GroupVersionKind, status: dict[str, Any] | None = None, **spec: Any) -> Manifest:
    head = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "w", "namespace": "n"}}
    return {**head, "spec": spec, "status": status or {}}


def template(image: str = "i") -> Manifest:
    return {"metadata": {"labels": {"of": image}}, "spec": {"containers": [{"name": "main", "image": image}]}}


def deployment(replicas: int, running: int) -> Manifest:
    return workload(kinds.DEPLOYMENT, {"replicas": running}, replicas=replicas, template=template())


def with_pods(workload: Manifest, **fields: Any) -> Manifest:
    """The workload, whose one template has these fields too."""
    found = workload["spec"]["template"]
    changed = {**found, "spec": {**found["spec"], **fields}}
    return {**workload, "spec": {**workload["spec"], "template": changed}}


def groups(replicas: int, size: int, image: str = "w", running: int = 0) -> Manifest:
    pods = {"size": size, "leaderTemplate": template("l"), "workerTemplate": template(image)}
    return workload(kinds.LEADER_WORKER_SET, {"replicas": running}, replicas=replicas, leaderWorkerTemplate=pods)


def cliques(single: int, grouped: int, times: int, *, images: tuple[str, str] = ("a", "b"), **more: Any) -> Manifest:
    """A clique of its own, and one in a scaling group; `more` is of their pods."""
    items = [
        {
            "name": name,
            "labels": {"of": name},
            "spec": {"replicas": count, "podSpec": {**template(image)["spec"], **more}},
        }
        for name, count, image in (("a", single, images[0]), ("b", grouped, images[1]))
    ]
    scaled = [{"name": "g", "cliqueNames": ["b"], "replicas": times}]
    return workload(kinds.POD_CLIQUE_SET, template={"cliques": items, "podCliqueScalingGroups": scaled})


def job(parallelism: int | None, active: int) -> Manifest:
    count = {} if parallelism is None else {"parallelism": parallelism}
    return workload(kinds.JOB, {"active": active}, template=template(), **count)


@pytest.mark.parametrize(
    ("found", "wanted", "running"),
    [
        (deployment(3, 3), 3, 3),
        (deployment(0, 3), 0, 3),
        (deployment(3, 0), 3, 0),
        (groups(2, 4, running=2), 8, 8),
        (groups(0, 4, running=2), 0, 8),
        (groups(3, 1, running=1), 3, 1),
        (cliques(2, 3, times=2), 8, 8),
        (job(None, 1), 1, 1),
        (job(2, 0), 2, 0),
        (workload(kinds.STATEFUL_SET, {"replicas": 1}, replicas=2, template=template()), 2, 1),
        (workload(kinds.POD_GROUP, {"replicas": 5}, minMember=4), 0, 0),
        (workload(kinds.DEPLOYMENT, replicas=None), 1, 0),
    ],
)
def test_wanted_and_running_pods_are_counted(found: Manifest, wanted: int, running: int) -> None:
    assert (count_wanted_pods(found), count_running_pods(found)) == (wanted, running)


@pytest.mark.parametrize(
    ("before", "after", "restarts"),
    [
        (deployment(3, 3), deployment(0, 0), 3),
        (deployment(3, 3), deployment(5, 5), 0),
        (groups(2, 4, running=2), groups(2, 4, image="new"), 8),
        (groups(2, 4, running=2), groups(1, 4), 4),
        (cliques(1, 1, times=3), cliques(1, 1, times=3, nodeName="n"), 4),
        (cliques(1, 1, times=3), cliques(1, 1, times=3, images=("new", "b")), 1),
        (cliques(1, 1, times=3), cliques(1, 1, times=3, images=("a", "new")), 3),
        (cliques(1, 1, times=3), cliques(1, 1, times=3, restartPolicy="Always"), 0),
        (cliques(1, 1, times=3), cliques(1, 1, times=3, dnsPolicy="ClusterFirst"), 4),
        (deployment(3, 3), with_pods(deployment(3, 3), dnsPolicy="ClusterFirst"), 0),
        (cliques(1, 1, times=3), cliques(2, 1, times=3), 0),
        (job(1, 1), job(2, 2), 0),
    ],
    ids=[
        "to zero",
        "up",
        "template of groups",
        "fewer groups",
        "template of cliques",
        "one clique",
        "clique of a scaling group",
        "default that Grove fills in",
        "default that nothing fills in",
        "default that the API server fills in",
        "clique scaled",
        "job",
    ],
)
def test_update_restarts_or_ends_running_pods_of_every_replica(
    before: Manifest, after: Manifest, restarts: int
) -> None:
    assert count_restarts(before, after) + count_stops(before, after) == restarts


def test_two_groups_of_four_have_eight_pods_for_every_tool() -> None:
    found = groups(2, 4, running=2)
    sets = find_pod_sets(ObjectId.of(found), found)
    assert [(one.role, one.count) for one in sets] == [("leader", 2), ("worker", 6)]
    assert sum(one.count for one in sets) == count_wanted_pods(found) == count_running_pods(found) == 8
    assert wanted_replicas(found) == 2


def test_roles_have_their_templates_and_the_places_of_these() -> None:
    found = {one.role: one for one in (*pods_by_role(groups(1, 2)), *pods_by_role(cliques(1, 1, times=1)))}
    assert {role: one.labels for role, one in found.items()} == {
        "leader": {"of": "l"},
        "worker": {"of": "w"},
        "a": {"of": "a"},
        "b": {"of": "b"},
    }
    assert {role: str(one.path) for role, one in found.items()} == {
        "leader": "spec.leaderWorkerTemplate.leaderTemplate",
        "worker": "spec.leaderWorkerTemplate.workerTemplate",
        "a": "spec.template.cliques[a]",
        "b": "spec.template.cliques[b]",
    }
    assert (found["a"].rolls_with, found["b"].rolls_with) == ("a", "group g")
    assert pods_by_role(deployment(1, 1))[0].pod_spec == template()["spec"]


def test_leader_without_a_template_has_that_of_the_workers() -> None:
    found = groups(1, 2)
    del found["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    assert {str(one.path) for one in pods_by_role(found)} == {"spec.leaderWorkerTemplate.workerTemplate"}


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (HERE / "spec" / "containers" / Key("main") / "image", "spec.podSpec.containers[main].image"),
        (HERE / "metadata" / "labels" / Key("x"), "labels[x]"),
        (HERE / "startsAfter" / 0, "spec.startsAfter[0]"),
    ],
)
def test_place_in_the_template_of_a_clique_is_that_of_the_set(path: Any, place: str) -> None:
    clique = pods_by_role(cliques(1, 1, times=1))[0]
    assert str(place_in_workload(path, clique.path)) == f"spec.template.cliques[a].{place}"
    assert place_in_workload(path, HERE / "spec" / "template").parts == ("spec", "template", *path.parts)


def test_priority_of_cliques_stands_in_the_set() -> None:
    clique = pods_by_role(cliques(1, 1, times=1))[0]
    assert str(place_in_workload(HERE / "priorityClassName", clique.path)) == "spec.template.priorityClassName"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (deployment(1, 0), deployment(3, 0)),
        (groups(1, 2), groups(4, 2)),
        (cliques(1, 1, times=1), cliques(5, 1, times=6)),
    ],
    ids=["Deployment", "LeaderWorkerSet", "PodCliqueSet"],
)
def test_other_replicas_change_nothing_but_the_number_of_pods(one: Manifest, other: Manifest) -> None:
    assert with_replicas_of(one, other) == {**other, "status": one["status"]}
    assert rolling_part(one) == rolling_part(other)
    assert count_wanted_pods(one) < count_wanted_pods(with_replicas_of(one, other))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (deployment(1, 1), with_pods(deployment(1, 1), dnsPolicy="ClusterFirst"), False),
        (deployment(1, 1), with_pods(deployment(1, 1), dnsPolicy="Default"), True),
        (groups(1, 2), groups(1, 2), False),
        (groups(1, 2), groups(1, 3), True),
        (cliques(1, 1, times=1), cliques(2, 1, times=2), False),
        (cliques(1, 1, times=1), cliques(1, 1, times=1, dnsPolicy="ClusterFirst"), True),
    ],
    ids=["default", "other value", "same groups", "larger groups", "scaled cliques", "default of cliques"],
)
def test_default_that_is_written_out_restarts_pods_where_nothing_fills_it_in(
    before: Manifest, after: Manifest, expected: bool
) -> None:
    assert restarts_pods(before, after) is expected


def test_replicas_of_cliques_are_no_part_of_the_template() -> None:
    assert template_of(cliques(1, 1, times=1)) == template_of(cliques(2, 3, times=1))
    assert template_of(groups(1, 2)) == template_of(groups(3, 2)) != template_of(groups(1, 3))
