"""What a step writes: once, and nothing of anybody else's."""

import json
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.client import merge_patch
from hooks.tools.operating.migration.changes import (
    Taken,
    find_obstacle,
    find_patch,
    make_change,
    read_content,
    refer_beside,
    unmark,
)
from hooks.tools.operating.migration.steps import Change
from hooks.wire.metacontroller.last_applied import read_last_applied
from hooks.wire.world.merge import apply_update
from hooks.wire.world.ownership import controller_reference

OWNER = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g", "uid": "u1"}}
HOLD = Change(owner=controller_reference(OWNER), mark="0.abc", is_recorded=True)


def deployment(**metadata: Any) -> Manifest:
    """A Deployment as the API server shows it."""
    template = {"metadata": {"creationTimestamp": None, "labels": {"a": "b"}}, "spec": {"dnsPolicy": "ClusterFirst"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "n", "uid": "d1", "resourceVersion": "7", "generation": 3, **metadata},
        "spec": {"replicas": 2, "template": template},
        "status": {"readyReplicas": 2},
    }


def test_held_workload_is_what_a_hook_would_have_applied() -> None:
    live = deployment(annotations={"deployment.kubernetes.io/revision": "1", "own": "x"}, labels={"team": "a"})
    changed = make_change(HOLD, live)
    assert changed["metadata"]["labels"] == {"team": "a", "controller-uid": "u1"}
    assert changed["spec"] == live["spec"]
    applied = read_last_applied(changed)
    assert applied == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "d",
            "namespace": "n",
            "labels": {"team": "a"},
            "annotations": {"own": "x", contract.ANNOTATION_RENDERING: "0.abc"},
        },
        "spec": {
            "replicas": 2,
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"dnsPolicy": "ClusterFirst"}},
        },
    }


def test_metacontroller_changes_nothing_of_a_held_workload_that_is_returned_as_it_was_applied() -> None:
    changed = make_change(HOLD, deployment())
    applied = json.loads(changed["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED])
    assert apply_update(changed, applied) == changed


def test_change_is_made_once() -> None:
    changed = make_change(HOLD, deployment())
    assert make_change(HOLD, changed) == changed
    assert find_patch(HOLD, changed) == {}


def test_later_run_does_not_replace_the_mark_of_an_earlier_one() -> None:
    changed = make_change(HOLD, deployment())
    assert find_patch(Change(owner=controller_reference(OWNER), mark="0.def", is_recorded=True), changed) == {}
    assert make_change(HOLD, unmark(changed)) == changed


def test_patch_makes_the_change() -> None:
    live = deployment(labels={"team": "a"}, finalizers=["other", "nvidia.com/finalizer"])
    change = Change(owner=controller_reference(OWNER), is_recorded=True, finalizer="nvidia.com/finalizer")
    patched = merge_patch(live, {"metadata": find_patch(change, live)})
    assert patched == make_change(change, live)
    assert patched["metadata"]["finalizers"] == ["other"]


def test_references_of_others_stay() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "c1"}
    changed = make_change(Change(owner=controller_reference(OWNER)), deployment(ownerReferences=[other]))
    assert changed["metadata"]["ownerReferences"] == [other, controller_reference(OWNER)]


def test_reference_to_an_owner_that_was_created_anew_is_replaced() -> None:
    gone = {**controller_reference(OWNER), "uid": "u0"}
    changed = make_change(Change(owner=controller_reference(OWNER)), deployment(ownerReferences=[gone]))
    assert changed["metadata"]["ownerReferences"] == [controller_reference(OWNER)]


def test_object_of_somebody_else_is_not_taken() -> None:
    other = {**controller_reference(OWNER), "name": "other", "uid": "u2"}
    with pytest.raises(Taken, match="it belongs to DynamoGraphDeployment other"):
        make_change(Change(owner=controller_reference(OWNER)), deployment(ownerReferences=[other]))


def test_kept_object_loses_its_controller_and_keeps_its_owner() -> None:
    live = deployment(ownerReferences=[controller_reference(OWNER)], labels={"team": "a"})
    change = Change(beside=(refer_beside(OWNER),))
    assert find_patch(change, live) == {"ownerReferences": [refer_beside(OWNER)]}
    assert "controller" not in refer_beside(OWNER)


def test_record_of_a_service_leaves_out_what_the_api_server_allocates() -> None:
    spec = {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"], "selector": {"a": "b"}}
    port = {"name": "http", "port": 8000, "nodePort": 30000}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {**spec, "ports": [port]}}
    assert read_content(service)["spec"] == {"selector": {"a": "b"}, "ports": [{"name": "http", "port": 8000}]}


def test_record_of_a_headless_service_says_so() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"clusterIP": "None"}}
    assert read_content(service)["spec"] == {"clusterIP": "None"}


def test_record_of_an_account_leaves_its_tokens_to_the_cluster() -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}, "secrets": [{"name": "t"}]}
    assert "secrets" not in read_content(account)


def test_object_with_a_fraction_cannot_be_recorded() -> None:
    live = deployment()
    assert find_obstacle(live) == ""
    assert "float" in find_obstacle({**live, "spec": {"weight": 0.5}})


def test_object_that_is_too_large_cannot_be_recorded() -> None:
    assert "bytes" in find_obstacle({**deployment(), "spec": {"text": "x" * 300_000}})


def test_record_of_a_component_has_what_our_definition_keeps() -> None:
    """Otherwise the hook would return a field that the API server drops, and Metacontroller would write for ever."""
    spec = {"componentType": "frontend", "ofAnotherRelease": True, "extraPodSpec": {"mainContainer": {"name": ""}}}
    kind = contract.COMPONENT
    component = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "c"}, "spec": spec}
    assert read_content(component)["spec"] == {
        "componentType": "frontend",
        "extraPodSpec": {"mainContainer": {"name": ""}},
    }
