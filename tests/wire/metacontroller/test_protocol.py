"""Metacontroller's protocol: requests of hook version v2, and every answer that must not leave."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any

import orjson
import pytest

from hooks.ground import contract
from hooks.ground.errors import InvalidAnswer, InvalidRequest
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.wire.metacontroller.children import MAX_CHILD_BYTES
from hooks.wire.metacontroller.protocol import Objects, RelatedRule, SyncAnswer
from hooks.wire.metacontroller.request_body import JsonCache
from hooks.wire.metacontroller.wire import (
    parse_customize_request,
    parse_sync_request,
    write_customize_answer,
    write_sync_answer,
)
from tests import make

DECLARED = Objects({"ConfigMap.v1": {}, "Deployment.apps/v1": {}})


def child(**fields: Any) -> Manifest:
    metadata = {"name": "c", **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def without(key: str) -> Manifest:
    return {name: value for name, value in child().items() if name != key}


def body(**fields: Any) -> bytes:
    return orjson.dumps({"controller": {}, "parent": make.graph(), "children": {}, "related": {}, **fields})


def with_metadata(**fields: Any) -> Manifest:
    graph = make.graph()
    return {**graph, "metadata": {**graph["metadata"], **fields}}


class Word(StrEnum):
    YES = "yes"


@pytest.mark.parametrize(
    ("children", "words"),
    [
        ([None], "a child is NoneType"),
        ([[child()]], "a child is list"),
        ([{}], "lacks apiVersion, kind or metadata"),
        ([without("apiVersion")], "child ConfigMap c lacks apiVersion"),
        ([without("kind")], "child None c lacks"),
        ([without("metadata")], "child ConfigMap None lacks"),
        ([child(metadata={"name": ""})], "has no metadata.name"),
        ([child(metadata={"name": 7})], "has no metadata.name"),
        ([child(kind="Secret")], "children has no key for Secret.v1, so"),
        ([child(apiVersion="v2")], "children has no key for ConfigMap.v2, so"),
        ([child(apiVersion="apps/v1beta1", kind="Deployment")], "Deployment.apps/v1beta1"),
        ([child(), child()], "child ConfigMap c is returned twice"),
        ([child(metadata={"namespace": "a"}), child(metadata={"namespace": "a"})], "returned twice"),
        ([child(), child(metadata={"namespace": "default"})], "returned twice"),
        ([child(metadata={"namespace": "default"}), child()], "returned twice"),
        ([child(metadata={"labels": {"a": 1}})], "labels that are not strings"),
        ([child(metadata={"labels": {"a": None}})], "labels that are not strings"),
        ([child(metadata={"labels": None})], "labels that are not strings"),
        ([child(metadata={"annotations": {"a": True}})], "annotations that are not strings"),
        ([child(metadata={"labels": {"controller-uid": "u"}})], "has the label controller-uid"),
        ([child(data={"a": None})], "data.a is null"),
        ([child(data={"a": [{"b": "x"}, {"b": None}]})], "data.a[1].b is null"),
        ([child(data={"a": (None,)})], "data.a[0] is null"),
        ([child(spec={"replicas": 1.0})], "spec.replicas is the float 1.0, must be an integer or a string"),
        ([child(spec={"a": [0.5]})], "spec.a[0] is the float 0.5"),
        ([child(spec={"a": float("nan")})], "spec.a is null"),
        ([child(spec={"a": 1e300})], "spec.a is the float 1e+300"),
        ([child(data={"a": {1, 2}})], "is not JSON"),
        ([child(data={1: "a"})], "is not JSON"),
        ([child(data={"a": make.NOW})], "is not JSON"),
        ([child(data={"a": "x" * MAX_CHILD_BYTES})], f"must have at most {MAX_CHILD_BYTES}"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_child_that_breaks_the_contract_never_leaves(children: list[Any], words: str) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        write_sync_answer(SyncAnswer(children=children, status={}), DECLARED)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, "no status"),
        ([], "the status is an array"),
        ("ready", "the status is a string"),
        ({"replicas": 1.5}, "status: replicas is the float 1.5"),
        ({"conditions": [{"message": None}]}, "status: conditions[0].message is null"),
    ],
    ids=["absent", "list", "text", "float", "null"],
)
def test_status_that_breaks_the_contract_never_leaves(status: Any, words: str) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        write_sync_answer(SyncAnswer(status=status), DECLARED)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        {"a": "runtime:0.9.1"},
        {"a": "null", "b": "[null, 1.5]"},
        {"a": [0, -1, True, False, ""]},
        {"a": {}, "b": []},
        {"a": Word.YES},
        {"a": ["x", ["y", {"z": 2**53}]]},
    ],
    ids=["version", "words in text", "plain values", "empty", "enum", "nested"],
)
def test_child_with_plain_values_leaves_as_it_is(data: Mapping[str, Any]) -> None:
    written = orjson.loads(write_sync_answer(SyncAnswer(children=[child(data=data)], status={}), DECLARED))
    assert written == {"children": [child(data=data)], "status": {}}


def test_children_of_one_name_differ_by_kind_and_namespace() -> None:
    other_kind = child(apiVersion="apps/v1", kind="Deployment")
    spaces = [child(metadata={"namespace": name, "name": "d"}) for name in ("a", "b")]
    written = write_sync_answer(SyncAnswer(children=[child(), other_kind, *spaces], status={}), DECLARED)
    assert len(orjson.loads(written)["children"]) == 4


def test_answer_without_children_still_says_so() -> None:
    assert write_sync_answer(SyncAnswer(status={}), DECLARED) == b'{"children":[],"status":{}}'


def test_answer_says_when_to_come_back_and_that_all_is_undone() -> None:
    written = orjson.loads(write_sync_answer(SyncAnswer(status={}, resync_after_seconds=5, finalized=True), DECLARED))
    assert written == {"children": [], "status": {}, "resyncAfterSeconds": 5, "finalized": True}


@pytest.mark.parametrize(
    ("asked", "said"), [(0.0000005, 0.1), (0.001, 0.1), (0.04, 0.1), (0.3, 0.3), (4.91, 5.0), (12.5, 12.5)]
)
def test_resync_is_never_earlier_than_asked_for(asked: float, said: float) -> None:
    """Rounded to 0, it would never come."""
    written = orjson.loads(write_sync_answer(SyncAnswer(status={}, resync_after_seconds=asked), DECLARED))
    assert written["resyncAfterSeconds"] == said


def test_notes_problems_and_effects_stay_inside() -> None:
    written = orjson.loads(
        write_sync_answer(SyncAnswer(status={}, notes=("n",), problems=make.problems("p")), DECLARED)
    )
    assert set(written) == {"children", "status"}


def test_decorator_answers_attachments_and_may_leave_the_status_alone() -> None:
    assert write_sync_answer(SyncAnswer(), DECLARED, decorator=True) == b'{"attachments":[]}'


def test_equal_answers_are_equal_bytes() -> None:
    one = SyncAnswer(children=[child(data={"a": "1", "b": "2"})], status={"x": 1, "y": 2})
    two = SyncAnswer(children=[child(data={"b": "2", "a": "1"})], status={"y": 2, "x": 1})
    assert write_sync_answer(one, DECLARED) == write_sync_answer(two, DECLARED)


def test_request_gives_parent_children_and_related() -> None:
    secret = make.observed({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
    children = {"ConfigMap.v1": {"default/c": make.observed(child())}, "Deployment.apps/v1": {}}
    request = parse_sync_request(
        body(children=children, related={"Secret.v1": {"default/s": secret}}, finalizing=True), contract.GRAPH
    )
    found = request.children.get(kinds.CONFIG_MAP, "c", "default")
    assert found is not None
    assert found["metadata"]["name"] == "c"
    assert request.children.has_kind(kinds.DEPLOYMENT)
    assert not request.children.has_kind(kinds.SERVICE)
    assert request.children.of(kinds.DEPLOYMENT) == ()
    assert [s["metadata"]["name"] for s in request.related.all()] == ["s"]
    assert (request.generation, request.finalizing, request.status) == (1, True, {})


def test_cluster_scoped_related_objects_have_keys_without_namespace() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "uid": "u"}}
    request = parse_sync_request(body(related={"Namespace.v1": {"ns": namespace}}), contract.GRAPH)
    assert request.related.get(kinds.NAMESPACE, "ns") == namespace


def test_request_without_customize_hook_has_no_related_objects() -> None:
    request = parse_sync_request(orjson.dumps({"parent": make.graph(), "children": {}}), contract.GRAPH)
    assert request.related.all() == ()


def test_decorators_request_has_an_object_and_attachments() -> None:
    call = orjson.dumps({"object": make.graph(), "attachments": {"ConfigMap.v1": {}}, "related": {}})
    request = parse_sync_request(call, contract.GRAPH, decorator=True)
    assert request.parent["metadata"]["name"] == "g"
    assert request.children.has_kind(kinds.CONFIG_MAP)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (body(children=None), "the request has no children; "),
        (body(children={"ConfigMap.v1": []}), "children[ConfigMap.v1] is an array"),
        (body(children={"ConfigMap.v1": {"default/c": []}}), "not a Kubernetes object"),
        (body(related=[]), "related is an array"),
        (body(related={"Secret.v1": {"s": make.observed(child())}}), "declare version v2"),
        (body(parent=None), "no parent"),
        (body(parent={**make.graph(), "status": []}), "spec and status"),
        (
            body(parent={**make.graph(), "metadata": {"name": "", "namespace": "a"}}),
            "the request has no parent.metadata.name;",
        ),
        (body(parent=with_metadata(name=5)), "metadata.name of the request's parent is a number, should be a string"),
        (body(parent=with_metadata(namespace=["a"])), "metadata.namespace of the request's parent is an array"),
        (body(parent=with_metadata(uid=None)), "metadata.uid of the request's parent is null"),
        (body(parent=with_metadata(generation="x")), "metadata.generation of the request's parent is a string"),
        (body(parent=with_metadata(generation=True)), "is a boolean, should be an integer"),
        (body(parent=with_metadata(generation=1.5)), "is not an integer, should be an integer"),
        (orjson.dumps({"object": make.graph(), "attachments": {}}), "no parent"),
        (b"null", "the body is null"),
        (b'"text"', "the body is a string"),
        (b"{" * 100_000, "not JSON"),
    ],
    ids=[
        "children null",
        "kind is a list",
        "child is a list",
        "related is a list",
        "v1 keys",
        "parent null",
        "status is a list",
        "no name",
        "name is a number",
        "namespace is a list",
        "uid null",
        "generation is text",
        "generation is a boolean",
        "generation is no integer",
        "decorator's",
        "null",
        "text",
        "deep",
    ],
)
def test_call_that_is_no_request_is_refused(call: bytes, words: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_sync_request(call, contract.GRAPH)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def hooks_of(**versions: str | None) -> dict[str, Any]:
    """A controller with hooks of these versions; one without a version is of Metacontroller's default."""
    hooks = {name: {"webhook": {}, **({"version": v} if v is not None else {})} for name, v in versions.items()}
    return {"kind": "CompositeController", "spec": {"hooks": hooks}}


@pytest.mark.parametrize(
    ("versions", "named"),
    [
        ({"sync": "v1"}, "sync"),
        ({"sync": None}, "sync"),
        ({"sync": ""}, "sync"),
        ({"sync": "v2", "finalize": "v1"}, "finalize"),
        ({"sync": "v2", "customize": None}, "customize"),
    ],
    ids=["v1", "absent", "empty", "finalize", "customize"],
)
@pytest.mark.parametrize(
    "read",
    [
        parse_customize_request,
        partial(parse_sync_request, read=JsonCache().read_call),
        partial(parse_sync_request, decorator=True),
    ],
    ids=["customize", "sync", "decorator's"],
)
def test_controller_with_a_hook_of_version_v1_is_refused_before_it_has_children(
    versions: dict[str, str | None], named: str, read: Callable[[bytes, GroupVersionKind], object]
) -> None:
    call = {"controller": hooks_of(**versions), "parent": make.graph(), "children": {}, "related": {}}
    call |= {"object": make.graph(), "attachments": {}}
    with pytest.raises(InvalidRequest) as caught:
        read(orjson.dumps(call), contract.GRAPH)
    assert str(caught.value) == (f"the controller's {named} hook has version v1; set spec.hooks.{named}.version to v2")


@pytest.mark.parametrize("controller", [None, {}, {"spec": {}}, hooks_of(), hooks_of(sync="v2", customize="v2")])
def test_controller_with_hooks_of_version_v2_or_none_is_served(controller: Any) -> None:
    request = parse_sync_request(body(controller=controller), contract.GRAPH, read=JsonCache().read_call)
    assert request.parent == make.graph()


def test_customize_request_says_which_optional_kinds_the_controller_declares() -> None:
    declared = [
        {"apiVersion": "grove.io/v1alpha1", "resource": "podcliquesets"},
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "resource": "podgroups"},
        {"apiVersion": "v1", "resource": "services"},
    ]
    request = parse_customize_request(
        orjson.dumps({"controller": {"spec": {"childResources": declared}}, "parent": make.graph()}), contract.GRAPH
    )
    assert request.child_kinds == {kinds.POD_CLIQUE_SET, kinds.POD_GROUP}


@pytest.mark.parametrize(
    "controller",
    [
        ["x"],
        "text",
        {"spec": ["x"]},
        {"spec": {"hooks": ["sync"]}},
        {"spec": {"hooks": {"sync": "v2"}}},
        {"spec": {"childResources": {"a": 1}}},
        {"spec": {"childResources": [None]}},
    ],
    ids=["list", "text", "spec is a list", "hooks are a list", "hook is text", "resources are a map", "null resource"],
)
def test_customize_request_with_a_malformed_controller_is_refused(controller: Any) -> None:
    with pytest.raises(InvalidRequest):
        parse_customize_request(orjson.dumps({"controller": controller, "parent": make.graph()}), contract.GRAPH)


def test_rules_are_written_in_a_fixed_order() -> None:
    rules = [
        RelatedRule(api_version="v1", resource="secrets", namespace="ns", match_labels={"b": "2", "a": "1"}),
        RelatedRule(api_version="v1", resource="namespaces", names=("ns",)),
        RelatedRule(api_version="v1", resource="secrets", namespace="ns", names=("b", "a", "b")),
    ]
    written = write_customize_answer(rules)
    assert written == write_customize_answer(rules[::-1])
    assert orjson.loads(written)["relatedResources"] == [
        {"apiVersion": "v1", "names": ["ns"], "resource": "namespaces"},
        {
            "apiVersion": "v1",
            "labelSelector": {"matchLabels": {"a": "1", "b": "2"}},
            "namespace": "ns",
            "resource": "secrets",
        },
        {"apiVersion": "v1", "names": ["a", "b"], "namespace": "ns", "resource": "secrets"},
    ]


def test_no_rules_are_an_empty_list() -> None:
    assert write_customize_answer([]) == b'{"relatedResources":[]}'


def test_rule_with_names_and_labels_never_leaves() -> None:
    rule = RelatedRule(api_version="v1", resource="secrets", namespace="ns", names=("a",), match_labels={"a": "1"})
    with pytest.raises(InvalidAnswer, match="names and labels"):
        write_customize_answer([rule])
