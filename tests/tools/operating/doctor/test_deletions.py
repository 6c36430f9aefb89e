"""Objects of Dynamo whose deletion does not end."""

from datetime import timedelta

import pytest

from hooks.ground.k8s.conditions import format_time
from hooks.tools.operating.doctor.checks.deletions import check_deletions
from hooks.tools.operating.doctor.finding import Level
from tests.tools.operating.doctor.parts import good, only

HELD = {
    "held for long": (6, ["example.com/f"], True),
    "deleted just now": (4, ["example.com/f"], False),
    "held by Metacontroller, which the installation's check judges": (60, ["metacontroller.io/c-dynamo-model"], False),
    "held by both": (60, ["metacontroller.io/c-dynamo-model", "example.com/f"], True),
    "held by nothing": (60, [], False),
}


@pytest.mark.parametrize(("minutes", "finalizers", "is_told"), HELD.values(), ids=HELD)
def test_object_that_a_finalizer_holds_is_named(minutes: int, finalizers: list[str], is_told: bool) -> None:
    facts = good()
    since = format_time(facts.now - timedelta(minutes=minutes))
    metadata = {"name": "g-w", "namespace": "team", "deletionTimestamp": since, "finalizers": finalizers}
    parent = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoComponentDeployment", "metadata": metadata}
    found = check_deletions(good(parents=(parent,)))
    assert len(found) == is_told
    if is_told:
        assert only(found).level is Level.WARNING
        assert only(found).object == "DynamoComponentDeployment team/g-w"
        assert only(found).finding.startswith("it is being deleted, held by finalizer")
        assert finalizers[-1] in only(found).finding
        assert only(found).remedy.startswith("kubectl get dynamocomponentdeployments g-w -n team -o yaml --show-man")


def test_object_that_is_not_being_deleted_is_none() -> None:
    metadata = {"name": "g", "namespace": "team", "finalizers": ["example.com/f"]}
    parent = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": metadata}
    assert check_deletions(good(parents=(parent,))) == []
