"""Restarts run to rest in a simulated cluster, with what must hold looked at after every single piece of work."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, annotations_of, labels_of
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.pods import is_ready as is_pod_ready
from tests import make
from tests.tools.offline.simulator.hooked import build_cluster

PATHS = {"Deployments": (), "LeaderWorkerSets": ("lws", "volcano"), "Grove": ("grove",)}
ORDER = ["Prefill", "Frontend", "Decode"]
LONG_ENOUGH = 240


def services(path: str) -> dict[str, Any]:
    engine: dict[str, Any] = {"command": ["python3", "-m", "dynamo.sglang"], "resources": {"limits": {"gpu": "1"}}}
    shape: dict[str, Any] = {} if path == "Deployments" else {"multinode": {"nodeCount": 2}}
    return {
        "Frontend": make.service("frontend", replicas=2),
        "Prefill": make.service(**engine, **shape),
        "Decode": make.service(replicas=2, **engine, **shape),
    }


def pods_of_each(path: str) -> dict[str, int]:
    nodes = 1 if path == "Deployments" else 2
    return {"Frontend": 2, "Prefill": nodes, "Decode": 2 * nodes}


@pytest.fixture(params=list(PATHS))
def path(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def cluster(path: str) -> SimulatedCluster:
    """A cluster in which the graph `g` is ready."""
    cluster = build_cluster(PATHS[path])
    body = make.graph(services(path))
    cluster.create({**body, "metadata": {"name": "g", "namespace": "default"}})
    assert cluster.run_until(lambda: is_ready(the_graph(cluster)), 300), the_graph(cluster)["status"]
    return cluster


def the_graph(cluster: SimulatedCluster) -> Manifest:
    found = cluster.get(contract.GRAPH, "g", "default")
    assert found is not None
    return found


def standing(cluster: SimulatedCluster) -> dict[str, Any]:
    found: dict[str, Any] = the_graph(cluster).get("status", {}).get("restart", {})
    return found


def ask(cluster: SimulatedCluster, **restart: Any) -> None:
    """Ask for a restart in place of whatever was asked before."""
    for change in (None, restart or None):
        cluster.patch(contract.GRAPH, "g", {"spec": {"restart": change}}, "default")


def steps(cluster: SimulatedCluster, seconds: float = LONG_ENOUGH) -> Iterator[None]:
    """One piece of work after another, until nothing is left to do within so many seconds."""
    end = cluster.clock.seconds + seconds
    while True:
        yield
        if cluster.step():
            continue
        due = cluster.next_time()
        if due is None or due > end:
            return
        cluster.clock.advance_to(due)


def run(cluster: SimulatedCluster, check: Callable[[], None], seconds: float = LONG_ENOUGH) -> list[dict[str, Any]]:
    """Let everything happen with a look after each piece of work; gives each new `status.restart`."""
    seen: list[dict[str, Any]] = []
    for _ in steps(cluster, seconds):
        check()
        if seen[-1:] != [standing(cluster)]:
            seen.append(standing(cluster))
    return seen


def pods(cluster: SimulatedCluster, service: str) -> list[Manifest]:
    found = cluster.list_kind(kinds.POD, "default")
    return [pod for pod in found if labels_of(pod).get(contract.LABEL_COMPONENT) == service]


def restart_of(pod: Manifest) -> str:
    return annotations_of(pod).get(contract.ANNOTATION_RESTART_AT, "")


def uids(cluster: SimulatedCluster) -> dict[str, set[str]]:
    return {service: {pod["metadata"]["uid"] for pod in pods(cluster, service)} for service in ORDER}


def count_created_pods(cluster: SimulatedCluster) -> int:
    return sum((write.resource, write.verb, write.code) == ("pods", "create", 201) for write in cluster.writes)


class Order:
    """Holds that a service has pods of a restart only once all services before it are ready with theirs."""

    def __init__(self, cluster: SimulatedCluster, path: str, id_: str, order: list[str]) -> None:
        self._cluster, self._wanted, self._id, self._order = cluster, pods_of_each(path), id_, order
        self._started: set[str] = set()

    def __call__(self) -> None:
        for place, service in enumerate(self._order):
            if service in self._started or not self._has_begun(service):
                continue
            for before in self._order[:place]:
                assert self._is_done(before), f"{service} restarts before {before} is ready"
            self._started.add(service)
        if standing(self._cluster) == {"observedID": self._id, "phase": "Completed"}:
            assert self._started == set(self._order)

    def _has_begun(self, service: str) -> bool:
        return any(restart_of(pod) == self._id for pod in pods(self._cluster, service))

    def _is_done(self, service: str) -> bool:
        found = pods(self._cluster, service)
        new = [pod for pod in found if restart_of(pod) == self._id and is_pod_ready(pod)]
        return len(new) == len(found) == self._wanted[service]


def doing(id_: str, *services: str) -> dict[str, Any]:
    return {"observedID": id_, "phase": "Restarting", "inProgress": list(services)}


def done(id_: str) -> dict[str, Any]:
    return {"observedID": id_, "phase": "Completed"}


def test_services_restart_one_after_another_and_once(cluster: SimulatedCluster, path: str) -> None:
    before = uids(cluster)
    created = count_created_pods(cluster)
    ask(cluster, id="r1", strategy={"order": ORDER})
    seen = run(cluster, Order(cluster, path, "r1", ORDER))
    assert seen == [{}, doing("r1", "Prefill"), doing("r1", "Frontend"), doing("r1", "Decode"), done("r1")]
    assert is_ready(the_graph(cluster))
    after = uids(cluster)
    assert all(not before[service] & after[service] for service in ORDER)
    assert count_created_pods(cluster) - created == sum(pods_of_each(path).values())
    writes = len(cluster.writes)
    cluster.run_for(2000)
    assert cluster.writes[writes:] == []


def test_all_services_restart_at_once(cluster: SimulatedCluster) -> None:
    before = uids(cluster)
    ask(cluster, id="r1", strategy={"type": "Parallel"})
    seen = run(cluster, lambda: None)
    assert seen[:2] == [{}, doing("r1", "Decode", "Frontend", "Prefill")]
    assert seen[-1] == done("r1")
    sizes = [len(found["inProgress"]) for found in seen[1:-1]]
    assert sizes == sorted(sizes, reverse=True)
    assert all(not before[service] & uids(cluster)[service] for service in ORDER)


@pytest.mark.sampled
@pytest.mark.parametrize("lost", ["the status", "the id", "the status and the id"])
def test_finished_restart_rolls_nothing_whatever_is_lost(cluster: SimulatedCluster, lost: str) -> None:
    ask(cluster, id="r1")
    run(cluster, lambda: None)
    before = uids(cluster)
    if "status" in lost:
        cluster.patch_status(contract.GRAPH, "g", {"status": None}, "default")
        assert the_graph(cluster)["status"] == {"observedGeneration": -1}
        cluster.patch(contract.GRAPH, "g", {"metadata": {"annotations": {"touched": "yes"}}}, "default")
    if "id" in lost:
        ask(cluster)
    run(cluster, lambda: None)
    assert uids(cluster) == before
    assert standing(cluster) == ({} if lost == "the status and the id" else done("r1"))
    ask(cluster, id="r1")
    run(cluster, lambda: None)
    assert uids(cluster) == before
    assert standing(cluster) == done("r1")


def test_service_that_fails_holds_the_restart_until_it_is_well(cluster: SimulatedCluster, path: str) -> None:
    ask(cluster, id="r1", strategy={"order": ORDER})
    cluster.block("g-*prefill*")
    before = uids(cluster)
    seen = run(cluster, Order(cluster, path, "r1", ORDER), 120)
    assert seen == [{}, doing("r1", "Prefill")]
    message = the_graph(cluster)["status"]["conditions"][0]["message"]
    assert message.endswith("; restart r1 waits for Prefill, then restarts Frontend, Decode")
    assert {service: found for service, found in uids(cluster).items() if service != "Prefill"} == {
        service: before[service] for service in ("Frontend", "Decode")
    }
    cluster.release("g-*prefill*")
    assert run(cluster, Order(cluster, path, "r1", ORDER))[-1] == done("r1")


def test_new_id_half_way_begins_anew(cluster: SimulatedCluster, path: str) -> None:
    ask(cluster, id="r1", strategy={"order": ORDER})
    assert cluster.run_until(lambda: standing(cluster) == doing("r1", "Frontend"), 300)
    ask(cluster, id="r2", strategy={"order": ORDER})
    seen = run(cluster, Order(cluster, path, "r2", ORDER))
    assert seen[1:] == [doing("r2", "Prefill"), doing("r2", "Frontend"), doing("r2", "Decode"), done("r2")]
    assert {restart_of(pod) for service in ORDER for pod in pods(cluster, service)} == {"r2"}


def test_restart_that_is_given_up_leaves_the_rest_alone(cluster: SimulatedCluster) -> None:
    before = uids(cluster)
    ask(cluster, id="r1", strategy={"order": ORDER})
    assert cluster.run_until(lambda: standing(cluster) == doing("r1", "Frontend"), 300)
    ask(cluster)
    run(cluster, lambda: None)
    assert standing(cluster) == {}
    after = uids(cluster)
    assert after["Decode"] == before["Decode"]
    assert {service: {restart_of(pod) for pod in pods(cluster, service)} for service in ORDER} == {
        "Prefill": {"r1"},
        "Frontend": {"r1"},
        "Decode": {""},
    }
    ask(cluster, id="r1", strategy={"order": ORDER})
    run(cluster, lambda: None)
    assert {service: uids(cluster)[service] == after[service] for service in ORDER} == {
        "Prefill": True,
        "Frontend": True,
        "Decode": False,
    }


def test_graph_made_together_with_an_id_makes_each_pod_once(path: str) -> None:
    cluster = build_cluster(PATHS[path])
    body = make.graph(services(path), restart={"id": "r1"})
    cluster.create({**body, "metadata": {"name": "g", "namespace": "default"}})
    assert cluster.run_until(lambda: is_ready(the_graph(cluster)) and standing(cluster) == done("r1"), 300)
    assert {service: len(pods(cluster, service)) for service in ORDER} == pods_of_each(path)
    assert count_created_pods(cluster) == sum(pods_of_each(path).values())
