"""A manifest as the API server keeps it."""

import json

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.language.crds import apply_defaults, prune
from tests.language.crds.cases import COMPONENT, GRAPH, KEPT, MODEL, Kept, manifest, one_service


def spec_of(stored: Manifest) -> Manifest:
    """The object without the status that the API server gives it."""
    return {key: value for key, value in stored.items() if key != "status"}


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.id)
def test_defaults_are_filled_in_and_nulls_dropped(case: Kept) -> None:
    assert spec_of(apply_defaults(manifest(case.kind, case.spec))) == manifest(case.kind, case.stored)


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.id)
def test_what_is_stored_stays_as_it_is(case: Kept) -> None:
    stored = manifest(case.kind, case.stored)
    assert spec_of(prune(apply_defaults(stored))) == stored


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.id)
def test_the_manifest_given_is_not_changed(case: Kept) -> None:
    given = manifest(case.kind, case.spec)
    before = json.dumps(given)
    prune(apply_defaults(given))
    assert json.dumps(given) == before


def test_unknown_fields_are_dropped_at_every_level() -> None:
    spec = {**one_service(zzz=1, extraPodSpec={"x": 1, "mainContainer": {"y": 1, "args": ["a"]}}), "q": {}}
    given = {**manifest(GRAPH, spec), "extra": 1}
    assert prune(given) == manifest(GRAPH, one_service(extraPodSpec={"mainContainer": {"args": ["a"]}}))


def test_unknown_fields_stay_when_only_defaults_are_filled_in() -> None:
    assert spec_of(apply_defaults(manifest(COMPONENT, {"zzz": 1}))) == manifest(COMPONENT, {"zzz": 1})


@pytest.mark.parametrize("kind", [COMPONENT, GRAPH, MODEL])
def test_status_that_nobody_has_written_is_of_no_generation(kind: str) -> None:
    assert apply_defaults(manifest(kind, {}))["status"]["observedGeneration"] == -1
    written = {**manifest(kind, {}), "status": {"conditions": []}}
    assert apply_defaults(written)["status"] == {"conditions": []}


def test_open_objects_are_not_pruned() -> None:
    spec = {"eppConfig": {"config": {"a": {"b": [{"c": 1}]}}}}
    assert prune(manifest(COMPONENT, spec)) == manifest(COMPONENT, spec)


def test_null_in_a_list_stays() -> None:
    spec = {"extraPodSpec": {"mainContainer": {"args": [None]}}}
    assert prune(manifest(COMPONENT, spec)) == manifest(COMPONENT, spec)


@pytest.mark.parametrize("function", [apply_defaults, prune])
def test_other_kinds_stay_as_they_are(function: object) -> None:
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "x": None}, "data": {"a": None}}
    assert callable(function)
    assert function(foreign) == foreign
