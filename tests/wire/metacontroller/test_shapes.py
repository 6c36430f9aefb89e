"""A hook that fails on a value that no API server would have stored says which value that is."""

import json
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.wire.metacontroller.protocol import Objects, SyncRequest
from hooks.wire.metacontroller.shapes import find_misshapen
from tests import make

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "default", "labels": {"replicas": "many"}},
    "spec": {"replicas": 1, "selector": {"matchLabels": {"status": "x"}}},
    "status": {"replicas": 1, "conditions": [{"type": "Available", "status": "True"}]},
}


def call(manifest: dict[str, Any], parent: dict[str, Any] | None = None) -> SyncRequest:
    children = Objects({"Deployment.apps/v1": {"default/d": manifest}})
    return SyncRequest(parent=parent or make.graph(), children=children, related=Objects({}), finalizing=False)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({}, ""),
        ({"status": "x"}, "status of Deployment d is a string, should be an object"),
        ({"status": {"replicas": "3"}}, "replicas of status of Deployment d is a string, should be an integer"),
        (
            {"status": {"conditions": {}}},
            "conditions of status of Deployment d is an object, should be an array of objects",
        ),
        (
            {"status": {"conditions": [{"type": "A", "status": {}}]}},
            "status of conditions of status of Deployment d is an object, should be a string",
        ),
        (
            {"metadata": {"name": "d", "namespace": "n", "creationTimestamp": "soon"}},
            "creationTimestamp of metadata of Deployment d is a string, should be a time",
        ),
        (
            {"metadata": {"name": "d", "namespace": "n", "labels": {"a": 1}}},
            "labels of metadata of Deployment d is an object, should be an object with strings",
        ),
        ({"kind": []}, "kind of an object in children is an array, should be a string"),
        ({"status": None, "spec": None}, ""),
        ({"metadata": {"name": "d"}}, "Deployment d has no metadata.namespace"),
        ({"status": {"replicas": None}}, "replicas of status of Deployment d is null, should be an integer"),
        (
            {"spec": {"resources": {"requests": {"storage": ["1Gi"]}}}},
            "requests of resources of spec of Deployment d is an object, should be an object with quantities",
        ),
        ({"spec": {"resources": ["x"]}}, "resources of spec of Deployment d is an array, should be an object"),
        ({"spec": {"resources": {"limits": {"gpu": "1", "cpu": 2, "custom": {"a/b": "1"}}}}}, ""),
        ({"rules": [{"resources": ["pods"]}]}, ""),
        ({"metadata": {"name": "e", "namespace": "n"}}, "children has Deployment e under the key default/d"),
    ],
    ids=[
        "sound",
        "status",
        "count",
        "conditions",
        "condition",
        "time",
        "labels",
        "kind",
        "null",
        "namespace",
        "null count",
        "amount",
        "resources",
        "amounts",
        "resources of a Role",
        "another object's key",
    ],
)
def test_first_misshapen_value_is_named(changed: dict[str, Any], sentence: str) -> None:
    assert find_misshapen(call({**DEPLOYMENT, **changed})) == sentence


def test_the_parents_spec_is_left_to_the_rules() -> None:
    assert find_misshapen(call(DEPLOYMENT, {**make.graph(), "spec": {"status": 3, "replicas": "x"}})) == ""


def test_conditions_of_an_endpoint_are_an_object() -> None:
    endpoint: dict[str, Any] = {"addresses": ["10.0.0.1"], "conditions": {"ready": True}}
    assert find_misshapen(call({**DEPLOYMENT, "endpoints": [endpoint]})) == ""
    wrong = find_misshapen(call({**DEPLOYMENT, "endpoints": [{**endpoint, "conditions": []}]}))
    assert wrong == "conditions of endpoints of Deployment d is an array, should be an object"


@pytest.mark.parametrize(
    ("field", "entry", "sentence"),
    [
        ("conditions", {"status": "True"}, "an entry of conditions of Deployment d has no type"),
        ("containers", {"image": "i"}, "an entry of containers of Deployment d has no name"),
        ("cliques", {"name": None}, "an entry of cliques of Deployment d has no name"),
        (
            "ownerReferences",
            {"kind": "A", "name": "n", "uid": "u"},
            "an entry of ownerReferences of Deployment d has no apiVersion",
        ),
    ],
)
def test_entry_without_what_each_has_is_named(field: str, entry: dict[str, Any], sentence: str) -> None:
    assert find_misshapen(call({**DEPLOYMENT, field: [entry]})) == sentence


def test_annotation_with_what_was_applied_is_looked_at_too() -> None:
    applied = {**DEPLOYMENT, "spec": {"template": {"spec": {"containers": [{"image": "i"}]}}}}
    annotations = {contract.ANNOTATION_LAST_APPLIED: json.dumps(applied)}
    found = find_misshapen(call({**DEPLOYMENT, "metadata": {**DEPLOYMENT["metadata"], "annotations": annotations}}))
    where = "containers of spec of template of spec of the last-applied annotation of Deployment d"
    assert found == f"an entry of {where} has no name"


def test_state_of_a_container_is_an_object() -> None:
    states = {"containerStatuses": [{"name": "main", "state": [["x"]]}]}
    assert "state of containerStatuses" in find_misshapen(call({**DEPLOYMENT, "status": states}))


def test_nesting_without_end_is_named() -> None:
    value: Any = {}
    for _ in range(400):
        value = {"a": value}
    assert "nested more than 100 deep" in find_misshapen(call({**DEPLOYMENT, "status": value}))


def test_failure_is_the_callers_only_if_an_object_is_misshapen() -> None:
    client = create_app(parse_settings({}), lambda: make.NOW).test_client()
    body = make.wire_request(make.graph(status={"conditions": "x"}))
    answer = client.post("/graph/sync", json=body)
    assert (answer.status_code, answer.text) == (
        400,
        "the request cannot be read: conditions of status of the parent is a string, should be an array of objects\n",
    )
