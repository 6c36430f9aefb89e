"""When a hook looks at what its request does not have."""

from datetime import timedelta

import pytest

from hooks.wire.policy.on_demand import LATEST_SECONDS, MOMENT_SECONDS, SOONEST_SECONDS, NextRead, plan_next_read
from tests import make


def status(truth: str, seconds: float) -> dict[str, object]:
    since = (make.NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"conditions": [{"type": "Ready", "status": truth, "lastTransitionTime": since}]}


LOOKS = {
    "nobody reported yet": ({}, NextRead(is_due=False, seconds=MOMENT_SECONDS)),
    "it was ready": (status("True", 900), NextRead(is_due=False, seconds=MOMENT_SECONDS)),
    "for two seconds": (status("False", 2), NextRead(is_due=False, seconds=MOMENT_SECONDS - 2)),
    "for a moment": (status("False", MOMENT_SECONDS), NextRead(is_due=True, seconds=SOONEST_SECONDS)),
    "for four minutes": (status("False", 240), NextRead(is_due=True, seconds=SOONEST_SECONDS)),
    "for ten minutes": (status("False", 600), NextRead(is_due=True, seconds=20)),
    "for a day": (status("False", 86400), NextRead(is_due=True, seconds=LATEST_SECONDS)),
    "by another clock, soon": (status("False", -2), NextRead(is_due=False, seconds=MOMENT_SECONDS)),
    "by another clock, in an hour": (status("False", -3600), NextRead(is_due=True, seconds=SOONEST_SECONDS)),
}


@pytest.mark.parametrize(("before", "next_read"), LOOKS.values(), ids=LOOKS)
def test_looks_come_soon_at_first_and_then_less_often(before: dict[str, object], next_read: NextRead) -> None:
    assert plan_next_read(before, make.NOW) == next_read
