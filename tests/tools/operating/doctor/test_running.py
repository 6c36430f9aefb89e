"""Pods, Services, starts and syncs."""

from datetime import timedelta
from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.tools.operating.doctor.checks.reach import check_pods, check_reach, find_services
from hooks.tools.operating.doctor.checks.statuses import check_statuses
from hooks.tools.operating.doctor.checks.syncs import check_start, check_syncs
from hooks.tools.operating.doctor.facts import Counted, ReachedService
from hooks.tools.operating.doctor.finding import Level
from hooks.wire.metacontroller import install_files
from tests.tools.operating.doctor.parts import (
    NAMESPACE,
    NOW,
    ago,
    controllers,
    event,
    good,
    graph,
    hooks,
    only,
    problems,
)

SERVICE = (NAMESPACE, "dynamo-hooks")
GRAPH = controllers()[1]


def test_missing_hooks_are_an_error() -> None:
    assert "helm upgrade --install" in only(check_pods(good(workloads=()))).remedy
    assert "in namespace elsewhere" in only(check_pods(good(namespace="elsewhere"))).finding


def test_hooks_at_a_url_outside_of_the_cluster_need_no_pods() -> None:
    away = tuple(install_files.controllers("http://192.0.2.7:8080"))
    assert problems(check_pods(good(workloads=(), controllers=away))) == []


@pytest.mark.parametrize(("ready", "level"), [(0, Level.ERROR), (1, Level.WARNING), (2, Level.OK)])
def test_pods_must_be_ready(ready: int, level: Level) -> None:
    assert [found.level for found in check_pods(good(workloads=(hooks(ready=ready),)))] == [level]


def pod(ready: bool) -> Manifest:
    metadata = {"name": "p", "namespace": NAMESPACE, "labels": {"app": "dynamo-hooks"}}
    return {"kind": "Pod", "metadata": metadata, "status": {"containerStatuses": [{"name": "prober", "ready": ready}]}}


def test_prober_must_be_ready_in_each_pod() -> None:
    assert problems(check_pods(good(pods=(pod(True),)))) == []
    found = only(check_pods(good(pods=(pod(True), pod(False)))))
    assert found.remedy == "kubectl --namespace dynamo-system logs p --container prober"
    stranger = {**pod(False), "metadata": {"name": "q", "namespace": NAMESPACE, "labels": {}}}
    assert problems(check_pods(good(pods=(stranger,)))) == []


def test_pods_without_a_prober_are_a_warning() -> None:
    without = hooks()
    without["spec"]["template"]["spec"]["containers"].pop()
    assert "no LoRA adapter" in only(check_pods(good(workloads=(without,)))).finding


@pytest.mark.parametrize(
    ("backend", "level", "sentence"),
    [
        (ReachedService(exists=False), Level.ERROR, "it does not exist, but CompositeController dynamo-component, "),
        (ReachedService(exists=True), Level.ERROR, "none of its endpoints is ready"),
        (
            ReachedService(exists=True, ready=2, status=503, said="draining"),
            Level.ERROR,
            "/readyz answers 503 on port 80: drain",
        ),
        (ReachedService(exists=True, ready=2, status=403, said="forbidden"), Level.WARNING, "was not seen: forbidden"),
        (ReachedService(exists=True, ready=2, status=0, said="timed out"), Level.WARNING, "was not seen: timed out"),
        (ReachedService(exists=True, ready=2, status=200), Level.OK, "2 endpoints ready; it answers on port 80"),
    ],
)
def test_service_must_answer(backend: ReachedService, level: Level, sentence: str) -> None:
    (found,) = check_reach(good(backends={SERVICE: backend}))
    assert (found.level, found.object) == (level, "Service dynamo-system/dynamo-hooks")
    assert sentence in found.finding
    assert bool(found.remedy) is (level is not Level.OK)


@pytest.mark.parametrize(
    ("url", "services"),
    [
        ("http://hooks.team.svc", [("team", "hooks", 80)]),
        ("http://hooks.team.svc.cluster.local:8080/x", [("team", "hooks", 8080)]),
        ("http://192.0.2.7:8080", []),
        ("http://hooks.example.com", []),
    ],
)
def test_services_are_found_by_their_names_in_urls(url: str, services: list[tuple[str, str, int]]) -> None:
    assert find_services(tuple(install_files.controllers(url))) == services


def test_failed_start_is_an_error_until_a_later_one_succeeds() -> None:
    failed = event(GRAPH, "CreateError", "can't find\n resource", last=60)
    found = only(check_start(good(events=(event(GRAPH, "Started", last=90), failed))))
    assert found.finding == "Metacontroller does not start it: can't find resource"
    assert found.remedy == "kubectl get events --field-selector involvedObject.name=dynamo-graph"
    assert problems(check_start(good(events=(event(GRAPH, "Started", last=30), failed)))) == []


def test_events_of_a_deleted_controller_say_nothing_about_the_new_one() -> None:
    old = {**GRAPH, "metadata": {**GRAPH["metadata"], "uid": "old"}}
    assert check_start(good(events=(event(old, "CreateError", last=10),))) == []


def failing(parent: Manifest, **times: Any) -> tuple[Manifest, ...]:
    return (event(parent, "SyncError", "sync hook failed: connection refused", **times),)


@pytest.mark.parametrize(
    ("last", "first", "level"),
    [
        (5, None, Level.WARNING),
        (60, None, Level.OK),
        (5, 20, Level.ERROR),
        (200, 400, Level.ERROR),
        (450, 500, Level.OK),
        (700, 3000, Level.OK),
    ],
)
def test_failing_sync_is_a_problem_until_the_next_try_must_have_succeeded(
    last: float, first: float | None, level: Level
) -> None:
    (found,) = check_syncs(good(events=failing(graph(), last=last, first=first)))
    assert found.level is level
    assert ("connection refused" in found.finding) is (level is not Level.OK)


def test_status_that_was_written_since_ends_what_was_said_before() -> None:
    def written(seconds: float, generation: int = 1) -> Manifest:
        return graph(generation=generation, managedFields=[{"time": ago(seconds), "subresource": "status"}])

    for parent, count in ((written(10), 0), (written(30), 1), (written(10, generation=2), 1)):
        found = problems(check_syncs(good(parents=(parent,), events=failing(parent, last=20, first=100))))
        assert len(found) == count


COUNTS = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}


@pytest.mark.parametrize(
    ("said", "since", "sentence"),
    [
        ({}, 600, ""),
        ({"readyReplicas": 0}, 600, "it says readyReplicas=0, and Deployment c has 2 since 02:54:05 UTC"),
        ({"readyReplicas": 0}, 50, ""),
        ({"readyReplicas": 0, "componentName": "c-old"}, 600, ""),
    ],
    ids=["the same", "old", "only for a moment", "of another workload"],
)
def test_component_whose_status_is_old_is_named_with_a_write(said: dict[str, Any], since: float, sentence: str) -> None:
    parent = {**graph("c"), "kind": "DynamoComponentDeployment"}
    parent["status"] = {"observedGeneration": 1, "service": {"componentName": "c", **COUNTS, **said}}
    counted = {"c": Counted(name="c", counts=COUNTS, since=NOW - timedelta(seconds=since))}
    found = problems(check_statuses(good(parents=(parent,), counted=counted)))
    assert len(found) == bool(sentence)
    assert all(one.finding.startswith(f"its status is old: {sentence}") for one in found)
    assert all("annotate dynamocomponentdeployment c" in one.remedy for one in found)


def test_many_old_statuses_are_summed_up() -> None:
    parents = []
    for number in range(5):
        parent = {**graph(f"c-{number}"), "kind": "DynamoComponentDeployment"}
        parents.append({**parent, "status": {"service": {"componentName": "c"}}})
    counted = {f"c-{number}": Counted(name="c", counts=COUNTS, since=NOW - timedelta(hours=1)) for number in range(5)}
    found = problems(check_statuses(good(parents=tuple(parents), counted=counted)))
    assert (len(found), found[-1].finding) == (4, "the statuses of 2 more components are old")


def test_start_of_its_controller_ends_what_was_said_before() -> None:
    events = (*failing(graph(), last=20, first=100), event(GRAPH, "Started", last=10))
    assert problems(check_syncs(good(events=events))) == []
    other = (*failing(graph(), last=20, first=100), event(controllers()[0], "Started", last=10))
    assert only(check_syncs(good(events=other))).level is Level.ERROR


def test_object_whose_newest_spec_is_not_synced_is_an_error_after_a_minute() -> None:
    waiting = graph(generation=2, age=120)
    found = only(check_syncs(good(parents=(waiting, graph("h")))))
    assert found.finding == "Metacontroller does not sync 1 of 2 objects, such as DynamoGraphDeployment team/g"
    for parent in (graph(generation=2, age=20), graph(generation=2, managedFields=[{"time": ago(5)}])):
        assert problems(check_syncs(good(parents=(parent,)))) == []
    (fresh,) = check_syncs(good(parents=(graph(generation=2, age=20), graph("h"))))
    told = "1 of 2 objects of the five kinds are synced; 1 changed within the last minute, and may be synced yet"
    assert (fresh.level, fresh.finding) == (Level.OK, f"{told}, such as DynamoGraphDeployment team/g")


def test_object_of_a_decorator_has_no_such_sign() -> None:
    model = {**graph(observed=None), "kind": "DynamoModel"}
    assert problems(check_syncs(good(parents=(model,)))) == []


def test_many_failures_are_summed_up() -> None:
    parents = tuple(graph(f"g{i}") for i in range(9))
    events = tuple(found for parent in parents for found in failing(parent, last=1, first=30))
    found = problems(check_syncs(good(parents=parents, events=events)))
    assert len(found) == 4
    assert found[-1].finding == "6 more objects cannot be synced"
