"""Names of PodCliqueSets: cut where pods would have too long names, kept while a set exists."""

from collections.abc import Mapping
from typing import Any

import pytest

from hooks.graph.seen.grove_names import may_be_cut, pod_clique_set_name
from hooks.graph.sync import customize
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, name_of
from hooks.ground.problems import texts_of
from hooks.language.api.base import parse_parent
from hooks.language.api.graph import GraphDeployment
from hooks.wire.metacontroller.controllers import declared_kinds
from hooks.wire.metacontroller.effects import ScalePodClique
from hooks.wire.metacontroller.protocol import CustomizeRequest, ObjectQuery, SyncAnswer
from tests import make
from tests.graph import world
from tests.graph.test_deviating import later

Services = dict[str, Any]
PAIR = "a-long-name-of-a-graph-1408", "a-long-name-of-a-graph-2504"
"""Two names that are cut to one."""
LONG, CUT = "kimi-k3-agg", "kimi-3d6c"


def nodes(count: int = 2) -> Manifest:
    return make.service(
        command=["python3", "-m", "dynamo.vllm"],
        multinode={"nodeCount": count},
        resources={"limits": {"gpu": "4"}},
    )


RECIPE: Services = {"Frontend": make.service("frontend"), "VllmDecodeWorker": nodes()}


def graph(services: Services | None = None, name: str = LONG, **more: Any) -> Manifest:
    found = make.graph(RECIPE if services is None else services, name=name)
    return {**found, **more}


def ask(parent: Manifest, children: Any = (), related: Any = ()) -> SyncAnswer:
    return world.ask(parent, children, related, installed=["grove"])


def rules_of(parent: Manifest) -> list[Mapping[str, Any]]:
    request = CustomizeRequest(parent=parent, child_kinds=frozenset(declared_kinds(["grove"])))
    return [rule.to_json() for rule in customize(request, make.facts())]


def parts_of(parent: Manifest) -> set[str]:
    """The sets whose parts the graph asks for."""
    found = (rule for rule in rules_of(parent) if rule["resource"].startswith("podclique"))
    labels = ((rule.get("labelSelector") or {}).get("matchLabels") or {} for rule in found)
    return {one["app.kubernetes.io/part-of"] for one in labels if one}


def set_name(services: Mapping[str, int], name: str) -> str:
    spec = {one: nodes(count) if count > 1 else make.service() for one, count in services.items()}
    return pod_clique_set_name(parse_parent(GraphDeployment, make.graph(spec, name=name)))


NAMES = {
    "several nodes": ({"VllmDecodeWorker": 2}, LONG, CUT),
    "a service on one node counts too": ({"VllmDecodeWorker": 1, "a": 2}, LONG, LONG),
    "one node": ({"VllmDecodeWorker2": 1}, "a-rather-long-name-of-a-graph", "a-rather-long-name-of-a-881f"),
    "fits": ({"VllmDecodeWorker": 1}, "a-rather-long-name-of-a-graph", "a-rather-long-name-of-a-graph"),
    "eight characters remain": ({"VllmPrefillWorker": 2}, "dsv4-pro-disagg", "dsv-198e"),
    "no more than eight are cut": ({"VllmPrefillWorker": 2}, "dsv4-pro", "dsv4-pro"),
}


@pytest.mark.parametrize(("services", "name", "expected"), NAMES.values(), ids=NAMES)
def test_name_of_a_set_is_cut_where_names_of_pods_would_be_too_long(
    services: dict[str, int], name: str, expected: str
) -> None:
    assert set_name(services, name) == expected


def test_all_but_the_set_and_its_parts_keeps_the_name_of_the_graph() -> None:
    answer = ask(graph())
    assert answer.problems == ()
    assert world.names(answer.children, "PodCliqueSet") == [CUT]
    others = {name_of(child) for child in answer.children if child["kind"] != "PodCliqueSet"}
    assert others
    assert all(name.startswith(LONG) for name in others)
    assert answer.status is not None
    assert answer.status["podCliqueSet"] == CUT
    pods = world.child(answer.children, "PodCliqueSet", CUT)["spec"]["template"]["cliques"]
    assert {clique["labels"]["nvidia.com/dynamo-graph-deployment-name"] for clique in pods} == {LONG}
    assert parts_of(graph()) == {CUT}


def test_readiness_and_replicas_are_those_of_the_set_with_the_cut_name() -> None:
    answer = ask(graph())
    children = world.apply((), answer.children)
    settled = ask(
        graph(),
        children,
        [
            _part("PodClique", f"{CUT}-0-frontend"),
            _part("PodCliqueScalingGroup", f"{CUT}-0-vllmdecodeworker", desired=3),
        ],
    )
    assert settled.status is not None
    assert settled.status["services"]["Frontend"]["componentName"] == f"{CUT}-0-frontend"
    scaled = ask(
        graph({**RECIPE, "VllmDecodeWorker": {**nodes(), "replicas": 2}}),
        children,
        [_part("PodCliqueScalingGroup", f"{CUT}-0-vllmdecodeworker", desired=3)],
    )
    effects = [one for one in scaled.effects if isinstance(one, ScalePodClique)]
    assert [(one.name, one.replicas) for one in effects] == [(f"{CUT}-0-vllmdecodeworker", 2)]


def _part(kind: str, name: str, desired: int = 1) -> Manifest:
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "default",
            "generation": 1,
            "labels": {"app.kubernetes.io/part-of": CUT},
        },
        "spec": {"replicas": desired},
        "status": {"observedGeneration": 1, "replicas": desired, "updatedReplicas": desired, "readyReplicas": desired},
    }


# A set that exists


OLD_SET = "kimi"
"""A name that no rule gives this graph."""


def with_old_set(services: Services | None = None, status: Any = None) -> tuple[Manifest, list[Manifest]]:
    """The graph, and the children of an earlier one whose set has a name of its own."""
    parent = graph(services, **({} if status is None else {"status": status}))
    children = [
        {**child, "metadata": {**child["metadata"], "name": OLD_SET}} if child["kind"] == "PodCliqueSet" else child
        for child in ask(graph()).children
    ]
    return parent, world.apply((), children)


def test_set_that_exists_keeps_its_name() -> None:
    parent, children = with_old_set()
    answer = ask(parent, children)
    assert world.names(answer.children, "PodCliqueSet") == [OLD_SET]
    assert answer.status is not None
    assert answer.status["podCliqueSet"] == OLD_SET


def test_recorded_name_counts_while_there_is_no_set() -> None:
    parent = graph(status={"podCliqueSet": OLD_SET})
    assert world.names(ask(parent).children, "PodCliqueSet") == [OLD_SET]
    assert parts_of(parent) == {OLD_SET}


def test_recorded_name_that_is_no_name_does_not_count() -> None:
    for wrong in ("Not A Name", "", 7, None, ["a"]):
        assert world.names(ask(graph(status={"podCliqueSet": wrong})).children, "PodCliqueSet") == [CUT]


def test_longer_component_is_refused_and_the_set_stays() -> None:
    longer = {**RECIPE, "AVeryLongNameOfAWorker": nodes()}
    parent, children = with_old_set(longer, status={"podCliqueSet": OLD_SET})
    answer = ask(parent, children)
    assert texts_of(answer.problems) == (
        (
            "spec.services[AVeryLongNameOfAWorker]: combined resource name length 52 exceeds the 45-character "
            "pod-name limit (PodCliqueSet kimi + averylongnameofaworker + averylongnameofaworker-ldr), and the graph's "
            "PodCliqueSet keeps its name; shorten this name to at most 18 characters, or delete the graph and create "
            "it again"
        ),
    )
    assert world.names(answer.children, "PodCliqueSet") == [OLD_SET]
    assert answer.status is not None
    assert answer.status["podCliqueSet"] == OLD_SET, "the record outlives a spec that is refused"


def test_longer_component_that_fits_beside_the_kept_name_is_taken() -> None:
    parent, children = with_old_set({**RECIPE, "ALongNameOfAWorke": nodes()})
    assert world.names(ask(parent, children).children, "PodCliqueSet") == [OLD_SET]


def test_record_is_gone_once_components_run_the_graph() -> None:
    parent, children = with_old_set({"Frontend": make.service("frontend")}, status={"podCliqueSet": OLD_SET})
    parent["metadata"]["annotations"] = {contract.ANNOTATION_ENABLE_GROVE: "false"}
    waiting = ask(parent, children)
    assert waiting.status is not None
    assert waiting.status["podCliqueSet"] == OLD_SET
    moved = ask(parent)
    assert moved.status is not None
    assert "podCliqueSet" not in moved.status


# Two graphs


def test_set_of_another_graph_with_the_same_cut_name_is_reported_and_not_taken() -> None:
    services = {"VllmDecodeWorker222": make.service()}
    first, second = (graph(services, name) for name in PAIR)
    other = world.child(
        world.apply((), ask(first).children), "PodCliqueSet", set_name({"VllmDecodeWorker222": 1}, PAIR[0])
    )
    owner = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "name": PAIR[0], "uid": "other"}
    other["metadata"]["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    rest = [child for child in world.apply((), ask(second).children) if child["kind"] != "PodCliqueSet"]
    unread = later(second, rest, installed=["grove"])
    assert unread.queries == (ObjectQuery(kinds.POD_CLIQUE_SET, "default", name_of(other)),)
    answer = later(second, rest, [other], installed=["grove"])
    assert world.condition(answer, "Applied")["reason"] == "NameTaken"
    assert f"DynamoGraphDeployment {PAIR[0]}" in world.ready(answer)["message"]
    assert not [one for one in answer.effects if isinstance(one, ScalePodClique)]


@pytest.mark.parametrize(("name", "expected"), [(CUT, True), (LONG, False), ("x-12345", False), ("-3d6c", False)])
def test_form_of_a_cut_name_is_known(name: str, *, expected: bool) -> None:
    assert may_be_cut(name) is expected
