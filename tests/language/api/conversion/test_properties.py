"""Both ways lead back, for objects of any shape and for all published graphs."""

import json
from collections.abc import Mapping

from hypothesis import HealthCheck, given, settings

from hooks.ground.k8s.types import Json, Manifest
from hooks.language.conversion.json_values import name_of_item, same
from hooks.language.conversion.payloads import can_save
from hooks.language.versions import convert
from tests.effort import examples
from tests.language.api.conversion.strategies import ALPHA_DOCUMENTS, ANNOTATED_ALPHA, ANNOTATED_BETA, BETA_DOCUMENTS

_EXAMPLES = settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))


def with_replicas(document: Manifest) -> Manifest:
    """The v1beta1 object with the default of `replicas`, or of `autoApply`, written out."""
    spec = document.get("spec")
    if not isinstance(spec, Mapping) or not can_save(document):
        return document
    if document["kind"] == "DynamoGraphDeploymentRequest":
        return {**document, "spec": {"autoApply": True, **spec}}
    if document["kind"] == "DynamoComponentDeployment":
        return {**document, "spec": {"replicas": 1, **spec}}
    components = spec.get("components")
    if document["kind"] != "DynamoGraphDeployment" or not isinstance(components, list):
        return document
    names = [name_of_item(component) for component in components]
    filled = [
        {"replicas": 1, **component} if name is not None and names.index(name) == at else component
        for at, (name, component) in enumerate(zip(names, components, strict=True))
    ]
    return {**document, "spec": {**spec, "components": filled}}


def assert_same(found: Json, wanted: Json) -> None:
    assert same(found, wanted), f"{json.dumps(found, sort_keys=True)}\n{json.dumps(wanted, sort_keys=True)}"


@_EXAMPLES
@given(ALPHA_DOCUMENTS)
def test_an_object_of_v1alpha1_comes_back(document: Manifest) -> None:
    before = json.dumps(document, sort_keys=True)
    there = convert(document, "v1beta1")
    assert there["apiVersion"] == "nvidia.com/v1beta1"
    assert_same(convert(there, "v1alpha1"), document)
    assert json.dumps(document, sort_keys=True) == before


@_EXAMPLES
@given(BETA_DOCUMENTS)
def test_an_object_of_v1beta1_comes_back_with_its_replicas_written(document: Manifest) -> None:
    before = json.dumps(document, sort_keys=True)
    there = convert(document, "v1alpha1")
    assert there["apiVersion"] == "nvidia.com/v1alpha1"
    assert_same(convert(there, "v1beta1"), with_replicas(document))
    assert json.dumps(document, sort_keys=True) == before


@_EXAMPLES
@given(ALPHA_DOCUMENTS)
def test_what_was_converted_is_lossless_itself(document: Manifest) -> None:
    there = convert(document, "v1beta1")
    assert_same(convert(convert(there, "v1alpha1"), "v1beta1"), there)


@_EXAMPLES
@given(BETA_DOCUMENTS)
def test_the_same_version_changes_nothing(document: Manifest) -> None:
    assert_same(convert(document, "v1beta1"), document)


def live(document: Manifest) -> Manifest:
    """The fields that a user wrote."""
    return {key: value for key, value in document.items() if key != "metadata"}


@_EXAMPLES
@given(ANNOTATED_ALPHA)
def test_no_annotation_changes_a_live_field_of_v1alpha1(document: Manifest) -> None:
    assert_same(live(convert(convert(document, "v1beta1"), "v1alpha1")), live(document))


@_EXAMPLES
@given(ANNOTATED_BETA)
def test_no_annotation_changes_a_live_field_of_v1beta1(document: Manifest) -> None:
    assert_same(live(convert(convert(document, "v1alpha1"), "v1beta1")), live(with_replicas(document)))
