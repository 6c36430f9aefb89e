"""Named faults on a real control plane under a real Metacontroller: each is survived.

docs/reliability.md has what they came to; `python -m tests.faults --cluster` plays them and writes it.
"""

from collections.abc import Callable, Iterator

import pytest

from tests import effort
from tests.cluster.control_plane import CHART_ACCOUNT, ControlPlane
from tests.cluster.programs import HttpServer
from tests.faults.cluster.catalogue import PLAYED
from tests.faults.cluster.fault import ClusterFault
from tests.faults.cluster.play import play
from tests.faults.cluster.stage import TARGET, Stage, open_stage
from tests.faults.fault import Verdict

FRONTEND = f"{TARGET}-frontend"
AT_REST = 50 if effort.FULL else 10
"""Graphs that no fault concerns: nothing of theirs may be written."""


@pytest.fixture(scope="module")
def stage(
    plane: ControlPlane, start_metacontroller: Callable[[str], HttpServer], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("faults")
    with open_stage(plane, start_metacontroller(CHART_ACCOUNT), folder, AT_REST) as found:
        yield found


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("fault", [one for one in PLAYED.values() if effort.FULL or not one.is_long], ids=str)
def test_fault_is_survived(fault: ClusterFault, stage: Stage) -> None:
    outcome = play(stage, fault, is_short=not effort.FULL)
    assert outcome.wrongs == ()
    assert outcome.verdict is Verdict.RESILIENT


def test_what_nobody_asked_for_is_seen(stage: Stage) -> None:
    """A pod that is taken away, a pod template and a Service that are changed, by somebody who does not say so."""

    def act(stage: Stage) -> None:
        pod, *_ = stage.api.list("v1", "Pod")
        stage.api.delete("v1", "Pod", pod["metadata"]["name"])
        workload = stage.find("apps/v1", "Deployment", FRONTEND)
        containers = [{**one, "image": "by-hand:0"} for one in workload["spec"]["template"]["spec"]["containers"]]
        template = {"spec": {"template": {"spec": {"containers": containers}}}}
        stage.api.patch("apps/v1", "Deployment", FRONTEND, template)
        selector = dict.fromkeys(stage.find("v1", "Service", FRONTEND)["spec"]["selector"], "by-hand")
        stage.api.patch("v1", "Service", FRONTEND, {"spec": {"selector": selector}})

    outcome = play(stage, ClusterFault(name="f", what="", begin=act, holds=""), is_short=True)
    assert outcome.verdict is Verdict.FAILED
    found = "\n".join(outcome.wrongs)
    assert "a pod was replaced that nobody took away" in found
    assert f"the pod template of Deployment {stage.api.namespace}/{FRONTEND} changed" in found
    assert f"services/{FRONTEND} was written 1 times, 0 were needed" in found
