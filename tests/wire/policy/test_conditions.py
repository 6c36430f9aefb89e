"""Which changes of a condition count, and what an Event is about."""

from typing import Any

import pytest

from hooks.wire.metacontroller.effects import ObjectReference
from hooks.wire.policy.conditions import change_of, find_change, of_generation, reference_of, was_true
from tests import make

OLD = {
    "type": "Ready",
    "status": "False",
    "reason": "Progressing",
    "message": "desired=2, available=0",
    "observedGeneration": 1,
    "lastTransitionTime": "2026-03-01T12:00:00Z",
}


def status(**fields: Any) -> dict[str, Any]:
    return {"conditions": [{**OLD, **fields}]}


CHANGES = {
    "nothing": ({}, False, False),
    "message": ({"message": "desired=2, available=1"}, False, False),
    "generation": ({"observedGeneration": 2}, False, True),
    "reason": ({"reason": "CrashLoop"}, True, True),
    "status": ({"status": "True"}, True, True),
}


@pytest.mark.parametrize(("fields", "counts", "counts_by_generation"), CHANGES.values(), ids=CHANGES.keys())
def test_change_of_a_condition(fields: dict[str, Any], *, counts: bool, counts_by_generation: bool) -> None:
    after = status(**fields)
    assert find_change(status(), after, "Ready") == (after["conditions"][0] if counts else None)
    assert (find_change(status(), after, "Ready", by_generation=True) is not None) is counts_by_generation


def test_first_saying_is_a_change_and_silence_is_none() -> None:
    assert find_change({}, status(), "Ready") == OLD
    assert find_change({"observedGeneration": -1}, status(), "Ready") == OLD
    assert find_change(status(), {}, "Ready") is None


def test_what_held_until_now() -> None:
    assert was_true(status(status="True"), "Ready")
    assert not was_true(status(), "Ready")
    assert not was_true({}, "Ready")


def test_event_is_about_the_whole_parent() -> None:
    assert reference_of(make.graph()) == ObjectReference(
        api_version="nvidia.com/v1alpha1", kind="DynamoGraphDeployment", namespace="default", name="g", uid="u-g"
    )


def test_occasions() -> None:
    assert of_generation(OLD) == "generation 1"
    assert change_of(status(), "Ready") == f"{OLD['reason']} since 2026-03-01T12:00:00Z"
    assert change_of({}, "Ready") == change_of(status(), "Applied") == "first status"
