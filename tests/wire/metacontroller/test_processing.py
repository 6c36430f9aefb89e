"""Whether an object's newest spec was synced, and for how long it has waited."""

from datetime import timedelta
from typing import Any

import pytest

from hooks.ground.k8s.conditions import format_time
from hooks.wire.metacontroller.processing import find_unprocessed
from tests import make

LONG_AGO, CREATED = format_time(make.NOW - timedelta(hours=1)), format_time(make.NOW - timedelta(hours=2))
CHANGED = format_time(make.NOW - timedelta(seconds=40))


def graph(observed: int | None, *times: str, **more: Any) -> dict[str, Any]:
    found = make.graph()
    metadata = {**found["metadata"], "generation": 3, "creationTimestamp": CREATED}
    if times:
        metadata["managedFields"] = [{"manager": "m", "time": time} for time in times]
    return {**found, "metadata": metadata, "status": {"observedGeneration": observed} if observed else {}, **more}


@pytest.mark.parametrize(
    ("found", "text", "waited"),
    [
        (graph(2, LONG_AGO, CHANGED), "the status is of generation 2", timedelta(seconds=40)),
        (graph(None), "there is no status", timedelta(hours=2)),
    ],
    ids=["changed", "new"],
)
def test_newest_spec_that_waits_is_told_with_its_age(found: dict[str, Any], text: str, waited: timedelta) -> None:
    waiting = find_unprocessed(found, make.NOW)
    assert waiting is not None
    assert (str(waiting), waiting.waited) == (f"generation 3 of its spec was not processed, {text}", waited)


@pytest.mark.parametrize(
    "found",
    [graph(3, CHANGED), graph(2, CHANGED, kind="DynamoGraphDeploymentScalingAdapter")],
    ids=["synced", "kind whose status does not say"],
)
def test_nothing_waits(found: dict[str, Any]) -> None:
    assert find_unprocessed(found, make.NOW) is None
