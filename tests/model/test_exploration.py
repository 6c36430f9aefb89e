"""Every order of syncs, calls, answers, changes of the spec, takeovers and faults, by the code's own functions.

In every state that can be reached: no status says Ready of another source than the engine has; no load is sent of a
source after another one was asked for; without faults and takeovers each source is loaded once; and what happens by
itself leads to an engine and a status that are as the spec asks. `python -m tests.model.exploring` explores more steps.
"""

import pytest

from tests import effort
from tests.model.exploring.exploration import explore
from tests.model.exploring.world import BROKEN, Bounds

A, B = "s3://b/a", "s3://b/b"
ALWAYS = {
    "two probers, three changes and back": Bounds(changes=3),
    "three probers, two changes": Bounds(probers=3, changes=2),
    "sources that no engine has": Bounds(sources=(A, BROKEN), changes=2),
    "a takeover": Bounds(sources=(A, B), changes=0, takeovers=2),
    "a fault": Bounds(changes=0, faults=1),
}
IN_FULL = {
    "a takeover and a change": Bounds(changes=1, takeovers=1),
    "three probers, a takeover, a change": Bounds(probers=3, changes=1, takeovers=1),
    "a fault and a change": Bounds(changes=1, faults=1),
    "two faults": Bounds(changes=0, faults=2),
    "a takeover and a fault": Bounds(changes=0, takeovers=1, faults=1),
    "three sources": Bounds(sources=(A, B, "s3://b/c"), changes=3),
    "a takeover and a source that no engine has": Bounds(sources=(A, BROKEN), changes=1, takeovers=1),
}


@pytest.mark.parametrize("bounds", [pytest.param(bounds, id=name) for name, bounds in ALWAYS.items()])
def test_no_order_of_steps_leads_to_an_untrue_status_or_an_old_load(bounds: Bounds) -> None:
    found = explore(bounds)
    assert found.wrong == []
    assert found.stuck == []
    assert found.settled > 0
    assert found.states > 100


@pytest.mark.skipif(not effort.FULL, reason="takes minutes; FULL=1 runs it")
@pytest.mark.parametrize("bounds", [pytest.param(bounds, id=name) for name, bounds in IN_FULL.items()])
def test_no_order_of_more_steps_does_either(bounds: Bounds) -> None:
    found = explore(bounds)
    assert (found.wrong, found.stuck) == ([], [])
    assert found.settled > 0
