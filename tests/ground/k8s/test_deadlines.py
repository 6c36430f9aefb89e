"""What is left of a time, by clocks that agree, differ a little, or were set back."""

from datetime import timedelta

import pytest

from hooks.ground.k8s.conditions import format_time
from hooks.ground.k8s.deadlines import seconds_left
from tests import make


@pytest.mark.parametrize(
    ("passed", "left"),
    [(0, 60), (20, 40), (60, 0), (3600, 0), (-5, 60), (-59, 60), (-60, 0), (-86400, 0)],
)
def test_nothing_is_waited_for_longer_than_allowed(passed: int, left: float) -> None:
    since = format_time(make.NOW - timedelta(seconds=passed))
    assert seconds_left(since, 60, make.NOW) == left
