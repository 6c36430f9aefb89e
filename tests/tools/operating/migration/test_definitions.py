"""CRDs that store another version than ours."""

from typing import Any

from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.client import merge_patch
from hooks.tools.operating.migration.definitions import (
    find_obstacles,
    find_spec_patch,
    find_status_patch,
    needs_change,
    plan_definitions,
)


def definition(stored: list[str], *, storage: str = "v1alpha1", **spec: Any) -> Manifest:
    versions = [{"name": name, "served": True, "storage": name == storage} for name in ("v1alpha1", "v1beta1")]
    names = {"kind": "DynamoGraphDeployment", "plural": "dynamographdeployments"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "dynamographdeployments.nvidia.com", "uid": "c1"},
        "spec": {"names": names, "versions": versions, **spec},
        "status": {"storedVersions": stored},
    }


def test_definition_that_stores_our_version_alone_is_left() -> None:
    assert not needs_change(definition(["v1alpha1"]))
    assert list(find_obstacles([definition(["v1alpha1"])], {"DynamoGraphDeployment": 3})) == []


def test_objects_that_may_be_stored_as_another_version_are_an_obstacle() -> None:
    found = definition(["v1alpha1", "v1beta1"], storage="v1beta1")
    (sentence,) = find_obstacles([found], {"DynamoGraphDeployment": 3})
    assert sentence.startswith("3 DynamoGraphDeployment objects may be stored as v1beta1. Store them as v1alpha1")
    assert "`dynamo-hooks migrate --store-v1alpha1 --apply`" in sentence
    assert list(plan_definitions([found], {"DynamoGraphDeployment": 3})) == []


def test_version_of_a_kind_without_objects_is_changed() -> None:
    webhook = converted_by("dynamo-operator-webhook-service")
    found = definition(["v1beta1"], storage="v1beta1", conversion=webhook)
    assert list(find_obstacles([found], {})) == []
    (step,) = plan_definitions([found], {})
    assert step.name == "dynamographdeployments.nvidia.com"
    changed = merge_patch(merge_patch(found, find_spec_patch(found)), find_status_patch(found))
    assert [one["storage"] for one in changed["spec"]["versions"]] == [True, False]
    assert changed["spec"]["conversion"] == {"strategy": "None"}
    assert changed["status"] == {"storedVersions": ["v1alpha1"]}
    assert not needs_change(changed)
    assert find_spec_patch(changed) == find_status_patch(changed) == {}


def converted_by(service: str) -> dict[str, Any]:
    return {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": service, "namespace": "s"}}}}


def test_definition_that_our_hooks_convert_is_left() -> None:
    found = definition(["v1alpha1"], conversion=converted_by("dynamo-hooks-admission"))
    assert not needs_change(found)
    assert find_spec_patch(found) == {}
    assert needs_change(definition(["v1alpha1"], conversion=converted_by("dynamo-operator-webhook-service")))


def test_definition_without_our_version_is_an_obstacle() -> None:
    versions = [{"name": "v1beta1", "served": True, "storage": True}]
    (sentence,) = find_obstacles([definition(["v1beta1"], versions=versions)], {})
    assert "does not serve v1alpha1" in sentence
