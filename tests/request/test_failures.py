"""What a request says of its Job's pods, however long their words are."""

import pytest

from hooks.ground.k8s.types import Json
from hooks.request.seen.failures import describe_pods

LONG = "y" * 70_000


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Failed", "reason": LONG, "message": LONG},
        {
            "phase": "Failed",
            "containerStatuses": [{"name": "profiler", "state": {"terminated": {"exitCode": 1, "reason": LONG}}}],
        },
        {
            "phase": "Pending",
            "containerStatuses": [{"name": "profiler", "state": {"waiting": {"reason": LONG, "message": LONG}}}],
        },
        {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": f"two\nlines {LONG}"}],
        },
    ],
    ids=["pod", "terminated", "waiting", "unscheduled"],
)
def test_long_words_of_a_pod_are_cut(status: dict[str, Json]) -> None:
    said = describe_pods([{"metadata": {"name": "job-x"}, "status": status}])
    assert said.startswith("Pod: job-x")
    assert "Reason: " in said
    assert "\n" not in said
    assert len(said) < 800
