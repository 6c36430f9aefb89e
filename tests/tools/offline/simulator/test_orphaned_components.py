"""A graph that is deleted with `--cascade=orphan`: its components and their pods run on as they were."""

from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.tools.offline.simulation.trees import is_ready
from tests import make
from tests.tools.offline.simulator.hooked import build_cluster

RESYNC = 300
"""Seconds after which each component is synced, whatever has happened."""
PATHS = {"Deployments": (), "LeaderWorkerSets": ("lws", "volcano")}


@pytest.mark.parametrize("path", PATHS)
def test_pods_of_components_without_their_graph_run_on(path: str) -> None:
    cluster = build_cluster(PATHS[path])
    shape: dict[str, Any] = {} if path == "Deployments" else {"multinode": {"nodeCount": 2}}
    engine = make.service(command=["python3", "-m", "dynamo.sglang"], resources={"limits": {"gpu": "1"}}, **shape)
    cluster.create(make.graph({"Frontend": make.service("frontend"), "Decode": engine}))
    assert cluster.run_until(lambda: all(map(is_ready, cluster.list_kind(contract.GRAPH))), 300)
    pods = {pod["metadata"]["uid"] for pod in cluster.list_kind(kinds.POD)}
    workload = kinds.DEPLOYMENT if path == "Deployments" else kinds.LEADER_WORKER_SET
    specs = [found["spec"] for found in cluster.list_kind(workload)]

    cluster.delete(contract.GRAPH, "g", "default", propagation="Orphan")
    cluster.run_for(RESYNC + 60)

    assert cluster.list_kind(contract.GRAPH) == []
    assert len(cluster.list_kind(contract.COMPONENT)) == 2
    assert [found["spec"] for found in cluster.list_kind(workload)] == specs
    assert {pod["metadata"]["uid"] for pod in cluster.list_kind(kinds.POD)} == pods
    assert all(map(is_ready, cluster.list_kind(contract.COMPONENT)))
