"""A graph with many pods comes to Ready, says why it is not, and its calls stay small whatever the number of pods."""

from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.tools.offline.simulator.workloads.pods import PodFault
from tests import effort, make
from tests.tools.offline.simulator.hooked import build_switchable

SERVICES, REPLICAS = effort.LARGE_GRAPH
MOST_BYTES = 2**20


@pytest.mark.parametrize("installed", [(), ("grove",)], ids=["components", "Grove"])
def test_graph_of_many_pods_is_ready_and_explained_and_its_calls_are_small(installed: tuple[str, ...]) -> None:
    sizes: list[int] = []
    cluster = build_switchable(installed, {}, note=lambda body: sizes.append(len(body)))
    services = {f"w{index}": make.service(replicas=REPLICAS) for index in range(SERVICES)}
    cluster.create(make.graph(services))
    cluster.run_for(300)
    assert ready(cluster)["status"] == "True"
    pods = [pod["metadata"]["name"] for pod in cluster.list_kind(kinds.POD, "default")]
    assert len(pods) == SERVICES * REPLICAS
    cluster.break_pods(pods[-1], PodFault.CRASH_LOOP)
    cluster.run_for(60)
    assert "CrashLoop" in ready(cluster)["message"]
    assert pods[-1] in ready(cluster)["message"]
    assert max(sizes) < MOST_BYTES


def ready(cluster: Any) -> dict[str, Any]:
    graph = cluster.get(contract.GRAPH, "g", "default")
    assert graph is not None
    return dict(find_condition(graph["status"]["conditions"], READY) or {})
