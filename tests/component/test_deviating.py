"""A component whose children are missing, or not as they are wanted."""

import re
from datetime import timedelta
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.service_routes import find_rerouted
from hooks.ground.k8s.types import Manifest, name_of
from hooks.wire.metacontroller.effects import Event
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy.deviation_age import GRACE_SECONDS
from hooks.wire.world.merge import apply_update
from tests import make
from tests.component.render import answer, only
from tests.component.test_explain import unschedulable
from tests.component.test_sync import INVALID, SPEC, TYPES, conditions, running


def later(parent: Manifest, children: list[Manifest], related: tuple[Manifest, ...] = ()) -> SyncAnswer:
    """The answer to a second sync, after the time for which deviations are normal."""
    first = answer(parent, children, related)
    assert conditions(first)["Ready"]["status"] == "False"
    facts = make.facts(make.NOW + timedelta(seconds=GRACE_SECONDS))
    return answer({**parent, "status": first.status}, children, related, facts=facts)


def scaled(children: list[Manifest], replicas: int) -> list[Manifest]:
    """The children, the Deployment scaled by hand and complete at that."""
    up = make.deployment_status(replicas)
    return [
        {**child, "spec": {**child["spec"], "replicas": replicas}, "status": up}
        if child["kind"] == "Deployment"
        else child
        for child in children
    ]


def test_deployment_scaled_by_hand_is_not_ready() -> None:
    parent = make.component("c", "g", **SPEC)
    children = scaled(running(), 0)
    found = conditions(answer(parent, children))
    assert (found["Ready"]["status"], found["Ready"]["reason"]) == ("False", "RollingOut")
    assert found["Available"]["message"].startswith("Deployment is not ready: RollingOut: ")
    assert (found["Applied"]["status"], found["Applied"]["reason"]) == ("Unknown", "Progressing")
    found = conditions(later(parent, children))
    assert found["Ready"]["reason"] == found["Applied"]["reason"] == "Differs"
    assert found["Ready"]["message"].startswith("Differs: something refuses or overrides")
    assert "(Deployment is not ready: spec.replicas is 0, wanted 2)" in found["Ready"]["message"]


def test_missing_service_leaves_the_component_unready_and_its_pods_available() -> None:
    parent = make.component("c", "g", **SPEC)
    children = [child for child in running() if child["kind"] != "Service"]
    found = conditions(answer(parent, children))
    assert [found[type_]["status"] for type_ in TYPES] == ["True", "False", "False", "Unknown", "True"]
    assert found["Ready"]["message"] == "Service c: Progressing: wait (not found); Deployment is ready"
    given = later(parent, children)
    found = conditions(given)
    assert found["Ready"]["reason"] == found["Applied"]["reason"] == "Missing"
    assert [effect.reason for effect in given.effects if isinstance(effect, Event)] == ["Missing"]


def test_service_of_somebody_else_is_named_with_its_owner() -> None:
    owner = {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "u-o", "controller": True}
    metadata = {"name": "c", "namespace": make.NAMESPACE, "ownerReferences": [owner]}
    foreign = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}}
    children = [child for child in running() if child["kind"] != "Service"]
    found = conditions(later(make.component("c", "g", **SPEC), children, (foreign,)))
    assert found["Ready"]["reason"] == "NameTaken"
    assert "the Service c that exists belongs to Other o" in found["Ready"]["message"]


@pytest.mark.parametrize("kind", ["Deployment", "Service"])
def test_object_of_a_deleted_component_that_is_being_deleted_is_named_with_what_holds_it(kind: str) -> None:
    owner = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoComponentDeployment", "name": "c", "uid": "u-before"}
    metadata = {
        "ownerReferences": [{**owner, "controller": True}],
        "deletionTimestamp": "2030-01-01T00:00:00Z",
        "finalizers": ["example.com/f"],
    }
    (wanted,) = [child for child in running() if child["kind"] == kind]
    held = {**wanted, "metadata": {"name": name_of(wanted), "namespace": make.NAMESPACE, **metadata}}
    rest = [child for child in running() if child["kind"] != kind]
    parent = make.component("c", "g", **SPEC)
    parent["metadata"]["uid"] = "u-now"
    message = conditions(later(parent, rest, (held,)))["Ready"]["message"]
    assert (
        f"the {kind} {name_of(wanted)} that exists belongs to a deleted DynamoComponentDeployment of this name and is "
        "being deleted, held by finalizer example.com/f - wait until the program that set the finalizer removes it"
    ) in message
    own = [{**one, "metadata": {**one["metadata"], **metadata}} if one["kind"] == kind else one for one in running()]
    given = conditions(answer(parent, own))
    assert "it is being deleted, held by finalizer example.com/f" in given["Ready"]["message"]


@pytest.mark.parametrize(
    "left",
    [
        {"ownerReferences": [{"kind": "DynamoComponentDeployment", "name": "c", "uid": "u-c", "controller": True}]},
        {"labels": {contract.LABEL_SELECTOR: "c"}},
    ],
    ids=["before Metacontroller saw it", "released by Metacontroller"],
)
def test_service_that_the_go_operator_left_is_named_with_the_command(left: dict[str, Any]) -> None:
    parent = make.component("c", "g", **SPEC)
    parent["metadata"]["uid"] = "u-c"
    metadata = {"name": "c", "namespace": make.NAMESPACE, **left}
    found = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}}
    children = [child for child in running() if child["kind"] != "Service"]
    given = later(parent, children, (found,))
    assert conditions(given)["Ready"]["reason"] == conditions(given)["Applied"]["reason"] == "NotAdopted"
    assert (
        "Service c: NotAdopted: the Service c that exists was left by the Go operator - "
        "dynamo-hooks migrate -n default --apply (not found)"
    ) in conditions(given)["Ready"]["message"]
    assert [effect.reason for effect in given.effects if isinstance(effect, Event)] == ["NotAdopted"]


LAST_APPLIED = {contract.ANNOTATION_LAST_APPLIED: "{}"}
LEFT = {
    "its label was removed": (
        {},
        r"lost its label controller-uid - give it back: kubectl label service c",
    ),
    "its owner was deleted without it": (
        {contract.LABEL_CONTROLLER_UID: "u-before"},
        (
            r"was left by a deleted DynamoComponentDeployment of this name - let all that it left be adopted: kubectl "
            r"label \S*deployment\.apps,\S*ingress\.networking\.k8s\.io,\S*service\S* -l controller-uid=u-before"
        ),
    ),
}


@pytest.mark.parametrize(("labels", "sentence"), LEFT.values(), ids=LEFT)
def test_service_of_ours_that_metacontroller_does_not_know_is_named_with_the_command(
    labels: dict[str, str], sentence: str
) -> None:
    parent = make.component("c", "g", **SPEC)
    parent["metadata"]["uid"] = "u-c"
    metadata = {
        "name": "c",
        "namespace": make.NAMESPACE,
        "labels": {contract.LABEL_SELECTOR: "c", **labels},
        "annotations": LAST_APPLIED,
    }
    found = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}}
    given = later(parent, [child for child in running() if child["kind"] != "Service"], (found,))
    assert conditions(given)["Applied"]["reason"] == "NotAdopted"
    message = conditions(given)["Ready"]["message"]
    command = f"{sentence} -n default controller-uid=u-c --overwrite"
    assert re.match(rf"Service c: NotAdopted: the Service c that exists {command} \(not found\); ", message)


def test_object_with_the_labels_of_another_component_is_not_taken_for_ours() -> None:
    metadata = {"name": "c", "namespace": make.NAMESPACE, "labels": {contract.LABEL_SELECTOR: "other"}}
    found = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}}
    children = [child for child in running() if child["kind"] != "Service"]
    given = later(make.component("c", "g", **SPEC), children, (found,))
    assert conditions(given)["Ready"]["reason"] == "NameTaken"


def test_pod_that_cannot_start_is_a_worse_reason_than_a_missing_service() -> None:
    parent = make.component("c", "g", **SPEC)
    children = [child for child in running(readyReplicas=0, availableReplicas=0) if child["kind"] != "Service"]
    found = conditions(later(parent, children, (unschedulable(),)))
    assert found["Ready"]["reason"] == "Unschedulable"
    assert found["Ready"]["message"].startswith("Unschedulable: pod c-1: ")
    assert "; Service c: Missing: " in found["Ready"]["message"]


def test_component_whose_deployment_an_autoscaler_scales_says_so_until_it_is_over() -> None:
    """An HPA acts each 15 seconds, and each time Metacontroller sets the replicas back at once."""
    parent, children = make.component("c", "g", **SPEC), running()
    told: list[tuple[str, str, str]] = []
    events: list[str] = []
    for seconds, seen in (
        (0, children),
        (15, scaled(children, 5)),
        (16, children),
        (30, scaled(children, 5)),
        (31, children),
    ):
        given = answer(parent, seen, facts=make.facts(make.NOW + timedelta(seconds=seconds)))
        found = conditions(given)
        told.append((found["Ready"]["status"], found["Ready"]["reason"], found["Applied"]["reason"]))
        events += [effect.reason for effect in given.effects if isinstance(effect, Event) and effect.type == "Warning"]
        parent = {**parent, "status": given.status}
    assert told == [
        ("True", "DeploymentReady", "AsWanted"),
        ("False", "RollingOut", "Changed"),
        ("True", "DeploymentReady", "Restored"),
        ("False", "Differs", "Overridden"),
        ("False", "Differs", "Overridden"),
    ]
    message = "Deployment c: Differs: something else writes spec.replicas again and again - let the autoscaler scale "
    assert found["Ready"]["message"].startswith(message)
    assert found["Available"]["status"] == "True"
    assert events == ["RollingOut", "Differs"]
    over = answer(parent, children, facts=make.facts(make.NOW + timedelta(seconds=61)))
    assert (conditions(over)["Ready"]["status"], conditions(over)["Applied"]["reason"]) == ("True", "AsWanted")


HANDS = {
    "another name": {"type": "ExternalName", "externalName": "elsewhere.example"},
    "unready pods": {"publishNotReadyAddresses": True},
}


@pytest.mark.parametrize("hand", HANDS.values(), ids=list(HANDS))
def test_service_that_sends_its_clients_elsewhere_is_told_and_set_back(hand: dict[str, Any]) -> None:
    parent, children = make.component("c", "g", **SPEC), running()
    assert conditions(answer(parent, children))["Applied"]["status"] == "True"
    edited = [{**c, "spec": {**c["spec"], **hand}} if c["kind"] == "Service" else c for c in children]
    given = answer(parent, edited)
    found = conditions(given)
    assert (found["Applied"]["reason"], found["Ready"]["status"]) == ("Changed", "False")
    assert f"spec.{next(iter(hand))} is" in found["Applied"]["message"]
    live, wanted = only(edited, "Service"), only(given.children, "Service")
    back = apply_update(live, wanted)
    assert find_rerouted({}, back["spec"]) == {}
    settled = [{**back, "spec": _stored(back["spec"])} if c["kind"] == "Service" else c for c in children]
    again = answer(parent, settled)
    assert only(again.children, "Service") == only(answer(parent, children).children, "Service"), "left out again"
    assert conditions(again)["Applied"]["status"] == "Unknown"
    assert "not yet applied" in conditions(again)["Applied"]["message"]


def test_service_that_was_set_back_is_left_alone_by_a_spec_that_cannot_be_rendered() -> None:
    applied = [
        {**c, "spec": {**c["spec"], "publishNotReadyAddresses": False}} if c["kind"] == "Service" else c
        for c in answer(make.component("c", "g", **SPEC)).children
    ]
    live = [make.observed(c) for c in applied]
    live = [{**c, "spec": _stored(c["spec"])} if c["kind"] == "Service" else c for c in live]
    frozen = only(answer(make.component("c", "g", **INVALID), live).children, "Service")
    assert "publishNotReadyAddresses" not in frozen["spec"]


def _stored(spec: dict[str, Any]) -> dict[str, Any]:
    """As the API server stores it, which leaves out what is false."""
    return {key: value for key, value in spec.items() if value is not False}


def test_service_that_more_than_the_cluster_reaches_stays() -> None:
    parent, children = make.component("c", "g", **SPEC), running()
    opened = [{**c, "spec": {**c["spec"], "type": "LoadBalancer"}} if c["kind"] == "Service" else c for c in children]
    given = answer(parent, opened)
    assert conditions(given)["Applied"]["status"] == "True"
    assert given.children is answer(parent, children).children, "the same objects, with their JSON"
