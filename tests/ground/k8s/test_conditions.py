"""Conditions keep their transition time while nothing changes."""

from datetime import UTC, datetime, timedelta

import pytest

from hooks.ground.k8s.conditions import MAX_MESSAGE, Condition, find_beginning, is_true, merge_conditions

MORNING = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
EVENING = datetime(2026, 1, 31, 21, 0, 0, 999, tzinfo=UTC)
READY = Condition(type="Ready", status="True", reason="Done", message="all is well")


def test_new_condition_began_now() -> None:
    (written,) = merge_conditions([], [READY], now=MORNING, generation=3)
    assert written == {
        "type": "Ready",
        "status": "True",
        "reason": "Done",
        "message": "all is well",
        "lastTransitionTime": "2026-01-31T09:30:00Z",
        "observedGeneration": 3,
    }


def test_another_message_moves_no_time() -> None:
    before = merge_conditions([], [READY], now=MORNING, generation=3)
    other = Condition(type="Ready", status="True", reason="Still", message="as before")
    (after,) = merge_conditions(before, [other], now=EVENING, generation=4)
    assert (after["lastTransitionTime"], after["reason"]) == ("2026-01-31T09:30:00Z", "Still")


def test_another_status_moves_the_time() -> None:
    before = merge_conditions([], [READY], now=MORNING, generation=3)
    broken = Condition(type="Ready", status="False", reason="Broken")
    (after,) = merge_conditions(before, [broken], now=EVENING, generation=3)
    assert after["lastTransitionTime"] == "2026-01-31T21:00:00Z"


def test_message_is_cut_to_what_the_schema_allows() -> None:
    long = Condition(type="Ready", status="False", reason="Broken", message="x" * (MAX_MESSAGE + 1))
    (written,) = merge_conditions([], [long], now=MORNING, generation=1)
    assert len(written["message"]) == MAX_MESSAGE


def test_condition_that_is_absent_is_not_true() -> None:
    assert not is_true([], "Ready")
    assert is_true(merge_conditions([], [READY], now=MORNING, generation=1), "Ready")


@pytest.mark.parametrize(
    ("age", "status", "begins"),
    [
        (2, {}, MORNING),
        (2, {"observedGeneration": -1}, MORNING),
        (2, {"conditions": [{"type": "Ready"}]}, MORNING + timedelta(seconds=2)),
        (4, {}, MORNING + timedelta(seconds=4)),
        (-1, {}, MORNING + timedelta(seconds=-1)),
    ],
    ids=["just created", "with the default status", "has conditions", "older", "the other clock is ahead"],
)
def test_first_condition_of_an_object_just_created_begins_with_it(
    age: int, status: dict[str, object], begins: datetime
) -> None:
    parent = {"metadata": {"creationTimestamp": "2026-01-31T09:30:00Z"}, "status": status}
    assert find_beginning(parent, MORNING + timedelta(seconds=age)) == begins


def test_condition_of_an_object_that_was_never_stored_begins_now() -> None:
    assert find_beginning({"metadata": {}}, MORNING) == MORNING
