"""A component's plan and children are built once, and taken from the cache only for equal inputs."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from hooks.component import sync
from hooks.component.seen.observe import ObservedComponent, Workloads, observe, without_progress
from hooks.component.spec.mpi_key import ObservedKey, Secret
from hooks.component.spec.pull_secrets import RegistrySecret
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings.facts import Facts
from hooks.wire.metacontroller.parent_key import make_parent_key
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from tests import make
from tests.component import groups
from tests.component.render import answer

SPEC: dict[str, Any] = {
    "componentType": "worker",
    "replicas": 2,
    "modelRef": {"name": "m"},
    "extraPodSpec": {"mainContainer": {"image": "registry.example/a:1", "command": ["python3", "-m", "dynamo.vllm"]}},
}
MULTINODE = {**SPEC, "multinode": {"nodeCount": 2}, "resources": {"limits": {"gpu": "8"}}}
KEY = ObservedKey(source=Secret(type="Opaque", data={"private.key": "a"}), copy=None, can_copy=True)


@pytest.fixture(autouse=True)
def nothing_cached() -> None:
    sync.plan_on.cache_clear()


def running(spec: dict[str, Any] = SPEC, **status: Any) -> list[Manifest]:
    full = {**make.deployment_status(spec["replicas"]), **status}
    found = answer(make.component("c", "g", **spec)).children
    return [make.observed(child, **({"status": full} if child["kind"] == "Deployment" else {})) for child in found]


def built() -> int:
    return sync.plan_on.misses


def test_component_whose_status_changes_is_built_once() -> None:
    parent = make.component("c", "g", **SPEC)
    states = [running(readyReplicas=ready, availableReplicas=ready) for ready in (0, 1, 2)]
    sync.plan_on.cache_clear()
    answers = [answer(parent, children) for children in states]
    assert built() == 1
    assert all(one.children is answers[0].children for one in answers)
    counts = [one.status["service"]["readyReplicas"] for one in answers if one.status]
    assert counts == [0, 1, 2]


def _seen(**changes: Any) -> ObservedComponent:
    seen = observe(make.sync_request(make.component("c", "g", **SPEC), running()), make.facts().settings)
    return without_progress(replace(seen, **changes))


def _deployment(**metadata: Any) -> Manifest:
    return {"metadata": {"name": "c", **metadata}, "spec": {}, "status": {}}


def test_plan_is_taken_from_the_cache_only_for_equal_grounds() -> None:
    parent, seen = make.component("c", "g", **SPEC), _seen()
    grounds = sync.ComponentGrounds(parent_key=make_parent_key(parent), seen=seen, settings=make.facts().settings)
    others: dict[str, Any] = {
        "parent_key": make_parent_key({**parent, "spec": {**parent["spec"], "replicas": 3}}),
        "seen": replace(seen, accounts=("other",)),
        "settings": make.facts(kai_scheduler="on").settings,
    }
    assert others.keys() == {field.name for field in fields(sync.ComponentGrounds)}
    assert all(replace(grounds, **{name: other}) != grounds for name, other in others.items())
    assert replace(grounds, seen=_seen()) == grounds
    assert hash(replace(grounds, seen=_seen())) == hash(grounds)


def test_every_observed_fact_but_progress_is_part_of_the_grounds() -> None:
    group = {"metadata": {"name": "c-0", "annotations": {contract.ANNOTATION_IMMUTABLE_HASH: "1"}}}
    of_other_size = {"metadata": {"name": "c-0", "annotations": {contract.ANNOTATION_IMMUTABLE_HASH: "2"}}}
    going = {"metadata": {**group["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    sets = [{}, {"c-0": group}, {"c-0": of_other_size}, {"c-0": going}]
    present = [Workloads(deployment=_deployment(), leader_worker_sets=found) for found in sets]
    facts: list[dict[str, Any]] = [{"numbered": frozenset({"c-0"})}, {"has_pod_groups": True}, {"has_rival": True}]
    facts.append({"unread": "it was not read yet"})
    present += [replace(present[0], **fact) for fact in facts]
    others: dict[str, list[Any]] = {
        "workloads": [*present, Workloads(deployment=None, leader_worker_sets={})],
        "mpi_key": [KEY, replace(KEY, source=None), replace(KEY, copy=KEY.source), replace(KEY, can_copy=False)],
        "accounts": [(), ("a",), ("b",), ("a", "b")],
        "registry_secrets": [(), *((RegistrySecret(name=n, hosts=frozenset({h})),) for n, h in ("ab", "ac", "db"))],
        "has_virtual_services": [True, False],
        "has_leader_worker_sets": [True, False],
        "operator_release": [None, "", "1.5.0"],
    }
    assert {*others, "pods", "reads_pods", "pods_fault"} == {field.name for field in fields(ObservedComponent)}
    for name, values in others.items():
        seen = [_seen(**{name: value}) for value in values]
        assert all(one != other for index, one in enumerate(seen) for other in seen[index + 1 :]), name


def _requests() -> Iterator[tuple[str, SyncRequest, Facts]]:
    """Syncs of one component that differ in one input each."""
    parent, accounts = make.component("c", "g", **SPEC), [make.account("a"), make.account("b")]
    secrets = [make.pull_secret("p", "registry.example"), make.pull_secret("q", "registry.example")]
    ask = make.sync_request
    yield "as it was", ask(parent, running(), [accounts[0]]), make.facts()
    yield "spec", ask(make.component("c", "g", **{**SPEC, "replicas": 3}), running()), make.facts()
    yield "labels", ask({**parent, "metadata": {**parent["metadata"], "labels": {"a": "b"}}}), make.facts()
    yield "setting", ask(parent, running()), make.facts(discovery_backend="etcd")
    yield "new defaults", ask(parent, running()), make.facts(new_defaults="now")
    yield "account", ask(parent, [], [accounts[1]]), make.facts()
    yield "no account", ask(parent), make.facts()
    yield "secret", ask(parent, [], [secrets[0]]), make.facts()
    yield "both secrets", ask(parent, [], secrets), make.facts()
    yield "kept secret", ask(parent, running(), secrets), make.facts()
    yield "set of before", ask(parent, [*running(), *_sets()], installed=groups.INSTALLED), make.facts()
    multinode = make.component("c", "g", **MULTINODE)
    yield "multinode", ask(multinode, [], installed=groups.INSTALLED), make.facts()
    yield "multinode without sets", ask(multinode), make.facts()
    yield "sets of another size", ask(multinode, _sets(nodes=3), installed=groups.INSTALLED), make.facts()
    yield "Deployment of before", ask(multinode, running(), installed=groups.INSTALLED), make.facts()


def _sets(nodes: int = 2) -> list[Manifest]:
    parent = make.component("c", "g", **{**MULTINODE, "multinode": {"nodeCount": nodes}})
    found = answer(parent, installed=groups.INSTALLED).children
    return [make.observed(child) for child in found if child["kind"] == kinds.LEADER_WORKER_SET.kind]


def test_answers_from_a_full_cache_are_those_of_an_empty_one() -> None:
    cold: dict[str, SyncAnswer] = {}
    for name, request, facts in _requests():
        sync.plan_on.cache_clear()
        cold[name] = sync.sync(request, facts)
    assert len({str(one.children) for one in cold.values()}) > len(cold) / 2
    sync.plan_on.cache_clear()
    for _ in range(2):
        assert {name: sync.sync(request, facts) for name, request, facts in _requests()} == cold
