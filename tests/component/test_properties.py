"""What must hold of the answer to any spec, however strange."""

import re
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.component import sync
from hooks.component.change import removal
from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.wire.metacontroller.effects import DropReport
from hooks.wire.metacontroller.protocol import CustomizeRequest
from hooks.wire.metacontroller.wire import write_sync_answer
from tests import make
from tests.component.specs import ANY_SPEC, COMPONENT_NAME
from tests.effort import examples

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


@settings(max_examples=examples(200), deadline=None)
@given(COMPONENT_NAME, st.sampled_from(["", "g", "g" * 60]), ANY_SPEC)
def test_any_spec_gives_valid_children_or_problems(name: str, graph: str, spec: dict[str, Any]) -> None:
    request = make.sync_request(make.component(name, graph, **spec), related=[make.pull_secret("s", "nvcr.io")])
    given = sync.sync(request, make.facts())
    write_sync_answer(given, request.children)
    assert bool(given.children) != bool(given.problems)
    assert given.status is not None
    assert len(given.status["conditions"]) == 5
    assert all(texts_of(given.problems))
    for child in given.children:
        assert_named_validly(child)
        if child["kind"] == "Deployment":
            assert_consistent(child, given.children)


@settings(max_examples=examples(200), deadline=None)
@given(COMPONENT_NAME, st.sampled_from(["", "g"]), ANY_SPEC, st.integers(-1, 3))
def test_any_spec_over_several_nodes_gives_valid_children_or_problems(
    name: str, graph: str, spec: dict[str, Any], nodes: int
) -> None:
    parent = make.component(name, graph, **{**spec, "multinode": {"nodeCount": nodes}})
    request = make.sync_request(parent, related=[make.pull_secret("s", "nvcr.io")], installed=("lws", "volcano"))
    given = sync.sync(request, make.facts())
    write_sync_answer(given, request.children)
    assert all(texts_of(given.problems))
    if given.problems:
        assert given.children == []
    for child in given.children:
        assert_named_validly(child)
        if child["kind"] == "LeaderWorkerSet":
            assert_group_consistent(child, given.children)


@settings(max_examples=examples(100), deadline=None)
@given(ANY_SPEC)
def test_order_of_keys_changes_no_answer(spec: dict[str, Any]) -> None:
    parent = make.component("c", "g", **spec)
    shuffled = reverse_keys(parent)
    requests = [make.sync_request(one) for one in (parent, shuffled)]
    answers = [sync.sync(request, make.facts()) for request in requests]
    assert answers[0].children == answers[1].children
    assert write_sync_answer(answers[0], requests[0].children) == write_sync_answer(answers[1], requests[1].children)
    rules = [sync.customize(CustomizeRequest(parent=one), make.facts()) for one in (parent, shuffled)]
    assert rules[0] == rules[1]


@settings(max_examples=examples(100), deadline=None)
@given(ANY_SPEC)
def test_any_component_can_be_deleted(spec: dict[str, Any]) -> None:
    parent = make.component("c", "g", **spec)
    parent["metadata"]["deletionTimestamp"] = "2026-03-01T11:59:00Z"
    request, facts = make.sync_request(parent), make.facts(discovery_backend="etcd", etcd_address="127.0.0.1:2379")
    drop = removal.wanted_drop(request, facts)
    assert removal.finalize(request, facts, None if drop is None else DropReport(drop=drop)).finalized


def reverse_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reverse_keys(value[key]) for key in reversed(value)}
    return [reverse_keys(item) for item in value] if isinstance(value, list) else value


def assert_named_validly(child: Manifest) -> None:
    name = child["metadata"]["name"]
    pattern = LABEL if child["kind"] == "Service" else SUBDOMAIN
    assert len(name) <= 63
    assert pattern.fullmatch(name), name


def assert_consistent(deployment: Manifest, children: Sequence[Manifest]) -> None:
    spec = deployment["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    for service in (child for child in children if child["kind"] == "Service"):
        assert service["spec"]["selector"].items() <= labels.items()
        assert all(len(value) <= 63 for value in service["spec"]["selector"].values())
    pod = spec["template"]["spec"]
    assert_unique([volume["name"] for volume in pod.get("volumes", [])])
    assert_unique([container["name"] for container in pod["containers"] + pod.get("initContainers", [])])
    main = pod["containers"][-1]
    assert_unique([mount["mountPath"] for mount in main.get("volumeMounts", [])])
    names = [entry["name"] for entry in main["env"]]
    assert names == sorted(set(names))
    assert "" not in [entry.get("value") for entry in main["env"]]


def assert_group_consistent(found: Manifest, children: Sequence[Manifest]) -> None:
    group, name = found["spec"]["leaderWorkerTemplate"], found["metadata"]["name"]
    assert len(name) <= 50
    assert LABEL.fullmatch(name)
    leader, worker = group["leaderTemplate"], group["workerTemplate"]
    for template in (leader, worker):
        assert template["spec"]["schedulerName"] == "volcano"
        assert template["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == name
        assert_unique([volume["name"] for volume in template["spec"].get("volumes", [])])
        main = template["spec"]["containers"][-1]
        assert main["command"]
        assert main["args"]
    (gang,) = [c for c in children if c["kind"] == "PodGroup" and c["metadata"]["name"] == name]
    assert gang["spec"]["minMember"] == group["size"]
    for service in (child for child in children if child["kind"] == "Service"):
        selector = service["spec"]["selector"].items()
        assert selector <= leader["metadata"]["labels"].items()
        assert not selector <= worker["metadata"]["labels"].items()


def assert_unique(values: list[str]) -> None:
    assert len(values) == len(set(values)), values
