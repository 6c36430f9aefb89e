"""Children as they were last applied."""

import json

import pytest

from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.wire.metacontroller.last_applied import last_applied_children, read_applied_spec, read_last_applied
from tests import make

DESIRED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "1"}}, "data": {"k": "v"}}


def test_last_applied_object_comes_back_whole() -> None:
    assert last_applied_children([make.observed(DESIRED)], make.problems("broken")) == [DESIRED]


def test_label_that_metacontroller_adds_is_left_to_it() -> None:
    labelled = {**DESIRED, "metadata": {"name": "a", "labels": {"controller-uid": "u"}}}
    (child,) = last_applied_children([make.observed(labelled)], make.problems("broken"))
    assert child["metadata"] == {"name": "a"}


def test_child_on_its_way_out_is_not_asked_for_again() -> None:
    leaving = make.observed(DESIRED)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert last_applied_children([leaving], make.problems("broken")) == []


def test_child_without_annotation_is_refused_with_every_problem() -> None:
    with pytest.raises(InvalidSpec) as refusal:
        last_applied_children([{**DESIRED}], make.problems("first", "second"))
    assert texts_of(refusal.value.problems) == (
        "first",
        "second",
        "ConfigMap a has no last-applied annotation of its own; run Metacontroller with dynamic apply",
    )


@pytest.mark.parametrize("text", ["", "{", "0", "[]", "null", '{"metadata":["x"]}', '{"metadata":{"labels":"x"}}'])
def test_annotation_that_holds_no_object_counts_as_missing(text: str) -> None:
    child = make.observed(DESIRED)
    child["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED] = text
    assert read_last_applied(child) is None
    with pytest.raises(InvalidSpec) as refusal:
        last_applied_children([child], make.problems("broken"))
    assert len(refusal.value.problems) == 2


@pytest.mark.parametrize(
    "other",
    [
        {**DESIRED, "kind": "Secret"},
        {**DESIRED, "metadata": {"name": "b"}},
        {**DESIRED, "metadata": {"name": "a", "namespace": "elsewhere"}},
    ],
    ids=["kind", "name", "namespace"],
)
def test_annotation_that_was_copied_from_another_object_counts_as_missing(other: Manifest) -> None:
    child = make.observed(DESIRED)
    child["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED] = json.dumps(other)
    assert read_last_applied(child) is None


def test_annotation_may_have_the_namespace() -> None:
    desired = {**DESIRED, "metadata": {"name": "a", "namespace": "default"}}
    child = make.observed(desired)
    assert child["metadata"]["namespace"] == "default"
    assert read_last_applied(child) == desired


def test_applied_spec_that_is_no_object_counts_as_missing() -> None:
    child = make.observed({**DESIRED, "spec": "x"})
    assert read_applied_spec(child) is None


@pytest.mark.parametrize("lost", ["apiVersion", "kind", "name"])
def test_record_that_is_no_object_counts_as_missing(lost: str) -> None:
    record = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {}}
    for where in (record, record["metadata"]):
        assert isinstance(where, dict)
        where.pop(lost, None)
    annotations = {contract.ANNOTATION_LAST_APPLIED: json.dumps(record)}
    child = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "annotations": annotations}}
    assert read_last_applied(child) is None
