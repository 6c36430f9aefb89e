"""What a component's sync would like to read, and what depends on it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hooks.component import sync
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, name_of
from hooks.wire.metacontroller.controllers import declared_kinds
from hooks.wire.metacontroller.effects import Event
from hooks.wire.metacontroller.protocol import CustomizeRequest, ObjectQuery, QueryAnswer, SyncAnswer, SyncRequest
from tests import make
from tests.component import groups
from tests.component.render import answer

PODS = ObjectQuery(kinds.POD, "default", labels=((contract.LABEL_SELECTOR, "c"),))
SET = ObjectQuery(kinds.LEADER_WORKER_SET, "default", "c-0")
FAULT = QueryAnswer(fault="the API server answers 403")
SPEC: dict[str, Any] = {"extraPodSpec": {"mainContainer": {"image": "i"}}}
GO = {"finalizers": [contract.GO_FINALIZER]}
"""Metadata of a component of the Go operator that was not taken over yet."""


def component(spec: dict[str, Any] | None = None, **metadata: Any) -> Manifest:
    found = make.component("c", "g", **(SPEC if spec is None else spec))
    return {**found, "metadata": {**found["metadata"], **metadata}}


def unready(children: list[Manifest]) -> list[Manifest]:
    status = make.deployment_status(1, ready=0)
    return [make.observed(one, **({"status": status} if one["kind"] == "Deployment" else {})) for one in children]


def ask(parent: Manifest, children: list[Manifest], seconds: float, **settings: str) -> SyncAnswer:
    """The answer so many seconds after the first status about these children."""
    first = answer(parent, children, facts=make.facts(make.NOW, **settings))
    facts = make.facts(make.NOW + timedelta(seconds=seconds), **settings)
    return answer({**parent, "status": first.status}, children, facts=facts)


def with_answer(request: SyncRequest, query: ObjectQuery, found: QueryAnswer) -> SyncAnswer:
    return sync.sync(request.with_answers({query: found}), make.facts())


def ready(given: SyncAnswer) -> tuple[str, str]:
    assert given.status is not None
    return next((one["status"], one["message"]) for one in given.status["conditions"] if one["type"] == "Ready")


@pytest.mark.parametrize(("seconds", "now", "later"), [(1, (), (PODS,)), (6, (PODS,), ())], ids=["soon", "a moment"])
def test_pods_are_worth_a_read_once_the_component_is_not_ready_for_a_moment(
    seconds: float, now: tuple[ObjectQuery, ...], later: tuple[ObjectQuery, ...]
) -> None:
    parent = component()
    given = ask(parent, unready(list(answer(parent).children)), seconds)
    assert (given.queries, given.later) == (now, later)
    assert 0 < given.resync_after_seconds <= 8


def test_ready_component_asks_for_nothing_and_comes_back_for_nothing() -> None:
    parent = component()
    children = [
        make.observed(one, **({"status": make.deployment_status()} if one["kind"] == "Deployment" else {}))
        for one in answer(parent).children
    ]
    given = ask(parent, children, 60)
    assert ready(given)[0] == "True"
    assert (given.queries, given.later, given.resync_after_seconds) == ((), (), 0)


def test_nothing_is_asked_for_where_pods_are_not_to_be_explained() -> None:
    parent = component()
    given = ask(parent, unready(list(answer(parent).children)), 60, explain_pods="off")
    assert (given.queries, given.later) == ((), ())


def test_failed_read_makes_the_cause_vaguer_and_changes_no_child() -> None:
    parent = component()
    request = make.sync_request(parent, unready(list(answer(parent).children)))
    given, vague = sync.sync(request, make.facts()), with_answer(request, PODS, FAULT)
    assert vague.children == given.children
    truth, message = ready(vague)
    assert truth == "False"
    assert "its pods are not read, because the API server answers 403 - see kubectl get pods -n default" in message


def test_missing_child_is_asked_for_by_its_name_once_that_lasts() -> None:
    parent = component()
    children = [one for one in unready(list(answer(parent).children)) if one["kind"] != "Service"]
    service = ObjectQuery(kinds.SERVICE, "default", "c")
    assert service not in ask(parent, children, 1).queries
    later = ask(parent, children, 11)
    assert service in later.queries
    assert "Service c: Missing" in ready(later)[1]
    facts = make.facts(make.NOW + timedelta(seconds=11))
    request = make.sync_request({**parent, "status": answer(parent, children).status}, children)
    vague = sync.sync(request.with_answers({service: FAULT}), facts)
    text = "Service c: ReadFailed: it could not be looked at whether it exists, because the API server answers 403 - if"
    assert text in ready(vague)[1]
    assert "(Metacontroller does not see it)" in ready(vague)[1]
    assert "Missing" not in ready(vague)[1]


def test_child_that_could_not_be_looked_at_is_told_by_no_event_until_it_is_known_to_be_missing() -> None:
    parent = component()
    children = [one for one in unready(list(answer(parent).children)) if one["kind"] != "Service"]
    service = ObjectQuery(kinds.SERVICE, "default", "c")
    status = answer(parent, children).status

    def look(seconds: float, found: QueryAnswer) -> tuple[str, list[str]]:
        nonlocal status
        facts = make.facts(make.NOW + timedelta(seconds=seconds))
        request = make.sync_request({**parent, "status": status}, children)
        said = sync.sync(request.with_answers({service: found}), facts)
        status = said.status
        condition = next(one for one in (status or {})["conditions"] if one["type"] == "Applied")
        told = [one.reason for one in said.effects if isinstance(one, Event)]
        return f"{condition['status']} {condition['reason']}", told

    slow = QueryAnswer(fault="the API server did not answer within 5 s")
    assert look(11, slow) == ("False ReadFailed", [])
    assert look(20, slow) == ("False ReadFailed", [])
    assert look(30, QueryAnswer()) == ("False Missing", ["Missing"])


def old_sets(parent: Manifest) -> list[Manifest]:
    """The children with ready LeaderWorkerSets whose status has no generation."""
    status = {
        "replicas": 1,
        "readyReplicas": 1,
        "updatedReplicas": 1,
        "conditions": [{"type": "Available", "status": "True"}],
    }
    return [
        make.observed(one, **({"status": status} if one["kind"] == groups.SETS else {}))
        for one in answer(parent, installed=groups.INSTALLED).children
    ]


def test_set_that_reports_no_generation_is_never_ready_while_its_pods_are_unknown() -> None:
    parent = component(groups.spec())
    since = (make.NOW - timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    parent["status"] = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}]}
    request = make.sync_request(parent, old_sets(parent), installed=groups.INSTALLED)
    given = sync.sync(request, make.facts())
    (query,) = given.queries
    assert given.waits
    assert ready(with_answer(request, query, FAULT))[0] == "False"
    assert "the API server answers 403" in ready(with_answer(request, query, FAULT))[1]
    known = with_answer(request, query, QueryAnswer())
    assert ready(known)[0] == "True"
    assert 0 < known.resync_after_seconds <= 10


def sets_of(given: SyncAnswer) -> list[str]:
    return [name_of(one) for one in given.children if one["kind"] == groups.SETS]


def test_sets_of_a_component_of_the_go_operator_are_made_only_if_it_left_none() -> None:
    parent = component(groups.spec(replicas=2), **GO)
    request = make.sync_request(parent, installed=groups.INSTALLED)
    first = sync.sync(request, make.facts())
    assert (sets_of(first), SET in first.queries, first.waits) == ([], True, True)
    refused = with_answer(request, SET, FAULT)
    assert sets_of(refused) == []
    assert "it is not known whether the Go operator left a LeaderWorkerSet of this component" in ready(refused)[1]
    assert sets_of(with_answer(request, SET, QueryAnswer())) == ["c-0", "c-1"]


@pytest.mark.parametrize(("metadata", "spec", "is_asked"), [(GO, {}, True), ({}, {}, False), (GO, SPEC, False)])
def test_rule_for_what_the_go_operator_left_is_only_one_of_its_components(
    metadata: dict[str, Any], spec: dict[str, Any], *, is_asked: bool
) -> None:
    parent = component(spec or groups.spec(replicas=2), **metadata)
    request = CustomizeRequest(parent=parent, child_kinds=frozenset(declared_kinds(groups.INSTALLED)))
    assert (SET.to_rule() in sync.customize(request, make.facts())) is is_asked
    assert SET.to_rule() not in sync.customize(replace(request, child_kinds=frozenset(declared_kinds())), make.facts())


def test_what_the_go_operator_left_is_known_by_the_rule_where_nothing_may_be_read() -> None:
    facts = make.facts(make.NOW, explain_pods="off")
    request = make.sync_request(
        component(groups.spec(replicas=2), **GO), installed=groups.INSTALLED, shown=[kinds.LEADER_WORKER_SET]
    )
    given = sync.sync(request, facts)
    assert (sets_of(given), SET in given.queries) == (["c-0", "c-1"], False)
    left = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": groups.SETS, "spec": {"replicas": 2}}
    left["metadata"] = {"name": "c-0", "namespace": "default", "uid": "u"}
    beside = make.sync_request(component(groups.spec(replicas=2), **GO), related=[left], installed=groups.INSTALLED)
    assert sets_of(sync.sync(beside, facts)) == ["c-0"]


def test_sets_of_a_component_of_ours_are_made_though_nothing_can_be_read() -> None:
    request = make.sync_request(component(groups.spec(replicas=2)), installed=groups.INSTALLED)
    assert sets_of(with_answer(request, SET, FAULT)) == ["c-0", "c-1"]
