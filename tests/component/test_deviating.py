"""A component whose children are missing, or not as they are wanted."""

from datetime import timedelta
from typing import Any

import pytest

from hooks import contract
from hooks.k8s.types import Manifest
from hooks.metacontroller.effects import Event
from hooks.metacontroller.protocol import SyncAnswer
from hooks.policy.applied_condition import GRACE_SECONDS
from tests import make
from tests.component.render import answer
from tests.component.test_explain import unschedulable
from tests.component.test_sync import SPEC, TYPES, conditions, running


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
    assert found["Available"]["message"].startswith("Deployment is not ready: spec.replicas is 0, wanted 2; RollingOut")
    assert (found["Applied"]["status"], found["Applied"]["reason"]) == ("Unknown", "Progressing")
    found = conditions(later(parent, children))
    assert found["Ready"]["reason"] == found["Applied"]["reason"] == "Differs"
    assert "spec.replicas is 0, wanted 2; Differs: something refuses or overrides" in found["Ready"]["message"]


def test_missing_service_leaves_the_component_unready_and_its_pods_available() -> None:
    parent = make.component("c", "g", **SPEC)
    children = [child for child in running() if child["kind"] != "Service"]
    found = conditions(answer(parent, children))
    assert [found[type_]["status"] for type_ in TYPES] == ["True", "False", "False", "Unknown", "True"]
    assert found["Ready"]["message"] == "Deployment is ready; Service c: not found (Progressing: wait)"
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
        "Service c: not found (NotAdopted: the Service c that exists was left by the Go operator - "
        "dynamo-hooks migrate -n default --apply)"
    ) in conditions(given)["Ready"]["message"]
    assert [effect.reason for effect in given.effects if isinstance(effect, Event)] == ["NotAdopted"]


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
    assert "Service c: not found (Missing: " in found["Ready"]["message"]
